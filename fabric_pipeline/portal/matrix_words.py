"""What the matrix says of a link in words: its state, its worst counter against the limit, its incidents."""

from __future__ import annotations

from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.workflows.fabric_view_model import DOWN, End, EndReading, Link

_UNITS = {"per hour": " per hour", "in total": " in total", "per bit": " per bit"}
_MOST_SAID = 300


def state_word(state: str) -> str:
    """A state as people write it."""
    return "no data" if state == "no_data" else state


def share_words(link: Link) -> str:
    """The share of the limit, "" where there is none; from twice the limit on as a multiple."""
    if link.share is None:
        return ""
    if link.share >= 2:
        return f"{_figure(link.share)} × limit"
    percent = link.share * 100
    return (
        "below 0.1 %"
        if percent < 0.1
        else f"{percent:.0f} %"
        if percent >= 10
        else f"{percent:.1f} %"
    )


def counted(link: Link) -> str:
    """The counter nearest to its limit with value and limit, or why there is none."""
    end = _telling(link)
    words = _reading(end.reading)
    return f"{words}, at the far end" if end is link.b and end.reading.counter else words


def spoken(link: Link) -> str:
    """One sentence for a cell: state, share, counter, incidents."""
    parts = [state_word(link.state), share_words(link), counted(link), *link.incidents]
    return clean("; ".join(part for part in parts if part), _MOST_SAID)


def _telling(link: Link) -> End:
    return max(
        link.ends,
        key=lambda end: (end.reading.share or 0.0, end.reading.events or 0.0, end.reading is DOWN),
    )


def _reading(reading: EndReading) -> str:
    if reading is DOWN:
        return "the link is down, and no incident says that it should be up"
    if not reading.counter or reading.value is None:
        return "" if reading.state == "no_data" else "no error counted"
    lane = "" if reading.lane is None else f" lane {reading.lane}"
    bound = "at least " if reading.is_lower_bound else ""
    value = f"{clean(reading.counter, 60)}{lane} {bound}{_figure(reading.value)}"
    unit = _UNITS.get(reading.unit, "")
    if reading.limit is None:
        return f"{value}{unit}, no fixed limit"
    return f"{value} of {_figure(reading.limit)}{unit}"


def _figure(value: float) -> str:
    if 0 < abs(value) < 1e-3:
        return f"{value:.2g}"
    return f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:,.1f}"
