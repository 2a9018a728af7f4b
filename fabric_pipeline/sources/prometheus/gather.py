"""Collects what the readers of this family find: one reading for one measured thing.

The same counter can stand in a scrape several times (once per MIG instance or pod, under an old
and a new name, in several scrapes of one file). This module tells these cases apart; it does not
know any metric.
"""

from __future__ import annotations

from datetime import datetime

from fabric_pipeline.model.records import MAX_TEXT, Reading, ReadResult, UnknownFact
from fabric_pipeline.sources.base import Hints
from fabric_pipeline.sources.prometheus.exposition import Sample, parse_time
from fabric_pipeline.sources.prometheus.measure import Measure, Outcome

UNDATED = ("time of the earlier scrapes", "their lines carry no time stamps")


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

    def _instant(self, sample: Sample) -> tuple[datetime | None, object]:
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

    def take(self, sample: Sample, measure: Measure, outcome: Outcome) -> Reading:
        """Keep what one sample says, unless the same instant already says this of this counter.

        Two spellings of one counter that disagree: the worse value (a link that is down, else the
        higher count) keeps the canonical name and the other one is kept raw.
        """
        time, instant = self._instant(sample)
        reading = _reading(sample, measure, outcome, time)
        self.state_reason(measure, outcome)
        is_measured = outcome.quality != "not_supported"
        counter = (reading.counter if is_measured else "") or reading.counter_text
        place = (reading.node, reading.interface, reading.lane, reading.scope)
        key = (instant, measure.place.origin, is_measured, counter, *place)
        earlier = self._at.get(key)
        if earlier is None:
            self._at[key] = reading
        elif earlier.value == reading.value and earlier.counter == reading.counter:
            self.duplicates += 1
            return reading
        elif _worse(reading, earlier):
            earlier.counter = ""
            self._at[key] = reading
        else:
            reading.counter = ""
        self.result.readings.append(reading)
        return reading

    def state_reason(self, measure: Measure, outcome: Outcome) -> None:
        """State why a value measures nothing."""
        if outcome.reason:
            self.unknown(
                measure.place.node, measure.place.device, measure.metric.what, outcome.reason
            )

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
                    reading.time, reading.is_undated = None, True
            self.unknown("", "", *UNDATED)
        if self.duplicates:
            self.result.facts["duplicate_values"] = self.duplicates
        return self.result


def _reading(sample: Sample, measure: Measure, outcome: Outcome, time: datetime | None) -> Reading:
    return Reading(
        line=sample.line,
        counter_text=sample.name,
        value_text=sample.value_text,
        entity_text=sample.label_text[:MAX_TEXT],
        time_text=sample.time_text,
        node=measure.place.node,
        interface=measure.place.interface,
        link_type=measure.metric.link_type,
        counter=outcome.counter,
        value=outcome.value,
        kind=measure.metric.kind,
        quality=outcome.quality,
        scope=measure.place.scope,
        lane=measure.metric.lane,
        time=time,
        gpu_uuid=measure.place.gpu_uuid,
        state=outcome.state,
    )


def _worse(new: Reading, old: Reading) -> bool:
    if new.value is None or old.value is None:
        return old.value is None
    return new.value < old.value if new.counter == "link_up" else new.value > old.value
