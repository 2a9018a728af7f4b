"""Small builders of timings and events for the tests of the sweep judgement."""

from __future__ import annotations

import math
from typing import Any

from fabric_pipeline.model.records import CollectiveTiming, FabricEvent

MIB = 1024 * 1024


def sweep(
    bandwidths: list[float],
    *,
    run: str = "r1",
    file: str = "f1",
    ranks: int | None = 16,
    op: str = "all_reduce",
    first: int = MIB,
    factor: float = 1.875,
) -> list[CollectiveTiming]:
    """One row per bandwidth, sizes doubling from `first`."""
    rows = []
    for index, value in enumerate(bandwidths):
        size = first << index
        row = CollectiveTiming(index + 1, op, size * factor / value / 1e3, run=run, file=file)
        row.bytes, row.busbw_gbs, row.ranks, row.seq = size, value, ranks, index
        row.communicator = "world"
        rows.append(row)
    return rows


def pair(left: str, right: str, value: float, line: int = 1) -> CollectiveTiming:
    """One row of a pair table."""
    row = CollectiveTiming(line, "pair_bandwidth", math.nan, run="p", file="f1")
    row.communicator, row.busbw_gbs, row.unit_kind = f"{left},{right}", value, "bandwidth"
    return row


def ranked(rank: int, duration_us: float, seq: int = 0, **more: Any) -> CollectiveTiming:
    """A collective (or, with `unit_kind`, anything else) as one rank saw it."""
    row = CollectiveTiming(seq + 1, "all_reduce", duration_us, run="r", file=f"f{rank}")
    row.rank, row.seq, row.communicator, row.bytes = rank, seq, "0xc", 64 * MIB
    for name, value in more.items():
        setattr(row, name, value)
    return row


def event(kind: str, role: str = "cause", severity: str = "warning", **more: Any) -> FabricEvent:
    """An event; unknown keywords become details."""
    found = FabricEvent(3, kind, "text", role=role, severity=severity, reason=f"reason of {kind}")
    found.file = more.pop("file", "f1")
    found.node, found.interface = more.pop("node", ""), more.pop("interface", "")
    found.details = more
    return found
