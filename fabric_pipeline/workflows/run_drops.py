"""Which drops a `run` has to work on, and the two ends of a diagnosis that can be cut short between them.

Drops are claimed through the ledger, known content is skipped with a reason. A run that was killed is
found by what it began and never ended, and is run again whole: each stage writes its table whole or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fabric_pipeline.errors import FabricError, UsageError
from fabric_pipeline.model.progress import Tell, silent
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.lake import sweep
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.store.run_mark import begin, finish
from fabric_pipeline.workflows.inbox import claim, scan_all
from fabric_pipeline.workflows.ingest_report import load_report
from fabric_pipeline.workflows.shards import failed_shards

if TYPE_CHECKING:
    from fabric_pipeline.store.audit import AuditBuilt


@dataclass(frozen=True, slots=True)
class PlannedDrop:
    """One drop that was asked for: to be run, or skipped with the reason in words."""

    path: Path
    drop_id: str
    must_run: bool
    note: str


def plan(
    settings: Settings,
    paths: Sequence[Path],
    at: datetime,
    *,
    force: bool = False,
    tell: Tell = silent,
) -> list[PlannedDrop]:
    """Claim the given drops, or all of the inbox and all that was pulled when none is given.

    A drop that cannot be read is planned with its problem and does not stop the others; when it is
    the only one, its error is raised.
    """
    wanted = list(paths) or [entry.path for entry in scan_all(settings)]
    if not wanted:
        raise UsageError(
            f"there is no drop in {settings.inbox}", "name a drop folder: fabric-pipeline run PATH"
        )
    ledger = Ledger(settings.ledger)
    planned = []
    for path in wanted:
        try:
            planned.append(_planned(ledger, path, at, force=force, tell=tell))
        except FabricError as problem:
            if len(wanted) == 1:
                raise
            planned.append(PlannedDrop(path, "", must_run=False, note=str(problem)))
    return planned


def begin_diagnosis(settings: Settings, drop_id: str, at: datetime) -> None:
    """Before the first table is written; clears away what a killed run left half-written."""
    begin(settings.home, drop_id, at)
    sweep(settings.lake, drop_id)


def end_diagnosis(settings: Settings, drop_id: str, at: datetime) -> AuditBuilt:
    """After the last table: what was read counts as processed once the audit file holds it.

    A drop with shards that failed stays to be run again. Parts of before go when the audit file has new ones.
    """
    from fabric_pipeline.store.audit import rebuild_audit

    read = load_report(settings, drop_id).content_sha256  # the drop may have changed meanwhile
    if not failed_shards(settings, drop_id):
        Ledger(settings.ledger).mark_processed(drop_id, read, at)
    built = rebuild_audit(settings, at=at)
    sweep(settings.lake, drop_id)
    finish(settings.home, drop_id)
    return built


def _planned(ledger: Ledger, path: Path, at: datetime, *, force: bool, tell: Tell) -> PlannedDrop:
    found = claim(ledger, path, at, tell)
    if found.state == "duplicate_of" and found.processed and not force:
        return PlannedDrop(
            path,
            found.owner,
            must_run=False,
            note=f"same content as drop {found.owner}: not read again",
        )
    if found.processed and not force:
        return PlannedDrop(path, found.drop_id, must_run=False, note="unchanged since it was read")
    if found.processed:
        return PlannedDrop(path, found.owner, must_run=True, note="unchanged, read again")
    words = {
        "new": "new",
        "changed": "changed",
        "unchanged": "not finished before",
        "duplicate_of": f"same content as drop {found.owner}, which is read again",
    }
    return PlannedDrop(
        path,
        found.owner if found.state == "duplicate_of" else found.drop_id,
        must_run=True,
        note=words[found.state],
    )
