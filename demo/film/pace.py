"""The film's time: it is counted in ticks of a tenth of a second, never measured.

So two films of one product have the same length, however fast the machine is.
"""

from __future__ import annotations

import math

TICKS_PER_S = 10
# A caption can be read in 2.2 s and 0.04 s for each character.
READ_BASE_S, READ_CHARACTER_S = 2.2, 0.04
# Characters typed in one tick, at least: 40 a second, a person would take four times as long.
TYPED_PER_TICK = 4
# No line is typed for longer.
MOST_TYPING_TICKS = 24


def at_least_ticks(caption: str) -> int:
    """Ticks for which a caption stands at least."""
    return math.ceil((READ_BASE_S + READ_CHARACTER_S * len(caption)) * TICKS_PER_S)


def seconds(ticks: int) -> float:
    """Ticks as seconds."""
    return ticks / TICKS_PER_S


def typed_per_tick(text: str) -> int:
    """Characters of this line that appear in one tick."""
    return max(TYPED_PER_TICK, math.ceil(len(text) / MOST_TYPING_TICKS))
