"""Collects what the readers of this family find: one reading for one measured thing.

The same counter can stand in a scrape several times (once per MIG instance or pod, under an old
and a new name, in several scrapes of one file). This module tells these cases apart; it does not
know any metric.
"""

from __future__ import annotations

from datetime import datetime
from math import isnan

from fabric_pipeline.model.counters import is_blank
from fabric_pipeline.model.records import Reading, ReadResult, UnknownFact
from fabric_pipeline.sources.base import Hints
from fabric_pipeline.sources.prometheus.exposition import Sample, parse_time

_BLANK_WORDS = ("blank", "not found", "not supported", "not permitted")


class Gather:
    """Fills one `ReadResult`.

    A series that comes again without a stamp begins a new scrape. `duplicates` counts values that
    repeat what another series of the same instant says of the same counter.
    """

    def __init__(self, hints: Hints) -> None:
        self.result = ReadResult()
        self.duplicates = 0
        self.scrapes = 1
        self._hints = hints
        self._series: set[tuple[str, str]] = set()
        self._at: dict[tuple[object, ...], Reading] = {}
        self._facts: set[tuple[str, str, str]] = set()
        self._last_scrape = 0

    def instant(self, sample: Sample) -> tuple[datetime | None, object]:
        """Time of a sample, and a token that is equal for samples of one instant."""
        if sample.time_text:
            time = parse_time(sample.time_text)
            return time, time
        series = (sample.name, sample.label_text)
        if series in self._series:
            self._series.clear()
            self.scrapes += 1
            self._last_scrape = len(self.result.readings)
        self._series.add(series)
        return self._hints.time, self.scrapes

    def add(self, reading: Reading, instant: object, origin: str) -> None:
        """Keep a reading unless the same instant already says this of this counter.

        Two spellings of one counter that disagree: the worse value (a link that is down, else the
        higher count) keeps the canonical name and the other one is kept raw.
        """
        measured = reading.quality != "not_supported"
        counter = (reading.counter if measured else "") or reading.counter_text
        place = (reading.node, reading.interface, reading.lane, reading.scope)
        key = (instant, origin, measured, counter, *place)
        earlier = self._at.get(key)
        if earlier is None:
            self._at[key] = reading
        elif earlier.value == reading.value and earlier.counter == reading.counter:
            self.duplicates += 1
            return
        elif _worse(reading, earlier):
            earlier.counter = ""
            self._at[key] = reading
        else:
            reading.counter = ""
        self.result.readings.append(reading)

    def unknown(self, node: str, interface: str, what: str, reason: str) -> None:
        """State once that something is not known."""
        key = (node, interface, what)
        if key not in self._facts:
            self._facts.add(key)
            self.result.unknown.append(UnknownFact(node, interface, what, reason))

    def finish(self) -> ReadResult:
        """The result; values of earlier, undated scrapes lose the time of the capture."""
        if self.scrapes > 1:
            for reading in self.result.readings[: self._last_scrape]:
                if not reading.time_text:
                    reading.time = None
            self.unknown("", "", "time of the earlier scrapes", "their lines carry no time stamps")
        if self.duplicates:
            self.result.facts["duplicate_values"] = self.duplicates
        return self.result


def not_measured(value: float, value_text: str) -> str:
    """Why a number measures nothing (blank sentinel, NaN, N/A), or "" for a real number."""
    if isnan(value):
        return f"the value is {value_text[:40]}"
    if is_blank(value):
        return f"the value {value_text[:40]} is the code for {_blank_word(value_text)}"
    return ""


def _blank_word(text: str) -> str:
    digits = text.partition(".")[0]
    if digits.isdecimal() and digits.isascii():
        # The codes are 2^31 - 16, 2^63 - 16 and 2^47, each followed by three more.
        offset = int(digits) % 16
        if offset < len(_BLANK_WORDS):
            return _BLANK_WORDS[offset]
    return "blank or not supported"


def _worse(new: Reading, old: Reading) -> bool:
    if new.value is None or old.value is None:
        return old.value is None
    return new.value < old.value if new.counter == "link_up" else new.value > old.value
