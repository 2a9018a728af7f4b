"""Reader of the two reference shapes, so that a case file can also be dropped like any other file.

The exact answers to these shapes come from `diagnose.reference_case`; here they become readings and a
timing of one node.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar

from fabric_pipeline.model.components import link_type_of
from fabric_pipeline.model.records import (
    MAX_TEXT,
    CollectiveTiming,
    Reading,
    ReadResult,
    RejectedLine,
)
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.normalized.fields import MAX_NUMBER
from fabric_pipeline.sources.normalized.topology_fields import is_name

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
    note: ClassVar[FormatNote] = FormatNote(
        tool="a reference case: the snapshot of one node",
        versions="both reference shapes",
        recognised_by="a JSON object with node_id beside fabric_errors or fabric_interface",
        gives=(
            "CRC and replay totals of one node's links, and its all-reduce latency or step time "
            "with the stated baseline"
        ),
        traps=(
            "Replays of a PCIe link are counted as PCIe replays, not as NVLink replays.",
            "Totals have no time; what they amount to an hour is not known from here.",
            "A number that is none is refused by its name.",
        ),
    )

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
            line = getattr(problem, "lineno", None)  # one too many when the text ends too early
            line = min(line, len(file.lines)) if line else None
            result.rejected.append(
                RejectedLine(line, file.text[:200], f"not readable as JSON: {problem}")
            )
            return result
        node = str(case.get("node_id") or "")
        if "fabric_interface" in case:
            _take_counts(result, node, str(case["fabric_interface"]), case)
        links = case.get("fabric_errors")
        if links is not None and not isinstance(links, list):
            _refuse(result, "fabric_errors", links, "fabric_errors is not a list")
            links = None
        for place, link in enumerate(links or []):
            if not isinstance(link, dict) or not is_name(link.get("link_id")):
                _refuse(result, f"fabric_errors[{place}]", link, "the entry names no link_id")
            elif is_name(link.get("gpu_src")):
                _take_counts(result, node, f"gpu{link['gpu_src']}/{link['link_id']}", link)
            else:
                _take_counts(result, node, str(link["link_id"]), link)
        _take_timing(result, node, case)
        return result


def _refuse(result: ReadResult, place: str, value: Any, rule: str) -> None:
    text = f"{place}: {value!r}"[:MAX_TEXT]
    result.rejected.append(RejectedLine(None, text, rule))


def _number(result: ReadResult, key: str, value: Any) -> float | None:
    """A finite number of zero or more; anything else is refused."""
    try:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and 0 <= (number := float(value)) <= MAX_NUMBER:
            return number
    except OverflowError:  # a whole number beyond every float
        pass
    _refuse(result, key, value, f"{key} is not a number from zero to what 64 bits hold")
    return None


def _take_counts(result: ReadResult, node: str, interface: str, fields: dict[str, Any]) -> None:
    for key, counter in _COUNTERS.items():
        stated = fields.get(key)
        value = None if stated is None else _number(result, key, stated)
        if value is None:
            continue
        name = (
            "pcie_replay" if counter == "replay" and link_type_of(interface) == "pcie" else counter
        )
        result.readings.append(
            Reading(
                line=1, counter_text=key, value_text=str(stated), entity_text=interface, node=node, interface=interface,
                link_type=link_type_of(interface), counter=name, value=value,
            )
        )  # fmt: skip


def _take_timing(result: ReadResult, node: str, case: dict[str, Any]) -> None:
    for latency, baseline, factor, kind in (
        ("allreduce_latency_us", "baseline_latency_us", 1.0, "collective"),
        ("step_time_ms", "baseline_step_time_ms", 1000.0, "step"),
    ):
        if case.get(latency) is None:
            continue
        value = _number(result, latency, case[latency])
        given = None if case.get(baseline) is None else _number(result, baseline, case[baseline])
        if value is not None:
            result.timings.append(
                CollectiveTiming(
                    line=1, op="all_reduce" if kind == "collective" else "step", duration_us=value * factor, run=f"snapshot of {node}",
                    node=node, baseline_us=None if given is None else given * factor, unit_kind=kind,
                )
            )  # fmt: skip
