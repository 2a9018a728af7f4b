"""What an edit changed, word by word: pieces that stayed, went or came, for each field.

Plain values for the template; two drafts come in as JSON values. Entries of lists are paired before
their words are compared, so that a step put in between does not change all steps after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple

from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.workflows.dossier_bag import shown
from fabric_pipeline.workflows.edit_fields import EDITABLE, fields_of

_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
# Beyond this a comparison word by word takes long and shows nothing; the whole text is exchanged.
_MAX_TOKENS = 4000
_KINDS: dict[str, Literal["ins", "del"]] = {"insert": "ins", "delete": "del"}


class Piece(NamedTuple):
    """A run of words: `same`, `ins` or `del`."""

    kind: Literal["same", "ins", "del"]
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """One changed value; `field` is the field's name, `where` words for the reader."""

    field: str
    where: str
    pieces: tuple[Piece, ...]


def changes_between(old: TicketDraft, new: TicketDraft) -> list[Change]:
    """Every change of a field that people may write, in the order of the edit form."""
    before, after = fields_of(old), fields_of(new)
    return [change for name in EDITABLE for change in _changes(name, before[name], after[name])]


def words(old: str, new: str) -> tuple[Piece, ...]:
    """Pieces of both texts in reading order; what is not printable is spelt out."""
    a, b = _TOKEN.findall(shown(old)), _TOKEN.findall(shown(new))
    if len(a) + len(b) > _MAX_TOKENS:
        return tuple(
            piece for piece in (Piece("del", shown(old)), Piece("ins", shown(new))) if piece.text
        )
    found: list[Piece] = []
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append(Piece("same", "".join(a[a1:a2])))
        elif tag == "replace":
            found += [Piece("del", "".join(a[a1:a2])), Piece("ins", "".join(b[b1:b2]))]
        else:
            found.append(Piece(_KINDS[tag], "".join([*a[a1:a2], *b[b1:b2]])))
    return tuple(found)


def _changes(name: str, old: Any, new: Any) -> Iterator[Change]:
    if old == new:
        return
    label = name.replace("_", " ")
    if isinstance(old, list) and isinstance(new, list):
        yield from _entries(name, label, old, new)
    elif isinstance(old, Mapping) and isinstance(new, Mapping):
        for part in new:
            if old.get(part) != new[part]:
                where = f"{label}, {part.replace('_', ' ')}"
                yield Change(name, where, words(told(old.get(part)), told(new[part])))
    else:
        yield Change(name, label, words(told(old), told(new)))


def _entries(name: str, label: str, old: list[Any], new: list[Any]) -> Iterator[Change]:
    a, b = [told(one) for one in old], [told(one) for one in new]
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for place in range(max(a2 - a1, b2 - b1)):
            was = a[a1 + place] if a1 + place < a2 else ""
            now = b[b1 + place] if b1 + place < b2 else ""
            number = (b1 if now else a1) + place + 1
            what = "" if was and now else (", added" if now else ", taken out")
            yield Change(name, f"{label} {number}{what}", words(was, now))


def told(value: Any) -> str:
    """A value of a draft as text: an entry of a list by its parts."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return " · ".join(told(part) for part in value.values() if part not in (None, "", []))
    if isinstance(value, list):
        return ", ".join(told(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
