"""What one series measures, and what one of its values says; shared by the families of metrics.

A metric is worked out once for its name and a place once for its labels, so that a file of millions
of values costs a few thousand of them. What the names of metrics mean is decided beside this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan

from fabric_pipeline.model.counters import is_blank

# Stands for the number of a link in the labels of many series at once; a character for private use,
# so no exporter prints it.
LINK_MARK = "\ue000"
_BLANK_WORDS = ("blank", "not found", "not supported", "not permitted")


@dataclass(frozen=True, slots=True)
class Metric:
    """What the name of a metric says, whatever it is measured of.

    `what` says what is unknown when a value measures nothing. `decode` names values that are no
    plain numbers; a plain number is divided by `divisor`. At `ceiling` a counter is saturated.
    Metrics of one family and `shape` name the places of their series alike.
    """

    family: str
    name: str
    link_type: str
    counter: str
    kind: str
    what: str
    shape: tuple[object, ...]
    lane: int | None = None
    decode: str = ""
    divisor: float = 1.0
    ceiling: float | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """What the labels of a series say to metrics of one shape.

    `device` is the one of which something is unknown when a value measures nothing. `origin` keeps
    machines apart that share device names, `instance` is the address that was scraped, `doubt` says
    why no host is named.
    """

    node: str
    interface: str
    scope: str
    device: str
    origin: str = ""
    instance: str = ""
    doubt: str = ""
    gpu_uuid: str = ""
    state: str = ""


@dataclass(frozen=True, slots=True)
class Measure:
    """One series: what it measures and where."""

    metric: Metric
    place: Place


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a value says: the number, or in `reason` why nothing was measured.

    `counter` is "" for a value that is kept as it stands because nobody knows what it means.
    """

    value: float | None
    counter: str
    state: str = ""
    quality: str = "ok"
    reason: str = ""


def plain_outcome(measure: Measure, value: float) -> Outcome:
    """The outcome of a number that is measured as it stands; `series_sql` does the same."""
    metric = measure.metric
    quality = "saturated" if value == metric.ceiling else "ok"
    return Outcome(value / metric.divisor, metric.counter, measure.place.state, quality)


def nothing(measure: Measure, reason: str) -> Outcome:
    """The outcome of a value that measures nothing."""
    return Outcome(None, measure.metric.counter, "", "not_supported", reason)


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
