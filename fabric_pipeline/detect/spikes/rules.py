"""The rules that judge one error interval or one snapshot total against its limits.

Pure: a measured `Counted` and limits in, rule hits out, each with value, limit and source. Which link
is to blame is decided in `diagnose`.
"""

from __future__ import annotations

from fabric_pipeline.detect.spikes.counted import CRC, REPLAYS, RETRAINS, Counted, RuleHit
from fabric_pipeline.detect.spikes.interval_rules import INTERVAL_RULES
from fabric_pipeline.detect.spikes.thresholds import SpikeLimits

__all__ = ["CRC", "REPLAYS", "RETRAINS", "Counted", "RuleHit", "judge_interval", "judge_snapshot"]


def judge_interval(c: Counted, limits: SpikeLimits) -> list[RuleHit]:
    """Rules for counts with a known time span."""
    return [hit for rule in INTERVAL_RULES if (hit := rule(c, limits)) is not None]


def judge_snapshot(c: Counted, limits: SpikeLimits) -> list[RuleHit]:
    """Rules for a total without a time span: count limits and siblings; never a rate."""
    hits = []
    stands_out = c.siblings >= 2 and c.sibling_log10_p <= limits.sibling_log10_p
    total, slight = _total(c), "warning" if stands_out else "watch"
    if c.error_class == "link_down":
        return [
            RuleHit(
                "snapshot_total",
                "watch",
                "the link has been down at some time",
                total,
                "0",
                "own rule, no rate can be given, see docs/diagnosis.md",
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
    if not hits:
        return _old_total(c, limits)
    if stands_out:
        hits.append(_sibling_hit(c, hits[0].severity, limits))
    return hits


def _old_total(c: Counted, limits: SpikeLimits) -> list[RuleHit]:
    """A total above the limit that grew too little between captures to accuse anybody now."""
    if c.whole_total is None or c.whole_total <= limits.snapshot_transient:
        return []
    return [
        RuleHit(
            "snapshot_total", "watch", "the total is above the limit, but nearly all of it is from before these captures",
            _total(c), f"{limits.snapshot_transient:.0f}", "own rule, no rate can be given, see docs/diagnosis.md",
        )
    ]  # fmt: skip


def _total(c: Counted) -> str:
    if c.whole_total is None:
        return f"{c.events:.0f} in total"
    return f"{c.events:.0f} more, {c.whole_total:.0f} in total"


def _sibling_hit(c: Counted, severity: str, limits: SpikeLimits) -> RuleHit:
    return RuleHit(
        "sibling_outlier", severity, f"far above its {c.siblings} sibling link ends, which share the unknown time span",
        f"chance 10^{max(c.sibling_log10_p, -9999):.0f}", f"10^{limits.sibling_log10_p:.0f}", "own rule, binomial over equal links, see docs/diagnosis.md",
    )  # fmt: skip


def _total_hit(severity: str, value: str, limit: float) -> RuleHit:
    return RuleHit(
        "snapshot_total", severity, "total above the limit for counts without a time span",
        value, f"{limit:.0f}", "own rule, no rate can be given, see docs/diagnosis.md",
    )  # fmt: skip
