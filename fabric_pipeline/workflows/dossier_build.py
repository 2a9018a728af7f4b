"""Building the evidence dossiers of a drop: folders that can be verified without our code.

The parts are made in `dossier_*`; here they are put together, in a temporary folder that is renamed
into place. Same facts, same bytes: no clock is read, times are those that the ledger recorded.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
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
from fabric_pipeline.store.duck import session
from fabric_pipeline.store.filelock import locked
from fabric_pipeline.store.lake import attach, checked_drop
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.dossier_bag import (
    MANIFEST,
    PAYLOAD,
    SIGNATURE,
    check_bag,
    close_bag,
    dates,
    is_same_bag,
    put_in_place,
)
from fabric_pipeline.workflows.dossier_excerpts import EXCERPT_FOLDER, write_excerpts
from fabric_pipeline.workflows.dossier_ledger import LedgerFacts, read_ledger
from fabric_pipeline.workflows.dossier_rendered import rendered
from fabric_pipeline.workflows.dossier_rows import ROW_FOLDER, ROW_TABLES, pick_rows, write_rows
from fabric_pipeline.workflows.dossier_scope import End, scope_of
from fabric_pipeline.workflows.dossier_sources import Source
from fabric_pipeline.workflows.dossier_texts import lineage, table_files, versions
from fabric_pipeline.workflows.dossier_weighing import (
    WEIGHING_FOLDER,
    WEIGHING_TABLES,
    pick_weighing,
    write_weighing,
)
from fabric_pipeline.workflows.dossier_whole import (
    DROP_FOLDER,
    WholeDrop,
    surroundings,
    why_not_whole,
    write_whole,
)
from fabric_pipeline.workflows.drop_stages import topology_of
from fabric_pipeline.workflows.expired import refuse_expired

STAGING = ".staging"
LINEAGE = "lineage.json"
_INCIDENT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_RUN_ID = re.compile(r"[A-Za-z0-9-]{1,64}")


@dataclass(frozen=True, slots=True)
class Dossier:
    """A dossier in its place. `files` counts the payload, `manifest_sha256` stands for all of it.

    `lost_signature` is True when an earlier one was signed and the facts have changed since.
    """

    path: Path
    manifest_sha256: str
    files: int
    incident_id: str
    chain_head: str = ""
    lost_signature: bool = False


@dataclass(frozen=True, slots=True)
class _Drop:
    """What the dossiers of one drop share, read once: its tables are views in `connection`."""

    connection: Any
    path: Path | None  # where it was read from, None when the ledger does not know it
    present: set[str]
    topology: Topology
    spiking: Sequence[End]
    tables: dict[str, tuple[str, str]]
    surroundings: WholeDrop | None  # its files and runs, None when the report of reading is gone
    not_whole: str  # why the dossiers do not hold all of it, "" when they do
    not_weighed: str  # why they do not hold the inputs of the weighing either


def dossier_path(settings: Settings, incident_id: str, drop: str) -> Path:
    """Where the dossier of an incident lies, whether or not it is built."""
    if not _INCIDENT_ID.fullmatch(incident_id):
        raise UsageError(f"{incident_id!r} is not an incident id", "list the incidents first")
    return settings.dossiers / f"{incident_id}--{checked_drop(drop)}"


def build_dossier(
    settings: Settings, ledger: Ledger, record: IncidentRecord, at: datetime, *, run_id: str = ""
) -> Dossier:
    """Build or rebuild the dossier of one incident of a drop that is in the lake.

    It is dated by the newest fact that the ledger recorded of the incident, by `at` when there is
    none. `run_id` is that of the pipeline run; a rebuild over the same incident record keeps the
    first one. Missing tables and source files are stated in the dossier and do not stop it.
    """
    return build_dossiers(settings, ledger, [record], at, run_id=run_id)[0]


def build_dossiers(
    settings: Settings,
    ledger: Ledger,
    records: Sequence[IncidentRecord],
    at: datetime,
    *,
    run_id: str = "",
) -> list[Dossier]:
    """Dossiers of several incidents in the order given; what those of one drop share is read once."""
    targets = [dossier_path(settings, one.incident_id, one.drop) for one in records]
    staging = settings.dossiers / STAGING
    settings.dossiers.mkdir(parents=True, exist_ok=True)
    built: dict[Path, Dossier] = {}
    with locked(settings.dossiers / ".lock"):
        shutil.rmtree(staging, ignore_errors=True)  # of a build that was killed: none runs now
        try:
            for drop in dict.fromkeys(one.drop for one in records):
                jobs = [
                    _Job(settings, record, target, run_id, at)
                    for record, target in zip(records, targets, strict=True)
                    if record.drop == drop
                ]
                built |= _build_all(jobs, ledger, drop, staging)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return [built[target] for target in targets]


@dataclass(frozen=True, slots=True)
class _Job:
    """One dossier to build: the incident, and where it goes."""

    settings: Settings
    record: IncidentRecord
    target: Path
    run_id: str
    at: datetime


def _build_all(
    jobs: Sequence[_Job], ledger: Ledger, drop: str, staging: Path
) -> dict[Path, Dossier]:
    with closing(session()) as connection:
        try:
            shared = _read_drop(connection, jobs[0].settings, ledger, drop)
            return {job.target: _build(job, shared, ledger, staging) for job in jobs}
        except DatabaseError as error:
            raise FabricError(
                f"dossiers of the drop {drop!r} cannot be built from the lake: {error}",
                f"run the drop {drop!r} again, so that its tables are of this version",
            ) from error


def _read_drop(connection: Any, settings: Settings, ledger: Ledger, drop: str) -> _Drop:
    present = {name for name in ROW_TABLES if attach(connection, settings.lake, name, drop)}
    for name in set(ROW_TABLES) - present:
        refuse_expired(settings, drop, name)  # the dossier that was built in time holds more
    has_topology = attach(connection, settings.lake, "fabric_topology", drop)
    topology = topology_of(connection) if has_topology else Topology()
    spiking = _spiking_ends(connection, present)
    around = surroundings(settings, drop)
    not_whole = not_weighed = "the report of reading the drop is not in the lake"
    if around is not None:
        not_whole = why_not_whole(connection, settings, drop)
        not_weighed = "a table of the drop is missing"
        if not_whole and has_topology and set(WEIGHING_TABLES) - present == {"fabric_topology"}:
            not_weighed = pick_weighing(connection, topology, spiking)
    try:
        path = Path(ledger.drop(drop).path)
    except NotFoundError:
        path = None
    return _Drop(
        connection=connection,
        path=path,
        present=present,
        topology=topology,
        spiking=spiking,
        tables=table_files(settings.lake, drop),
        surroundings=around,
        not_whole=not_whole,
        not_weighed=not_weighed,
    )


def _build(job: _Job, drop: _Drop, ledger: Ledger, staging: Path) -> Dossier:
    bag = staging / f"{job.target.name}.{uuid4().hex}"
    (bag / PAYLOAD).mkdir(parents=True)
    run_id = _first_run(job)
    facts = read_ledger(ledger, job.record.incident_id, job.record.drop)
    sources = _payload(job, drop, facts, run_id, bag / PAYLOAD)
    notes = [*dates(facts.recorded_until or job.at.isoformat()), ("Ledger-Head", facts.head)]
    notes += [("Run-Id", run_id)] if run_id else []
    notes += [("Source-Note", source.note) for source in sources]
    manifest_sha256 = close_bag(bag, job.target.name, notes)
    files = len((bag / MANIFEST).read_text(encoding="utf-8").splitlines())
    is_same = is_same_bag(bag, job.target)
    was_signed = (job.target / SIGNATURE).is_file()
    if not is_same:  # else the one in place stays, with the signature that it may bear
        put_in_place(bag, job.target)
    return Dossier(
        path=job.target,
        manifest_sha256=manifest_sha256,
        files=files,
        incident_id=job.record.incident_id,
        chain_head=facts.head,
        lost_signature=was_signed and not is_same,
    )


def _payload(job: _Job, drop: _Drop, said: LedgerFacts, run_id: str, data: Path) -> list[Source]:
    """Write the payload; returns what became of the source files."""
    record, connection = job.record, drop.connection
    scope = scope_of(record, drop.spiking, drop.topology)
    rows = pick_rows(connection, scope, drop.present)
    write_rows(connection, data / ROW_FOLDER)
    if drop.surroundings is not None and not drop.not_whole:
        write_whole(drop.surroundings, job.settings, record.drop, data / DROP_FOLDER)
    elif drop.surroundings is not None and not drop.not_weighed:
        write_weighing(connection, drop.surroundings, data / WEIGHING_FOLDER)
    sources = write_excerpts(
        connection, record, drop.path, data / EXCERPT_FOLDER, job.settings.unpacked
    )
    facts = lineage(record, scope, rows, drop.tables, run_id) | {"not_whole": drop.not_whole}
    _json(data / "incident.json", record.model_dump(mode="json"))
    _json(data / "versions.json", versions(connection, sources, rows))
    _json(data / LINEAGE, facts)
    texts = said.texts() | rendered(connection, record, rows, said, drop.not_whole)
    for name, text in texts.items():
        (data / name).parent.mkdir(exist_ok=True)
        _text(data / name, text)
    return sources


def _spiking_ends(connection: Any, present: set[str]) -> list[End]:
    if "spike_detections" not in present:
        return []
    sql = "select distinct node, interface from spike_detections order by all"
    return [(row[0], row[1]) for row in connection.execute(sql).fetchall()]


def _first_run(job: _Job) -> str:
    """The run of the dossier that is there already, when it is of the same incident record."""
    if not job.target.is_dir() or check_bag(job.target)[0]:
        return job.run_id
    try:
        incident = json.loads((job.target / PAYLOAD / "incident.json").read_bytes())
        known = json.loads((job.target / PAYLOAD / LINEAGE).read_bytes())["run_id"]
        is_same = incident["evidence_sha256"] == job.record.evidence_sha256
    except (OSError, ValueError, KeyError, TypeError):
        return job.run_id
    return known if is_same and _RUN_ID.fullmatch(str(known)) else job.run_id


def _json(path: Path, value: Any) -> None:
    _text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
