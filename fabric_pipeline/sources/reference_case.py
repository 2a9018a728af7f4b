"""Reader of the two reference shapes, so that a case file can also be dropped like any other file.

The exact answers to these shapes come from `diagnose.reference_case`; here they become readings and a
timing of one node.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar

from fabric_pipeline.model.components import link_type_of
from fabric_pipeline.model.records import CollectiveTiming, Reading, ReadResult, RejectedLine
from fabric_pipeline.sources.base import SourceFile

_COUNTERS = {
    "crc_error_count": "crc",
    "crc_errors": "crc",
    "replay_count": "replay",
}


class ReferenceCaseReader:
    """Reads one node's snapshot in either reference shape."""

    format_id: ClassVar[str] = "reference_case"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "timings"})

    def score(self, file: SourceFile) -> int:
        """Sure when node_id stands beside one of the two shapes' own keys."""
        head = file.head.lstrip()[:4096]
        shaped = '"fabric_errors"' in head or '"fabric_interface"' in head
        return 95 if head.startswith("{") and '"node_id"' in head and shaped else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Totals of the links and one timing."""
        result = ReadResult()
        try:
            case = json.loads(file.text)
        except (ValueError, RecursionError) as problem:
            result.rejected.append(
                RejectedLine(
                    getattr(problem, "lineno", None),
                    file.text[:200],
                    f"not readable as JSON: {problem}",
                )
            )
            return result
        node = str(case.get("node_id") or "")
        if "fabric_interface" in case:
            _take_counts(result, node, str(case["fabric_interface"]), case)
        for link in case.get("fabric_errors") or []:
            if isinstance(link, dict):
                _take_counts(result, node, f"gpu{link.get('gpu_src')}/{link.get('link_id')}", link)
        _take_timing(result, node, case)
        return result


def _take_counts(result: ReadResult, node: str, interface: str, fields: dict[str, Any]) -> None:
    for key, counter in _COUNTERS.items():
        value = fields.get(key)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            result.rejected.append(
                RejectedLine(None, f"{key}: {value!r}", f"{key} is not a number")
            )
            continue
        name = (
            "pcie_replay" if counter == "replay" and link_type_of(interface) == "pcie" else counter
        )
        result.readings.append(
            Reading(
                line=1, counter_text=key, value_text=str(value), entity_text=interface, node=node, interface=interface,
                link_type=link_type_of(interface), counter=name, value=float(value),
            )
        )  # fmt: skip


def _take_timing(result: ReadResult, node: str, case: dict[str, Any]) -> None:
    for latency, baseline, factor, kind in (
        ("allreduce_latency_us", "baseline_latency_us", 1.0, "collective"),
        ("step_time_ms", "baseline_step_time_ms", 1000.0, "step"),
    ):
        value = case.get(latency)
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
            given = case.get(baseline)
            result.timings.append(
                CollectiveTiming(
                    line=1, op="all_reduce" if kind == "collective" else "step", duration_us=value * factor, run=f"snapshot of {node}",
                    node=node, baseline_us=given * factor if isinstance(given, int | float) else None, unit_kind=kind,
                )
            )  # fmt: skip
