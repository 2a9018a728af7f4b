"""Counts of errors in words that a person would use: one `event`, two `events`.

What a counter means stands in `model.counters`; here its wording is bent to the number.
"""

from __future__ import annotations

import re

from fabric_pipeline.model.counters import COUNTERS

# Wordings that cannot stand behind a number.
_IN_WORDS = {"link_downed": "link-down events"}
# The first of these in a wording is what is counted: `CRC errors with several wrong bits`.
_COUNTED = re.compile(
    r"\b(?:errors|flits|packets|replays|recoveries|retransmissions|codes|words|rollovers|frames|bits|events)\b"
)


def count_words(counter: str, count: float) -> str:
    """`1 link-down event`, `5 CRC errors with one wrong bit`."""
    known = COUNTERS.get(counter)
    says = _IN_WORDS.get(counter) or (known.says if known else "") or counter
    return f"{count:.0f} {_COUNTED.sub(_singular, says, count=1) if round(count) == 1 else says}"


def _singular(found: re.Match[str]) -> str:
    word = found.group()
    return f"{word[:-3]}y" if word.endswith("ies") else word[:-1]
