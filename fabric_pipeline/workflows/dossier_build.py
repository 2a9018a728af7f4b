"""Building the evidence dossier of one incident: a folder that can be verified without our code.

The parts are made in `dossier_*`; here they are put together, in a temporary folder that is renamed
into place. The same content gives the same manifest, whenever and however often it is built.
"""

from __future__ import annotations

import json
import re
import shutil
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from fabric_pipeline.errors import FabricError, NotFoundError, UsageError
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.columns import DatabaseError
from fabric_pipeline.store.duck import connect
from fabric_pipeline.store.filelock import locked
from fabric_pipeline.store.lake import attach, checked_drop
from fabric_pipeline.store.ledger import Ledger, StoredDraft
from fabric_pipeline.workflows.dossier_bag import (
    MANIFEST,
    PAYLOAD,
    check_bag,
    close_bag,
    payload_manifest,
    put_in_place,
)
from fabric_pipeline.workflows.dossier_excerpts import (
    EXCERPT_FOLDER,
    MAX_LINES,
    write_excerpts,
)
from fabric_pipeline.workflows.dossier_figure import figure
from fabric_pipeline.workflows.dossier_readme import readme
from fabric_pipeline.workflows.dossier_rows import (
    ROW_FOLDER,
    ROW_TABLES,
    pick_rows,
    queries_text,
    write_rows,
)
from fabric_pipeline.workflows.dossier_scope import scope_of
from fabric_pipeline.workflows.dossier_sources import Source
from fabric_pipeline.workflows.dossier_texts import lineage, versions
from fabric_pipeline.workflows.topology_rows import topology_from_rows

STAGING = ".staging"
LINEAGE = "lineage.json"
_INCIDENT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Dossier:
    """A dossier in its place. `files` counts the payload, `manifest_sha256` stands for all of it."""

    path: Path
    manifest_sha256: str
    files: int
    incident_id: str
    chain_head: str = ""


def dossier_path(settings: Settings, incident_id: str, drop: str) -> Path:
    """Where the dossier of an incident lies, whether or not it is built."""
    if not _INCIDENT_ID.fullmatch(incident_id):
        raise UsageError(f"{incident_id!r} is not an incident id", "list the incidents first")
    return settings.dossiers / f"{incident_id}--{checked_drop(drop)}"


def build_dossier(
    settings: Settings, ledger: Ledger, record: IncidentRecord, at: datetime, *, run_id: str = ""
) -> Dossier:
    """Build or rebuild the dossier of one incident of a drop that is in the lake.

    `run_id` is that of the pipeline run; `at` goes into `bag-info.txt` alone. Missing tables and
    source files are stated in the dossier and do not stop it.
    """
    target = dossier_path(settings, record.incident_id, record.drop)
    staging = settings.dossiers / STAGING
    settings.dossiers.mkdir(parents=True, exist_ok=True)
    with locked(settings.dossiers / ".lock"):
        shutil.rmtree(staging, ignore_errors=True)  # of a build that was killed: none runs now
        bag = staging / f"{target.name}.{uuid4().hex}"
        (bag / PAYLOAD).mkdir(parents=True)
        try:
            sources, head = _payload(settings, ledger, record, run_id, bag / PAYLOAD)
            _keep_first_run(bag, target)
            notes = [("Run-Id", run_id)] if run_id else []
            notes += [("Source-Note", source.note) for source in sources]
            manifest_sha256 = close_bag(bag, target.name, at, notes)
            files = len((bag / MANIFEST).read_text(encoding="utf-8").splitlines())
            put_in_place(bag, target)
        except DatabaseError as error:
            raise FabricError(
                f"the dossier of {record.incident_id} cannot be built from the lake: {error}",
                f"run the drop {record.drop!r} again, so that its tables are of this version",
            ) from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return Dossier(target, manifest_sha256, files, record.incident_id, head)


def _payload(
    settings: Settings, ledger: Ledger, record: IncidentRecord, run_id: str, data: Path
) -> tuple[list[Source], str]:
    """Write the payload; returns what became of the source files and the head of the chain."""
    drop = _drop_path(ledger, record.drop)
    head = ledger.chain_head()
    with closing(connect()) as con:
        present = {name for name in ROW_TABLES if attach(con, settings.lake, name, record.drop)}
        topology = _topology(con, settings.lake, record.drop)
        scope = scope_of(record, _spiking_ends(con, present), topology)
        rows = pick_rows(con, scope, present)
        write_rows(con, data / ROW_FOLDER)
        sources = write_excerpts(con, record, drop, data / EXCERPT_FOLDER)
        has_ticket = _ticket(ledger, record, data)
        _json(data / "incident.json", record.model_dump(mode="json"))
        _json(data / "versions.json", versions(con, sources, drop, rows))
        _json(data / LINEAGE, lineage(record, scope, rows, settings.lake, run_id))
        _json(data / "ledger.json", {"chain_head": head, "drop": record.drop})
        _text(data / "queries.sql", queries_text(rows))
        _text(data / "figure.svg", figure(con, record))
        _text(data / "README.txt", readme(record, rows, MAX_LINES, has_ticket=has_ticket))
    return sources, head


def _drop_path(ledger: Ledger, drop: str) -> Path | None:
    try:
        return Path(ledger.drop(drop).path)
    except NotFoundError:
        return None


def _topology(connection: Any, lake: Path, drop: str) -> Topology:
    if not attach(connection, lake, "fabric_topology", drop):
        return Topology()
    sql = "select kind, attributes from fabric_topology"
    return topology_from_rows(connection.execute(sql).fetchall())


def _spiking_ends(connection: Any, present: set[str]) -> list[tuple[str, str]]:
    if "spike_detections" not in present:
        return []
    sql = "select distinct node, interface from spike_detections order by all"
    return [(row[0], row[1]) for row in connection.execute(sql).fetchall()]


def _ticket(ledger: Ledger, record: IncidentRecord, data: Path) -> bool:
    """Write the current draft and all reviews of its ticket; False when there is no ticket."""
    drafts = ledger.drafts_of_drop(record.drop)
    stored = next((one for one in drafts if one.incident_id == record.incident_id), None)
    if stored is None:
        return False
    _json(data / "ticket.json", _ticket_facts(stored))
    reviews = [row for row in ledger.reviews_after(0) if row.ticket_id == stored.ticket_id]
    _json(
        data / "reviews.json",
        [
            {
                "seq": row.seq,
                "ticket_id": row.ticket_id,
                "revision": row.revision,
                "draft_sha256": row.draft_sha256,
                "decision": row.decision,
                "reviewer": row.reviewer,
                "reason": row.reason,
                "at": row.at.isoformat(),
            }
            for row in reviews
        ],
    )
    return True


def _ticket_facts(stored: StoredDraft) -> dict[str, Any]:
    return {
        "ticket_id": stored.ticket_id,
        "revision": stored.revision,
        "draft_sha256": stored.draft_sha256,
        "drafted_at": stored.at.isoformat(),
        "is_intact": stored.intact,
        "draft": stored.draft.model_dump(mode="json") if stored.draft else None,
    }


def _keep_first_run(bag: Path, target: Path) -> None:
    """A rebuild by another run, with nothing else new, keeps the run id that is there already."""
    if not target.is_dir() or check_bag(target)[0]:
        return
    new, old = (folder / PAYLOAD / LINEAGE for folder in (bag, target))
    if not old.is_file():
        return
    written = new.read_bytes()
    shutil.copyfile(old, new)
    if payload_manifest(bag) != (target / MANIFEST).read_text(encoding="utf-8") or (
        _without_run(json.loads(written)) != _without_run(json.loads(new.read_bytes()))
    ):
        new.write_bytes(written)


def _without_run(facts: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in facts.items() if key != "run_id"}


def _json(path: Path, value: Any) -> None:
    _text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
