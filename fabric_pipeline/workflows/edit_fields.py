"""Which fields of a draft a person may write, and how a set of changes becomes a new draft.

People know more than a topology file: where something stands, what is printed on it, which part fits.
What was measured, what the rules derived and which evidence carries a claim is not theirs to change.
Recording an edit is done in `edit_ticket`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from fabric_pipeline.drafting.forbidden import forbidden
from fabric_pipeline.errors import GateError, UsageError
from fabric_pipeline.incidents.ticket import TICKET_SCHEMA_VERSION, DraftText, TicketDraft

TEXT_FIELDS = tuple(DraftText.model_fields)
# Sentences for the technician beside the drafted text.
SENTENCE_FIELDS = ("port_isolation_guidance", "drain_required")
# Facts that a person reads off the box, the contract or the shelf.
FACT_FIELDS = (
    *("site", "hall", "cage", "row", "rack", "unit", "face", "node_serial", "asset_tag"),
    *("gpu_slot", "gpu_serial", "gpu_part_number", "port_label", "far_place"),
    *("fabric_or_switch_port", "cable_id", "cable", "replacement_part", "part_number", "parts"),
    *("tools", "contact", "schedule", "customer_reference"),
)
EDITABLE = (*TEXT_FIELDS, *SENTENCE_FIELDS, *FACT_FIELDS)
MAX_DEPTH = 6  # of a value in an edit; the ticket itself has 4
MAX_FACT = 300  # characters; a fact is a label, not a paragraph
_SHOWN_ONLY = {"draft_sha256", "revision", "state", "notes"}  # what a listing adds to a draft
_OTHER_SCRIPT = "another script"


def changed_draft(draft: TicketDraft, changes: Mapping[str, Any], editor: str) -> TicketDraft:
    """A draft with these changes by a person, in the present ticket schema.

    Keys are field names, or paths into them with places counted from 1, such as
    `repair_steps.2.do` or `cable.serial`; `text` may hold drafted fields. Parts of a field that are
    not named stay, lists are given whole. A field that is given
    with the value it has already is no change, so a whole ticket as JSON may be given back. Errors:
    `UsageError` for a field that is not a person's to change or a value that does not fit,
    `GateError` for words that no draft may contain.
    """
    flat = fields_of(draft)
    before = copy.deepcopy(flat)
    for name, value in _flattened(changes):
        if name not in _SHOWN_ONLY:
            _put(flat, name, value)
    _refuse_foreign_fields(draft.ticket_id, before, flat)
    _refuse_forbidden_words(draft.ticket_id, before, flat)
    new = {name: value for name, value in flat.items() if name not in TEXT_FIELDS}
    new["text"] = {name: flat[name] for name in TEXT_FIELDS}
    new |= {"edited_by": editor.strip(), "schema_version": TICKET_SCHEMA_VERSION}
    changed = _validated(draft.ticket_id, new)
    _refuse_unbound_claims(draft, changed)
    return changed


def fields_of(draft: TicketDraft) -> dict[str, Any]:
    """All fields of a draft by the names under which an edit gives them, as JSON values."""
    body = draft.model_dump(mode="json")
    text: dict[str, Any] = body.pop("text")
    return body | text


def values(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every single value in this one, with the path under which an edit may name it."""
    inner: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = [(str(place), one) for place, one in enumerate(value, 1)]
    if not inner:
        yield path, value
    for name, one in inner:
        yield from values(f"{path}.{name}" if path else str(name), one)


def _flattened(changes: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in changes.items():
        if name == "text" and isinstance(value, Mapping):
            yield from ((str(inner), _on_one_line(one)) for inner, one in value.items())
        else:
            yield str(name), _on_one_line(value)


def _on_one_line(value: Any, depth: int = 0) -> Any:
    """Texts of a draft have no lines; those of an edit file often do."""
    if depth > MAX_DEPTH:
        raise UsageError(
            f"a value is nested deeper than {MAX_DEPTH} levels",
            "give it as it stands in the ticket",
        )
    if isinstance(value, str):
        return " ".join(value.split()) if "\n" in value else value
    if isinstance(value, Mapping):
        return {str(name): _on_one_line(one, depth + 1) for name, one in value.items()}
    return [_on_one_line(one, depth + 1) for one in value] if isinstance(value, list) else value


def _put(flat: dict[str, Any], path: str, value: Any) -> None:
    name, *inner = path.split(".")
    if not inner or name not in flat:
        flat[name] = _merged(flat.get(name), value)
        return
    target: Any = flat
    for step, following in zip([name, *inner], [*inner, ""], strict=True):
        place = _place(target, step, path)
        if not following:
            target[place] = _merged(target[place], value)
        else:
            target = target[place]


def _merged(old: Any, new: Any) -> Any:
    """Named parts that are not given stay as they are; a list is given whole."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    return old | {name: _merged(old.get(name), value) for name, value in new.items()}


def _place(target: Any, step: str, path: str) -> str | int:
    if isinstance(target, dict) and step in target:
        return step
    if isinstance(target, list) and step.isascii() and step.isdigit():
        if 1 <= int(step) <= len(target):
            return int(step) - 1
        raise UsageError(f"{path}: there are {len(target)} entries", "count from 1")
    raise UsageError(f"{path}: the ticket has nothing at {step!r}", _may_change())


def _refuse_foreign_fields(ticket_id: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    foreign = sorted(
        name
        for name, value in after.items()
        if name not in EDITABLE and (name not in before or value != before[name])
    )
    if foreign:
        raise UsageError(
            f"{ticket_id}: {', '.join(foreign)[:200]} cannot be changed by an edit", _may_change()
        )


def _may_change() -> str:
    return f"a person may change: {', '.join(EDITABLE)}"


def _refuse_forbidden_words(ticket_id: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    found = [
        f"{field}: {reason}"
        for name in EDITABLE
        if after[name] != before[name]
        for field, words in _texts(name, after[name])
        if words not in {old for _, old in _texts(name, before[name])}
        for reason in _reasons(name, words)
    ]
    if found:
        raise GateError(
            f"{ticket_id}: {'; '.join(found[:5])}",
            "a ticket tells a person what to do with parts, and never orders an action on a machine",
        )


def _reasons(name: str, words: str) -> list[str]:
    """Names of places and people may be written in any script; sentences may not."""
    reasons = list(forbidden(words))
    if name in FACT_FIELDS:
        reasons = [reason for reason in reasons if _OTHER_SCRIPT not in reason]
        if len(words) > MAX_FACT:
            reasons.append(f"it is longer than {MAX_FACT} characters")
    return reasons


def _texts(field: str, value: Any) -> Iterator[tuple[str, str]]:
    return ((path, one) for path, one in values(field, value) if isinstance(one, str))


def _validated(ticket_id: str, body: dict[str, Any]) -> TicketDraft:
    try:
        return TicketDraft.model_validate(body)
    except ValidationError as error:
        problems = [
            f"{'.'.join(str(part) for part in one['loc'] if part != 'text')}: {one['msg']}"
            for one in error.errors(include_input=False, include_url=False, include_context=False)
        ]
        raise UsageError(
            f"{ticket_id}: {'; '.join(problems[:5])}", "give a value of the kind that stands there"
        ) from error


def _refuse_unbound_claims(old: TicketDraft, new: TicketDraft) -> None:
    known = {item.evidence_id for item in old.evidence}
    known |= {ref for claim in old.text.evidence_statements for ref in claim.evidence_ids}
    cited = {ref for claim in new.text.evidence_statements for ref in claim.evidence_ids}
    if cited - known:
        raise UsageError(
            f"{old.ticket_id}: there is no evidence {', '.join(sorted(cited - known))[:80]}",
            f"cite what this ticket has: {', '.join(sorted(known))}",
        )
    empty = [
        field
        for name in TEXT_FIELDS
        for field, words in _texts(name, new.text.model_dump()[name])
        if not words.strip()
    ]
    if empty:
        raise UsageError(
            f"{old.ticket_id}: {', '.join(empty[:5])} would be empty", "say it in words"
        )
