"""Plain reading of a draft for the graders: its texts, its figures, and names with numbers.

Written apart from the checks of `fabric_pipeline.drafting` on purpose, and simpler, so that the drafts are
not graded by the very code that let them pass.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from fabric_pipeline.incidents.ticket import TicketDraft

_FIGURE = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?![\w.]*\w)")
_NAME = re.compile(r"[A-Za-z0-9_./:+#-]*\d[A-Za-z0-9_./:+#-]*")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_PAIR = re.compile(
    r"\b(nvlink|gpu|port|lane|rack|unit|slot|socket|nvswitch|leaf|spine|rank)s?[\s:_-]{0,2}(?:U|r)?(\d+)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+")


def texts(draft: TicketDraft) -> dict[str, str]:
    """Every text that a drafter words, by field."""
    text = draft.text
    found = {"title": text.title, "summary": text.summary, "rollback": text.rollback}
    found |= {f"claim {n}": one.claim for n, one in enumerate(text.evidence_statements, 1)}
    found |= {f"alternative {n}": one for n, one in enumerate(text.alternatives, 1)}
    for number, step in enumerate(text.repair_steps, 1):
        found |= {f"step {number}": step.do, f"step {number} proves": step.proves}
    return found


def folded(text: str) -> str:
    """Small letters, times with a blank, numbers without thousands separators, one blank between words."""
    text = re.sub(r"(?<=\d)T(?=\d\d:)", " ", text).casefold()
    return " ".join(re.sub(r"(?<=\d),(?=\d{3}\b)", "", text).split())


def leaves(value: Any) -> Iterator[str]:
    """Every string and number of nested plain data."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from leaves(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


class Source:
    """What a text may speak of: names, numbers and pairs such as `nvlink 11` found in plain data."""

    def __init__(self, data: Iterable[Any]) -> None:
        """`data` is anything that JSON can hold."""
        said = [leaf for item in data for leaf in leaves(json.loads(json.dumps(item, default=str)))]
        self.text = folded(" \n ".join(said))
        self.numbers = {float(number) for number in _NUMBER.findall(self.text)}
        self.pairs = pairs(self.text)

    def holds(self, name: str) -> bool:
        """True for a name or figure that the data have, also rounded or as a part of a name."""
        name = folded(name).strip(".:,;/+#-")
        if not name or name in self.text:
            return True
        try:
            number = float(name)
        except ValueError:
            return False
        places = len(name.partition(".")[2])
        return any(_is_rounded(number, known, places) for known in self.numbers)


def _is_rounded(stated: float, known: float, places: int) -> bool:
    return bool(abs(stated - known) <= 0.5 * 10**-places + 1e-9 * abs(known))


def names(text: str) -> list[str]:
    """Words with a digit in them: figures, serials, ports, times."""
    found = [word.strip(".:,;/+#-") for word in _NAME.findall(_without_separators(text))]
    return [word for word in found if any(char.isdigit() for char in word)]


def figures(text: str) -> list[str]:
    """Numbers that stand alone: counts, rates, times of day are left to `names`."""
    return [one.replace(",", "") for one in _FIGURE.findall(text)]


def pairs(text: str) -> set[tuple[str, int]]:
    """`NVLink 11`, `gpu5`, `port-30` as (kind, number)."""
    return {(kind.casefold(), int(number)) for kind, number in _PAIR.findall(text)}


def sentences(text: str) -> list[str]:
    """Split at full stops and semicolons."""
    return [part for part in _SENTENCE.split(text) if part.strip()]


def _without_separators(text: str) -> str:
    return re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
