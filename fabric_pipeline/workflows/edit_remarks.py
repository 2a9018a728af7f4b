"""What a reviewer should look at after a person changed facts: each change, and words left behind.

Pure: two drafts in, sentences out. Names and figures in the words are compared with the incident in
`review_notes`.
"""

from __future__ import annotations

import re
from typing import Any

from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.workflows.edit_fields import (
    FACT_FIELDS,
    SENTENCE_FIELDS,
    TEXT_FIELDS,
    fields_of,
    values,
)

MIN_NAMED = 2  # shorter names, such as row A, stand in sentences by chance
_MAX_SHOWN = 80  # characters of a value in a sentence


def changed_facts(before: TicketDraft, after: TicketDraft) -> list[str]:
    """Every fact that is another one now, with both values."""
    old, new = (
        {
            path: value
            for name in (*SENTENCE_FIELDS, *FACT_FIELDS)
            for path, value in values(name, fields_of(draft)[name])
        }
        for draft in (before, after)
    )
    return [
        f"{path}: {_shown(old.get(path))} became {_shown(new.get(path))}, on the word of a person"
        for path in dict.fromkeys([*old, *new])
        if old.get(path) != new.get(path)
    ]


def left_behind(before: TicketDraft, after: TicketDraft) -> list[str]:
    """Where the words still name what a changed fact said before, such as the old rack in the title."""
    old, new = fields_of(before), fields_of(after)
    gone = {
        (path, value)
        for name in FACT_FIELDS
        for path, value in values(name, old[name])
        if isinstance(value, str) and len(value) >= MIN_NAMED and value not in _said(new, name)
    }
    found = []
    for fact, was in sorted(gone):
        whole = re.compile(rf"(?<!\w){re.escape(was)}(?!\w)")
        places = [
            place
            for name in (*TEXT_FIELDS, *SENTENCE_FIELDS)
            for place, words in values(name, new[name])
            if isinstance(words, str) and whole.search(words)
        ]
        if places:
            found.append(f"{fact}: {was!r} still stands in {', '.join(places)}")
    return found


def _said(fields: dict[str, Any], name: str) -> set[str]:
    return {str(value) for _, value in values(name, fields[name])}


def _shown(value: object) -> str:
    if value in (None, "", []):
        return "nothing"
    text = str(value)
    return repr(text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…")
