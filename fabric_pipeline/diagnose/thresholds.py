"""Limits of the findings: how slow is severe, what is noise, what lasts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IsolationLimits:
    """What counts as severe, as noise and as lasting; how links are weighed stands in `localise`."""

    # Degradation above this is severe (detection.md section 6, L2).
    severe_pct: float = 50.0
    noise_pct: float = 5.0
    # A slow interval shorter than this many collectives is a moment, not a fault.
    lasting_collectives: int = 4
