"""Staging of bulk files of Prometheus series: values by SQL, what a series measures by its reader.

A file is read in pieces, so that its size costs no memory; series become Python objects, values do
not. What a metric means is decided in `sources.prometheus`, which reads small files line by line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from fabric_pipeline.model.records import MAX_TEXT, ReadResult, RejectedLine
from fabric_pipeline.sources.base import Reader, SourceFile
from fabric_pipeline.sources.normalized.counters_sql import (
    BAD_BYTES,
    CONTROL,
    OVERLONG,
    line_texts_sql,
)
from fabric_pipeline.sources.prometheus import series_sql as sql
from fabric_pipeline.sources.prometheus.exposition import (
    BrokenLineError,
    Exposition,
    Sample,
    label_text,
    parse_labels,
    parse_time,
    parse_value,
)
from fabric_pipeline.sources.prometheus.families import Families, is_single, state_elided
from fabric_pipeline.sources.prometheus.gather import UNDATED
from fabric_pipeline.sources.prometheus.query_json import Answers, time_and_value
from fabric_pipeline.sources.prometheus.query_stream import (
    SeriesStream,
    SeriesText,
    UnusualAnswerError,
)
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.store.duck import glob_safe, scalar
from fabric_pipeline.workflows.line_cleaning import clean_pieces
from fabric_pipeline.workflows.series_meanings import (
    METRIC_COLUMNS,
    OUTCOME_COLUMNS,
    PLACE_COLUMNS,
    Meanings,
    outcome_row,
)
from fabric_pipeline.workflows.staging import forget
from fabric_pipeline.workflows.staging_tables import stage_rejected

LARGE = 2 * 1024 * 1024  # bytes
SetWise = Callable[[Any, SourceFile, Reader, datetime], ReadResult]
# Its values are told apart first; what they mean is worked out for all of its series at once.
_FIRST, _SECOND = "first of two passes", "second of two passes"
_AT_ONCE = 50_000  # pairs or repeats that are fetched together
_ANSWERS = (
    ("line", "BIGINT"),
    ("first_place", "BIGINT"),
    ("name", "VARCHAR"),
    ("label_text", "VARCHAR"),
    ("series_values", "VARCHAR"),
)
_PIECE_CHARACTERS = 32 * 1024 * 1024  # of values that are taken at once
_MARKS = {
    ord(mark): BAD_BYTES for mark in (OVERLONG, CONTROL)
}  # evidence shows the usual character
_PIECE = (
    ("line", "BIGINT"),
    ("place", "BIGINT"),
    ("name", "VARCHAR"),
    ("label_text", "VARCHAR"),
    ("value_text", "VARCHAR"),
    ("time_text", "VARCHAR"),
    ("ts", "TIMESTAMPTZ"),
)


def set_wise(file: SourceFile, reader: Reader) -> SetWise | None:
    """The way to read a file by SQL, None for a small file or one of another kind.

    Below `LARGE` the reader itself is faster; UTF-16, which no exporter writes, is left to it.
    """
    way = _WAYS.get(getattr(reader, "set_wise", ""))
    is_utf16 = file.starts_with(b"\xff\xfe") or file.starts_with(b"\xfe\xff")
    return way if way and not is_utf16 and file.path.stat().st_size >= LARGE else None


def stage_exposition(
    connection: Any, file: SourceFile, reader: Reader, latest: datetime
) -> ReadResult:
    """Stage the readings of a text of any size; the answer holds all that is not a reading."""
    series = SeriesOfFile(connection, file, reader)
    exposition = take_exposition(series, file)
    state_elided(exposition, series.families)
    result = series.finish(latest)
    if exposition.foreign_lines:
        result.facts["foreign_lines"] = exposition.foreign_lines
    return result


def take_exposition(series: SeriesOfFile, file: SourceFile) -> Exposition:
    """Take the samples of a text, piece by piece; the answer knows which lines were none."""
    exposition = Exposition()
    for path, before in clean_pieces(file.path, gone_through=lambda size: file.hear(size, _FIRST)):
        series.split_lines(path, before)
        odd = series.odd_lines()
        series.add_samples(exposition.sample(line, text.translate(_MARKS)) for line, text in odd)
        series.take_piece()
        series.refuse(exposition.rejected)
    return exposition


def stage_query_answer(
    connection: Any, file: SourceFile, reader: Reader, latest: datetime
) -> ReadResult:
    """Stage the readings of a large answer of the query API; an unusual one is read as JSON."""
    series = SeriesOfFile(connection, file, reader)
    stream = SeriesStream(file.path)
    try:
        for batch in _batches(stream):
            series.take_answers(batch)
            file.hear(stream.passed, _FIRST)
    except UnusualAnswerError:
        series.drop_tables()
        forget(connection, file.name)  # lines refused so far would be refused twice
        return reader.read(file)
    answers = Answers(series.families, stream.rest)
    return answers.finish(series.finish(latest))


def _batches(stream: Iterable[SeriesText]) -> Iterator[list[SeriesText]]:
    """Series in lists of some `_PIECE_CHARACTERS` of values."""
    batch: list[SeriesText] = []
    size = 0
    for one in stream:
        batch.append(one)
        size += len(one.values)
        if size >= _PIECE_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class SeriesOfFile:
    """The samples of one file in tables of the connection, and what they turn out to be.

    Feed it pieces (`bulk_piece` by SQL, `add_samples`, then `take_piece`), then `finish`.
    """

    def __init__(self, connection: Any, file: SourceFile, reader: Reader) -> None:
        self.families = Families(file.hints)
        self._connection = connection
        self._file = file
        self._head = (reader.format_id, reader.version)
        self._places = 0
        for name, columns in sql.TABLES.items():
            connection.execute(f"create or replace temp table {name} ({columns})")

    def split_lines(self, path: Path, before: int) -> None:
        """Make the lines of a file the piece at hand; `before` lines stand before it."""
        self._connection.execute(
            f"create or replace temp table bulk_lines as {line_texts_sql()}", [glob_safe(str(path))]
        )
        self._connection.execute(sql.split_sql(before))

    def odd_lines(self) -> list[tuple[int, str]]:
        """Lines of the piece at hand that SQL cannot read; the names of the others become known."""
        self._connection.execute(sql.NEW_NAMES)
        if self._connection.execute(sql.ODD_NAMES).fetchone():
            self._connection.execute(sql.MAKE_ODD)
        lines: list[tuple[int, str]] = self._connection.execute(sql.ODD_LINES).fetchall()
        self._connection.execute("delete from bulk_piece where odd_text is not null")
        return lines

    def add_samples(self, samples: Iterable[Sample | None]) -> None:
        """Add samples that were read one by one to the piece at hand."""
        rows = [
            (s.line, 0, s.name, s.label_text, s.value_text, s.time_text, parse_time(s.time_text))
            for s in samples
            if s is not None
        ]
        if rows:
            insert_columns(self._connection, "bulk_piece", _PIECE, rows)
            self._connection.execute(sql.READ_NUMBERS)
            self._connection.execute(sql.NEW_NAMES)

    def take_answers(self, batch: Sequence[SeriesText]) -> None:
        """Take a piece that consists of whole series with their times and values."""
        con = self._connection
        con.execute(f"create or replace temp table bulk_answers ({_as_ddl(_ANSWERS)})")
        rows = []
        for one in batch:
            text = label_text(one.labels)
            rows.append((one.line, self._places, one.name, text, one.values))
            self._places += one.values.count("],[") + 1
        insert_columns(con, "bulk_answers", _ANSWERS, rows)
        con.execute(sql.SPLIT_ANSWERS)
        con.execute(sql.NEW_NAMES)
        odd = con.execute(sql.ODD_ANSWERS).fetchall()
        if odd:
            con.execute("delete from bulk_piece where odd_text is not null")
            self._add_odd_answers(odd)
        self.take_piece()

    def _add_odd_answers(self, odd: Sequence[tuple[int, int, str, str, str]]) -> None:
        rows, rejected = [], []
        for line, place, name, text, pair_text in odd:
            try:
                stamp, value_text = time_and_value(_json(f"[{pair_text}]"))
                parse_value(value_text)
                rows.append((line, place, name, text, value_text, stamp, parse_time(stamp)))
            except BrokenLineError as broken:
                shown = f"{name}{{{text}}} [{pair_text}]"[:MAX_TEXT]
                rejected.append(RejectedLine(line, shown, str(broken)))
        insert_columns(self._connection, "bulk_piece", _PIECE, rows)
        self._connection.execute(sql.READ_NUMBERS)
        self._connection.execute(sql.NEW_NAMES)
        self.refuse(rejected)

    def take_piece(self) -> None:
        """Move the samples of the piece at hand to those of the file."""
        self._connection.execute(sql.NEW_LABELS)
        self._connection.execute(sql.TAKE_PIECE)

    def refuse(self, rejected: list[RejectedLine]) -> None:
        """Stage lines that were refused, and forget them."""
        stage_rejected(self._connection, self._file, self._head, rejected)
        rejected.clear()

    def finish(self, latest: datetime) -> ReadResult:
        """Stage all readings; the answer is everything else that the samples say."""
        con, hints = self._connection, self._file.hints
        self._file.hear(0, _SECOND)
        self._add_singles()
        self._make_series()
        for name, count in con.execute(sql.OTHERS).fetchall():
            self.families.count_others(name, count)
        self._judge_special_values()
        last_scrape = self._find_scrapes()
        duplicates = self._find_duplicates()
        head = dict(zip(("file", "format", "version"), (self._file.name, *self._head), strict=True))
        clock = {"last_scrape": last_scrape, "time": hints.time, "latest": latest}
        # Lines order the samples of a text; those of one line keep the order in which they stood.
        order = sql.IN_ORDER if self._places else ""
        con.execute(sql.READINGS + order, head | clock)
        con.execute(sql.REFUSED, head | {"node": hints.node})
        values = scalar(con, sql.COUNT_VALUES, {"file": self._file.name})
        result = self.families.finish(values)
        if duplicates:
            result.facts["duplicate_values"] = duplicates
        self.drop_tables()
        return result

    def drop_tables(self) -> None:
        """Forget the samples."""
        for name in (*sql.TABLES, *sql.SCRATCH):
            self._connection.execute(f"drop table if exists {name}")

    def _add_singles(self) -> None:
        """Give the reader the samples of metrics whose values it has to see one by one."""
        names = self._connection.execute("select name from bulk_names").fetchall()
        wanted = [name for (name,) in names if is_single(name)]
        rejected = []
        for line, name, text, value_text, time_text in self._connection.execute(
            sql.SINGLES, {"names": wanted}
        ).fetchall():
            try:
                labels = parse_labels(text)
                labels.pop("__name__", "")
                value = parse_value(value_text)
                self.families.add(Sample(line, name, text, labels, value, value_text, time_text))
            except BrokenLineError as broken:
                series = f"{name}{{{text}}}" if text else name
                shown = f"{series} {value_text} {time_text}".rstrip()[:MAX_TEXT]
                rejected.append(RejectedLine(line, shown, str(broken)))
        self.refuse(rejected)
        self._connection.execute(sql.DROP_SINGLES, {"names": wanted})

    def _make_series(self) -> None:
        """Work out what each metric and each place means, and which series have which."""
        con = self._connection
        meanings = Meanings(self.families)
        names = con.execute("select name_id, name from bulk_names order by name_id").fetchall()
        insert_columns(
            con, "bulk_metrics", METRIC_COLUMNS, [meanings.metric(*one) for one in names]
        )
        con.execute(sql.STEMS)
        stems = scalar(con, "select count(*) from bulk_stems")
        for start in range(0, stems, _AT_ONCE):
            shaped = con.execute(sql.SHAPED, [start, start + _AT_ONCE]).fetchall()
            insert_columns(con, "bulk_places", PLACE_COLUMNS, [meanings.place(*s) for s in shaped])
        con.execute(sql.SERIES)

    def _judge_special_values(self) -> None:
        """Work out what values say that are no plain numbers, each once for its kind of series."""
        cursor = self._connection.execute(sql.SPECIAL)
        rows = {row[:3]: row for row in (outcome_row(self.families, r) for r in cursor.fetchall())}
        insert_columns(self._connection, "bulk_outcomes", OUTCOME_COLUMNS, list(rows.values()))

    def _find_scrapes(self) -> int:
        """Note where each scrape begins; the answer is the first sample of the last one.

        A series that comes again without a stamp begins a new scrape.
        """
        starts = [0]
        samples = scalar(self._connection, "select count(*) from bulk_samples")
        if samples > scalar(self._connection, "select count(*) from bulk_series"):
            cursor = self._connection.execute(sql.REPEATS)
            while batch := cursor.fetchmany(_AT_ONCE):
                for number, before in batch:
                    if before >= starts[-1]:
                        starts.append(number)
        rows = [(start, scrape) for scrape, start in enumerate(starts)]
        columns = (("ord", "BIGINT"), ("scrape", "INTEGER"))
        insert_columns(self._connection, "bulk_scrapes", columns, rows)
        if len(starts) > 1:
            self.families.gather.unknown("", "", *UNDATED)
        return starts[-1]

    def _find_duplicates(self) -> int:
        """Decide which of several values of one thing at one time counts; how many were repeated."""
        self._connection.execute(sql.CONTESTED)
        if scalar(self._connection, "select count(*) from bulk_contested"):
            self._connection.execute(sql.FATES)
        count = scalar(self._connection, "select count(*) from bulk_fates where is_dropped")
        return int(count)


def _as_ddl(columns: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {type_}" for name, type_ in columns)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise BrokenLineError("a value stands with its time in a list of two") from None


_WAYS: dict[str, SetWise] = {"exposition": stage_exposition, "query_json": stage_query_answer}
