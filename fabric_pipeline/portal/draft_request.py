"""Whether a person may ask for a draft of an incident, and why not.

A ticket has one open draft. Asking again is sensible only when what a draft rests on has changed:
evidence, catalogue entry or reported repairs. Making the draft is the business of the pipeline.
"""

from __future__ import annotations

from fabric_pipeline.drafting.assemble import basis_sha256, ticket_id
from fabric_pipeline.drafting.catalogue import load_catalogue
from fabric_pipeline.errors import FabricError, NotFoundError
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger, StoredDraft, TicketRow
from fabric_pipeline.workflows.ticket_history import history_of


def refusal(settings: Settings, ledger: Ledger, record: IncidentRecord, *, is_found: bool) -> str:
    """Why no draft can be asked for, in one or two sentences; "" when it can."""
    if not record.needs_ticket:
        return (
            "This incident opens no ticket: tickets are for an accused part at WARNING or CRITICAL."
        )
    if not is_found:
        return f"The last diagnosis of drop {record.drop} no longer finds this incident."
    name = ticket_id(record)
    try:
        stored = ledger.current_draft(name)
    except NotFoundError:
        return ""
    if stored.retired:
        return ""
    if stored.drop != record.drop and _is_later(stored, record):
        return f"Ticket {name} rests on drop {stored.drop}, which shows this fault later than {record.drop}."
    try:
        if not _rests_on(settings, ledger, stored, record):
            return ""
    except FabricError as error:  # a draft could not be made either
        return f"No draft can be made: {error.message}."
    row = next(one for one in ledger.tickets(stored.drop) if one.ticket_id == name)
    return f"Ticket {name} is open for this incident: {_standing(row)}"


def _is_later(stored: StoredDraft, record: IncidentRecord) -> bool:
    then = stored.draft.last_seen if stored.draft else None
    return then is not None and record.last_seen is not None and then > record.last_seen


def _rests_on(
    settings: Settings, ledger: Ledger, stored: StoredDraft, record: IncidentRecord
) -> bool:
    """True when the stored draft rests on exactly this evidence, catalogue entry and history."""
    draft = stored.draft
    if draft is None or draft.evidence_sha256 != record.evidence_sha256:
        return False
    entry = load_catalogue(settings.catalogue).entry_for(record)
    history = history_of(ledger, record, len(entry.repair_steps))
    return draft.basis_sha256 == basis_sha256(record, entry, history)


def _standing(row: TicketRow) -> str:
    if row.state == "published":
        return "it is published. Report there what was done at the rack."
    if row.state == "approved":
        return f"it was approved by {row.reviewer} and goes out with the next publish run."
    if row.state == "rejected":
        return (
            f"it was rejected by {row.reviewer} ({row.reason}). Nothing that a draft rests on has "
            "changed, so a new one would say the same: edit it instead."
        )
    return f"revision {row.revision} waits for a person. Read and decide that one."
