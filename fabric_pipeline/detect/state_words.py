"""A state reading in words for people: what was read, in which unit, of how much, and when.

Files that state words of their own are quoted; files that state bare figures are not, because `link_up: 0`
tells a technician nothing. What a state means for a link is judged by the rules.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from fabric_pipeline.model.records import Reading

_FIGURE = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_NAMED = {
    "width": ("width", "lanes"),
    "width_max": ("width at most", "lanes"),
    "speed_gbps": ("speed", "Gb/s"),
    "speed_max_gbps": ("speed at most", "Gb/s"),
    "pcie_gen": ("PCIe generation", ""),
    "pcie_gen_max": ("PCIe generation at most", ""),
}


def state_words(reading: Reading, of: float | None = None) -> str:
    """`width 8 of 16 lanes on 2026-03-14 02:17:00 UTC`; `of` is the most that the link may have."""
    stated = reading.value_text.strip() or reading.state.strip()
    is_worded = stated and not _FIGURE.fullmatch(stated)
    said = f"{reading.counter_text} {stated}".strip() if is_worded else _figure(reading, of)
    when = moment(reading.time)
    return f"{said} on {when}" if when else said


def up_or_down(reading: Reading) -> str:
    """The state as the file words it, else `active` or `down` for a figure."""
    word = reading.state.strip()
    if word and not _FIGURE.fullmatch(word):
        return word
    return "active" if reading.value else "down"


def since(reading: Reading | None) -> str:
    """` since 2026-03-14 02:17:00 UTC`, "" when the time is not known."""
    when = moment(reading.time) if reading is not None else ""
    return f" since {when}" if when else ""


def moment(at: datetime | None) -> str:
    """A time to the second in UTC, "" for none."""
    if at is None:
        return ""
    known = at.astimezone(UTC) if at.tzinfo else at
    return f"{known:%Y-%m-%d %H:%M:%S} UTC"


def _figure(reading: Reading, of: float | None) -> str:
    value = reading.value or 0.0
    if reading.counter == "link_up":
        return f"state {up_or_down(reading)}"
    name, unit = _NAMED.get(reading.counter, (reading.counter_text or reading.counter, ""))
    most = f" of {of:g}" if of is not None and of >= value else ""
    return f"{name} {value:g}{most} {unit}".strip()
