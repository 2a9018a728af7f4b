"""The edit form of a ticket: which inputs it has, and how a sent form becomes changes of fields.

Which fields people may write is said in `workflows.edit_fields`; whether a value fits is decided there
as well. Here nothing that was typed is lost: what does not fit comes back as it was typed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fabric_pipeline.incidents.ticket import (
    EvidenceStatement,
    PartChoice,
    RepairStep,
    TicketDraft,
)
from fabric_pipeline.portal.forms import Form
from fabric_pipeline.portal.ticket_groups import Badge, badge
from fabric_pipeline.portal.word_diff import Piece, told, words
from fabric_pipeline.workflows.edit_fields import EDITABLE, MAX_FACT, fields_of
from fabric_pipeline.workflows.sheet_text import one_line

_IDS = re.compile(r"[\s,;]+")
_AREAS = frozenset(
    {"summary", "rollback", "port_isolation_guidance", "drain_required", "claim", "do", "proves", "alternatives"}
)  # fmt: skip
_ROWS: dict[str, tuple[str, ...]] = {
    "evidence_statements": tuple(EvidenceStatement.model_fields),
    "repair_steps": tuple(RepairStep.model_fields),
    "parts": tuple(PartChoice.model_fields),
    "alternatives": ("",),
    "tools": ("",),
}
_MOST_ROWS = {
    "evidence_statements": 10,
    "repair_steps": 10,
    "parts": 8,
    "alternatives": 8,
    "tools": 16,
}
_ONE_ROW = {"evidence_statements": "claim", "repair_steps": "step", "parts": "part", "alternatives": "explanation", "tools": "tool"}  # fmt: skip
_LABELS = {
    "do": "Do", "proves": "What the outcome proves", "claim": "Claim", "evidence_ids": "Evidence, by number",
    "name": "Part", "part_number": "Part number", "quantity": "Quantity", "spare_location": "Where the spare lies",
    "source": "Where the number is published", "length_m": "Length, metres",
    "drain_required": "What must be drained, and by whom", "port_isolation_guidance": "Port isolation",
}  # fmt: skip
_TITLES = {
    "Words": ("title", "summary"),
    "Steps": ("repair_steps", "rollback"),
    "Why": ("evidence_statements", "alternatives"),
    "Before the work": ("drain_required", "port_isolation_guidance"),
    "Parts and tools": ("replacement_part", "part_number", "parts", "tools"),
    "Where to go": ("site", "hall", "cage", "row", "rack", "unit", "face", "node_serial", "asset_tag"),
    "This end": ("gpu_slot", "gpu_serial", "gpu_part_number", "port_label"),
    "Far end and cable": ("fabric_or_switch_port", "far_place", "cable_id", "cable"),
    "Service terms": ("contact", "schedule", "customer_reference"),
}  # fmt: skip
_LIMITS = {
    "title": 140,
    "summary": 900,
    "rollback": 400,
    "do": 400,
    "proves": 400,
    "claim": 400,
    "name": 200,
}


@dataclass(frozen=True, slots=True)
class Box:
    """One input: its name in the form, label, text, and whether it holds prose."""

    name: str
    label: str
    value: str
    is_area: bool
    limit: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One field of the form: single boxes, or rows of boxes; `one` is what a row is called."""

    field: str
    label: str
    badge: Badge
    boxes: tuple[Box, ...] = ()
    rows: tuple[tuple[Box, ...], ...] = ()
    blank: tuple[Box, ...] = ()
    one: str = ""


@dataclass(frozen=True, slots=True)
class Clash:
    """A field that somebody else changed meanwhile: both texts against the one that was read."""

    label: str
    theirs: tuple[Piece, ...]
    yours: tuple[Piece, ...]


def entries(fields: Mapping[str, Any]) -> list[tuple[str, list[Entry]]]:
    """All groups of the form, filled with these values (by the names of `fields_of`)."""
    return [
        (title, [_entry(name, fields[name]) for name in names]) for title, names in _TITLES.items()
    ]


def typed_fields(form: Form, draft: TicketDraft) -> dict[str, Any]:
    """All fields as the form has them, over the draft that it was made from.

    A text that differs from the draft's in blanks and unseen signs alone is the draft's: browsers
    change those. What is not in the form stays as it is.
    """
    before = fields_of(draft)
    return before | {name: _given(form, name, before[name]) for name in EDITABLE}


def changes(typed: Mapping[str, Any], draft: TicketDraft) -> dict[str, Any]:
    """The fields that a person changed."""
    before = fields_of(draft)
    return {name: typed[name] for name in EDITABLE if typed[name] != before[name]}


def merged(mine: Mapping[str, Any], base: TicketDraft, current: TicketDraft) -> dict[str, Any]:
    """The current draft with a person's changes of an older one put over it, part by part."""
    old, now = fields_of(base), fields_of(current)
    for name, value in mine.items():
        if isinstance(value, Mapping):
            value = {k: v if v != old[name][k] else now[name][k] for k, v in value.items()}
        now[name] = value
    return now


def clashes(mine: Mapping[str, Any], base: TicketDraft, current: TicketDraft) -> list[Clash]:
    """Fields that both changed, each in another way."""
    old, now = fields_of(base), fields_of(current)
    return [
        Clash(
            _label(name),
            words(_lines(old[name]), _lines(now[name])),
            words(_lines(old[name]), _lines(value)),
        )
        for name, value in mine.items()
        if now[name] not in (old[name], value)
    ]


def _lines(value: Any) -> str:
    return "\n".join(told(one) for one in value) if isinstance(value, list) else told(value)


def _given(form: Form, name: str, old: Any) -> Any:
    if name in _ROWS:
        return _given_rows(form, name, old)
    if isinstance(old, Mapping):
        return {
            part: _value(part, form.get(f"{name}.{part}"), value) for part, value in old.items()
        }
    return _value(name, form.get(name), old)


def _given_rows(form: Form, name: str, old: Sequence[Any]) -> list[Any]:
    """Rows in the order in which they stand in the form; a row without any text is left out."""
    if f"{name}.listed" not in form:
        return list(old)
    found = []
    for place in dict.fromkeys(_places(form, name)):
        was = old[place] if place < len(old) else None
        row: Any = {
            part: _value(
                part, form.get(_box(name, place, part)), was[part] if part and was else was
            )
            for part in _ROWS[name]
        }
        if any(value not in ("", None, []) for key, value in row.items() if key != "quantity"):
            found.append(row if _ROWS[name] != ("",) else row[""])
    return found


def _places(form: Form, name: str) -> list[int]:
    found = []
    for key in form:
        parts = key.split(".")
        if parts[0] == name and len(parts) > 1 and parts[1].isascii() and parts[1].isdigit():
            found.append(int(parts[1][:4]))
    return found


def _value(name: str, text: str | None, old: Any) -> Any:
    """A typed text as the kind of value that stands in the draft; as it is when it does not fit."""
    if text is None:
        return old
    if name == "evidence_ids":
        return [one for one in _IDS.split(text) if one]
    if name in ("length_m", "quantity"):
        return _number(name, text.strip())
    if isinstance(old, str) and one_line(text) == one_line(old):
        return old
    return " ".join(text.split()) if name in _AREAS else text.strip()


def _number(name: str, text: str) -> Any:
    if not text:
        return None if name == "length_m" else 1
    try:
        return float(text.replace(",", ".")) if name == "length_m" else int(text)
    except ValueError:
        return text


def _entry(name: str, value: Any) -> Entry:
    mark, label = badge(name), _label(name)
    if name in _ROWS:
        rows = tuple(_row(name, place, one) for place, one in enumerate(value))
        blank = _row(name, len(rows), None) if len(rows) < _MOST_ROWS[name] else ()
        return Entry(name, label, mark, rows=rows, blank=blank, one=_ONE_ROW[name])
    if isinstance(value, Mapping):
        boxes = tuple(_made(f"{name}.{part}", part, one) for part, one in value.items())
        return Entry(name, label, mark, boxes)
    return Entry(name, label, mark, (_made(name, name, value),))


def _row(name: str, place: int, value: Any) -> tuple[Box, ...]:
    return tuple(
        _made(_box(name, place, part), part or name, value[part] if part and value else value)
        for part in _ROWS[name]
    )


def _box(name: str, place: int, part: str) -> str:
    return f"{name}.{place}.{part}" if part else f"{name}.{place}"


def _made(name: str, field: str, value: Any) -> Box:
    text = ", ".join(value) if isinstance(value, list) else "" if value is None else str(value)
    limit = _LIMITS.get(field, MAX_FACT)
    if field in ("port_isolation_guidance", "drain_required"):
        limit = 900
    return Box(name, _label(field), text, field in _AREAS, max(limit, len(text)))


def _label(field: str) -> str:
    return _LABELS.get(field, field.replace("_", " ").capitalize().replace("Gpu", "GPU"))
