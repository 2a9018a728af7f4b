"""The limit that belongs to each error counter of a link, with the source of that limit.

Limits are those of the spike rules, so a panel and a verdict never disagree on them. A counter without a
published limit has none here: it is shown with its count alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric_pipeline.detect.spikes.counted import AER, BER_LINKS
from fabric_pipeline.detect.spikes.rules import CRC, REPLAYS, RETRAINS
from fabric_pipeline.detect.spikes.thresholds import SpikeLimits
from fabric_pipeline.model.counters import COUNTERS

PER_HOUR, IN_TOTAL, PER_BIT = "per hour", "in total", "per bit"


@dataclass(frozen=True, slots=True)
class CounterLimit:
    """`amount` in `unit` (`per hour`, `in total`, `per bit`), and where the figure comes from."""

    amount: float
    unit: str
    source: str


def limit_of(
    counter: str,
    link_type: str,
    *,
    is_total: bool = False,
    has_bits: bool = False,
    limits: SpikeLimits | None = None,
) -> CounterLimit | None:
    """The limit of a counter, None where nobody has published one and the project sets none.

    `is_total`: the count has no known time span, so that only a limit of totals can hold.
    `has_bits`: the bits moved over the link are known, so that a bit error rate can be given.
    """
    limits = limits or SpikeLimits()
    spec = COUNTERS[counter]
    if spec.role != "error":
        return None
    if is_total:
        return _of_total(spec.error_class, limits)
    if spec.error_class == "uncorrected" and link_type in BER_LINKS and has_bits:
        return CounterLimit(limits.ber_failed, PER_BIT, "NVIDIA ibdiagnet BER text")
    if spec.error_class == "link_down":
        return CounterLimit(limits.link_downs, IN_TOTAL, "gpud scan_flaps.go, within 12 h")
    return _of_rate(counter, limits)


def _of_total(error_class: str, limits: SpikeLimits) -> CounterLimit | None:
    if error_class == "link_down":
        return None
    source = "policy of this project for totals without a time span"
    return CounterLimit(limits.snapshot_severe, IN_TOTAL, source)


def _of_rate(counter: str, limits: SpikeLimits) -> CounterLimit | None:
    if counter in REPLAYS:
        return CounterLimit(limits.replay_per_hour, PER_HOUR, "operators' plain rule")
    if counter in CRC:
        return CounterLimit(
            limits.crc_per_second * 3600, PER_HOUR, "DCGM DcgmGPUHardwareLimits.h, 100 a second"
        )
    if counter in RETRAINS:
        return CounterLimit(limits.recoveries_per_day, IN_TOTAL, "own rule, see docs/diagnosis.md")
    if counter in AER:
        return CounterLimit(
            limits.aer_per_minute * 60, PER_HOUR, "DCGM diagnostic, 480 in 15 minutes"
        )
    return None
