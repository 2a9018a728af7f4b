"""The verdict on one snapshot: an error axis and a latency axis, judged apart, on exact decimals.

One rule set for both reference shapes and for incident records; the shapes are only views of it. No
rate is invented: totals are judged by totals. Reading the shapes belongs to `reference_case`.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal

from fabric_pipeline.detect.spikes.thresholds import SpikeLimits
from fabric_pipeline.diagnose.thresholds import IsolationLimits

_TENTH = Decimal("0.1")
_DIGITS = Context(prec=60)  # whatever the ratio, its tenths are there


@dataclass(frozen=True, slots=True)
class SnapshotVerdict:
    """What errors and latency say together.

    `errors`: E0 transient, E1 elevated, E2 severe, or unknown. `latency`: L0 within noise, L1 slower,
    L2 much slower, or unknown. `degradation_exact` is the percentage as an exact decimal, None when
    no latency pair is given.
    """

    errors: str
    latency: str
    fault_type: str
    severity: str
    priority: str
    blames_link: bool
    degradation_exact: Decimal | None

    @property
    def degradation_pct(self) -> float | None:
        """The percentage as it is reported; see `reported_degradation`."""
        return (
            None if self.degradation_exact is None else reported_degradation(self.degradation_exact)
        )


# (errors, latency) -> fault type, severity, priority, blames the link. detection.md section 6.
_TABLE: dict[tuple[str, str], tuple[str, str, str, bool]] = {
    ("E0", "L0"): ("nominal", "INFO", "low", False),
    ("E0", "L1"): ("not_a_link", "WARNING", "normal", False),
    ("E0", "L2"): ("not_a_link", "WARNING", "high", False),
    ("E1", "L0"): ("link_errors_without_effect", "WATCH", "normal", False),
    ("E1", "L1"): ("physical_link_degradation", "WARNING", "high", True),
    ("E1", "L2"): ("physical_link_degradation", "WARNING", "high", True),
    ("E2", "L0"): ("link_errors_without_effect", "WARNING", "normal", True),
    ("E2", "L1"): ("physical_link_degradation", "WARNING", "high", True),
    ("E2", "L2"): ("physical_link_degradation", "CRITICAL", "urgent", True),
    # Half of the picture is missing: say what the other half shows, never "nominal".
    ("E0", "unknown"): ("no_data", "INFO", "low", False),
    ("E1", "unknown"): ("link_errors_without_effect", "WATCH", "normal", False),
    ("E2", "unknown"): ("physical_link_degradation", "WARNING", "high", True),
    ("unknown", "L0"): ("no_data", "INFO", "low", False),
    ("unknown", "L1"): ("no_data", "WARNING", "normal", False),
    ("unknown", "L2"): ("no_data", "WARNING", "high", False),
    ("unknown", "unknown"): ("no_data", "INFO", "low", False),
}


def snapshot_verdict(
    error_totals: list[int],
    latency: Decimal | None,
    baseline: Decimal | None,
    spikes: SpikeLimits | None = None,
    isolation: IsolationLimits | None = None,
) -> SnapshotVerdict:
    """Judge totals of one link (CRC, replay, ...) beside one latency and its baseline, in one unit."""
    spikes, isolation = spikes or SpikeLimits(), isolation or IsolationLimits()
    exact = None if latency is None or baseline is None else (latency / baseline - 1) * 100
    errors = _error_axis(error_totals, spikes)
    slow = _latency_axis(exact, isolation)
    fault_type, severity, priority, blames = _TABLE[errors, slow]
    return SnapshotVerdict(errors, slow, fault_type, severity, priority, blames, exact)


def reported_degradation(exact: Decimal, noise_pct: Decimal = Decimal(5)) -> float:
    """One decimal place, in two zones.

    Inside the noise band the figure is cut off, because noise is never rounded up into a degradation;
    outside it is rounded half up. The verdict is always taken on the exact value.
    """
    rounding = ROUND_DOWN if abs(exact) <= noise_pct else ROUND_HALF_UP
    tenths = exact.quantize(_TENTH, rounding=rounding, context=_DIGITS)
    return float(tenths) + 0.0  # no negative zero


def _error_axis(totals: list[int], limits: SpikeLimits) -> str:
    if not totals:
        return "unknown"
    worst = max(totals)
    if worst >= limits.snapshot_severe:
        return "E2"
    return "E1" if worst > limits.snapshot_transient else "E0"


def _latency_axis(exact: Decimal | None, limits: IsolationLimits) -> str:
    if exact is None:
        return "unknown"
    if exact > Decimal(str(limits.severe_pct)):
        return "L2"
    return "L1" if exact > Decimal(str(limits.noise_pct)) else "L0"
