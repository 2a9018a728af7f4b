"""Commands `dossier build` and `dossier verify`: evidence folders that need no trust in us."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from fabric_pipeline.cli.output import plain, put, put_json, say


def build(
    incident: Annotated[str, typer.Argument(help="Incident id, such as INC-0123456789ab.")],
    drop: Annotated[
        str | None, typer.Option("--drop", help="Drop, when the incident is in several.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Build the evidence dossier of one incident."""
    from fabric_pipeline.errors import NotFoundError
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.store.ledger import Ledger
    from fabric_pipeline.workflows.dossier_build import build_dossier

    settings = load_settings()
    ledger = Ledger(settings.ledger)
    records = [o.record for o in ledger.incidents(drop) if o.incident_id == incident]
    if not records:
        raise NotFoundError(
            f"there is no incident {incident}", "list them: fabric-pipeline incidents --all"
        )
    made = [build_dossier(settings, ledger, record, datetime.now(UTC)) for record in records]
    if json:
        put_json(
            [
                {"path": str(one.path), "manifest_sha256": one.manifest_sha256, "files": one.files}
                for one in made
            ]
        )
        return
    for one in made:
        put(f"{one.path}  manifest {one.manifest_sha256[:16]}  {one.files} files")


def verify(
    path: Annotated[Path, typer.Argument(help="Folder of a dossier.")],
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Check every hash of a dossier and run its diagnosis again from its own rows."""
    from fabric_pipeline.workflows.dossier_verify import verify_dossier

    check = verify_dossier(path)
    for problem in check.problems:
        say(f"problem: {plain(problem)}")
    for rest in check.not_rerun:
        say(f"not computed again: {plain(rest)}")
    if json:
        put_json({"path": str(path)} | asdict(check))
    elif not check.problems:
        put(f"{path}: {check.files} files, all as listed; computed again: {len(check.rerun)}")
    if check.problems:
        raise typer.Exit(1)
