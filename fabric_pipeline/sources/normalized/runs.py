"""Reader of `runs.{csv,jsonl}`: one row per job with the nodes it used and when."""

from __future__ import annotations

from typing import Any, ClassVar

from fabric_pipeline.model.records import CollectiveTiming, ReadResult, RejectedLine, Run
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.normalized.fields import optional_span, optional_time
from fabric_pipeline.sources.normalized.tables import Row, header_of, rows


class RunsReader:
    """Reads the normalized list of jobs; a step time becomes one timing of kind `step`."""

    format_id: ClassVar[str] = "fabric_runs"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"runs", "timings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="the normalized form of a site",
        versions="the first version",
        recognised_by="columns run and nodes, and no duration_us",
        gives="jobs with their nodes, start and end; a step time becomes one timing of the whole job",
        traps=(
            "A run that ends before it starts is refused.",
            "A step time names no rank and no link.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure when `run` and `nodes` are columns and no duration is."""
        names = set(header_of(file))
        return 98 if names >= {"run", "nodes"} and "duration_us" not in names else 0

    def read(self, file: SourceFile) -> ReadResult:
        """One run per row."""
        result = ReadResult()
        for row in rows(file, result.rejected):
            try:
                run = _run(row, file)
            except ValueError as problem:
                result.rejected.append(RejectedLine(row.line, row.text, str(problem)))
                continue
            result.runs.append(run)
            if run.step_time_ms is not None:
                result.timings.append(_step(row, run))
        return result


def _run(row: Row, file: SourceFile) -> Run:
    f = row.fields
    name = str(f.get("run") or "").strip()
    if not name:
        raise ValueError("row has no run")
    start, end = (
        optional_time(str(f.get(key) or ""), file.hints.timezone) for key in ("start", "end")
    )
    if start and end and end < start:
        raise ValueError("the run ends before it starts")
    return Run(
        run=name,
        nodes=_node_list(f.get("nodes")),
        start=start,
        end=end,
        model=str(f.get("model") or ""),
        step_time_ms=optional_span(f.get("step_time_ms"), "step_time_ms"),
        baseline_step_time_ms=optional_span(
            f.get("baseline_step_time_ms"), "baseline_step_time_ms"
        ),
    )


def _step(row: Row, run: Run) -> CollectiveTiming:
    baseline = run.baseline_step_time_ms
    return CollectiveTiming(
        line=row.line,
        op="step",
        duration_us=(run.step_time_ms or 0.0) * 1000,
        run=run.run,
        start=run.start,
        baseline_us=None if baseline is None else baseline * 1000,
        model=run.model,
        unit_kind="step",
    )


def _node_list(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(node) for node in value]
    text = str(value or "").strip().strip("[]")
    return [
        part.strip().strip("\"'")
        for part in text.replace(";", " ").replace(",", " ").split()
        if part.strip()
    ]
