"""Excerpts of the source files: the lines an incident rests on, numbered, with the file's hash.

A file that is gone or was changed does not stop a dossier: its excerpt says so and shows no lines. A
line is shown as it stands, except that unprintable characters are spelt out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric_pipeline.incidents.record import Evidence, IncidentRecord
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.workflows.dossier_bag import shown, text_sha256
from fabric_pipeline.workflows.dossier_rows import picked
from fabric_pipeline.workflows.dossier_scope import ranges_of
from fabric_pipeline.workflows.dossier_sources import SAYS, Source, look_at

EXCERPT_FOLDER = "excerpts"
# Lines of one file beyond the first and last one of each reference, which are always shown.
MAX_LINES = 2000
MAX_WIDTH = 4000  # characters of a line that are shown
CUT = " [line cut here]"
_PIECE = 1 << 16
WITH_LINES = ("unchanged", "no_hash")  # states in which lines are shown


@dataclass(frozen=True, slots=True)
class Excerpt:
    """An excerpt read back: its state, the hash of the whole file, and text by line number."""

    state: str
    sha256: str
    lines: Mapping[int, str]


def excerpt_name(file: str) -> str:
    """A safe, unique file name for the excerpt of a source file."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", file)[-80:].lstrip(".-_") or "file"
    return f"{plain}.{text_sha256(file)[:8]}.txt"


def write_excerpts(
    connection: Any,
    record: IncidentRecord,
    drop: Path | None,
    folder: Path,
    unpacked: Path | None = None,
) -> list[Source]:
    """Write one excerpt per source file of the evidence; needs the picked rows in the connection.

    `drop` is the folder or file that was read, None when the ledger does not know it; `unpacked` the
    folder of what came out of archives.
    """
    folder.mkdir()
    sources = []
    for file in sorted({ref.file for ref in record.evidence}):
        refs = [ref for ref in record.evidence if ref.file == file]
        source = look_at(drop, file, next((r.sha256 for r in refs if r.sha256), ""), unpacked)
        lines: list[tuple[int, str]] = []
        if source.path is not None and source.state in WITH_LINES:
            lines = list(_numbered(source.path, wanted_lines(connection, file, refs)))
        text = excerpt_text(connection, source, refs, lines)
        (folder / excerpt_name(file)).write_text(text, encoding="utf-8", newline="\n")
        sources.append(source)
    return sources


def excerpt_text(
    connection: Any, source: Source, refs: Sequence[Evidence], lines: Sequence[tuple[int, str]]
) -> str:
    """The text of one excerpt; needs the picked rows in the connection."""
    head = _header(source, refs, lines, wanted_lines(connection, source.file, refs))
    return head + "".join(f"{number}\t{line}\n" for number, line in lines)


def read_excerpt(path: Path) -> Excerpt:
    """Read an excerpt back; a line that is none of ours is left out."""
    head: dict[str, str] = {}
    lines: dict[int, str] = {}
    for text in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        if text.startswith("# "):
            label, _, value = text[2:].partition(": ")
            head.setdefault(label, value)
        else:
            number, tab, line = text.partition("\t")
            if tab and number.isdecimal():
                lines[int(number)] = line
    return Excerpt(head.get("state", ""), head.get("sha256 of the whole file", ""), lines)


def wanted_lines(connection: Any, file: str, refs: Sequence[Evidence]) -> set[int]:
    """Line numbers to show: line 1 (column names), the references, and what was picked of the file.

    All counter readings are wanted (an increment needs the sample before it), of timings and events
    those inside a reference. When they are too many, the lines of the references go first.
    """
    spans = [(ref.line, max(ref.last_line or ref.line, ref.line)) for ref in refs if ref.line]
    fixed = {1} | {number for span in spans for number in span}
    cited = {
        number
        for ref in refs
        for part in ranges_of(ref)
        for number in range(part.first, part.last + 1)
    }
    picked_lines = {
        number
        for number, is_reading in _picked_lines(connection, file)
        if is_reading or any(first <= number <= last for first, last in spans)
    }
    more = [*sorted(cited - fixed), *sorted(picked_lines - cited - fixed)]
    return fixed | set(more[:MAX_LINES])


def _picked_lines(connection: Any, file: str) -> list[tuple[int, bool]]:
    """Lines of a file that picked rows come from, and whether they are counter readings."""
    parts = (
        f"select line, {table == 'raw_telemetry'} as is_reading from {picked(table)} where file = $file"
        for table in ("raw_telemetry", "collective_timings", "fabric_events")
    )
    sql = f"select distinct line, is_reading from ({' union all '.join(parts)}) where line is not null"
    return [
        (int(row[0]), bool(row[1])) for row in connection.execute(sql, {"file": file}).fetchall()
    ]


def _header(
    source: Source, refs: Sequence[Evidence], lines: Sequence[Any], wanted: set[int]
) -> str:
    about = "; ".join(f"{shown(r.evidence_id)} {_lines_said(r)}" for r in refs)
    bound = f"; at most {MAX_LINES} beside first and last lines" if len(wanted) > MAX_LINES else ""
    return "".join(
        f"# {label}: {value}\n"
        for label, value in (
            ("excerpt of", shown(source.file)),
            ("state", source.state),
            ("which means", SAYS[source.state]),
            ("sha256 of the whole file", source.sha256_now or "not known"),
            ("sha256 in the incident", source.recorded_sha256 or "not stated"),
            ("cited by", about),
            ("shown", f"{len(lines)} lines: line 1 and lines that the incident rests on{bound}"),
            ("form", "line number, tab, line as it stands; unprintable characters as \\uXXXX"),
        )
    )


def _lines_said(ref: Evidence) -> str:
    if ref.line is None:
        return "the whole file"
    return f"lines {ref.line} to {ref.last_line}" if ref.last_line else f"line {ref.line}"


def _numbered(path: Path, wanted: set[int]) -> Iterator[tuple[int, str]]:
    """The wanted lines with their numbers, counted as the readers count: only a line feed ends a line."""
    with path.open("rb") as handle:
        is_utf16 = handle.read(2) in (b"\xff\xfe", b"\xfe\xff")
    if is_utf16:
        lines = SourceFile(path, path.name).lines
        yield from ((n, _line(lines[n - 1])) for n in sorted(wanted) if n <= len(lines))
        return
    with path.open("rb") as handle:
        for number in range(1, max(wanted) + 1):
            piece = head = handle.readline(_PIECE)
            if not head:
                return
            while piece and not piece.endswith(b"\n"):
                piece = handle.readline(_PIECE)  # the rest of an overlong line is passed over
            if number in wanted:
                text = head.removeprefix(b"\xef\xbb\xbf") if number == 1 else head
                yield (
                    number,
                    _line(text.rstrip(b"\n").decode("utf-8", "replace").removesuffix("\r")),
                )


def _line(text: str) -> str:
    tabs_kept = "\t".join(shown(part) for part in text[:MAX_WIDTH].split("\t"))
    return tabs_kept + (CUT if len(text) > MAX_WIDTH else "")
