"""Limits of isolation: what coincidence is enough to hold a link responsible for slow collectives."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IsolationLimits:
    """Shares are of time bins. Set on development drops; the diagnosis benchmark states the accuracy."""

    # A single block of errors inside one run can reach 3 shifts of T at best, so the limit is loose
    # and the shares below carry the weight.
    p_value: float = 0.05
    short_run_p_value: float = 0.1
    short_run_share: float = 0.8
    # Most of the link's error time must be slow time ...
    overlap_share: float = 0.5
    # ... and the errors must explain a good part of the slow time.
    covered_share: float = 0.25
    # The collectives must be slower with errors than without, beyond the 5 % noise band.
    effect_pct: float = 5.0
    # Degradation above this is severe (detection.md section 6, L2).
    severe_pct: float = 50.0
    noise_pct: float = 5.0
    # A slow interval shorter than this many collectives is a moment, not a fault.
    lasting_collectives: int = 4
