"""Faults of one link that leave errors on both of its ends and slow what crosses it.

The receiving end counts bad packets, the sending end counts what it had to send again. Faults seen
in the state of a link are in `states`; things that look like faults are in `confounders`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fabric_pipeline.synth import hardware as hw
from fabric_pipeline.synth.effects import (
    Effects,
    Event,
    Increment,
    Site,
    Slowdown,
    burst_counts,
    link_answer,
    share_of,
    slower_where,
    timed,
)
from fabric_pipeline.synth.timegrid import Minutes


@dataclass(frozen=True, slots=True)
class MultiBitCrcLane:
    """One NVLink lane with multi-bit CRC errors, replays and recoveries.

    `crc_per_bin` is the mean number of multi-bit errors the GPU receives per sample interval;
    `back_share` is how much of that the other direction suffers. `slowdown` multiplies the
    collectives inside the node while a period lasts.
    """

    node: int
    gpu: int
    nvlink: int
    lane: int
    periods: tuple[Minutes, ...]
    crc_per_bin: float = 420.0
    back_share: float = 0.25
    recoveries_per_bin: float = 1.5
    slowdown: float = 5.0

    def plant(self, site: Site, rng: np.random.Generator) -> Effects:
        """See class."""
        node = site.cluster.node_at(self.node)
        link = site.cluster.link_at(node, f"gpu{self.gpu}/nvlink-{self.nvlink}")
        active = site.grid.mask(self.periods)
        answer = link_answer(
            "multi_bit_crc_lane", link, "physical_link_degradation", "corrected_multi"
        )
        answer.update(lane=self.lane, slowdown=self.slowdown)
        effects = Effects(timed(answer, site.grid, self.periods))
        forward = burst_counts(active, self.crc_per_bin, rng)
        back = burst_counts(active, self.crc_per_bin * self.back_share, rng)
        retrained = burst_counts(active, self.recoveries_per_bin, rng)
        for receiver, sender, multi in ((*link.ends, forward), (*link.ends[::-1], back)):
            single = share_of(multi, 0.08, rng)
            resent = multi + single + share_of(multi, 0.03, rng)
            effects.increments += [
                Increment(receiver, "crc_multi_bit", multi, self.lane),
                Increment(receiver, "crc_single_bit", single, self.lane),
                Increment(sender, "replay", resent),
                Increment(sender, "recovery", retrained),
            ]
        effects.slowdowns.append(
            Slowdown("nvlink", node, self.gpu, slower_where(active, self.slowdown))
        )
        chip, _, port = link.far.interface.removeprefix("nvswitch-").partition("/port-")
        pci = hw.pci_address(hw.NVSWITCH_PCI_BUSES[int(chip)])
        effects.events += [
            Event(
                site.grid.at(first + 0.4),
                node,
                link.far.id,
                "sxid",
                f"nvidia-nvswitch{chip}: SXid (PCI:{pci}): 20009, Non-fatal, "
                f"Link {port} RX Short Error Rate",
                20009,
            )
            for first, _ in self.periods
        ]
        return effects


@dataclass(frozen=True, slots=True)
class MarginalIbCable:
    """An InfiniBand cable near its limit: bursts of single-bit errors, symbol errors, resends.

    `errors_per_bin` is the mean number of single-bit errors that the NIC receives per sample
    interval; the leaf counts the resends. `slowdown` multiplies the collectives on that rail.
    """

    node: int
    gpu: int
    periods: tuple[Minutes, ...]
    errors_per_bin: float = 90.0
    back_share: float = 0.15
    slowdown: float = 2.6

    def plant(self, site: Site, rng: np.random.Generator) -> Effects:
        """See class."""
        node = site.cluster.node_at(self.node)
        link = site.cluster.rail_link(node, self.gpu)
        active = site.grid.mask(self.periods)
        answer = link_answer(
            "marginal_ib_cable", link, "physical_link_degradation", "corrected_single"
        )
        answer["slowdown"] = self.slowdown
        effects = Effects(timed(answer, site.grid, self.periods))
        forward = burst_counts(active, self.errors_per_bin, rng)
        back = burst_counts(active, self.errors_per_bin * self.back_share, rng)
        for receiver, sender, single in ((*link.ends, forward), (*link.ends[::-1], back)):
            uncorrected = share_of(single, 0.3, rng)
            effects.increments += [
                Increment(receiver, "crc_single_bit", single),
                Increment(receiver, "symbol_error", uncorrected),
                Increment(receiver, "rx_errors", share_of(uncorrected, 0.7, rng)),
                Increment(sender, "plr_retry", single),
            ]
        lost = share_of(forward, 0.2, rng)
        effects.increments += [
            Increment(link.near, "packet_seq_err", lost),
            Increment(link.near, "out_of_sequence", share_of(lost, 0.8, rng)),
        ]
        effects.slowdowns.append(
            Slowdown("rail", node, self.gpu, slower_where(active, self.slowdown))
        )
        return effects


@dataclass(frozen=True, slots=True)
class PcieReplayStorm:
    """Replays on a GPU's PCIe link far above 1000/h; AER errors at the switch port above it.

    A replay costs little time by itself: `slowdown` above one stands for what causes the replays.
    """

    node: int
    gpu: int
    periods: tuple[Minutes, ...]
    replays_per_bin: float = 60.0
    slowdown: float = 1.8

    def plant(self, site: Site, rng: np.random.Generator) -> Effects:
        """See class."""
        node = site.cluster.node_at(self.node)
        link = site.cluster.link_at(node, f"gpu{self.gpu}/pcie")
        active = site.grid.mask(self.periods)
        answer = link_answer(
            "pcie_replay_storm", link, "physical_link_degradation", "detected_retransmitted"
        )
        answer["slowdown"] = self.slowdown
        effects = Effects(timed(answer, site.grid, self.periods))
        replays = burst_counts(active, self.replays_per_bin, rng)
        effects.increments += [
            Increment(link.near, "pcie_replay", replays),
            Increment(link.far, "aer_correctable", share_of(replays, 0.9, rng)),
        ]
        if self.slowdown > 1:
            effects.slowdowns.append(
                Slowdown("rail", node, self.gpu, slower_where(active, self.slowdown))
            )
        effects.events += [
            Event(
                site.grid.at(first + 0.2),
                node,
                link.near.id,
                "aer_corrected",
                "PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Transmitter ID)",
            )
            for first, _ in self.periods
        ]
        return effects
