"""Durations and torques in a text, each in one unit, so that `half an hour` and `30 minutes` are the same.

A step may ask a technician for such a figure only when the catalogue states it; the comparison is made
in `drafting.verify`.
"""

from __future__ import annotations

import re
from decimal import Decimal

Measure = tuple[str, Decimal]

_SECONDS = {
    "s": 1,
    "sec": 1,
    "second": 1,
    "min": 60,
    "minute": 60,
    "h": 3600,
    "hr": 3600,
    "hour": 3600,
}
_SECONDS |= {"day": 86_400, "week": 604_800}
# Newton metres: the inch pound and the foot pound by definition of the international foot and pound.
_NEWTON_METRES = {"nm": "1", "lbin": "0.112985", "lbft": "1.355818", "ncm": "0.01"}
_WORDS = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
_VALUES = {word: Decimal(value) for value, word in enumerate(_WORDS, start=1)}
_VALUES |= {
    "fifteen": Decimal(15),
    "twenty": Decimal(20),
    "thirty": Decimal(30),
    "forty": Decimal(40),
}
_VALUES |= {"forty-five": Decimal(45), "sixty": Decimal(60), "ninety": Decimal(90)}
_VALUES |= {"half an": Decimal("0.5"), "half a": Decimal("0.5"), "quarter of an": Decimal("0.25")}
_NUMBER = (
    rf"(?P<number>\d{{1,9}}(?:[.,]\d{{1,6}})?|{'|'.join(sorted(_VALUES, key=len, reverse=True))})"
)
_TIME = re.compile(
    rf"(?<![\w.,-]){_NUMBER}[\s-]{{0,2}}"
    r"(?P<unit>seconds?|secs?|s|minutes?|mins?|hours?|hrs?|h|days?|weeks?)(?![\w/])",
    re.IGNORECASE,
)
# "a minute" alone is a rate ("16 replays a minute"); after these words it is a duration.
_ONE_TIME = re.compile(
    r"\b(?:wait|for|after|within|over)\W{1,2}(?:about )?an?\W(?P<unit>second|minute|hour|day|week)\b",
    re.IGNORECASE,
)
_TORQUE = re.compile(
    rf"(?<![\w.,-]){_NUMBER}[\s-]{{0,2}}(?P<unit>n[\s.·⋅*-]{{0,2}}c?m|newton[\s-]?met(?:er|re)s?"
    r"|(?:in(?:ch)?|ft|foot)[\s.·-]{0,2}(?:lb|pound)s?f?|lbf?[\s.·-]{0,2}(?:in|ft))(?!\w)",
    re.IGNORECASE,
)


def measures(text: str) -> set[Measure]:
    """(`s`, seconds) and (`N m`, newton metres) of every duration and torque in the text."""
    found = {("s", _value(hit["number"]) * _seconds(hit["unit"])) for hit in _TIME.finditer(text)}
    found |= {("s", Decimal(_seconds(hit["unit"]))) for hit in _ONE_TIME.finditer(text)}
    return found | {
        ("N m", (_value(hit["number"]) * _newton_metres(hit["unit"])).quantize(Decimal("0.01")))
        for hit in _TORQUE.finditer(text)
    }


def said(measure: Measure) -> str:
    """The measure in words for a message: `2700 s`, `1.2 N m`."""
    unit, value = measure
    plain = f"{value:f}"
    return f"{plain.rstrip('0').rstrip('.') if '.' in plain else plain} {unit}"


def _value(text: str) -> Decimal:
    known = _VALUES.get(text.casefold())
    return Decimal(text.replace(",", ".")) if known is None else known


def _seconds(unit: str) -> int:
    low = unit.casefold()
    return _SECONDS.get(low) or _SECONDS[low.removesuffix("s")]


def _newton_metres(unit: str) -> Decimal:
    letters = re.sub(r"[^a-z]", "", unit.casefold())
    if letters.startswith("newton"):
        return Decimal(1)
    if "lb" in letters or "pound" in letters:
        return Decimal(_NEWTON_METRES["lbft" if "f" in letters.replace("lbf", "") else "lbin"])
    return Decimal(_NEWTON_METRES["ncm" if letters == "ncm" else "nm"])
