"""Whether everything a reader found stands in its file: the check that no reading is invented.

Written without the readers' own patterns, so that it does not share their faults: digits are what ASCII
calls digits, and a value must be a number that can be seen in the text. It judges one result at a time;
how inputs are made lies in `damage`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from fabric_pipeline.model.records import (
    MAX_TEXT,
    CollectiveTiming,
    FabricEvent,
    Reading,
    ReadResult,
)
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.infiniband.ibdiagnet2_lst import GENERATION

_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_GROUPED = re.compile(r"(?<![0-9,])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])")
_DIGITS = re.compile(r"[0-9]+")
_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,30}[A-Za-z]")
_BLANKS = re.compile(r"\s+")
# Octets come as words of four (IBTA data counters); durations in s, ms and ns.
_COUNTER_FACTORS = (1.0, 4.0)
_UNIT = re.compile(r"[KMG]i?(?:B|bytes)\b")
_UNIT_FACTORS = (1.0, 1000.0, 1024.0, 1024.0**2, 1024.0**3)
_TIME_FACTORS = (1.0, 1e-3, 1e3, 1e6)
# Statements without a number of their own, and the best rate, which may follow from device ids.
_STATED = ("port_identity", "speed_max_gbps")
# What levels say is read from words and not from digits.
_WORDED = ("link_up", "pcie_gen", "pcie_gen_max", "speed_gbps")
_NOTHING_WRONG = re.compile(r"no[ _-]errors?", re.IGNORECASE)
# UFM's own numbers of the sentences "Link went up" and "Link went down".
_IMPLIED_CODES = (328, 329)
_LATIN = {n: str(unicodedata.digit(chr(n))) for n in range(0x80, 0x1FFFF) if chr(n).isdigit()}
_OPAQUE = (b"PAR1", b"\x1f\x8b", b"\x80\x02")  # Parquet, gzip and pickle hold no text


def inventions(file: SourceFile, result: ReadResult) -> Iterator[str]:
    """What stands in the result and not in the file: each entry a sentence."""
    if file.data.startswith(_OPAQUE):
        return
    text = _flat(file.text)
    for reading in result.readings:
        if reading.value is None or reading.counter in _STATED or reading.state == GENERATION:
            continue
        if not (_stands(file, text, reading) and _adds_up(reading)):
            yield f"{reading.counter} {reading.value} from {reading.value_text[:60]!r} in line {reading.line}"
    yield from (f"event code {one.code}" for one in result.events if not _has_code(text, one))
    yield from (f"duration {one.duration_us}" for one in _unseen(file, result.timings))
    all_timed: list[Reading | FabricEvent] = [*result.readings, *result.events]
    for timed in all_timed:
        if timed.time is not None and not _has_time(text, timed):
            yield f"time {timed.time} from {timed.time_text[:60]!r} in line {timed.line}"


def _stands(file: SourceFile, text: str, reading: Reading) -> bool:
    """A counted value stands in its line; digits of a level or state stand somewhere in the file."""
    wanted = _flat(reading.value_text)
    lines = file.lines
    if reading.line and reading.line <= len(lines) and wanted in _flat(lines[reading.line - 1]):
        return True
    if reading.kind == "gauge" and all(one in text for one in _DIGITS.findall(wanted)):
        return True
    return wanted in text or not _numbers(wanted).isdisjoint(_all_numbers(text))


def _adds_up(reading: Reading) -> bool:
    if reading.counter in _WORDED or reading.state or len(reading.value_text) >= MAX_TEXT:
        return True  # of a text this long only the beginning is kept
    value = float(reading.value or 0)
    if value == 0 and _NOTHING_WRONG.search(reading.value_text):
        return True
    if reading.counter.endswith("_ber"):  # mlxlink writes 15E-255 for none
        return any(math.isclose(value, n, abs_tol=1e-200) for n in _numbers(reading.value_text))
    factors = _UNIT_FACTORS if _UNIT.search(reading.value_text) else _COUNTER_FACTORS
    return any(value == n * k for n in _numbers(reading.value_text) for k in factors)


def _has_code(text: str, event: FabricEvent) -> bool:
    return event.code in (None, *_IMPLIED_CODES) or float(event.code or 0) in _all_numbers(text)


def _unseen(file: SourceFile, timings: list[CollectiveTiming]) -> Iterator[CollectiveTiming]:
    """Timings whose duration is no number of their line, nor of the file, in any unit of time."""
    for timing in timings:
        if math.isnan(timing.duration_us):
            continue
        at = timing.line
        if at and at <= len(file.lines) and _fits(timing, _numbers(_flat(file.lines[at - 1]))):
            continue
        if not _fits(timing, _all_numbers(_flat(file.text))):
            yield timing


def _fits(timing: CollectiveTiming, numbers: set[float]) -> bool:
    found = timing.duration_us
    return any(math.isclose(n * k, found, rel_tol=1e-9) for n in numbers for k in _TIME_FACTORS)


def _has_time(text: str, timed: Reading | FabricEvent) -> bool:
    """The digits of a time stand in the file; without words its year does (or the next, by zone)."""
    assert timed.time is not None
    if timed.time_text and all(one in text for one in _DIGITS.findall(timed.time_text)):
        return True
    years = [str(timed.time.year + n) for n in (0, -1, 1)]
    return any(year in text for year in years) or any(year in _latin(text) for year in years)


@lru_cache(maxsize=2)
def _latin(text: str) -> str:
    """The text with digits as ASCII has them: a date may be written in those of the site's language."""
    return text.translate(_LATIN)


@lru_cache(maxsize=4)
def _all_numbers(text: str) -> set[float]:
    """The numbers of a whole file, which every value of it is compared with."""
    return _numbers(text)


def _numbers(text: str) -> set[float]:
    found = {float(word.replace(",", "")) for word in _GROUPED.findall(text)}
    for word in _NUMBER.findall(text):
        try:
            found.add(float(int(word, 16)) if word[:2].lower() == "0x" else float(word))
        except (OverflowError, ValueError):
            continue
    return found


def _flat(text: str) -> str:
    return _BLANKS.sub(" ", _COLOUR.sub("", text)).strip()
