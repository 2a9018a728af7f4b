"""What changed between two drops in text: accused links first, then links to watch, then cables and ports.

Pure: a `DropComparison` in, lines out. What counts as a change is decided in `workflows.drop_compare`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fabric_pipeline.cli.fabric_style import COLOURS, MUTED, TITLE, Glyphs, plural
from fabric_pipeline.cli.text_layout import Lines, after, packed, text, wrapped
from fabric_pipeline.workflows.drop_compare_model import (
    LINK_CHANGES,
    ChangedIncident,
    ChangedLink,
    DropComparison,
)

_MOST_WATCHED = 8
_MOST_LINKS = 12
# A change that is over, or that nobody could see; the others have the state of their incident.
_LOOKS = {"repaired": "healthy", "quiet": "healthy", "not_measured": "no_data"}
_SEVERITIES = {"CRITICAL": "critical", "WARNING": "warning"}


def compare_lines(
    found: DropComparison, signs: Glyphs, width: int, *, everything: bool = False
) -> Lines:
    """Heading with the sums, then every change with what it was and what it is."""
    lines = _heading(found, signs, width)
    accused = [one for one in found.incidents if one.is_accused]
    watched = [one for one in found.incidents if not one.is_accused]
    lines += _incidents("Accused links and devices", accused, signs, width, len(accused))
    lines += _incidents(
        "Watched, nobody is accused",
        watched,
        signs,
        width,
        len(watched) if everything else _MOST_WATCHED,
    )
    for change, words in LINK_CHANGES.items():
        rows = found.links_of(change)
        if rows:
            most = len(rows) if everything else _MOST_LINKS
            lines += _links(change, words, rows, signs, width, most)
    if not found.incidents and not found.links:
        lines += [text(), text(("Nothing that was measured in both drops has changed.", TITLE))]
    return lines


def _heading(found: DropComparison, signs: Glyphs, width: int) -> Lines:
    title = text(("What changed", TITLE))
    drops = [
        text(word, (signs.name(name), TITLE), (_at(end), MUTED))
        for word, name, end in (("from ", found.a, found.a_end), ("to ", found.b, found.b_end))
    ]
    lines = packed([title, *drops], width)
    counts = [f"{number:,} {name.replace('_', ' ')}" for name, number in found.counts.items()]
    lines += packed([text((one, MUTED)) for one in counts], width)
    for note in found.notes:
        lines += wrapped(signs.name(note, 400), width, style=COLOURS["watch"])
    return lines


def _at(end: datetime | None) -> str:
    return f" {end:%Y-%m-%d %H:%M} UTC" if end else " without times"


def _incidents(
    title: str, rows: Sequence[ChangedIncident], signs: Glyphs, width: int, most: int
) -> Lines:
    if not rows:
        return []
    lines: Lines = [text(), text((title, TITLE))]
    for one in rows[:most]:
        state = _LOOKS.get(one.change) or _state(one)
        word = one.change.replace("_", " ")
        head = text(
            (f"{signs.states[state]} {word:<12}", COLOURS[state]),
            " ",
            (one.incident_id, TITLE),
            "  ",
        )
        component = signs.name(one.component, 120)
        said = "; ".join(filter(None, (one.says, f"now {one.life}: {one.why}" if one.life else "")))
        lines += after(head, component, width)
        lines += wrapped(signs.name(said, 400), width, indent="    ", style=MUTED)
    if len(rows) > most:
        lines.append(text((f"  and {len(rows) - most:,} more: --all", MUTED)))
    return lines


def _state(one: ChangedIncident) -> str:
    """How grave the incident is now, or was."""
    shown = one.b or one.a
    return _SEVERITIES.get(shown.severity, "watch") if shown else "watch"


def _links(
    change: str, words: str, rows: Sequence[ChangedLink], signs: Glyphs, width: int, most: int
) -> Lines:
    number = sum(one.links for one in rows)
    title = text(
        (change.replace("_", " ").capitalize(), TITLE),
        (f"  {words}, {plural(number, 'link or device', 'links or devices')}", MUTED),
    )
    lines: Lines = [text(), title]
    for one in rows[:most]:
        what = f" {signs.name(one.what)}" if one.what else ""
        many = f" ({plural(one.links, 'link')})" if one.links > 1 else ""
        states = (
            f"{one.before or 'not stated'} -> {one.after or 'not stated'}"
            if one.before or one.after
            else ""
        )
        said = f"{signs.name(one.component, 120)}{what}{many}  {signs.name(states, 300)}"
        lines += wrapped(said, width, indent="  ")
    if len(rows) > most:
        lines.append(text((f"  and {len(rows) - most:,} more: --all", MUTED)))
    return lines
