"""Signs, colours and figures of the terminal pictures, in one place for all of them.

Every state has a shape of its own, so that a picture survives print, pipes and colour blindness;
healthy is muted grey and colour is for trouble only. What is drawn where belongs to the views.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.workflows.fabric_link_model import DOWN, EndReading

MUTED = "dim"
TITLE = "bold"
COLOURS = {
    "healthy": MUTED,
    "no_data": MUTED,
    "watch": "cyan",
    "warning": "bold yellow",
    "critical": "bold red",
}
WORDS = {"no_data": "no data"}
_UNIT = {"per hour": "/h", "in total": " in total", "per bit": " per bit"}


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The characters of one character set.

    `ramp` are shares of a limit from small to at the limit, `blocks` the heights of a chart; `near` and
    `far` join the two ends of a link that stand below each other; `slow` marks slow time, `full` and
    `thin` are the two parts of a bar.
    """

    states: dict[str, str]
    ramp: str
    rule: str
    wire: str
    branch: str
    last: str
    near: str
    far: str
    times: str
    at_least: str
    cut: str
    is_ascii: bool
    blocks: str
    slow: str
    full: str
    thin: str

    def name(self, text: str, limit: int = 60) -> str:
        """A name from telemetry as one line of visible characters that this set can show."""
        shown = clean(text, limit)
        if self.is_ascii:
            plain = shown.replace("…", "...").replace("µ", "u").replace("×", "x")
            shown = plain.encode("ascii", "backslashreplace").decode()
        return shown


UNICODE = Glyphs(
    {"healthy": "·", "no_data": "░", "watch": "◇", "warning": "◆", "critical": "▲"},
    "▁▂▃▅█", "─", "──", "├─", "└─", "┌ ", "└ ", "×", "≥ ", "…", False, "▁▂▃▄▅▆▇█", "━", "█", "─",
)  # fmt: skip
ASCII = Glyphs(
    {"healthy": ".", "no_data": "?", "watch": "o", "warning": "!", "critical": "X"},
    "-=*%#", "-", "--", "|-", "`-", "/ ", "\\ ", "x", ">= ", "...", True, "_-=+*%#", "=", "#", "-",
)  # fmt: skip


def glyphs(unicode: bool) -> Glyphs:
    """The character set to draw with."""
    return UNICODE if unicode else ASCII


def word(state: str) -> str:
    """A state in words."""
    return WORDS.get(state, state)


def figure(value: float) -> str:
    """A number with thousands separators, and no more digits than it deserves."""
    if 0 < abs(value) < 1e-3:
        return f"{value:.2g}"
    return f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:,.1f}"


def share_text(share: float, signs: Glyphs) -> str:
    """A share of a limit: percent up to twice the limit, then how many times the limit."""
    if share >= 2:
        return f"{figure(share if share >= 10 else round(share, 1))}{signs.times}"
    percent = share * 100
    if percent < 0.1:
        return "<0.1 %"
    return f"{percent:.0f} %" if percent >= 10 else f"{percent:.1f} %"


def counter_text(reading: EndReading, signs: Glyphs) -> str:
    """What was counted at an end against its limit, in words that never call silence health."""
    if not reading.counter or reading.value is None:
        if reading is DOWN:
            return "down"
        return "no data at this end" if reading.state == "no_data" else "no errors counted"
    unit = _UNIT[reading.unit]
    bound = signs.at_least if reading.is_lower_bound else ""
    lane = "" if reading.lane is None else f" lane {reading.lane}"
    text = f"{signs.name(reading.counter)}{lane} {bound}{figure(reading.value)}"
    if reading.limit is None or reading.share is None:
        return f"{text}{unit}, no fixed limit"
    return f"{text} of {figure(reading.limit)}{unit}, {share_text(reading.share, signs)}"


def span_text(start: datetime | None, end: datetime | None) -> str:
    """The time of the data in UTC; says so when the counters carry none."""
    if start is None or end is None:
        return "counters without times"
    last = f"{end:%H:%M}" if end.date() == start.date() else f"{end:%Y-%m-%d %H:%M}"
    return f"{start:%Y-%m-%d %H:%M} to {last} UTC"


def place_text(rack: str, unit: str, signs: Glyphs) -> str:
    """`rack r11 U09`, as far as it is stated; "" when no rack is."""
    shown = " ".join(signs.name(part, 20) for part in (rack, unit) if part)
    return f"rack {shown}" if rack else shown


def plural(number: int, noun: str, many: str = "") -> str:
    """`1 node`, `2 nodes`, `1,000 switches`."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"
