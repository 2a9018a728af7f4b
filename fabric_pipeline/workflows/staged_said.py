"""What a file says beside rows of tables, as plain JSON values and back.

Only what comes back equal is written: a reader's facts may hold anything, and what JSON would change is
read again from the file instead. Rows are kept by `workflows.staged_shelf`.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import Any

from fabric_pipeline.model.records import ReadResult, Run, TopologyPart, UnknownFact

Said = dict[str, Any]


def said_of(result: ReadResult) -> Said | None:
    """Runs, topology, unknown facts and facts of a result; None when JSON would not give them back."""
    said: Said = {
        "facts": result.facts,
        "runs": [_run_said(run) for run in result.runs],
        "topology": None if result.topology is None else asdict(result.topology),
        "unknown": [asdict(fact) for fact in result.unknown],
    }
    try:
        back = json.loads(json.dumps(said, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return None
    is_same = _typed(back) == _typed(said) and result_of(back) == _without_rows(result)
    return back if is_same else None


def result_of(said: Said) -> ReadResult:
    """The result without rows; refused lines are rows too. Raises KeyError or TypeError for other values."""
    topology = said["topology"]
    return ReadResult(
        runs=[_run_of(one) for one in said["runs"]],
        topology=None if topology is None else TopologyPart(**topology),
        unknown=[UnknownFact(**one) for one in said["unknown"]],
        facts=said["facts"],
    )


def _without_rows(result: ReadResult) -> ReadResult:
    return ReadResult(
        runs=result.runs,
        topology=result.topology,
        unknown=result.unknown,
        facts=result.facts,
    )


def _typed(value: Any) -> Any:
    """A value in which 1, 1.0 and True differ, as they do in what is printed of them."""
    if isinstance(value, dict):
        return [(key, _typed(one)) for key, one in value.items()]
    if isinstance(value, list):
        return [_typed(one) for one in value]
    return type(value), value


def _run_said(run: Run) -> Said:
    times = {name: getattr(run, name) for name in ("start", "end")}
    return asdict(run) | {name: at and at.isoformat() for name, at in times.items()}


def _run_of(said: Said) -> Run:
    times = {name: said[name] and datetime.fromisoformat(said[name]) for name in ("start", "end")}
    return Run(**(said | times))
