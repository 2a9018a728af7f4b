"""Publishing approved tickets of a drop to the outbox; the gate is asked again here, ticket by ticket.

Files are staged first, then the ledger records the publication (and refuses it without approval),
then the staged folder is renamed into place. A run that was cut short in between is finished by the
next one. Nothing is sent anywhere: the outbox is a folder.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from fabric_pipeline.errors import GateError
from fabric_pipeline.incidents.review import verdict
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.filelock import locked
from fabric_pipeline.store.lake import sync_folder
from fabric_pipeline.store.ledger import Ledger, Publication, StoredDraft
from fabric_pipeline.workflows.outbox_payloads import Release, outbox_files
from fabric_pipeline.workflows.outbox_sheet import Sheet
from fabric_pipeline.workflows.ticket_sheet import approval_of

STAGING = ".staging"
TICKET_FILE = "ticket.json"


@dataclass(frozen=True, slots=True)
class PublishOutcome:
    """What happened to the current drafts of a drop.

    `already`: published by an earlier call. `refused`: (ticket id, why), among them every draft
    that still waits for a person.
    """

    published: list[Publication] = field(default_factory=list)
    already: list[Publication] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)


def publish_approved(settings: Settings, ledger: Ledger, drop: str, at: datetime) -> PublishOutcome:
    """Publish every current draft of a drop whose latest review is an approval. Safe to repeat.

    When the ledger's chain does not hold, nothing is published and each draft says so.
    """
    outcome = PublishOutcome()
    with locked(settings.outbox / ".lock"):
        problems = ledger.verify_chain()
        if not problems:
            _finish(settings.outbox, ledger)
        done = {(row.ticket_id, row.revision): row for row in ledger.publications()}
        for stored in ledger.drafts_of_drop(drop):
            earlier = done.get((stored.ticket_id, stored.revision))
            if earlier:
                outcome.already.append(earlier)
            elif problems:
                why = f"the ledger was changed from outside: {problems[0]}"
                outcome.refused.append((stored.ticket_id, why))
            else:
                _publish(settings, ledger, stored, at, outcome)
    return outcome


def _publish(
    settings: Settings, ledger: Ledger, stored: StoredDraft, at: datetime, outcome: PublishOutcome
) -> None:
    state = ledger.review_state(stored.ticket_id, stored.draft_sha256)
    may_publish, why = verdict(state)
    approval = approval_of(stored, state)
    if not may_publish or stored.draft is None or approval is None:
        outcome.refused.append((stored.ticket_id, why))
        return
    sheet = Sheet(
        draft=stored.draft,
        draft_sha256=stored.draft_sha256,
        revision=stored.revision,
        approval=approval,
        portal_url=settings.portal_url,
    )
    release = Release(sheet=sheet, approval=approval, published_at=at.astimezone(UTC))
    outbox = settings.outbox
    staged = _stage(outbox, release)
    try:
        row = ledger.record_publication(
            stored.ticket_id,
            stored.draft_sha256,
            approval.seq,
            approval.reviewer,
            at,
            f"{stored.ticket_id}/{TICKET_FILE}",
        )
    except GateError as error:
        shutil.rmtree(staged)
        outcome.refused.append((stored.ticket_id, error.message))
        return
    _put_in_place(outbox, staged, stored.ticket_id)
    outcome.published.append(row)


def _stage(outbox: Path, release: Release) -> Path:
    staged = outbox / STAGING / f"{release.draft.ticket_id}.{release.sheet.revision}"
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir(parents=True)
    for name, content in outbox_files(release).items():
        (staged / name).write_bytes(content)
        sync_folder(staged / name)
    sync_folder(staged)
    return staged


def _put_in_place(outbox: Path, staged: Path, ticket_id: str) -> None:
    """Swap the whole folder, so that a reader never sees files of two revisions side by side."""
    target = outbox / ticket_id
    if target.exists():
        replaced = staged.with_name(f"{staged.name}.replaced")
        target.rename(replaced)
        staged.rename(target)
        shutil.rmtree(replaced)
    else:
        staged.rename(target)
    sync_folder(outbox)


def _finish(outbox: Path, ledger: Ledger) -> None:
    """Complete what a run that was cut short had staged: in place if recorded, else removed."""
    staging = outbox / STAGING
    if not staging.is_dir():
        return
    newest = {row.ticket_id: row.revision for row in ledger.publications()}
    recorded = {f"{ticket_id}.{revision}": ticket_id for ticket_id, revision in newest.items()}
    for staged in sorted(staging.iterdir()):
        if staged.name in recorded:
            _put_in_place(outbox, staged, recorded[staged.name])
        else:
            shutil.rmtree(staged)
