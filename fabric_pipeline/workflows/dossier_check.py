"""Checking a dossier from the inside: the bag, the incident's hash, ledger rows, excerpts, the verdict.

Needs no lake and no ledger. A folder whose bag does not hold is not looked into any further. The
command runs this in a process of its own (`dossier_verify`).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fabric_pipeline import __version__
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.sources.drop import sha256_of
from fabric_pipeline.store.columns import DatabaseError
from fabric_pipeline.store.duck import connect, glob_safe, literal
from fabric_pipeline.workflows.dossier_bag import (
    BAG_INFO,
    PAYLOAD,
    check_bag,
    dates,
    shown,
    text_sha256,
)
from fabric_pipeline.workflows.dossier_chain import chain_problems
from fabric_pipeline.workflows.dossier_compare import Kept, Rerun, differing_rows
from fabric_pipeline.workflows.dossier_excerpts import EXCERPT_FOLDER
from fabric_pipeline.workflows.dossier_ledger import LedgerFacts, facts_in
from fabric_pipeline.workflows.dossier_lines import check_lines
from fabric_pipeline.workflows.dossier_rejudge import rejudge
from fabric_pipeline.workflows.dossier_rendered import rendered
from fabric_pipeline.workflows.dossier_rerun import rerun
from fabric_pipeline.workflows.dossier_rows import (
    ROW_FOLDER,
    ROW_TABLES,
    RowSet,
    load_csv,
    take_recorded,
)
from fabric_pipeline.workflows.dossier_texts import limits_used
from fabric_pipeline.workflows.dossier_weighing import (
    WEIGHING_FOLDER,
    WEIGHING_TABLES,
    weigh_again,
)
from fabric_pipeline.workflows.dossier_whole import DROP_FILE, DROP_FOLDER, DROP_TABLES

_NOT_HASHED = ("evidence_sha256", "status", "repeat_count")
# What rows raise that no pipeline has written.
_FOREIGN = (
    DatabaseError,
    OSError,
    ValueError,
    KeyError,
    TypeError,
    ArithmeticError,
    AttributeError,
)


@dataclass(slots=True)
class DossierCheck:
    """The outcome. `problems` is empty when everything holds; `files` counts the payload files.

    `rerun` says what was computed again and came out the same, `not_rerun` what could not be and why.
    `outside` says what was found about signature and known head.
    """

    problems: list[str]
    files: int
    rerun: list[str] = field(default_factory=list)
    not_rerun: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """The outcome in one line."""
        if self.problems:
            return "NOT the same: do not rely on this dossier"
        if self.not_rerun:
            return f"same incident; not run again: {'; '.join(self.not_rerun)}"
        return "same incident, everything run again"


@dataclass(frozen=True, slots=True)
class _Read:
    """The files of a dossier that everything is compared with."""

    record: IncidentRecord
    kept: Kept
    facts: LedgerFacts
    not_whole: str
    versions: Mapping[str, Any]


def check_dossier(path: Path) -> DossierCheck:
    """Check a dossier folder. Never raises for what is in it."""
    if not path.is_dir():
        return DossierCheck([f"{path}: is no folder"], 0)
    problems, files = check_bag(path)
    if problems:
        why = "nothing was run again: the files are not those that were recorded"
        return DossierCheck(problems, files, not_rerun=[why])
    check = DossierCheck([], files)
    read = _read(path / PAYLOAD, check.problems)
    if read is None:
        return check
    done = Rerun()
    with closing(connect()) as connection:
        if _load(connection, path / PAYLOAD / ROW_FOLDER, done.problems):
            _judge_again(connection, path, read, done)
    check.problems += done.problems
    check.rerun += done.same
    check.not_rerun += done.not_rerun
    return check


def _read(data: Path, problems: list[str]) -> _Read | None:
    record = _record(data / "incident.json", problems)
    kept = facts = None
    lineage: Any = {}
    versions: Any = {}
    try:
        lineage = json.loads((data / "lineage.json").read_bytes())
        kept = Kept.of(lineage)
        lineage["not_whole"] + ""
    except _FOREIGN:
        kept = None
        problems.append("lineage.json: is missing or does not say which rows were kept")
    try:
        facts = facts_in(data)
    except (*_FOREIGN, csv.Error):
        problems.append("ledger.json, chain.csv: are missing or are no rows and links of a ledger")
    try:
        versions = json.loads((data / "versions.json").read_bytes())
        versions["readers"].items()
    except _FOREIGN:
        problems.append("versions.json: is missing or names no readers")
        return None
    if record is None or kept is None or facts is None:
        return None
    return _Read(record, kept, facts, lineage["not_whole"], versions)


def _record(path: Path, problems: list[str]) -> IncidentRecord | None:
    try:
        content = path.read_bytes()
        record = IncidentRecord.model_validate_json(content)
    except OSError:
        problems.append("incident.json: is missing")
        return None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        problems.append(f"incident.json: is no incident record ({shown(where)}: {first['msg']})")
        return None
    # Over the file as it stands, as README.txt says it: another version may know more fields.
    body = json.loads(content)
    hashed = {key: value for key, value in body.items() if key not in _NOT_HASHED}
    text = json.dumps(hashed, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    if text_sha256(text) != record.evidence_sha256:
        problems.append("incident.json: its content does not have its own evidence_sha256")
    if (json.dumps(body, indent=2, ensure_ascii=False) + "\n").encode() != content:
        problems.append("incident.json: is not written as a dossier writes a record")
    return record


def _load(connection: Any, folder: Path, problems: list[str]) -> bool:
    """Load every table as `recorded_<table>`; CSV and Parquet must hold the same rows."""
    before = len(problems)
    for name in ROW_TABLES:
        csv_file, parquet = (folder / f"{name}.{end}" for end in ("csv", "parquet"))
        if not (csv_file.is_file() and parquet.is_file()):
            problems.append(f"rows/{name}: is missing")
            continue
        try:
            load_csv(connection, csv_file, TABLES[name], f"recorded_{name}")
            other = f"(from read_parquet({literal(glob_safe(str(parquet)))}))"
            differing = differing_rows(connection, f"(from recorded_{name})", other)
        except (DatabaseError, ValueError, csv.Error) as error:
            problems.append(f"rows/{name}: cannot be read ({shown(str(error)[:200])})")
            continue
        if differing:
            problems.append(f"rows/{name}: CSV and Parquet do not hold the same rows")
    return len(problems) == before


def _judge_again(connection: Any, path: Path, read: _Read, done: Rerun) -> None:
    data = path / PAYLOAD
    try:
        done.compare("rows of the ledger against their chain links", chain_problems(read.facts))
        done.compare("facts that several files state", _statements(path, read))
        rows = _verdict_again(connection, data, read, done)
        formats = {file: str(one["format"]) for file, one in read.versions["readers"].items()}
        folder = data / EXCERPT_FOLDER
        check_lines(connection, folder, read.record, formats, read.kept.complete, done)
        _compare_files(list(_rendered(connection, data, read, rows)), read, done)
    except _FOREIGN as error:
        done.problems.append(
            f"the rows cannot be judged again ({type(error).__name__}: {shown(str(error)[:200])})"
        )


def _verdict_again(connection: Any, data: Path, read: _Read, done: Rerun) -> list[RowSet]:
    """The diagnosis once more, of the whole drop or of the excerpt; returns the rows picked."""
    if (data / DROP_FOLDER).is_dir() != (not read.not_whole):
        done.problems.append("lineage.json: does not say rightly whether the whole drop is here")
    if (data / DROP_FOLDER).is_dir():
        return rejudge(connection, data, read.record, read.kept, done)
    done.not_rerun.append(f"the whole drop is not here ({read.not_whole})")
    folder = data / WEIGHING_FOLDER
    is_weighed = folder.is_dir() and weigh_again(connection, folder, read.record, read.kept, done)
    rerun(connection, read.record, read.kept, done, is_weighed=is_weighed)
    return take_recorded(connection, read.kept.scope, read.kept.rows)


def _statements(path: Path, read: _Read) -> Iterator[str]:
    """Facts that stand in more than one file must be the same in all of them."""
    lineage = json.loads((path / PAYLOAD / "lineage.json").read_bytes())
    ids = (read.record.drop, read.record.incident_id)
    if ids != (read.facts.drop, read.facts.incident_id):
        yield "ledger.json: is about another incident"
    if ids != (lineage.get("drop"), lineage.get("incident_id")):
        yield "lineage.json: is about another incident"
    for name in DROP_TABLES:
        file = path / PAYLOAD / DROP_FOLDER / f"{name}.parquet"
        if file.is_file() and lineage["tables"][name]["sha256"] != sha256_of(file):
            yield f"lineage.json: states another hash for {name} than it has here"
    info = (path / BAG_INFO).read_text(encoding="utf-8").splitlines()
    for label, value in (
        *dates(read.facts.recorded_until),
        ("External-Identifier", "--".join(reversed(ids))),
        ("Ledger-Head", read.facts.head),
        ("Run-Id", str(lineage.get("run_id") or "")),
    ):
        if value and f"{label}: {shown(value)}" not in info:
            yield f"{BAG_INFO}: {label} is not {shown(value)}"
    if read.versions.get("fabric_pipeline") == __version__ and any(
        read.versions.get(key) != json.loads(json.dumps(used))
        for key, used in limits_used().items()
    ):
        yield "versions.json: states other limits than this version has"


def _compare_files(differences: list[str], read: _Read, done: Rerun) -> None:
    """Another version of the software may word these files otherwise: then nothing is proven by it."""
    by = str(read.versions.get("fabric_pipeline"))
    if by == __version__ or not differences:
        done.compare("files that follow from others", differences)
        return
    named = ", ".join(sorted({text.partition(":")[0] for text in differences}))
    done.not_rerun.append(f"{named}: written by version {shown(by)}, this is {__version__}")


def _rendered(connection: Any, data: Path, read: _Read, rows: list[RowSet]) -> Iterator[str]:
    """Each such file must be, byte for byte, what the other files give; nothing else may lie there."""
    texts = rendered(connection, read.record, rows, read.facts, read.not_whole) | read.facts.texts()
    for name, text in texts.items():
        path = data / name
        if not path.is_file():
            yield f"{name}: is missing"
        elif path.read_bytes() != text.encode():
            yield f"{name}: is not what the other files of the dossier give"
    known = {*texts, "incident.json", "lineage.json", "versions.json"}
    known |= {f"{ROW_FOLDER}/{name}.{end}" for name in ROW_TABLES for end in ("csv", "parquet")}
    for folder, tables in ((DROP_FOLDER, DROP_TABLES), (WEIGHING_FOLDER, WEIGHING_TABLES)):
        known |= {f"{folder}/{DROP_FILE}", *(f"{folder}/{name}.parquet" for name in tables)}
    for path in sorted(data.rglob("*")):
        name = path.relative_to(data).as_posix()
        if path.is_file() and name not in known and not name.startswith(f"{EXCERPT_FOLDER}/"):
            yield f"{shown(name)}: no part of a dossier has this name"


def as_json(check: DossierCheck) -> str:
    """The outcome as one JSON text, for the process that asked."""
    return json.dumps(asdict(check))
