"""Which drops a `run` has to work on: claimed through the ledger, known content skipped with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from fabric_pipeline.errors import FabricError, UsageError
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.inbox import claim, scan_all


@dataclass(frozen=True, slots=True)
class PlannedDrop:
    """One drop that was asked for: to be run, or skipped with the reason in words."""

    path: Path
    drop_id: str
    must_run: bool
    note: str


def plan(
    settings: Settings, paths: Sequence[Path], at: datetime, *, force: bool = False
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
            planned.append(_planned(ledger, path, at, force=force))
        except FabricError as problem:
            if len(wanted) == 1:
                raise
            planned.append(PlannedDrop(path, "", must_run=False, note=str(problem)))
    return planned


def _planned(ledger: Ledger, path: Path, at: datetime, *, force: bool) -> PlannedDrop:
    found = claim(ledger, path, at)
    if found.state == "duplicate_of" and found.processed and not force:
        return PlannedDrop(
            path,
            found.owner,
            must_run=False,
            note=f"same content as drop {found.owner}: not read again",
        )
    if found.processed and not force:
        return PlannedDrop(path, found.drop_id, must_run=False, note="unchanged since it was read")
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
