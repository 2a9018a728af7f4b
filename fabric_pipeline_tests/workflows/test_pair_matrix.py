"""Pairs of GPUs and of nodes, each against the median of its own class."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.workflows.pair_matrix import PairMatrix, pair_matrix
from fabric_pipeline_tests.workflows.fabric_lake import Lake

End = tuple[str, int]
US = {"node": 10.0, "rail": 30.0, "cross": 60.0}


def kind_of(one: End, other: End) -> str:
    return "node" if one[0] == other[0] else "rail" if one[1] == other[1] else "cross"


def timing(**values: Any) -> list[Any]:
    blank = {c.name: None if c.nullable else "" for c in TABLES["collective_timings"].columns}
    filled = (
        blank
        | {
            "drop": "d1",
            "file": "pairs.csv",
            "unit_kind": "collective",
            "op": "sendrecv",
            "seq": 0,
            "entry": 1,
        }
        | values
    )
    return [filled[column] for column in TABLES["collective_timings"].column_names]


def both_ranks(one: End, other: End, us: float, **values: Any) -> list[list[Any]]:
    name = f"{one}{other}"
    return [
        timing(
            communicator=name,
            rank=rank,
            ranks=2,
            node=end[0],
            gpu=end[1],
            duration_us=us,
            **{"bytes": 8, **values},
        )
        for rank, end in enumerate((one, other))
    ]


def all_pairs(slow: End) -> list[list[Any]]:
    ends = [(node, gpu) for node in ("n1", "n2") for gpu in range(4)]
    rows = []
    for place, one in enumerate(ends):
        for other in ends[place + 1 :]:
            us = US[kind_of(one, other)] * (
                3 if slow in (one, other) and kind_of(one, other) == "cross" else 1
            )
            rows += both_ranks(one, other, us)
    return rows


def written(tmp_path: Path, rows: list[list[Any]]) -> PairMatrix | None:
    return pair_matrix(Lake(tmp_path).write("collective_timings", rows).settings, "d1")


def test_a_pair_is_compared_within_its_class(tmp_path: Path) -> None:
    pairs = written(tmp_path, all_pairs(slow=("n2", 3)))
    assert pairs is not None
    assert pairs.noun == "GPU"
    assert len(pairs.names) == 8
    assert len(pairs.pairs) == 28
    worst = pairs.worst(50)
    assert {(pair.one, pair.other) for pair in worst} == {
        (f"n1:gpu{n}", "n2:gpu3") for n in range(3)
    }
    assert {pair.kind for pair in worst} == {"cross"}
    assert {round(pair.ratio, 2) for pair in worst} == {3.0}
    at = pairs.names.index("n1:gpu0") * 8 + pairs.names.index("n2:gpu3")
    assert pairs.cells[at] == 5 | 2 << 4
    assert struct.unpack("<H", pairs.ratios[2 * at : 2 * at + 2]) == (300,)
    assert pairs.cells[0] == 7  # a GPU with itself is not measured


def test_latency_is_read_at_the_smallest_size_that_most_pairs_have(tmp_path: Path) -> None:
    rows = all_pairs(slow=("none", 0)) + both_ranks(("n1", 0), ("n1", 1), 9_000.0, bytes=1 << 30)
    pairs = written(tmp_path, rows)
    assert pairs is not None
    assert "8 bytes" in pairs.source
    assert pairs.worst(5) == []


def test_collectives_of_more_ranks_are_no_pairs(tmp_path: Path) -> None:
    rows = [
        timing(communicator="world", rank=rank, node="n1", gpu=rank, duration_us=9.0, bytes=8)
        for rank in range(3)
    ]
    rows += [
        timing(communicator="part", rank=rank, ranks=16, node="n1", gpu=rank, duration_us=9.0)
        for rank in range(2)
    ]
    rows += [timing(communicator="whole", duration_us=9.0, ranks=2)]
    assert written(tmp_path, rows) is None


def test_a_table_of_node_pairs_is_compared_by_bandwidth(tmp_path: Path) -> None:
    speeds = {"a1,a2": 48.0, "a1,a3": 47.0, "a2,a3": 12.0}
    rows = [
        timing(communicator=pair, op="pair_bandwidth", unit_kind="bandwidth", busbw_gbs=gbs, seq=n)
        for n, (pair, gbs) in enumerate(speeds.items())
    ]
    pairs = written(tmp_path, rows)
    assert pairs is not None
    assert (pairs.noun, pairs.names) == ("node", ["a1", "a2", "a3"])
    assert [(pair.one, pair.other, round(pair.ratio, 2)) for pair in pairs.worst(5)] == [
        ("a2", "a3", 3.92)
    ]


def test_a_drop_without_timings_has_no_pairs(tmp_path: Path) -> None:
    assert pair_matrix(Lake(tmp_path).settings, "d1") is None
