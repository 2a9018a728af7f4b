"""The JSON report of nccl-tests (`-J`), turned into the same rows and devices as its table.

The program writes the report as it goes, so a killed run leaves it unclosed: rows and devices are
therefore picked out one by one. The dump of the environment is never looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from statistics import median
from typing import Any

from fabric_pipeline.sources.collectives.json_records import (
    as_dict,
    as_float,
    as_int,
    as_list,
    as_text,
    records,
)
from fabric_pipeline.sources.collectives.nccl_rows import VARIANTS, Block, Device, Row

_RESULTS = re.compile(r'"results"\s{0,9}:\s{0,9}\[')
_DEVICES = re.compile(r'"devices"\s{0,9}:\s{0,9}\[')
_MAX_BYTES = re.compile(r'"maximum_bytes"\s{0,9}:\s{0,9}(\d{1,18})')
_BOUNDS = re.compile(r'"out_of_bounds"\s{0,9}:\s{0,9}\{\s{0,9}"count"\s{0,9}:\s{0,9}(\d{1,12})')
_AVERAGE = re.compile(
    r'"average_bus_bandwidth"\s{0,9}:\s{0,9}\{\s{0,9}"bandwidth"\s{0,9}:\s{0,9}([\d.eE+-]{1,24})'
)


def is_report(text: str) -> bool:
    """True for a text that is such a report and no table."""
    return text.lstrip()[:1] == "{" and _RESULTS.search(text) is not None and '"bus_bw"' in text


def devices(text: str) -> list[Device]:
    """The devices the report lists."""
    begin, results = _DEVICES.search(text), _RESULTS.search(text)
    if not begin:
        return []
    found = []
    for record in records(text[begin.end() : results.start() if results else None]):
        value = record.value or {}
        rank, node = as_int(value.get("rank")), as_text(value.get("hostname"))
        if rank is None or not node:
            break
        device = as_int(value.get("device")) or 0
        found.append(
            Device(
                rank,
                node,
                device,
                as_text(value.get("device_hex")),
                as_text(value.get("device_info")),
            )
        )
    return found


def rows(text: str) -> Iterator[tuple[int, Row | None, list[tuple[str, list[float]]], str]]:
    """Line, row, per-process times by variant, and the text of what is no row."""
    begin = _RESULTS.search(text)
    if not begin:
        return
    offset = text.count("\n", 0, begin.end())
    for record in records(text[begin.end() :]):
        value = record.value
        if value is not None and "size" not in value:
            continue
        yield (record.line + offset, _row(value), _processes(value or {}), record.text)


def maximum_bytes(text: str) -> int | None:
    """The largest size the run was asked for."""
    found = _MAX_BYTES.search(text)
    return int(found.group(1)) if found else None


def footer(text: str) -> tuple[int | None, float | None]:
    """Number of wrong values and the average bus bandwidth, None where the report ends earlier."""
    bounds, average = _BOUNDS.search(text), _AVERAGE.search(text)
    return (
        int(bounds.group(1)) if bounds else None,
        as_float(average.group(1)) if average else None,
    )


def _row(value: dict[str, Any] | None) -> Row | None:
    size = as_int((value or {}).get("size"))
    if value is None or size is None:
        return None
    count = as_int(value.get("count")) or 0
    row = Row(size, count, as_text(value.get("type")), as_text(value.get("redop")))
    for variant in VARIANTS:
        body = as_dict(value.get(variant))
        duration = as_float(body.get("time", body.get("cpu_time")))
        if duration is not None and duration > 0:
            algbw, busbw = as_float(body.get("alg_bw")), as_float(body.get("bus_bw"))
            wrong = as_float(body.get("nwrong")) or 0.0
            row.blocks.append(Block(variant, duration, algbw, busbw, int(wrong)))
    return row if row.blocks else None


def _processes(value: dict[str, Any]) -> list[tuple[str, list[float]]]:
    """Median time of every process by variant; needs the option for per-iteration times."""
    found = []
    for variant in VARIANTS:
        lists = as_list(as_dict(value.get(f"{variant}_per_iter")).get("per_process_max_times_us"))
        medians = []
        for times in lists:
            numbers = [number for item in as_list(times) if (number := as_float(item))]
            medians.append(median(numbers) if numbers else 0.0)
        if medians and all(medians):
            found.append((variant, medians))
    return found
