"""The rules for counts with a known time span, one function each, with the source of its limit.

Order and choice are in `INTERVAL_RULES`; `intervals_sql` keeps out what none of them can flag.
"""

from __future__ import annotations

from fabric_pipeline.detect.spikes.counted import (
    AER,
    BER_LINKS,
    CRC,
    REPLAYS,
    RETRAINS,
    Counted,
    RuleHit,
)
from fabric_pipeline.detect.spikes.thresholds import SpikeLimits, pcie_replay_allowance_per_hour


def _is_sustained(c: Counted, limits: SpikeLimits) -> bool:
    """One short sample is no lasting rate."""
    return c.samples >= limits.replay_min_samples or (c.exposure_s or 0) >= 600


def _replay_plain(c: Counted, limits: SpikeLimits) -> RuleHit | None:
    # A single replay in a sample of three seconds is 1200 an hour and means nothing.
    if c.counter not in REPLAYS or c.per_hour is None or c.events < limits.min_events:
        return None
    if c.per_hour <= limits.replay_per_hour:
        return None
    allowance = _allowance(c)
    within_spec = allowance is not None and c.per_hour <= allowance
    says = "replays above the plain limit"
    if within_spec:
        says += f"; the plain limit is stricter than the specification here, which allows {allowance:.0f}/h"
    severity = "warning" if _is_sustained(c, limits) and not within_spec else "watch"
    return RuleHit("replay_plain_limit", severity, says, f"{c.per_hour:.0f}/h",
                   f"{limits.replay_per_hour:.0f}/h", "operators' plain rule, see docs/diagnosis.md")  # fmt: skip


def _replay_physics(c: Counted, limits: SpikeLimits) -> RuleHit | None:
    allowance = _allowance(c)
    if allowance is None or not c.exposure_s or c.events < limits.min_events:
        return None
    # DCGM compares counts of whole minutes; in a shorter time chance alone goes beyond the mean rate.
    if c.events <= allowance / 3600 * max(c.exposure_s, 60):
        return None
    says = f"replays above what PCIe Gen{c.pcie_generation} x{c.pcie_lanes} may have at a bit error rate of 1e-12"
    return RuleHit("replay_physics_limit", "warning" if _is_sustained(c, limits) else "watch", says,
                   f"{c.per_hour:.0f}/h", f"{allowance:.0f}/h", "NVIDIA DCGM, DcgmHealthWatch.cpp")  # fmt: skip


def _crc_rate(c: Counted, limits: SpikeLimits) -> RuleHit | None:
    if c.counter not in CRC or not c.exposure_s or c.events < limits.min_events:
        return None
    if c.events / c.exposure_s < limits.crc_per_second:
        return None
    return RuleHit("crc_per_second", "critical", "CRC errors at a rate that costs bandwidth", f"{c.events / c.exposure_s:.0f}/s",
                   f"{limits.crc_per_second:.0f}/s", "NVIDIA DCGM, DcgmGPUHardwareLimits.h")  # fmt: skip


def _aer_rate(c: Counted, limits: SpikeLimits) -> RuleHit | None:
    if c.counter not in AER or not c.exposure_s:
        return None
    per_minute = c.events * 60 / max(c.exposure_s, 60)
    if per_minute <= limits.aer_per_minute:
        return None
    return RuleHit("aer_per_minute", "watch", "correctable PCIe errors above the hard line", f"{per_minute:.0f}/min",
                   f"{limits.aer_per_minute:.0f}/min", "NVIDIA DCGM, diagnostic plugin Pcie.cpp, 480 in 15 minutes")  # fmt: skip


def _persistence(c: Counted, limits: SpikeLimits) -> RuleHit | None:
    # FEC repairs all the time, that is its work.
    if c.is_quality or c.persistent_windows <= limits.persistent_least:
        return None
    of = limits.persistent_windows
    return RuleHit("persistent_errors", "watch", "errors in most one-minute windows of half an hour", f"{c.persistent_windows} of {of} windows",
                   f"more than {limits.persistent_least} of {of}", "own rule after NVIDIA NVRx, health_check.py, see docs/diagnosis.md")  # fmt: skip


def _retrains(c: Counted, limits: SpikeLimits) -> RuleHit | None:
    if c.counter not in RETRAINS or c.in_24h < limits.recoveries_per_day:
        return None
    return RuleHit("repeated_retrains", "warning", "the link was retrained again and again", f"{c.in_24h:.0f} within a day",
                   f"{limits.recoveries_per_day:.0f} a day", "own rule after marin-community/marin issue 9086, see docs/diagnosis.md")  # fmt: skip


def _link_down(c: Counted, limits: SpikeLimits) -> RuleHit | None:
    if c.error_class != "link_down":
        return None
    if c.in_12h >= limits.link_downs:
        return RuleHit("link_flapping", "critical", "the link went down again and again", f"{c.in_12h:.0f} times within 12 h",
                       f"{limits.link_downs:.0f} in 12 h", "gpud, infiniband/store/scan_flaps.go")  # fmt: skip
    if c.in_24h >= limits.link_downs_per_day:
        return RuleHit("link_flapping", "critical", "the link went down again and again", f"{c.in_24h:.0f} times within 24 h",
                       f"{limits.link_downs_per_day:.0f} in 24 h", "Azure node health checks, azure_ib_link_flapping.nhc")  # fmt: skip
    return RuleHit(
        "link_down",
        "watch",
        "the link went down between two readings",
        "once" if c.events == 1 else f"{c.events:.0f} times",
        "0",
        "own rule, see docs/diagnosis.md",
    )


def _ber(c: Counted, limits: SpikeLimits) -> RuleHit | None:
    if c.error_class != "uncorrected" or not c.bytes_moved or c.link_type not in BER_LINKS:
        return None
    ber = c.events / (c.bytes_moved * 8)
    if ber <= limits.ber_watch:
        return None
    severity = "warning" if ber > limits.ber_failed else "watch"
    limit = limits.ber_failed if severity == "warning" else limits.ber_watch
    return RuleHit(
        "bit_error_rate",
        severity,
        "errors left after correction, per bit moved",
        f"{ber:.1e}",
        f"{limit:.0e}",
        "NVIDIA ibdiagnet documentation, page on BER",
    )


def _uncorrected(c: Counted, _: SpikeLimits) -> RuleHit | None:
    # Where bits are known the bit error rate is the judge. A drizzle is said once, not once an interval.
    if c.error_class != "uncorrected" or not c.is_largest:
        return None
    if c.link_type in BER_LINKS and c.bytes_moved:
        return None
    return RuleHit("uncorrected_errors", "watch", "errors left after correction: nothing after this layer repairs them",
                   f"{c.events:.0f}", "0", "NVIDIA DCGM, DcgmHealthWatch.cpp")  # fmt: skip


def _unusual(c: Counted, limits: SpikeLimits) -> RuleHit | None:
    count, hours = c.window_events, c.window_s / 3600
    if count < limits.min_events or count < limits.min_per_hour * hours:
        return None
    if count < limits.min_ratio * c.expected or c.q_value > limits.q_value:
        return None
    # A count that is severe as a bare total is no less severe when its time span is known; single bits
    # that were corrected are a margin, not a loss, and PCIe replays have an allowance of their own.
    is_severe = (
        c.events >= limits.snapshot_severe
        and c.error_class != "corrected_single"
        and c.link_type != "pcie"
    )
    return RuleHit("unusual_count", "warning" if is_severe else "watch", "far more than its peers and its own past let expect",
                   f"{count:.0f} in {c.window_s:.0f} s where {c.expected:.1f} are expected", f"q <= {limits.q_value:g}",
                   "own rule, negative binomial with Benjamini-Hochberg, see docs/diagnosis.md")  # fmt: skip


def _beside_siblings(c: Counted, _: SpikeLimits) -> RuleHit | None:
    if c.sibling_limit_per_hour is None or c.sibling_per_hour <= c.sibling_limit_per_hour:
        return None
    return RuleHit("sibling_outlier_rate", "watch", f"far above the rate of its {c.siblings} sibling links, whose median is {c.sibling_median_per_hour:.1f}/h",
                   f"{c.sibling_per_hour:.1f}/h over the whole series", f"{c.sibling_limit_per_hour:.1f}/h",
                   "own rule, 6 robust MADs over the siblings, see docs/diagnosis.md")  # fmt: skip


def _allowance(c: Counted) -> float | None:
    if c.counter != "pcie_replay" or c.pcie_generation is None or c.pcie_lanes is None:
        return None
    return pcie_replay_allowance_per_hour(c.pcie_generation, c.pcie_lanes)


INTERVAL_RULES = (
    _replay_plain,
    _replay_physics,
    _crc_rate,
    _aer_rate,
    _persistence,
    _retrains,
    _link_down,
    _ber,
    _uncorrected,
    _unusual,
    _beside_siblings,
)
