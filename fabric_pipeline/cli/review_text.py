"""A ticket as the reviewer reads it on a terminal: where it stands, the draft, and what to look at.

The words of the draft are laid out in `ticket_text`; what is noted beside it comes from
`workflows.review_notes`.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from fabric_pipeline.cli.output import plain, put, put_json, say
from fabric_pipeline.workflows.outbox_text import WIDTH

if TYPE_CHECKING:
    from fabric_pipeline.incidents.ticket import TicketDraft
    from fabric_pipeline.settings import Settings
    from fabric_pipeline.store.ledger import Ledger, StoredDraft
    from fabric_pipeline.workflows.review_notes import ReviewNotes


def put_ticket(ledger: Ledger, ticket: str, *, full: bool, json: bool) -> None:
    """One ticket as the technician will read it; `full` adds answers that were refused."""
    stored, draft = _readable(ledger, ticket)
    if json:
        put_json(_as_json(ledger, stored, draft))
        return
    _put_draft(ledger, stored, draft, full=full)
    say(
        f"with notes for the reviewer: fabric-pipeline review {ticket}   "
        f"its history: fabric-pipeline tickets history {ticket}"
    )


def put_for_review(
    settings: Settings, ledger: Ledger, ticket: str, *, full: bool, json: bool
) -> str:
    """The draft with everything a reviewer has to know, and how to decide; returns its hash."""
    from fabric_pipeline.workflows.review_notes import review_notes

    stored, draft = _readable(ledger, ticket)
    notes = review_notes(settings, ledger, stored)
    if json:
        put_json(_as_json(ledger, stored, draft) | {"notes": asdict(notes)})
    else:
        _put_draft(ledger, stored, draft, full=full)
        _put_finding(draft)
        _put_notes(notes)
    if stored.retired:
        say("its incident is no longer found in its drop: there is nothing to decide")
        return stored.draft_sha256
    say(
        f"to decide: fabric-pipeline review {ticket} --approve --reviewer NAME --draft "
        f"{stored.draft_sha256}   (or --reject --reason WHY; --decide asks)"
    )
    say(
        f"to change it: fabric-pipeline tickets edit {ticket} --set FIELD=VALUE --editor NAME "
        f"--reason WHY --draft {stored.draft_sha256}"
    )
    return stored.draft_sha256


def put_diff(diff: str) -> None:
    """A unified diff, each line safe for a terminal."""
    for line in diff.split("\n") if diff else ():
        put(f"  {plain(line)}")


def _readable(ledger: Ledger, ticket: str) -> tuple[StoredDraft, TicketDraft]:
    from fabric_pipeline.errors import GateError

    stored = ledger.current_draft(ticket)
    if not stored.intact:
        raise GateError(
            f"{ticket}: the stored draft no longer matches its hash",
            "see which rows were changed: fabric-pipeline ledger verify",
        )
    if stored.draft is None:
        raise GateError(
            f"{ticket}: the stored draft cannot be read by this version",
            "use the version that wrote it, or run its drop again with --force",
        )
    return stored, stored.draft


def _as_json(ledger: Ledger, stored: StoredDraft, draft: TicketDraft) -> dict[str, object]:
    rows = ledger.tickets(stored.drop)
    row = next(one for one in rows if one.ticket_id == stored.ticket_id)
    return draft.model_dump(mode="json") | {
        "draft_sha256": stored.draft_sha256,
        "revision": stored.revision,
        "state": row.state,
    }


def _put_draft(ledger: Ledger, stored: StoredDraft, draft: TicketDraft, *, full: bool) -> None:
    from fabric_pipeline.cli.ticket_text import ticket_text
    from fabric_pipeline.workflows.lifecycle import life_lines

    rows = ledger.tickets(stored.drop)
    row = next(one for one in rows if one.ticket_id == stored.ticket_id)
    by = f" by {plain(row.reviewer)}" if row.reviewer else ""
    put(
        f"{stored.ticket_id}  revision {stored.revision}  {row.state.upper()}{by}  "
        f"draft {stored.draft_sha256[:12]}"
    )
    if row.expired:
        put(f"NOT APPROVED: {plain(row.expired)}")
    for line in life_lines(ledger, stored.incident_id):
        put(plain(line))
    if not stored.is_present_schema:
        put(
            f"written in ticket schema {plain(draft.schema_version)}: it cannot go out as it is; "
            "run its drop again with --force"
        )
    put()
    put(ticket_text(draft, full=full, columns=_columns()))


def _columns() -> int:
    """Columns of the terminal; a pipe and an e-mail get the usual ones."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH


def _put_finding(draft: TicketDraft) -> None:
    """The draft has the finding in full; whether it agrees is said once more beside the decision."""
    finding = draft.topology_finding
    if finding is None:
        put("\nTHE DRAFTER'S OWN FINDING: none, so nobody has questioned the isolation")
    elif finding.agrees_with_isolation:
        put("\nTHE DRAFTER'S OWN FINDING agrees with the isolation")
    else:
        named = f"{plain(finding.component)} ({finding.level.replace('_', ' ')})"
        put(f"\nTHE DRAFTER'S OWN FINDING DISAGREES: it names {named}, not {plain(draft.link)}")


def _put_notes(notes: ReviewNotes) -> None:
    if notes.editors:
        names = ", ".join(plain(name) for name in notes.editors)
        put(f"\nEDITED by {names}, who cannot approve this draft")
    if notes.warnings:
        put("\nCHECK THESE")
        for warning in notes.warnings:
            put(f"  - {plain(warning)}")
    if notes.since:
        put(f"\nCHANGED SINCE {plain(notes.since)}")
        put_diff(notes.diff or "nothing that a reviewer approves")
