"""Faults that show in the state of a link: it goes down and comes back, or runs narrower.

Errors that only grow counters are in `faults`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from fabric_pipeline.synth import hardware as hw
from fabric_pipeline.synth.effects import (
    Effects,
    Event,
    Increment,
    Level,
    Site,
    Slowdown,
    link_answer,
    slower_where,
    timed,
)
from fabric_pipeline.synth.timegrid import Minutes


@dataclass(frozen=True, slots=True)
class LinkFlap:
    """An InfiniBand port that goes down and comes back; collectives on the rail stall meanwhile."""

    node: int
    gpu: int
    at_minutes: tuple[float, ...]
    down_s: int = 12
    slowdown: float = 9.0

    def plant(self, site: Site, rng: np.random.Generator) -> Effects:
        """See class."""
        del rng  # the times are given
        node = site.cluster.node_at(self.node)
        link = site.cluster.rail_link(node, self.gpu)
        periods = tuple((minute, minute + self.down_s / 60) for minute in self.at_minutes)
        active = np.zeros(site.grid.bins, dtype=np.bool_)
        downs = np.zeros(site.grid.bins, dtype=np.int64)
        up = np.ones(site.grid.samples)
        for first, last in periods:
            active[site.grid.bin_of(first) : site.grid.bin_of(last) + 1] = True
            downs[site.grid.bin_of(first)] += 1
            up[site.grid.sample_of(first) : site.grid.sample_of(last)] = 0.0
        answer = link_answer("link_flap", link, "link_flapping", "link_down")
        effects = Effects({**answer, "slowdown": self.slowdown, "periods": site.grid.spans(active)})
        for end in link.ends:
            effects.increments += [
                Increment(end, "link_downed", downs),
                Increment(end, "link_error_recovery", downs),
            ]
            effects.levels.append(Level(end, "link_up", up))
        effects.slowdowns.append(
            Slowdown("rail", node, self.gpu, slower_where(active, self.slowdown))
        )
        nic = f"mlx5_core {hw.pci_address(hw.NIC_PCI_BUSES[self.gpu])} ibp{self.gpu}s0"
        for minute in self.at_minutes:
            time = site.grid.at(minute)
            back = time + timedelta(seconds=self.down_s)
            effects.events += [
                Event(time, node, link.near.id, "link_down", f"{nic}: Link down"),
                Event(back, node, link.near.id, "link_up", f"{nic}: Link up"),
            ]
        return effects


@dataclass(frozen=True, slots=True)
class WidthDowngrade:
    """A link that runs with fewer lanes for a while and reports no error at all.

    `interface` names the GPU or NIC end: `gpu3/pcie`, `mlx5_6/1` or `gpu3/nvlink-4`; `gpu` is the
    GPU whose traffic it carries.
    """

    node: int
    gpu: int
    interface: str
    lanes: int
    periods: tuple[Minutes, ...]
    slowdown: float = 1.9

    def plant(self, site: Site, rng: np.random.Generator) -> Effects:
        """See class."""
        del rng  # nothing random about a state
        node = site.cluster.node_at(self.node)
        link = site.cluster.link_at(node, self.interface)
        active = site.grid.mask(self.periods)
        answer = link_answer("width_downgrade", link, "width_or_speed_downgrade", "")
        answer.update(lanes=self.lanes, slowdown=self.slowdown)
        effects = Effects(timed(answer, site.grid, self.periods))
        narrow = np.concatenate(([False], active))
        width = np.where(narrow, self.lanes, link.lanes).astype(np.float64)
        for end in link.ends:
            effects.levels += [
                Level(end, "width", width),
                Level(end, "speed_gbps", width / link.lanes * link.speed_gbps),
            ]
        path = "nvlink" if link.link_type == "nvlink" else "rail"
        effects.slowdowns.append(
            Slowdown(path, node, self.gpu, slower_where(active, self.slowdown))
        )
        effects.events += [
            Event(
                site.grid.at(first),
                node,
                link.near.id,
                "width_change",
                f"link width changed from x{link.lanes} to x{self.lanes}",
            )
            for first, _ in self.periods
        ]
        return effects
