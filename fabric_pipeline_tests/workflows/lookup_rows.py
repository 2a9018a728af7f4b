"""Rows, links and a lake for the tests of the fabric look-ups."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from fabric_pipeline.drafting.lookup import FabricLookup
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.fabric_lookup import lake_lookup
from fabric_pipeline_tests.workflows.fabric_lake import START, Lake, all_ends, incident, topology


@contextmanager
def asked(lake: Lake) -> Iterator[FabricLookup]:
    with lake_lookup(lake.settings, lake.drop, Ledger(lake.settings.ledger)) as lookup:
        yield lookup


def counter_row(
    end: tuple[str, str], counter: str, values: list[float | None], **changes: Any
) -> list[list[Any]]:
    """Cumulative readings every half hour, the first one without a step."""
    rows: list[list[Any]] = []
    before: float | None = None
    for sample, value in enumerate(values, 1):
        delta = None if before is None or value is None else value - before
        stated = {
            "drop": "d1", "node": end[0], "interface": end[1], "link_type": changes.get("link_type", "nvlink"), "counter": counter,
            "kind": "cumulative", "scope": "link", "sample": sample, "ts": START + timedelta(minutes=30 * sample), "value": value,
            "delta": delta, "elapsed_s": None if delta is None else 1800.0, "quality": "ok",
        }  # fmt: skip
        rows.append(filled("link_counters", **(stated | changes)))
        before = value if value is not None else before
    return rows


def filled(table: str, **values: Any) -> list[Any]:
    blank = {column.name: None if column.nullable else "" for column in TABLES[table].columns}
    known = blank | values
    return [known[name] for name in TABLES[table].column_names]


def slow(run: str, minute: int, nodes: list[str], latency_us: float = 900.0) -> list[Any]:
    start = START + timedelta(minutes=minute)
    return filled(
        "stragglers", drop="d1", run=run, communicator="c", op="all_reduce", interval=minute + 1, start_ts=start,
        end_ts=start + timedelta(minutes=5), kind="whole_collective", shape="transient", collectives=4, latency_us=latency_us,
        baseline_us=300.0, deviation_pct=200.0, baseline_source="learnt", late_ranks="[]", late_nodes="[]",
        nodes=json.dumps(nodes), lost_s=1.0,
    )  # fmt: skip


def candidate(run: str, end: tuple[str, str], in_path: str) -> list[Any]:
    return filled(
        "straggler_correlations", drop="d1", run=run, node=end[0], interface=end[1], in_path=in_path, bins=0, slow_bins=0,
        error_bins=0, overlap_bins=0, lag_bins=0, overlap_share=0.0, covered_share=0.0, score=0.0, candidate_rank=1,
        covered_bins="[]", verdict="not_weighed", because="{}", behind="[]",
    )  # fmt: skip


BAD = ("ada-01", "gpu1/nvlink-2")
FAR = ("ada-01", "nvswitch-0/port-5")


def erring_lake(home: Path) -> Lake:
    """One NVLink with 40 replays and 10 CRC at its far end; its siblings read zero, gpu3 reads nothing."""
    part = topology()
    made = Lake(home).topology(part)
    rows = counter_row(BAD, "replay", [5, 25, 45]) + counter_row(FAR, "crc_data", [0, 4, 10])
    for node, interface in all_ends(part):
        if (node, interface) not in (BAD, FAR) and not interface.startswith("gpu3"):
            kind = "nvlink" if "nv" in interface else "pcie" if "pci" in interface else "infiniband"
            rows += counter_row((node, interface), "replay", [7, 7, 7], link_type=kind)
    made.write("link_counters", rows)
    return made.incidents(incident(1, "ada-01:gpu1/nvlink-2", "CRITICAL"))
