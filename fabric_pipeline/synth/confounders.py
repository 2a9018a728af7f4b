"""Things that look like a bad link and are none: harmless bursts, resets, gaps, late ranks.

Each has an answer-key entry with `is_fault` false, because accusing a link for it is a mistake.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fabric_pipeline.synth import hardware as hw
from fabric_pipeline.synth.cluster import Link
from fabric_pipeline.synth.effects import (
    Effects,
    History,
    Increment,
    Lateness,
    Loss,
    Reset,
    Site,
    Slowdown,
    burst_counts,
    confounder_answer,
    share_of,
    slower_where,
    timed,
)
from fabric_pipeline.synth.timegrid import Minutes

# Most single-bit errors of a harmless burst are corrected in place; few need to be sent again.
RESENT_SHARE = 0.08


@dataclass(frozen=True, slots=True)
class BenignBursts:
    """Short bursts of corrected single-bit errors on random links; nothing gets slower.

    `link_types` are drawn from in turn. Links in `spare` (node, interface) and all links of
    `spare_nodes` stay clean, so that a planted fault keeps its own signature.
    """

    links: int
    link_types: tuple[str, ...] = ("nvlink", "infiniband")
    bursts_per_link: int = 3
    longest_bins: int = 3
    errors_per_bin: float = 16.0
    spare: tuple[tuple[int, str], ...] = ()
    spare_nodes: tuple[int, ...] = ()

    def plant(self, site: Site, rng: np.random.Generator) -> Effects:
        """See class."""
        effects = Effects(confounder_answer("benign_bursts", links=[]))
        kept_clean = {site.cluster.node_at(node) for node in self.spare_nodes} | {""}
        taken = {
            site.cluster.link_at(site.cluster.node_at(node), interface).id
            for node, interface in self.spare
        }
        for number in range(self.links):
            wanted = self.link_types[number % len(self.link_types)]
            pool = [
                link
                for link in site.cluster.links
                if link.link_type == wanted
                and link.near.node not in kept_clean
                and link.id not in taken
            ]
            link = pool[int(rng.integers(len(pool)))]
            taken.add(link.id)
            self._burst(link, site, effects, rng)
        return effects

    def _burst(self, link: Link, site: Site, effects: Effects, rng: np.random.Generator) -> None:
        active = np.zeros(site.grid.bins, dtype=np.bool_)
        for _ in range(self.bursts_per_link):
            first = int(rng.integers(1, site.grid.bins - self.longest_bins))
            active[first : first + int(rng.integers(1, self.longest_bins + 1))] = True
        counts = burst_counts(active, self.errors_per_bin, rng)
        lane = int(rng.integers(link.lanes)) if link.link_type == "nvlink" else None
        resent = "replay" if link.link_type == "nvlink" else "plr_retry"
        effects.increments += [
            Increment(link.near, "crc_single_bit", counts, lane),
            Increment(link.far, resent, share_of(counts, RESENT_SHARE, rng)),
        ]
        effects.answer["links"].append(
            {"link_id": link.id, "near_end": link.near.id, "periods": site.grid.spans(active)}
        )


@dataclass(frozen=True, slots=True)
class CounterReset:
    """The NVLink and PCIe counters of one GPU start again from zero, and nothing is wrong after.

    Before that they hold old counts, so that a difference taken without care is large.
    """

    node: int
    gpu: int
    at_minute: float
    old_count: int = 4800

    def plant(self, site: Site, rng: np.random.Generator) -> Effects:
        """See class."""
        node = site.cluster.node_at(self.node)
        names = [f"gpu{self.gpu}/nvlink-{nvlink}" for nvlink in range(hw.NVLINKS_PER_GPU)]
        ends = [site.cluster.link_at(node, name).near for name in (*names, f"gpu{self.gpu}/pcie")]
        sample = site.grid.sample_of(self.at_minute)
        effects = Effects(
            confounder_answer(
                "counter_reset",
                node=node,
                gpu=self.gpu,
                ends=[end.id for end in ends],
                first_sample_after=site.grid.spans(np.arange(site.grid.bins) >= sample)[0][0],
            )
        )
        effects.resets.append(Reset(tuple(ends), sample))
        for end in ends[:-1]:
            old = int(rng.poisson(self.old_count * rng.lognormal(-0.5, 0.8)))
            effects.history += [
                History(end, "crc_single_bit", old),
                History(end, "replay", old // 3 + 1),
            ]
        effects.history.append(History(ends[-1], "pcie_replay", self.old_count // 40))
        return effects


@dataclass(frozen=True, slots=True)
class MissingNode:
    """A node whose telemetry never arrived: not healthy and not broken, just unknown."""

    node: int

    def plant(self, site: Site, rng: np.random.Generator) -> Effects:
        """See class."""
        del rng  # nothing random about silence
        node = site.cluster.node_at(self.node)
        effects = Effects(confounder_answer("missing_node", node=node))
        effects.silent_nodes.append(node)
        return effects


@dataclass(frozen=True, slots=True)
class LostSamples:
    """A share of all samples lost at random, and whole gaps of single nodes.

    `gaps` holds (node, from minute, to minute).
    """

    share: float = 0.15
    gaps: tuple[tuple[int, float, float], ...] = ()

    def plant(self, site: Site, rng: np.random.Generator) -> Effects:
        """See class."""
        del rng  # which samples get lost is drawn where they are written
        effects = Effects(confounder_answer("lost_samples", share=self.share, gaps=[]))
        effects.lost.append(Loss("", self.share, 0, site.grid.samples))
        for index, first, last in self.gaps:
            node = site.cluster.node_at(index)
            samples = site.grid.sample_of(first), site.grid.sample_of(last)
            effects.lost.append(Loss(node, 1.0, *samples))
            span = site.grid.spans(site.grid.mask(((first, last),)))
            effects.answer["gaps"].append({"node": node, "periods": span})
        return effects


@dataclass(frozen=True, slots=True)
class SlowCompute:
    """One GPU computes slowly and comes late to its collectives; its links are clean.

    `late_share` is how late, as a share of the collective's normal time.
    """

    node: int
    gpu: int
    periods: tuple[Minutes, ...]
    late_share: float = 0.7

    def plant(self, site: Site, rng: np.random.Generator) -> Effects:
        """See class."""
        del rng  # the jitter belongs to the timings
        node = site.cluster.node_at(self.node)
        answer = confounder_answer(
            "slow_compute",
            node=node,
            gpu=self.gpu,
            fault_type="not_a_link",
            late_share=self.late_share,
        )
        effects = Effects(timed(answer, site.grid, self.periods))
        share = np.where(site.grid.mask(self.periods), self.late_share, 0.0)
        effects.late.append(Lateness(node, self.gpu, share))
        return effects


@dataclass(frozen=True, slots=True)
class Congestion:
    """A rail without enough credits: all its ports wait, all jobs on it slow down, no errors."""

    rail: int
    periods: tuple[Minutes, ...]
    wait_ticks_per_bin: float = 9e7
    slowdown: float = 1.7

    def plant(self, site: Site, rng: np.random.Generator) -> Effects:
        """See class."""
        active = site.grid.mask(self.periods)
        answer = confounder_answer(
            "congestion", rail=self.rail, fault_type="congestion", slowdown=self.slowdown
        )
        effects = Effects(timed(answer, site.grid, self.periods))
        for node in site.cluster.nodes:
            for end in site.cluster.rail_link(node, self.rail).ends:
                ticks = burst_counts(active, self.wait_ticks_per_bin, rng)
                effects.increments.append(Increment(end, "tx_wait", ticks))
        effects.slowdowns.append(
            Slowdown("rail", "", self.rail, slower_where(active, self.slowdown))
        )
        return effects
