"""The rate of a link beside its siblings: who they are, and when an outlier is worth watching."""

from __future__ import annotations

from typing import Any

import pytest

from fabric_pipeline.detect.spikes.evaluate import Spike, detect_from_series
from fabric_pipeline.detect.spikes.peers_sql import SIBLING_GROUP
from fabric_pipeline_tests.detect.spikes.sparse import fill


def slow(events: int, first: int = 5) -> dict[int, float]:
    """Single errors six minutes apart: no window, no minute stands out."""
    return {first + 12 * n: 1.0 for n in range(events)}


def outliers(connection: Any) -> list[Spike]:
    return [
        spike
        for spike in detect_from_series(connection)
        if "sibling_outlier_rate" in {hit.rule_id for hit in spike.hits}
    ]


@pytest.mark.parametrize(("events", "fires"), [(7, False), (8, True), (20, True)])
def test_a_drizzle_beside_silent_siblings_is_watched(
    connection: Any, events: int, fires: bool
) -> None:
    fill(connection, 18, {3: slow(events)})
    found = outliers(connection)
    assert [spike.interface for spike in found] == ["gpu0/nvlink-3"] * fires
    if found:
        (hit,) = found[0].hits
        assert hit.severity == "watch"
        assert "17 sibling links" in hit.says
        assert (hit.limit, found[0].bursts) == ("1.5/h", [])


@pytest.mark.parametrize(("links", "fires"), [(3, False), (4, True)])
def test_few_siblings_tell_nothing(connection: Any, links: int, fires: bool) -> None:
    fill(connection, links, {1: slow(20)})
    assert bool(outliers(connection)) == fires


def test_siblings_that_do_the_same_hide_nobody_and_accuse_nobody(connection: Any) -> None:
    fill(connection, 18, {link: slow(10 + link % 3) for link in range(18)})
    assert outliers(connection) == []
    fill(connection, 18, {link: slow(4) for link in range(18)} | {2: slow(12)})
    assert outliers(connection) == [], "three times the median is the least"


def test_links_of_other_gpus_are_no_siblings(connection: Any) -> None:
    """A GPU all of whose links drizzle has no outlier; a fleet-wide comparison would name 18."""
    fill(connection, 144, {link: slow(20) for link in range(18)})
    assert outliers(connection) == []


@pytest.mark.parametrize(
    ("node", "interface", "family"),
    [
        ("n1", "gpu5/nvlink-11", "n1:gpu5/nvlink-"),
        ("n1", "nvlink-3", "n1:nvlink-"),
        ("n1", "gpu5/pcie", "n1:gpu*/pcie"),
        ("n1", "mlx5_3/1", "mlx5_3/1"),
        ("", "leaf-4/port-12", ":leaf-4/port-"),
        ("n1", "nvswitch-2/port-34", "n1:nvswitch-2/port-"),
    ],
)
def test_who_is_a_sibling(connection: Any, node: str, interface: str, family: str) -> None:
    sql = f"select {SIBLING_GROUP} from (select $1 as node, $2 as interface)"
    assert connection.execute(sql, [node, interface]).fetchall() == [(family,)]
