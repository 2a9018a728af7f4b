"""Reader of training timelines in Chrome form: compute, pipeline and data-parallel operations by step.

Every operation with a duration is a timing of its process; thread names say which stage it belongs to.
Telling a slow worker from an uneven stage is left to `detect.sweeps`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, ClassVar

from fabric_pipeline.model.records import CollectiveTiming, ReadResult, UnknownFact
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.collectives.json_records import as_dict, as_float, as_int, as_text
from fabric_pipeline.sources.collectives.run_names import run_name
from fabric_pipeline.sources.collectives.trace_stream import TraceWalk, load, sniff

_OPERATION = re.compile(
    r'"(?:name|cat)"\s{0,4}:\s{0,4}"(?:(?:forward|backward)-(?:compute|send|recv)|grads-reduce-scatter'
    r'|params-all-gather|[a-z]{2,20}-grads-all-reduce|optimizer)"'
)
_COMPUTE = re.compile(r"compute|optimizer|\bgc\b|loader|data-load")
_LANE = re.compile(r",?\s{0,4}(?:compute|pp-comm|tp-comm|dp-comm|comm)\s*$")


class TimelineReader:
    """Reads `straggler_timeline_json` files; yields compute and communication timings."""

    format_id: ClassVar[str] = "straggler_timeline_json"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"timings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="operator trace of a training job as a Chrome trace",
        versions="not stated",
        recognised_by="an event list (also gzipped) whose names are pipeline operations with a step",
        gives="duration of every operation by process, step and stage",
        traps=(
            "Stages do unlike work and are not compared with each other.",
            "Events without a duration are counted only.",
            "A slow worker is a device and no link.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """94 when the operations' names and a step stand in the head of an event list."""
        head = sniff(file)
        return 94 if _OPERATION.search(head) and '"step"' in head and '"ph"' in head else 0

    def read(self, file: SourceFile) -> ReadResult:
        """All operations; `rank` is the process, `variant` the stage, `seq` the step."""
        out = ReadResult()
        text, problem = load(file)
        walk = TraceWalk(text)
        events: list[dict[str, Any]] = []
        threads: dict[tuple[int | None, int | None], str] = {}
        for key, value in walk.items():
            event = as_dict(value)
            if key == "" and event.get("ph") == "M" and event.get("name") == "thread_name":
                name = _LANE.sub("", as_text(as_dict(event.get("args")).get("name"), 120))
                threads[as_int(event.get("pid")), as_int(event.get("tid"))] = name
            elif key == "" and event.get("ph") == "X":
                events.append(event)
        if problem or walk.cut:
            out.unknown.append(UnknownFact("", "", "rest of the timeline", problem or walk.cut))
        _timings(out, run_name(file, "timeline"), events, threads)
        return out


def _timings(
    out: ReadResult,
    run: str,
    events: list[dict[str, Any]],
    threads: dict[tuple[int | None, int | None], str],
) -> None:
    processes = {as_int(event.get("pid")) for event in events}
    operations: Counter[str] = Counter()
    empty = 0
    for event in events:
        duration = as_float(event.get("dur"))
        if duration is None or duration <= 0:
            empty += 1
            continue
        args, op = as_dict(event.get("args")), as_text(event.get("name"), 60)
        operations[op] += 1
        process = as_int(event.get("pid"))
        stage = threads.get((process, as_int(event.get("tid"))), "")
        chunk = as_int(args.get("model_chunk"))
        if chunk:  # interleaved stages hold several parts of the model, which are unlike
            stage = f"{stage}, chunk {chunk}".lstrip(", ")
        out.timings.append(
            CollectiveTiming(
                None,
                op,
                duration,
                run=run,
                communicator=stage,
                seq=as_int(args.get("step")) or 0,
                rank=process,
                ranks=len(processes),
                variant=stage,
                unit_kind="compute" if _COMPUTE.search(op) else "collective",
            )
        )
    out.facts = {
        "processes": len(processes),
        "stages": sorted(set(threads.values()))[:64],
        "operations": dict(operations.most_common(40)),
        "events_without_duration": empty,
    }
