"""Rows of a Parquet file for readers, which know no database: DuckDB streams them column by column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb

from fabric_pipeline.errors import UnreadableTableError
from fabric_pipeline.store.duck import glob_safe, quoted, session

_BATCH_ROWS = 50_000


class ParquetFile:
    """One Parquet file. Raises UnreadableTableError, with the reason, when it is none."""

    def __init__(self, path: Path) -> None:
        """Read the footer only."""
        self._path = glob_safe(str(path))
        with closing(session()) as con, _told():
            described = con.execute(
                "describe select * from read_parquet(?, hive_partitioning = false)", [self._path]
            ).fetchall()
        self.columns: Sequence[str] = [row[0] for row in described]

    def rows(self, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """All rows with these columns, in the order of the file."""
        names = ", ".join(quoted(column) for column in columns)
        with closing(session()) as con, _told():
            cursor = con.execute(
                f"select {names} from read_parquet(?, hive_partitioning = false)", [self._path]
            )
            while batch := cursor.fetchmany(_BATCH_ROWS):
                for row in batch:
                    yield dict(zip(columns, row, strict=True))


class _told:  # noqa: N801 - reads as a word in a with statement
    """Turns DuckDB's errors into the one that readers know."""

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, _: object, problem: BaseException | None, __: object) -> None:
        if isinstance(problem, duckdb.Error):
            told = (str(problem).splitlines() or ["no reason given"])[0]
            raise UnreadableTableError(told) from None
