"""The rules that judge one error interval or one snapshot total against its limits.

Pure: a measured `Counted` and limits in, rule hits out, each with value, limit and source. Which link
is to blame is decided in `diagnose`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from fabric_pipeline.detect.spikes.thresholds import SpikeLimits, pcie_replay_allowance_per_hour
from fabric_pipeline.model.counters import COUNTERS

REPLAYS = frozenset({"replay", "pcie_replay"})
CRC = frozenset({"crc", "crc_flit", "crc_data", "crc_single_bit", "crc_multi_bit"})
RETRAINS = frozenset({"recovery", "link_error_recovery", "pcie_replay_rollover"})


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted at one link end: an interval with exposure, or a snapshot without.

    `in_12h` and `in_24h` are the most events of any half day and day that ends in the interval, those
    of earlier intervals included.
    """

    counter: str
    error_class: str
    link_type: str
    events: float
    exposure_s: float | None = None
    samples: int = 1
    series_samples: int = 1
    surprise: float = 0.0
    q_value: float = 1.0
    expected: float = 0.0
    bytes_moved: float | None = None
    pcie_generation: int | None = None
    pcie_lanes: int | None = None
    sibling_log10_p: float = 0.0
    siblings: int = 0
    in_12h: float = 0.0
    in_24h: float = 0.0

    @property
    def is_quality(self) -> bool:
        """True for what FEC repaired: a margin without any published limit, never trouble by itself."""
        return COUNTERS[self.counter].role == "quality"

    @property
    def per_hour(self) -> float | None:
        """Errors per observed hour; None without a time span."""
        return self.events * 3600 / self.exposure_s if self.exposure_s else None


@dataclass(frozen=True, slots=True)
class RuleHit:
    """One rule that fired. `severity` is what the rule alone would say."""

    rule_id: str
    severity: str
    says: str
    value: str
    limit: str
    source: str

    def as_dict(self) -> dict[str, str]:
        """For storage."""
        return asdict(self)


def judge_interval(c: Counted, limits: SpikeLimits) -> list[RuleHit]:
    """Rules for counts with a known time span."""
    rules = (
        _replay_plain,
        _replay_physics,
        _crc_rate,
        _persistence,
        _retrains,
        _link_down,
        _ber,
        _unusual,
    )
    return [hit for rule in rules if (hit := rule(c, limits)) is not None]


def judge_snapshot(c: Counted, limits: SpikeLimits) -> list[RuleHit]:
    """Rules for a total without a time span: count limits and siblings; never a rate."""
    hits = []
    stands_out = c.siblings >= 2 and c.sibling_log10_p <= limits.sibling_log10_p
    total, slight = f"{c.events:.0f} in total", "warning" if stands_out else "watch"
    if c.error_class == "link_down":
        return [
            RuleHit(
                "snapshot_total",
                "watch",
                "the link has been down at some time",
                total,
                "0",
                "total without a time span",
            )
        ]
    if c.is_quality:
        return [_sibling_hit(c, "watch", limits)] if stands_out else []
    if c.events >= limits.snapshot_severe:
        alone = c.siblings < 2 and c.counter == "pcie_replay"
        severity = "watch" if alone or (c.siblings >= 2 and not stands_out) else "critical"
        hits.append(_total_hit(severity, total, limits.snapshot_severe))
    elif c.events > limits.snapshot_transient:
        hits.append(_total_hit(slight, total, limits.snapshot_transient))
    elif c.counter in RETRAINS and c.events >= limits.recoveries_per_day:
        hits.append(_total_hit(slight, total, limits.recoveries_per_day))
    if stands_out and hits:
        hits.append(_sibling_hit(c, hits[0].severity, limits))
    return hits


def _sibling_hit(c: Counted, severity: str, limits: SpikeLimits) -> RuleHit:
    return RuleHit(
        "sibling_outlier", severity, f"far above its {c.siblings} sibling link ends, which share the unknown time span",
        f"chance 10^{max(c.sibling_log10_p, -9999):.0f}", f"10^{limits.sibling_log10_p:.0f}", "binomial over equal links, detection.md section 6",
    )  # fmt: skip


def _total_hit(severity: str, value: str, limit: float) -> RuleHit:
    return RuleHit(
        "snapshot_total", severity, "total above the limit for counts without a time span",
        value, f"{limit:.0f}", "snapshot policy limit; no rate can be given",
    )  # fmt: skip


def _replay_plain(c: Counted, limits: SpikeLimits) -> RuleHit | None:
    if c.counter not in REPLAYS or c.per_hour is None or c.per_hour <= limits.replay_per_hour:
        return None
    sustained = c.samples >= limits.replay_min_samples or (c.exposure_s or 0) >= 600
    allowance = _allowance(c)
    within_spec = allowance is not None and c.per_hour <= allowance
    says = "replays above the plain limit"
    if within_spec:
        says += f"; the plain limit is stricter than the specification here, which allows {allowance:.0f}/h"
    severity = "warning" if sustained and not within_spec else "watch"
    return RuleHit(
        "replay_plain_limit",
        severity,
        says,
        f"{c.per_hour:.0f}/h",
        f"{limits.replay_per_hour:.0f}/h",
        "operators' plain rule",
    )


def _replay_physics(c: Counted, _: SpikeLimits) -> RuleHit | None:
    allowance = _allowance(c)
    if allowance is None or c.per_hour is None or c.per_hour <= allowance:
        return None
    says = f"replays above what PCIe Gen{c.pcie_generation} x{c.pcie_lanes} may have at a bit error rate of 1e-12"
    return RuleHit(
        "replay_physics_limit",
        "warning",
        says,
        f"{c.per_hour:.0f}/h",
        f"{allowance:.0f}/h",
        "DCGM DcgmHealthWatch.cpp",
    )


def _crc_rate(c: Counted, limits: SpikeLimits) -> RuleHit | None:
    if c.counter not in CRC or not c.exposure_s or c.events / c.exposure_s < limits.crc_per_second:
        return None
    rate = c.events / c.exposure_s
    return RuleHit(
        "crc_per_second",
        "critical",
        "CRC errors at a rate that costs bandwidth",
        f"{rate:.0f}/s",
        f"{limits.crc_per_second:.0f}/s",
        "DCGM DcgmGPUHardwareLimits.h",
    )


def _persistence(c: Counted, limits: SpikeLimits) -> RuleHit | None:
    share = c.samples / max(c.series_samples, 1)
    if c.is_quality:  # FEC repairs all the time, that is its work
        return None
    if c.samples <= limits.persistent_min_samples or share <= limits.persistent_share:
        return None
    return RuleHit("persistent_errors", "watch", "errors in most samples of the window", f"{c.samples} of {c.series_samples} samples",
                   f"more than {limits.persistent_share:.0%}", "persistence test after NVRx health_check.py")  # fmt: skip


def _retrains(c: Counted, limits: SpikeLimits) -> RuleHit | None:
    if c.counter not in RETRAINS or c.in_24h < limits.recoveries_per_day:
        return None
    return RuleHit("repeated_retrains", "warning", "the link was retrained again and again", f"{c.in_24h:.0f} within a day",
                   f"{limits.recoveries_per_day:.0f} a day", "field guide R4 (a failing link retrains days before it fails)")  # fmt: skip


def _link_down(c: Counted, limits: SpikeLimits) -> RuleHit | None:
    if c.error_class != "link_down":
        return None
    if c.in_12h >= limits.link_downs:
        return RuleHit("link_flapping", "critical", "the link went down again and again", f"{c.in_12h:.0f} times within 12 h",
                       f"{limits.link_downs:.0f} in 12 h", "gpud scan_flaps.go")  # fmt: skip
    return RuleHit(
        "link_down",
        "watch",
        "the link went down",
        f"{c.events:.0f} times",
        "0",
        "counter text; one drop may be a restart",
    )


def _ber(c: Counted, limits: SpikeLimits) -> RuleHit | None:
    if (
        c.error_class != "uncorrected"
        or not c.bytes_moved
        or c.link_type not in ("infiniband", "roce", "ethernet")
    ):
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
        "NVIDIA ibdiagnet BER text",
    )


def _unusual(c: Counted, limits: SpikeLimits) -> RuleHit | None:
    strong = c.events >= limits.min_events and (c.per_hour or 0) >= limits.min_per_hour
    if not strong or c.events < limits.min_ratio * c.expected or c.q_value > limits.q_value:
        return None
    # A count that is severe as a bare total is no less severe when its time span is known; single bits
    # that were corrected are a margin, not a loss, and PCIe replays have an allowance of their own.
    is_severe = (
        c.events >= limits.snapshot_severe
        and c.error_class != "corrected_single"
        and c.link_type != "pcie"
    )
    return RuleHit("unusual_count", "warning" if is_severe else "watch", "far more than its peers and its own past let expect",
                   f"{c.events:.0f} where {c.expected:.1f} are expected", f"q <= {limits.q_value:g}", "negative binomial, Benjamini-Hochberg")  # fmt: skip


def _allowance(c: Counted) -> float | None:
    if c.counter != "pcie_replay" or c.pcie_generation is None or c.pcie_lanes is None:
        return None
    return pcie_replay_allowance_per_hour(c.pcie_generation, c.pcie_lanes)
