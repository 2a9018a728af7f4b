"""Limits of the spike rules, each with its source. Passed in as an argument, never read elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True, slots=True)
class SpikeLimits:
    """Limits for counted errors. Rates are per observed hour or second, never over gaps."""

    # The operators' plain rule (the brief's figure). Close to what PCIe Gen4 x16 may do by
    # specification (921.6/h) and below the allowance of Gen5 x16 (1843.2/h).
    replay_per_hour: float = 1000.0
    # Sustained means at least two samples with replays (field guide Appendix B, R1).
    replay_min_samples: int = 2
    # "RM says CRC only matters at 100+/s": DCGM DcgmGPUHardwareLimits.h.
    crc_per_second: float = 100.0
    # "32 a minute": DCGM's 480 correctable errors in a diagnostic of 15 minutes (field guide R7).
    aer_per_minute: float = 32.0
    # Persistence: more than 15 of 30 one-minute windows with an increment (NVRx health check; field
    # guide R3), and an error a minute on average over them: by chance a drizzle fills many windows.
    persistent_windows: int = 30
    persistent_least: int = 15
    persistent_per_minute: float = 1.0
    # Retrains: 505 recoveries foretold a failed link five days ahead (marin#9086); three a day watch.
    recoveries_per_day: float = 3.0
    # Link downs: gpud flags 3 in 12 h, Azure 5 in 24 h (field guide R9).
    link_downs: float = 3.0
    link_downs_per_day: float = 5.0
    # BER limits of NVIDIA's ibdiagnet text: healthy below 1e-15, failed above 1e-12.
    ber_failed: float = 1e-12
    ber_watch: float = 1e-15
    # Effect floors of the statistical rule (detection.md S3): too few events prove nothing.
    min_events: float = 8.0
    min_ratio: float = 5.0
    min_per_hour: float = 200.0
    q_value: float = 0.01
    # Rates beside sibling links: 6 robust MADs, and floors because the MAD of silent siblings is zero
    # (field guide R4, R6 and Appendix B).
    sibling_mads: float = 6.0
    sibling_events: float = 3.0
    sibling_least: int = 3
    # Snapshots have totals without a time span; policy values of detection.md section 6.
    snapshot_transient: float = 100.0
    snapshot_severe: float = 1000.0
    # A snapshot total is compared with its sibling links; below this chance they differ.
    sibling_log10_p: float = -6.0


# DCGM's allowance for PCIe replays at BER 1e-12, per minute and lane, Gen1..Gen6
# (DcgmHealthWatch.cpp GetExpectedPcieReplayRate).
PCIE_REPLAYS_PER_MINUTE_AND_LANE = {1: 0.15, 2: 0.3, 3: 0.48, 4: 0.96, 5: 1.92, 6: 3.84}


def pcie_replay_allowance_per_hour(generation: int, lanes: int) -> float | None:
    """Replays per hour that the specification's bit error rate allows; None for an unknown generation."""
    per_lane = PCIE_REPLAYS_PER_MINUTE_AND_LANE.get(generation)
    return None if per_lane is None else ceil(per_lane * lanes) * 60.0
