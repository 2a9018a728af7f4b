"""Readers of SuperBench: results of nodes, its diagnosis summary, and samples of its monitor.

One JSON object a node (or a sample). Interconnect figures become timings, the verdicts of SuperBench's
own rules become events; comparing nodes belongs to `detect.sweeps`.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, ClassVar

from fabric_pipeline.model.records import (
    CollectiveTiming,
    FabricEvent,
    Reading,
    ReadResult,
    RejectedLine,
    Run,
    UnknownFact,
)
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.collectives.json_records import as_float, as_text, records
from fabric_pipeline.sources.collectives.line_tags import clipped
from fabric_pipeline.sources.collectives.run_names import run_name
from fabric_pipeline.sources.collectives.superbench_metrics import Metric, parse_metric

_MONITOR = re.compile(r'"(?:gpu_usage|cpu_usage|gpu_temperature)(?::\d{1,3})?"')
_DEVICE = re.compile(r"^(?:gpu_\w{1,60}:(\d{1,3})|(\w{1,20})_(?:receive|transmit)_bw)$")
_DETAILS = ("Defective Details", "Issue_Details", "Defective_Details")


class SuperbenchResultsReader:
    """Reads `superbench_results_jsonl` files; yields one timing per interconnect figure."""

    format_id: ClassVar[str] = "superbench_results_jsonl"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"timings", "runs"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="SuperBench, results",
        versions="not stated",
        recognised_by="objects with a node and several keys `benchmark/metric`",
        gives=(
            "bandwidth and time of collectives, InfiniBand and copy tests, launch overheads and "
            "step times of each node"
        ),
        traps=(
            "A benchmark that other nodes have and one lacks is unknown there.",
            "A return code that is not zero means no result, not a bad one.",
            "Algorithm bandwidth follows from the rest and is not counted again.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """90 for an object with a node and several metrics named `benchmark/metric`."""
        head = file.head
        if file.is_binary or '"node"' not in head or '"Category"' in head:
            return 0
        return (
            90 if len(re.findall(r'"[\w.:-]{1,80}/[\w.:-]{1,120}" ?:', head[:50_000])) >= 3 else 0
        )

    def read(self, file: SourceFile) -> ReadResult:
        """All nodes; a benchmark that some nodes lack is unknown there."""
        out = ReadResult()
        run = run_name(file, "superbench")
        benchmarks: dict[str, set[str]] = {}
        for found in records(file.text):
            node = as_text((found.value or {}).get("node"))
            if found.value is None or not node:
                rule = "a result is one JSON object with a node"
                out.rejected.append(RejectedLine(found.line, found.text, rule))
                continue
            benchmarks[node] = _add_node(out, run, node, found.value, found.line)
        _missing(out, benchmarks)
        out.runs.append(Run(run, list(benchmarks)))
        out.facts["nodes"] = {node: len(names) for node, names in benchmarks.items()}
        return out


class SuperbenchDiagnosisReader:
    """Reads `superbench_diagnosis_jsonl` files; yields one event per node that is listed."""

    format_id: ClassVar[str] = "superbench_diagnosis_jsonl"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"events"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="SuperBench, diagnosis summary",
        versions="not stated",
        recognised_by="objects with index, Category and Defective Details",
        gives="one event a node with SuperBench's own category",
        traps=(
            "The verdict is SuperBench's; it names a node and a test, not a link.",
            "Figures that are N/A are unknown.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """92 for the summary's own keys."""
        head = file.head
        if file.is_binary or ('"index"' not in head and '"Index"' not in head):
            return 0
        return 92 if '"Category"' in head and any(f'"{key}"' in head for key in _DETAILS) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """All nodes of the summary."""
        out = ReadResult()
        for found in records(file.text):
            value = found.value or {}
            node = as_text(value.get("index")) or as_text(value.get("Index"))
            if not node:
                rule = "a line of the summary is one JSON object with an index"
                out.rejected.append(RejectedLine(found.line, found.text, rule))
                continue
            out.events.append(_defect(found.line, node, value))
            absent = [key for key, item in value.items() if item in ("N/A", "NaN", None)]
            if absent:
                reason = f"{len(absent)} figures are not available, such as {absent[0]}"
                out.unknown.append(UnknownFact(node, "", _benchmark(absent[0]), reason))
        out.facts["nodes"] = {e.node: e.details["category"] for e in out.events}
        return out


class SuperbenchMonitorReader:
    """Reads `superbench_monitor_jsonl` files; yields raw levels per device."""

    format_id: ClassVar[str] = "superbench_monitor_jsonl"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="SuperBench, monitor",
        versions="samples of December 2021",
        recognised_by="samples with time and keys such as `gpu_usage:0`",
        gives="usage, temperature and InfiniBand traffic by device, under the monitor's names",
        traps=("All values are levels without a canonical counter: kept, not judged.",),
    )

    def score(self, file: SourceFile) -> int:
        """85 for samples with a time and the monitor's keys."""
        if file.is_binary or '"time"' not in file.head:
            return 0
        return 85 if len(_MONITOR.findall(file.head[:20_000])) >= 1 else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Every number of every sample, under the name the monitor gives it."""
        out = ReadResult()
        for found in records(file.text):
            if found.value is None:
                rule = "a sample is one JSON object"
                out.rejected.append(RejectedLine(found.line, found.text, rule))
                continue
            stamp = as_text(found.value.get("time"))
            for key, item in found.value.items():
                if key != "time":
                    out.readings.append(_level(found.line, file.hints.node, stamp, key, item))
        return out


def _add_node(out: ReadResult, run: str, node: str, value: dict[str, Any], line: int) -> set[str]:
    """Timings of one node; returns the benchmarks it has figures for."""
    present: set[str] = set()
    merged: dict[tuple[str, int | None, str], CollectiveTiming] = {}
    for key, item in value.items():
        if key == "node":
            continue
        number = as_float(item)
        if key.split(":")[0].endswith("return_code"):
            if number:
                reason = f"{key} is {number:g}: the test did not finish"
                out.unknown.append(UnknownFact(node, "", _benchmark(key), reason))
            continue
        if number is None:
            continue
        present.add(_benchmark(key))
        metric = parse_metric(key)
        if metric:
            identity = (metric.op, metric.bytes, metric.variant)
            timing = merged.get(identity)
            if timing is None:
                timing = merged[identity] = _timing(run, node, line, metric)
            metric.put(timing, number)
    out.timings += merged.values()
    return present


def _timing(run: str, node: str, line: int, metric: Metric) -> CollectiveTiming:
    return CollectiveTiming(
        line,
        metric.op,
        math.nan,
        run=run,
        communicator=node,
        bytes=metric.bytes,
        node=node,
        gpu=metric.gpu,
        variant=metric.variant,
        unit_kind="bandwidth",
    )


def _missing(out: ReadResult, benchmarks: dict[str, set[str]]) -> None:
    every = set().union(*benchmarks.values()) if benchmarks else set()
    for node, present in benchmarks.items():
        for name in sorted(every - present):
            reason = f"other nodes have results of {name}, {node} has none"
            out.unknown.append(UnknownFact(node, "", f"{name} results", reason))


def _defect(line: int, node: str, value: dict[str, Any]) -> FabricEvent:
    category = as_text(value.get("Category"))
    details = next((as_text(value.get(key), 600) for key in _DETAILS if value.get(key)), "")
    text = clipped(f"{category}: {details}", 700)
    event = FabricEvent(line, "superbench_defect", text, node=node)
    event.details = {"category": category, "details": details}
    if category or details:
        event.role, event.severity = "cause", "warning"
        event.reason = f"SuperBench lists {node} under {category or 'no category'}: {details}"
    else:
        event.kind, event.reason = "superbench_accepted", f"SuperBench found nothing on {node}"
    return event


def _level(line: int, node: str, stamp: str, key: str, item: Any) -> Reading:
    found = _DEVICE.match(key)
    gpu, device = found.groups("") if found else ("", "")
    value = as_float(item)
    return Reading(
        line,
        key,
        clipped(json.dumps(item), 60),
        time_text=stamp,
        node=node,
        interface=f"gpu{gpu}" if gpu else device,
        value=value,
        kind="gauge",
        quality="ok" if value is not None else "not_supported",
    )


def _benchmark(key: str) -> str:
    return key.split("/")[0]
