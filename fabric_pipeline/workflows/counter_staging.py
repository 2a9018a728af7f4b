"""Staging of the normalized counters of a drop, set-wise and in pieces, so that size costs no memory.

Lines that DuckDB's own reader of CSV takes are split by it; a piece with quotes, blank lines or a row
of another width is split line by line, which is slower and says what is wrong with a line. What the
cells mean is said in `sources.normalized.counters_sql`.
"""

from __future__ import annotations

import codecs
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.normalized import counters_sql
from fabric_pipeline.sources.normalized.counters import CounterLayout
from fabric_pipeline.sources.normalized.tables import split_csv_line
from fabric_pipeline.store.columns import DatabaseError, insert_columns
from fabric_pipeline.store.duck import glob_safe
from fabric_pipeline.workflows.line_cleaning import clean_copy, whole_lines, write_clean

_PIECE = 32 * 1024 * 1024  # bytes that are staged at once
_BLANK = (b"\n\n", b"\n\r\n")


def stage_counters(
    connection: Any, file: SourceFile, layout: CounterLayout, said: Sequence[Any]
) -> None:
    """Stage all rows of a file; `said` are the parameters of `counters_sql.staged_sql`.

    Raises DatabaseError when DuckDB cannot read the file at all.
    """
    if layout.container == "parquet":
        path = [glob_safe(str(file.path))]
        described = "describe select * from read_parquet(?, hive_partitioning=false)"
        columns = tuple(row[0] for row in connection.execute(described, path).fetchall())
        _insert(connection, counters_sql.parquet_rows_sql(columns), path, said)
        return
    if file.starts_with(codecs.BOM_UTF16_LE) or file.starts_with(codecs.BOM_UTF16_BE):
        with clean_copy(file.path) as path_of_copy:
            pieces = _Pieces(connection, layout, said, is_marked=True)
            pieces.stage(path_of_copy, lambda _: None)  # its bytes are not those of the file
        return
    pieces = _Pieces(connection, layout, said, is_marked=False)
    pieces.stage(file.path, lambda size: file.hear(size, ""))


def _insert(connection: Any, rows: str, head: Sequence[Any], said: Sequence[Any]) -> None:
    connection.execute(
        f"insert into staged_readings {counters_sql.staged_sql(rows)}", [*head, *said]
    )


class _Pieces:
    """The pieces of one text file; `is_marked`: its lines may hold the marks of cleaning already."""

    def __init__(
        self, connection: Any, layout: CounterLayout, said: Sequence[Any], *, is_marked: bool
    ) -> None:
        self._connection = connection
        self._layout = layout
        self._said = said
        self._is_marked = is_marked
        self._before = 0
        self._has_header = layout.container == "csv"

    def stage(self, path: Path, gone_through: Callable[[int], None]) -> None:
        """Stage piece by piece; the header is the first line with content."""
        with tempfile.TemporaryDirectory(prefix="fabric-") as folder:
            piece = Path(folder) / "piece.txt"
            for data in whole_lines(path, _PIECE, gone_through):
                is_as_it_was = write_clean(data, piece) and not self._is_marked
                if not (is_as_it_was and self._is_even(data) and self._by_columns(piece)):
                    self._by_lines(piece)
                self._before += data.count(b"\n")
                self._has_header = self._has_header and not data.strip()

    def _is_even(self, data: bytes) -> bool:
        """True when nothing but separators splits the lines and there may be as many in each."""
        if self._layout.container != "csv" or b'"' in data or any(b in data for b in _BLANK):
            return False
        lines = data.count(b"\n") + (not data.endswith(b"\n"))
        separators = len(self._layout.columns) - 1
        return data[:1] not in b"\r\n" and data.count(b",") == separators * lines

    def _by_columns(self, piece: Path) -> bool:
        """Stage the piece as columns; False, and nothing staged, when a row has another width."""
        sql = counters_sql.csv_columns_sql(self._layout, self._before, has_header=self._has_header)
        try:
            _insert(self._connection, sql, [glob_safe(str(piece))], self._said)
        except DatabaseError:
            return False
        return True

    def _by_lines(self, piece: Path) -> None:
        con = self._connection
        con.execute(
            f"create or replace temp table bulk_lines as {counters_sql.lines_sql(self._before)}",
            [glob_safe(str(piece))],
        )
        if self._layout.container == "jsonl":
            _insert(con, counters_sql.jsonl_rows_sql("bulk_lines"), [], self._said)
            return
        self._split_quoted()
        rows = counters_sql.csv_rows_sql(
            self._layout, "bulk_lines", "bulk_quoted", has_header=self._has_header
        )
        _insert(con, rows, [], self._said)

    def _split_quoted(self) -> None:
        """Lines with quotes are split by the csv module; there are few of them in practice."""
        con = self._connection
        con.execute("create or replace temp table bulk_quoted (line bigint, cells varchar[])")
        quoted = con.execute(
            "select line, line_text from bulk_lines where contains(line_text, '\"')"
        ).fetchall()
        rows = [(line, split_csv_line(text)) for line, text in quoted]
        insert_columns(con, "bulk_quoted", (("line", "BIGINT"), ("cells", "VARCHAR[]")), rows)
