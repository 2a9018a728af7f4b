"""One verdict for any files, folders or stdin, without state: the stages of a drop, in memory.

`inspect` answers programs in the inspect contract; `examine` gives a screen the same diagnosis with the
evidence quoted, how far the measurements reach and which captures would settle the rest.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from fabric_pipeline.diagnose.coverage import Coverage
from fabric_pipeline.diagnose.diagnose import Diagnosis, diagnose
from fabric_pipeline.diagnose.next_capture import NextCapture, OpenCase, next_captures
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.progress import Moment, Tell, silent
from fabric_pipeline.model.records import UnknownFact
from fabric_pipeline.sources.drop import Drop
from fabric_pipeline.store.duck import session
from fabric_pipeline.workflows.diagnose import (
    correlation_stage,
    gather_evidence,
    spike_stage,
    straggler_stage,
)
from fabric_pipeline.workflows.ingest import Ingested, count_links, ingest
from fabric_pipeline.workflows.ingest_report import FileReport
from fabric_pipeline.workflows.inspect_contract import as_contract
from fabric_pipeline.workflows.inspect_coverage import coverage_of
from fabric_pipeline.workflows.inspect_inputs import Given, given_drop, with_hints
from fabric_pipeline.workflows.inspect_quotes import Quote, quotes_of
from fabric_pipeline.workflows.inspect_unknown import blanks, refused_lines, unseen
from fabric_pipeline.workflows.unpacked import with_archives

_DROP_ID = "inspect"
MOST_QUOTES = 4  # lines quoted for one finding on one screen
EVERY_QUOTE = 100
_MOST_QUOTED = 40  # findings with quotes: of more, the places are named
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Told:
    """A finding with the lines that show it."""

    finding: Finding
    quotes: tuple[Quote, ...] = ()


@dataclass(frozen=True, slots=True)
class Examination:
    """All that a person has to know of what was inspected, the findings by weight."""

    verdict: str
    told: tuple[Told, ...] = ()
    unknown: tuple[UnknownFact, ...] = ()
    coverage: Coverage = field(default_factory=Coverage)
    captures: tuple[NextCapture, ...] = ()
    files: tuple[FileReport, ...] = ()
    problems: tuple[str, ...] = ()


def inspect(
    paths: list[Path],
    read_at: datetime,
    tell: Tell = silent,
    given: Given = Given(),  # noqa: B008 - frozen
) -> dict[str, Any]:
    """Read and judge; returns the JSON object of the inspect contract.

    Raises BadInputError for a path that does not exist, a pattern that matches nothing, and a stdin that
    holds nothing readable; UsageError for hints that cannot be meant.
    """
    return _judged(paths, read_at, tell, given, _contract)


def examine(
    paths: list[Path],
    read_at: datetime,
    tell: Tell = silent,
    given: Given = Given(),  # noqa: B008 - frozen
    quotes: int = MOST_QUOTES,
) -> Examination:
    """Read and judge, for a screen, with up to `quotes` lines a finding. Raises what `inspect` raises."""
    return _judged(paths, read_at, tell, given, partial(_examination, quotes))


@dataclass(frozen=True, slots=True)
class _Case:
    """A judged case with its tables still open."""

    connection: Any
    drop: Drop
    read: Ingested
    answer: Diagnosis
    unknown: Sequence[UnknownFact]


def _judged(
    paths: list[Path],
    read_at: datetime,
    tell: Tell,
    given: Given,
    answer: Callable[[_Case], T],
) -> T:
    with tempfile.TemporaryDirectory(prefix="fabric-inspect-") as folder:
        kept = Path(folder)
        drop = with_archives(given_drop(paths, given, kept, tell), kept, tell=tell)
        drop = with_hints(drop, given)
        connection = session()
        try:
            read = ingest(connection, drop, _DROP_ID, read_at, tell)
            tell(Moment("judging what was read", "judge"))
            return answer(_case(connection, drop, read))
        finally:
            connection.close()


def _case(connection: Any, drop: Drop, read: Ingested) -> _Case:
    count_links(connection)
    spike_stage(connection, _DROP_ID)
    straggler_stage(connection, _DROP_ID)
    correlation_stage(connection, _DROP_ID, read.topology)
    answer = diagnose(gather_evidence(connection, read.topology, list(read.runs.values())))
    unknown = [*read.unknown, *answer.unknown, *blanks(connection), *unseen(connection)]
    return _Case(connection, drop, read, answer, unknown)


def _contract(case: _Case) -> dict[str, Any]:
    return as_contract(case.read, case.answer, case.unknown, refused_lines(case.connection))


def _examination(quotes: int, case: _Case) -> Examination:
    findings, read = case.answer.findings, case.read
    coverage = coverage_of(case.connection)
    formats = frozenset(report.format for report in read.files)
    files = {stamp.name: stamp.path for stamp in case.drop.stamps()}
    quoted = quotes_of(case.connection, findings[:_MOST_QUOTED], files, quotes)
    quoted += [[] for _ in findings[_MOST_QUOTED:]]
    open_case = OpenCase(case.answer.verdict, findings, case.unknown, formats, coverage)
    return Examination(
        verdict=case.answer.verdict,
        told=tuple(Told(one, tuple(lines)) for one, lines in zip(findings, quoted, strict=True)),
        unknown=tuple(case.unknown),
        coverage=coverage,
        captures=tuple(next_captures(open_case)),
        files=tuple(read.files),
        problems=tuple(read.problems),
    )
