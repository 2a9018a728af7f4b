"""Checking the excerpts of a dossier: head and lines against the incident, and against the rows.

Lines of our own normalized files are read once more by their reader and must give the recorded rows;
lines of other formats may mean something only beside lines that are not shown, and are not read again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from fabric_pipeline.incidents.record import Evidence, IncidentRecord
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.sources.drop import list_drop
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.store.duck import literal, session
from fabric_pipeline.workflows.dossier_bag import shown
from fabric_pipeline.workflows.dossier_compare import Rerun, differing_rows
from fabric_pipeline.workflows.dossier_excerpts import (
    CUT,
    WITH_LINES,
    Excerpt,
    excerpt_name,
    excerpt_text,
    read_excerpt,
    wanted_lines,
)
from fabric_pipeline.workflows.dossier_rows import picked
from fabric_pipeline.workflows.dossier_sources import SAYS, Source
from fabric_pipeline.workflows.ingest import ingest


@dataclass(frozen=True, slots=True)
class _Form:
    """A format in which every line stands for itself: its table, and what a line alone decides."""

    table: str
    columns: tuple[str, ...]


_BY_LINE = {
    "fabric_counters": _Form(
        "raw_telemetry",
        (
            "format", "time_text", "entity_text", "counter_text", "value_text", "node", "interface", "link_type", "lane", "counter",
            "kind", "scope", "value", "gpu_uuid", "socket", "state",
        ),
    ),
    "fabric_collectives": _Form(
        "collective_timings",
        (
            "run", "communicator", "seq", "op", "bytes", "ranks", "rank", "node", "gpu", "duration_us", "arrival_us", "baseline_us",
            "variant", "unit_kind",
        ),
    ),
    "fabric_events": _Form(
        "fabric_events", ("node", "interface", "lane", "kind", "code", "time_text", "severity", "count", "text", "details")
    ),
}  # fmt: skip
_ENDS = (".csv", ".jsonl")
# Readings of the future are refused when read: nothing is, so long after any telemetry.
_LATE = datetime(9000, 1, 1, tzinfo=UTC)


def _excerpts_of(folder: Path, record: IncidentRecord) -> dict[str, Excerpt]:
    """Excerpt by source file, for those files of the evidence that have one."""
    paths = {ref.file: folder / excerpt_name(ref.file) for ref in record.evidence}
    return {file: read_excerpt(path) for file, path in paths.items() if path.is_file()}


def check_lines(
    connection: Any,
    folder: Path,
    record: IncidentRecord,
    formats: Mapping[str, str],
    complete: Collection[str],
    done: Rerun,
) -> None:
    """Note what holds; needs the rows of the dossier as `picked_<table>` in the connection.

    `formats` names the format of each source file, `complete` the tables whose rows were not cut.
    """
    excerpts = _excerpts_of(folder, record)
    refs: dict[str, list[Evidence]] = {}
    for ref in record.evidence:
        refs.setdefault(ref.file, []).append(ref)
    done.problems += [
        f"{cited[0].evidence_id}: there is no excerpt of {shown(file)}"
        for file, cited in refs.items()
        if file not in excerpts
    ]
    known = {excerpt_name(file) for file in refs}
    done.problems += [
        f"excerpts/{shown(path.name)}: is of no file that the incident cites"
        for path in sorted(folder.iterdir())
        if path.name not in known
    ]
    for file, excerpt in excerpts.items():
        what = f"excerpt of {shown(file)}"
        done.compare(what, _problems(connection, folder, file, excerpt, refs[file]))
        if excerpt.state not in WITH_LINES:
            said = next((text for state, text in SAYS.items() if state == excerpt.state), "")
            done.not_rerun.append(f"lines of {shown(file)}: {said or 'its excerpt has no state'}")
        else:
            _read_again(connection, file, excerpt, (formats.get(file, ""), complete), done)


def _problems(
    connection: Any, folder: Path, file: str, excerpt: Excerpt, refs: Sequence[Evidence]
) -> Iterator[str]:
    recorded = next((ref.sha256 for ref in refs if ref.sha256), "")
    if excerpt.state not in SAYS:
        yield "it states no state of the file"
        return
    now = excerpt.sha256 if excerpt.sha256 != "not known" else ""
    source = Source(file, excerpt.state, recorded, now)  # type: ignore[arg-type]  # a key of SAYS
    lines = sorted(excerpt.lines.items())
    text = excerpt_text(connection, source, refs, lines)
    if (folder / excerpt_name(file)).read_bytes() != text.encode():
        yield "its head or form is not the one that these rows and lines give"
    if excerpt.state not in WITH_LINES:
        return
    if recorded and excerpt.sha256 != recorded:
        yield "it is of another file than the incident cites (its hash differs)"
    wanted = wanted_lines(connection, file, refs)
    if foreign := sorted(excerpt.lines.keys() - wanted):
        yield f"it shows line {foreign[0]}, which no evidence and no row names"
    ends = {end for ref in refs if ref.line for end in (ref.line, ref.last_line or ref.line)}
    last = max(excerpt.lines, default=0)
    absent = {line for line in wanted - excerpt.lines.keys() if line < last or line in ends}
    if absent:
        yield f"it lacks line {min(absent)}"


def _read_again(
    connection: Any, file: str, excerpt: Excerpt, known: tuple[str, Collection[str]], done: Rerun
) -> None:
    """Read the shown lines as a file of their own and compare with the rows of those lines."""
    format_id, complete = known
    usable = {
        number: text
        for number, text in excerpt.lines.items()
        if not text.endswith(CUT) and "\\u" not in text and "\ufffd" not in text
    }
    what = f"lines of {shown(file)}"
    if format_id not in _BY_LINE or not file.endswith(_ENDS) or 1 not in usable:
        done.not_rerun.append(f"{what}: their format is not read line by line")
    elif _BY_LINE[format_id].table not in complete:
        done.not_rerun.append(f"{what}: their rows were cut or missing")
    else:
        name = PurePosixPath(file).name
        _load_lines(connection, name, usable, _BY_LINE[format_id])
        done.compare(
            f"{what}: {len(usable)} shown lines read again give the recorded rows",
            _row_problems(connection, file, _BY_LINE[format_id], done),
        )


def _load_lines(connection: Any, name: str, lines: Mapping[int, str], form: _Form) -> None:
    """Make `read_again`: what the reader makes of the lines, under their numbers in the source."""
    numbers = sorted(lines)
    columns = ", ".join(("line", *form.columns, "ts"))
    with tempfile.TemporaryDirectory() as folder:
        text = "".join(f"{lines[number]}\n" for number in numbers)
        (Path(folder) / name).write_text(text, encoding="utf-8", newline="\n")
        with closing(session()) as reading:
            ingest(reading, list_drop(Path(folder)), "again", _LATE)
            rows = reading.execute(f"select {columns} from {form.table} order by all").fetchall()
    again = [(numbers[row[0] - 1], *row[1:]) for row in rows if row[0]]
    types = {column.name: column.type for column in TABLES[form.table].columns}
    typed = [(column, types[column]) for column in ("line", *form.columns, "ts")]
    shape = ", ".join(f'"{column}" {kind}' for column, kind in typed)
    connection.execute(f"create or replace temp table read_again ({shape})")
    insert_columns(connection, "read_again", typed, again)
    connection.execute("create or replace temp table usable_lines (line bigint)")
    insert_columns(connection, "usable_lines", (("line", "BIGINT"),), [(n,) for n in numbers])


def _row_problems(connection: Any, file: str, form: _Form, done: Rerun) -> Iterator[str]:
    columns = ", ".join(("line", *form.columns))
    own = (
        f"(select {columns}, ts from {picked(form.table)} semi join usable_lines using (line) "
        f"where file = {literal(file)})"
    )
    again = f"(from read_again where line in (select line from {own}))"
    differing = differing_rows(
        connection, f"(select {columns} from {own})", f"(select {columns} from {again})"
    )
    if differing:
        yield f"{differing} rows are on one side only"
    # A time without an offset is in the time zone of the drop: then all times differ by as much.
    sql = (
        "select distinct (epoch_us(o.ts) - epoch_us(a.ts)) / 9e8 "
        f"from (select distinct line, ts from {own}) o "
        f"join (select distinct line, ts from {again}) a using (line) order by all"
    )
    shifts = [row[0] for row in connection.execute(sql).fetchall() if row[0] is not None]
    if any(shift != int(shift) for shift in shifts):
        yield "the times of the rows are not those of their lines"
    elif len(shifts) > 1:
        done.not_rerun.append(f"times of {shown(file)}: clocks changed, or lines were altered")
