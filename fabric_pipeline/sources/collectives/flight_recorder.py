"""Reader of PyTorch NCCL flight-recorder dumps that were written as JSON (`fr_trace -j`, hand-unpickled).

A dump says which collectives were enqueued, started and completed. The times in it are when a watchdog
noticed, so that only `duration_ms` counts as a duration. Dumps as PyTorch writes them, pickled, are taken
apart in `flight_recorder_pickle`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, ClassVar

from fabric_pipeline.model.records import (
    CollectiveTiming,
    FabricEvent,
    ReadResult,
    RejectedLine,
    UnknownFact,
)
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.collectives.json_records import (
    as_dict,
    as_float,
    as_int,
    as_list,
    as_text,
    records,
)
from fabric_pipeline.sources.collectives.op_names import op_name
from fabric_pipeline.sources.collectives.run_names import run_name

_BYTES = {
    "Double": 8, "Long": 8, "Float": 4, "Int": 4, "Half": 2, "BFloat16": 2, "Short": 2,
    "Byte": 1, "Char": 1, "Bool": 1,
}  # fmt: skip
_KEYS = ('"collective_seq_id"', '"profiling_name"', '"time_discovered_completed_ns"', '"pg_config"')


class FlightRecorderReader:
    """Reads `torch_flight_recorder_json` files; yields timings where the dump has durations."""

    format_id: ClassVar[str] = "torch_flight_recorder_json"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"timings", "events"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="PyTorch NCCL flight recorder, as JSON",
        versions="version 2.5",
        recognised_by="entries with collective_seq_id, profiling_name or pg_config",
        gives="durations of completed collectives where stated, and how far each process group had come",
        traps=(
            (
                "The discovered start and end are when a watchdog looked; only duration_ms counts"
                " as a duration."
            ),
            "The rank stands in the file's name only, so it stays unknown.",
            "A collective that did not complete names no culprit.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """95 when two of the dump's own keys stand in the head and none of a trace."""
        if file.is_binary or '"traceEvents"' in file.head:
            return 0
        hits = sum(1 for key in _KEYS if key in file.head)
        return 95 if hits >= 2 and '"entries"' in file.head else 70 if hits >= 2 else 0

    def read(self, file: SourceFile) -> ReadResult:
        """All entries, and what the process groups had reached."""
        out = ReadResult()
        for found in records(file.text):
            if found.value is None or not isinstance(found.value.get("entries"), list):
                rule = "a dump is one JSON object with a list of entries"
                out.rejected.append(RejectedLine(found.line, found.text, rule))
                continue
            add_dump(out, file, found.value, found.line)
        return out


def add_dump(out: ReadResult, file: SourceFile, value: dict[str, Any], line: int) -> None:
    """Add what one dump says; `value["entries"]` is a list, `line` the one on which it begins."""
    entries = [as_dict(item) for item in value["entries"]]
    groups = as_dict(value.get("pg_config"))
    run = run_name(file, "flight_recorder")
    states: Counter[str] = Counter()
    untimed: Counter[str] = Counter()
    for index, entry in enumerate(entries):
        states[as_text(entry.get("state")) or "not stated"] += 1
        timing = _timing(entry, run, index, groups)
        if timing:
            timing.line = line
            out.timings.append(timing)
        else:
            untimed[_why_untimed(entry)] += 1
    for reason, count in untimed.items():
        what = f"duration of {count} collective{'s' if count > 1 else ''}"
        out.unknown.append(UnknownFact("", "", what, reason))
    _status(out, value, states, line)
    out.facts = {
        "version": as_text(value.get("version")),
        "entries": len(entries),
        "states": dict(states),
        "process_groups": {k: as_text(as_dict(v).get("ranks")) for k, v in groups.items()},
        "operations": sorted({op_name(as_text(e.get("profiling_name"))) for e in entries}),
    }


def _timing(
    entry: dict[str, Any], run: str, index: int, groups: dict[str, Any]
) -> CollectiveTiming | None:
    duration_ms = as_float(entry.get("duration_ms"))
    if duration_ms is None or duration_ms <= 0 or entry.get("state") != "completed":
        return None
    group = as_list(entry.get("process_group"))
    name = as_text(group[0]) if group else str(as_int(entry.get("pg_id")))
    sequence = as_int(entry.get("collective_seq_id"))
    return CollectiveTiming(
        None,
        op_name(as_text(entry.get("profiling_name"))),
        duration_ms * 1000.0,
        run=run,
        communicator=name,
        seq=index if sequence is None else sequence,
        bytes=_size(entry),
        ranks=_group_size(as_dict(groups.get(name)).get("ranks")),
    )


def _why_untimed(entry: dict[str, Any]) -> str:
    if entry.get("state") != "completed":
        return f"the state is {as_text(entry.get('state')) or 'not stated'}, so there is no end"
    if entry.get("time_discovered_started_ns") is None:
        return (
            "the start is null, so the kernel's latency is not known; the time from creation to "
            "discovery is when the watchdog looked"
        )
    return "there is no duration_ms; the discovered start and end are when the watchdog looked"


def _status(out: ReadResult, value: dict[str, Any], states: Counter[str], line: int) -> None:
    """One event per process group: how far it was when the dump was written."""
    status = as_dict(value.get("pg_status")) or {"": {}}
    for name, item in status.items():
        reached = {
            key: as_int(as_dict(item).get(f"last_{key}_collective"))
            for key in ("enqueued", "started", "completed")
        }
        enqueued, completed = reached["enqueued"], reached["completed"]
        behind = (enqueued or 0) - (completed or 0) if enqueued is not None else 0
        open_entries = sum(count for state, count in states.items() if state != "completed")
        reason = f"process group {name or 'of unstated name'}: {_words(reached, states)}"
        event = FabricEvent(line, "flight_recorder_status", reason, reason=reason)
        if behind > 0 and completed is not None and open_entries:
            event.kind, event.severity = "collective_incomplete", "watch"
        event.details = {"group": name, **reached, "open_entries": open_entries}
        out.events.append(event)


def _words(reached: dict[str, int | None], states: Counter[str]) -> str:
    parts = [f"last {key} {number}" for key, number in reached.items() if number is not None]
    parts += [f"{count} entries {state}" for state, count in states.items()]
    return ", ".join(parts) or "nothing recorded"


def _size(entry: dict[str, Any]) -> int | None:
    """Bytes of all inputs, or None when a type or a dimension is not known."""
    sizes, types = as_list(entry.get("input_sizes")), as_list(entry.get("input_dtypes"))
    total = 0
    for shape, type_name in zip(sizes, types, strict=False):
        width = _BYTES.get(as_text(type_name))
        if width is None:
            return None
        elements = 1
        for dimension in as_list(shape):
            elements *= as_int(dimension) or 0
        total += elements * width
    return total if total and total < 2**63 else None


def _group_size(ranks: Any) -> int | None:
    """Number of ranks of a process group, given as a list or as the text of one."""
    if isinstance(ranks, str) and re.fullmatch(r"\[[\d, ]{0,100000}\]", ranks):
        ranks = json.loads(ranks)
    return len(ranks) if isinstance(ranks, list) and ranks else None
