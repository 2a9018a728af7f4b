"""Pair tables, nodes of a fleet test, ranks of an injection test."""

from __future__ import annotations

import math

from fabric_pipeline.detect.sweeps.evaluate import judge_sweeps
from fabric_pipeline.model.records import CollectiveTiming

from .rows import pair


def test_the_node_of_two_slow_pairs_is_named() -> None:
    rows = [
        pair("a", "b", 90.0, 1),
        pair("a", "x", 40.0, 2),
        pair("b", "x", 42.0, 3),
        pair("c", "d", 41.0, 4),
    ]
    judged = judge_sweeps(rows)
    accused = [f for f in judged.findings if f.accuses]
    assert [(f.component, f.is_link) for f in accused] == [("x:unknown", True)]
    assert [e.line for e in accused[0].evidence] == [2, 3]
    assert {u.node for u in judged.unknown} == {"c", "d"}
    watched = [f for f in judged.findings if not f.accuses]
    assert [(f.kind, f.severity) for f in watched] == [("slow_pair", "watch")]


def test_one_slow_pair_or_a_slow_path_accuses_nobody() -> None:
    one = judge_sweeps([pair("a", "b", 90.0), pair("a", "x", 40.0)])
    assert not [f for f in one.findings if f.accuses]
    assert [u.node for u in one.unknown] == ["x"]
    path = judge_sweeps([pair("a", "b", 90.0), pair("c", "d", 90.0), pair("a", "c", 40.0)])
    assert "path between them" in path.findings[0].reason
    assert not path.unknown


def test_equal_pairs_are_fine() -> None:
    judged = judge_sweeps([pair("a", "b", 90.0), pair("a", "c", 85.0), pair("b", "c", 80.0)])
    assert not judged.findings
    assert not judged.unknown


def figure(node: str, op: str, busbw: float | None, duration: float = math.nan) -> CollectiveTiming:
    row = CollectiveTiming(1, op, duration, run="s", communicator=node, node=node, file="f1")
    row.busbw_gbs, row.unit_kind = busbw, "bandwidth" if busbw else "compute"
    return row


def test_a_node_unlike_its_equals_is_no_link() -> None:
    rows = [figure(f"n{i}", "mem-bw/H2D", 25.0 if i else 12.0) for i in range(4)]
    rows += [figure(f"n{i}", "launch", None, 6.0 if i != 2 else 30.0) for i in range(4)]
    findings = judge_sweeps(rows).findings
    assert [(f.component, f.kind, f.is_link) for f in findings] == [
        ("n0:unknown", "slow_node_figure", False),
        ("n2:unknown", "slow_node_figure", False),
    ]
    assert not judge_sweeps(rows[:2]).findings


def test_a_rank_that_sends_slowly() -> None:
    rows = []
    for rank in range(6):
        row = CollectiveTiming(rank + 1, "injection", math.nan, run="i", rank=rank, file="f1")
        row.busbw_gbs, row.unit_kind = 6.3 if rank != 4 else 2.0, "bandwidth"
        rows.append(row)
    findings = judge_sweeps(rows).findings
    assert [(f.kind, f.is_link, f.evidence[0].line) for f in findings] == [
        ("slow_injection", False, 5)
    ]
    assert "rank 4" in findings[0].reason
    assert not judge_sweeps(rows[:3]).findings
