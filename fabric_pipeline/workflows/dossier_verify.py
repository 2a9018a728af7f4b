"""Verifying a dossier by itself: the bag, the incident's own hash, the excerpts, and then the verdict.

Needs no lake and no ledger. A folder whose bag does not hold is not looked into any further; the
judging that is run again stands in `dossier_rerun`.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fabric_pipeline.incidents.build import evidence_hash
from fabric_pipeline.incidents.record import Evidence, IncidentRecord
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.store.columns import DatabaseError
from fabric_pipeline.store.duck import connect, glob_safe, literal
from fabric_pipeline.workflows.dossier_bag import PAYLOAD, check_bag, shown
from fabric_pipeline.workflows.dossier_compare import Kept, Rerun, differing_rows
from fabric_pipeline.workflows.dossier_excerpts import (
    CUT,
    EXCERPT_FOLDER,
    Excerpt,
    excerpt_name,
    read_excerpt,
)
from fabric_pipeline.workflows.dossier_rerun import rerun
from fabric_pipeline.workflows.dossier_rows import ROW_FOLDER, ROW_TABLES, load_csv
from fabric_pipeline.workflows.dossier_sources import SAYS

_WITH_LINES = ("unchanged", "no_hash")
_WHOLE_NUMBER = re.compile(r"\d{1,18}")


@dataclass(frozen=True, slots=True)
class DossierCheck:
    """The outcome. `problems` is empty when everything holds; `files` counts the payload files.

    `rerun` says what was computed again and came out the same, `not_rerun` what could not be and why.
    """

    problems: list[str]
    files: int
    rerun: list[str] = field(default_factory=list)
    not_rerun: list[str] = field(default_factory=list)


def verify_dossier(path: Path) -> DossierCheck:
    """Check a dossier folder. Never raises for what is in it."""
    if not path.is_dir():
        return DossierCheck([f"{path}: is no folder"], 0)
    problems, files = check_bag(path)
    if problems:
        why = "nothing was run again: the files are not those that were recorded"
        return DossierCheck(problems, files, not_rerun=[why])
    check = DossierCheck([], files)
    record = _record(path / PAYLOAD / "incident.json", check.problems)
    kept = _kept(path / PAYLOAD / "lineage.json", check.problems)
    if record is None or kept is None:
        return check
    excerpts = _excerpts(path / PAYLOAD / EXCERPT_FOLDER, record, check)
    with closing(connect()) as con:
        if _load(con, path / PAYLOAD / ROW_FOLDER, check.problems):
            _judge_again(con, record, kept, excerpts, check)
    return check


def _judge_again(
    connection: Any,
    record: IncidentRecord,
    kept: Kept,
    excerpts: Mapping[str, Excerpt],
    check: DossierCheck,
) -> None:
    done = Rerun()
    what = "readings of normalized counter files against the excerpted lines"
    done.compare(what, _rows_against_lines(connection, excerpts))
    try:
        rerun(connection, record, kept, done)
    except (DatabaseError, ValueError, KeyError, TypeError, ArithmeticError) as error:
        done.problems.append(f"the rows cannot be judged again ({shown(str(error)[:200])})")
    check.problems.extend(done.problems)
    check.rerun.extend(done.same)
    check.not_rerun.extend(done.not_rerun)


def _record(path: Path, problems: list[str]) -> IncidentRecord | None:
    try:
        record = IncidentRecord.model_validate_json(path.read_bytes())
    except OSError:
        problems.append("incident.json: is missing")
        return None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        problems.append(f"incident.json: is no incident record ({shown(where)}: {first['msg']})")
        return None
    if evidence_hash(record) != record.evidence_sha256:
        problems.append("incident.json: its content does not have its own evidence_sha256")
    return record


def _kept(path: Path, problems: list[str]) -> Kept | None:
    try:
        return Kept.of(json.loads(path.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        problems.append("lineage.json: is missing or does not say which rows were kept")
        return None


def _excerpts(folder: Path, record: IncidentRecord, check: DossierCheck) -> dict[str, Excerpt]:
    found: dict[str, Excerpt] = {}
    for ref in record.evidence:
        path = folder / excerpt_name(ref.file)
        if not path.is_file():
            check.problems.append(f"{ref.evidence_id}: there is no excerpt of {shown(ref.file)}")
            continue
        excerpt = found.setdefault(ref.file, read_excerpt(path))
        if excerpt.state in _WITH_LINES:
            check.problems.extend(_reference_problems(ref, excerpt))
    for file, excerpt in found.items():
        if excerpt.state not in _WITH_LINES:
            said = next((text for state, text in SAYS.items() if state == excerpt.state), "")
            check.not_rerun.append(f"lines of {shown(file)}: {said or 'its excerpt has no state'}")
    return found


def _reference_problems(ref: Evidence, excerpt: Excerpt) -> Iterator[str]:
    where = f"{ref.evidence_id}: the excerpt of {shown(ref.file)}"
    if ref.sha256 and excerpt.sha256 != ref.sha256:
        yield f"{where} is of another file than the incident cites (its hash differs)"
    for line in (ref.line, ref.last_line):
        if line is not None and line not in excerpt.lines:
            yield f"{where} lacks line {line}"


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


def _rows_against_lines(connection: Any, excerpts: Mapping[str, Excerpt]) -> Iterator[str]:
    """Whole numbers of our own counter format stand in their line as they are; others may be spelt
    in several ways and are not compared.
    """
    sql = (
        "select file, line, counter_text, value_text from recorded_raw_telemetry "
        "where format = 'fabric_counters' and line is not null and refused_by is null order by all"
    )
    for file, line, counter, value in connection.execute(sql).fetchall():
        excerpt = excerpts.get(file)
        text = excerpt.lines.get(line, "") if excerpt and excerpt.state in _WITH_LINES else ""
        if not text or text.endswith(CUT) or not _WHOLE_NUMBER.fullmatch(value):
            continue
        if not re.search(rf"(?<!\d){value}(?!\d)", text):
            yield f"line {line} of {shown(file)} does not hold {shown(counter)} {value}"
