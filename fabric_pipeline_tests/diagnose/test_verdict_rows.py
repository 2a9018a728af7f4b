"""Verdicts as rows of straggler_correlations: which row each link and place gets, ranked within its run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fabric_pipeline.diagnose.correlate import Correlation
from fabric_pipeline.diagnose.localise.judge import LinkVerdict, PlaceVerdict, RunShare, Verdicts
from fabric_pipeline.diagnose.localise.window import (
    FABRIC,
    HOST,
    LEAF,
    NODE_NETWORK,
    NODE_RAIL,
    NVLINK_DOMAIN,
    RUN,
)
from fabric_pipeline.diagnose.verdict_rows import SLOW_PLACE, with_verdicts
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.schemas.table import Table
from fabric_pipeline_tests.diagnose.evidence import at, correlation, topology

A, B = "n1:gpu0/nvlink-0", "n1:mlx5_2/1"
FAR = "unknown:leaf-0/port-2"
TABLE: Table = TABLES["straggler_correlations"]


def share(run: str = "r1", **changes: Any) -> RunShare:
    known = {"bins": 60, "slow_bins": 20, "error_bins": 16, "overlap_bins": 15}
    counted = known | {"covered_bins": list(range(15)), "effect_pct": 90.0} | changes
    return RunShare(run, "dp2", **counted)  # type: ignore[arg-type]


def link(
    component: str = A, confidence: float = 0.9, *runs: RunShare, **changes: Any
) -> LinkVerdict:
    said: dict[str, Any] = {
        "far_end": "", "link_type": "nvlink", "verdict": "responsible", "has_state": False, "effect_pct": 100.0, "log_odds": 12.0,
        "lag_bins": 0, "share_slow": 0.97, "coverage": 0.95, "slow_anyway": 0.02, "chance": 1 / 60, "edges_fitting": 2,
        "edges_visible": 2, "dose": 0.4, "because": {"coverage": 3.14159, "lag": -0.01, "edge": 0.5},
    }  # fmt: skip
    return LinkVerdict(
        component, confidence=confidence, runs=list(runs or (share(),)), **(said | changes)
    )


def place(kind: int, name: str, node: str = "n1", **changes: Any) -> PlaceVerdict:
    said: dict[str, Any] = {
        "effect_pct": 50.0, "log_odds": 4.0, "runs": ["r1"], "or_else": ["n2: host"], "is_congested": False, "is_throttled": True,
        "late_share": None,
    }  # fmt: skip
    return PlaceVerdict(kind, name, node, at(0), at(600), **(said | changes))


def rows_of(
    rows: list[Correlation], links: list[LinkVerdict] | None = None,
    places: list[PlaceVerdict] | None = None, known: Topology | None = None,
) -> list[Correlation]:  # fmt: skip
    return with_verdicts(rows, Verdicts(links or [], places or []), known or Topology())


def unweighed(component: str = A, run: str = "r1", **changes: Any) -> Correlation:
    return correlation(component, run, **{"verdict": "not_weighed", "confidence": None, **changes})


def test_a_known_row_keeps_its_figures_and_gets_the_verdict() -> None:
    (one,) = rows_of([unweighed()], [link()])
    assert (one.bins, one.slow_bins, one.communicator) == (120, 20, "world")
    assert (one.verdict, one.confidence, one.log_odds) == ("responsible", 0.9, 12.0)
    assert (one.share_slow, one.slow_anyway) == (0.97, 0.02)
    assert (one.edges_fitting, one.edges_visible, one.dose) == (2, 2, 0.4)
    assert one.because == {"coverage": 3.142, "edge": 0.5}, "what adds next to nothing is left out"


def test_every_run_of_a_link_gets_a_row() -> None:
    found = rows_of([unweighed()], [link(A, 0.9, share("r1"), share("r2"))])
    assert [(one.run, one.verdict) for one in found] == [
        ("r1", "responsible"),
        ("r2", "responsible"),
    ]
    made = found[1]
    assert (made.component, made.communicator, made.in_path) == (A, "dp2", "yes")
    assert (made.bins, made.slow_bins, made.error_bins, made.overlap_bins) == (60, 20, 16, 15)
    assert made.overlap_share == pytest.approx(15 / 16)
    assert made.covered_share == pytest.approx(15 / 20)
    assert (made.effect_pct, made.p_value) == (90.0, 1 / 60)
    assert made.covered_bins == list(range(15))


def test_rows_that_were_not_weighed_stay() -> None:
    found = rows_of([unweighed(B), unweighed(run="r3")], [link()])
    assert sorted((one.run, one.component, one.verdict) for one in found) == [
        ("r1", A, "responsible"), ("r1", B, "not_weighed"), ("r3", A, "not_weighed"),
    ]  # fmt: skip
    assert rows_of([]) == []


def test_either_end_names_the_row() -> None:
    found = rows_of([unweighed(FAR)], [link(B, far_end=FAR)], known=topology((B, FAR)))
    assert [(one.component, one.verdict) for one in found] == [(FAR, "responsible")]


@pytest.mark.parametrize("order", [1, -1])
def test_the_surer_of_two_verdicts_on_one_link_stands(order: int) -> None:
    errors, state = link(A, 0.4, verdict="not_responsible"), link(A, 0.8, has_state=True)
    (one,) = rows_of([unweighed()], [errors, state][::order])
    assert (one.verdict, one.confidence) == ("responsible", 0.8)


def test_better_links_are_named() -> None:
    (one,) = rows_of([], [link(A, 0.3, verdict="masked", behind=[B])])
    assert (one.verdict, one.behind) == ("masked", [B])


@pytest.mark.parametrize(
    ("slow", "component"),
    [
        (place(HOST, "n1: host"), "n1:host"),
        (place(NODE_RAIL, "n1: rail 3"), "n1:rail-3"),
        (place(NVLINK_DOMAIN, "n1: NVLinks"), "n1:nvlinks"),
        (place(NODE_NETWORK, "n1: network"), "n1:network"),
        (place(LEAF, "switch leaf-4", ""), "unknown:leaf-4"),
        (place(RUN, "run r1", ""), "unknown:run"),
        (place(FABRIC, "the whole fabric", ""), "unknown:fabric"),
    ],
)
def test_a_slow_place_is_a_row(slow: PlaceVerdict, component: str) -> None:
    (one,) = rows_of([], places=[slow])
    assert (one.component, one.verdict, one.run) == (component, SLOW_PLACE, "r1")
    assert (one.confidence, one.p_value) == (None, None)
    assert (one.log_odds, one.effect_pct) == (4.0, 50.0)
    assert one.behind == ["n2: host"]
    assert one.because == {"congested": 0.0, "throttled": 1.0}


def test_a_place_that_was_slow_twice_is_one_row_a_run() -> None:
    weak, strong = place(HOST, "n1: host", log_odds=4.0), place(HOST, "n1: host", log_odds=9.0)
    for order in ([weak, strong], [strong, weak]):
        found = rows_of([], places=[*order, place(HOST, "n1: host", runs=["r2"])])
        assert [(one.run, one.log_odds) for one in found] == [("r1", 9.0), ("r2", 4.0)]


def test_candidates_are_ranked_within_their_run() -> None:
    rows = [unweighed(B, score=3.0), unweighed("n1:gpu7/pcie", score=5.0), unweighed(A, "r2")]
    found = rows_of(rows, [link(A, 0.9, share("r1"), share("r2"))], [place(HOST, "n1: host")])
    assert [(one.run, one.candidate_rank, one.component) for one in found] == [
        ("r1", 1, A), ("r1", 2, "n1:gpu7/pcie"), ("r1", 3, B), ("r1", 4, "n1:host"), ("r2", 1, A),
    ]  # fmt: skip


def test_rows_fit_the_table() -> None:
    links = [
        link(A, 0.9, share("r1"), share("r2"), share_slow=1.01),
        link(B, 0.2, verdict="masked", behind=[A]),
    ]
    found = rows_of(
        [unweighed()], links, [place(HOST, "n1: host"), place(LEAF, "switch leaf-4", "")]
    )
    keys = set()
    for one in found:
        values = one.row("d1")
        assert len(values) == len(TABLE.column_names)
        row = dict(zip(TABLE.column_names, values, strict=True))
        keys.add(tuple(row[name] for name in TABLE.key))
        for column in TABLE.columns:
            value = row[column.name]
            assert value is not None or column.nullable, column.name
            if value is not None and not isinstance(value, str):
                assert column.minimum is None or value >= column.minimum, column.name
                assert column.maximum is None or value <= column.maximum, column.name
            if column.allowed:
                assert value in column.allowed, column.name
        assert isinstance(json.loads(row["because"]), dict)
        assert isinstance(json.loads(row["behind"]), list)
    assert len(keys) == len(found) == 5
