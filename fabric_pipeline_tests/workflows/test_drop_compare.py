"""What changed between two drops: incidents, cables, serials, data and speeds, and nothing that was not stated."""

from __future__ import annotations

import copy
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from fabric_pipeline.errors import NotFoundError, UsageError
from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.settings import Settings
from fabric_pipeline.workflows.drop_compare import compare_drops, pair_to_compare
from fabric_pipeline.workflows.drop_compare_links import changed_links, silenced_ends
from fabric_pipeline.workflows.drop_compare_model import DropComparison
from fabric_pipeline.workflows.drop_compare_rows import Differing, differing_links
from fabric_pipeline.workflows.drop_window import window_end
from fabric_pipeline.workflows.fabric_view import load_fabric_view
from fabric_pipeline_tests.workflows.fabric_lake import (
    START,
    Lake,
    all_ends,
    incident,
    topology,
)
from fabric_pipeline_tests.workflows.test_link_view import readings

LINK = "ada-01:gpu1/nvlink-2"


def compared(settings: Settings, a: str = "a", b: str = "b") -> DropComparison:
    return compare_drops(settings, *(load_fabric_view(settings, drop) for drop in (a, b)))


def lakes(home: Path, after: TopologyPart | None = None) -> tuple[Lake, Lake]:
    first, second = Lake(home, "a").topology(topology()), Lake(home, "b").topology(after or topology())  # fmt: skip
    for lake in (first, second):
        lake.counters(all_ends(topology())).judged()
    return first, second


def changed(given: TopologyPart, link_id: str, **values: Any) -> TopologyPart:
    made = copy.deepcopy(given)
    next(link for link in made.links if link["id"] == link_id).update(values)
    return made


def test_two_like_drops_differ_in_nothing(tmp_path: Path) -> None:
    first, _ = lakes(tmp_path)
    found = compared(first.settings)
    assert (found.counts, found.notes) == ({}, [])


def test_incidents_come_go_and_get_worse(tmp_path: Path) -> None:
    first, second = lakes(tmp_path)
    ends = [f"ada-02:gpu{gpu}/nvlink-0" for gpu in range(4)]
    first.incidents(
        incident(1, ends[0], "WARNING", degradation_pct=10.0, drop="a"), incident(2, ends[1], "WARNING", drop="a"),
        incident(4, ends[3], "WARNING", degradation_pct=10.0, drop="a"), incident(9, "none", "INFO", fault_type="nominal", drop="a"),
    )  # fmt: skip
    second.incidents(
        incident(1, ends[0], "CRITICAL", degradation_pct=11.0, drop="b"), incident(3, ends[2], "WATCH", drop="b"),
        incident(4, ends[3], "WARNING", degradation_pct=30.0, drop="b"),
    )  # fmt: skip
    found = compared(first.settings)
    told = {one.incident_id[-1]: one.change for one in found.incidents}
    assert told == {"1": "worse", "2": "quiet", "3": "new", "4": "worse"}
    assert [one.change for one in found.incidents] == ["new", "worse", "worse", "quiet"]
    assert next(one.says for one in found.incidents if one.incident_id[-1] == "4") == "10.0 % slower to 30.0 %"  # fmt: skip
    assert {one.change for one in compared(first.settings, "b", "a").incidents} == {"new", "better", "quiet"}  # fmt: skip


def test_a_link_that_nobody_measured_is_not_quiet(tmp_path: Path) -> None:
    first, second = lakes(tmp_path)
    first.incidents(incident(1, LINK, "CRITICAL", drop="a"), incident(2, "zed-09:gpu0/nvlink-1", "WARNING", drop="a"))  # fmt: skip
    second.counters([end for end in all_ends(topology()) if end[0] != "ada-01"]).judged()
    found = compared(first.settings)
    assert [one.change for one in found.incidents] == ["not_measured", "not_measured"]
    lost = found.links_of("lost_data")
    assert [(one.component, one.what) for one in lost] == [("ada-01", "links")]
    assert found.counts["lost_data"] == lost[0].links > 20
    assert compared(first.settings, "b", "a").links_of("gained_data")[0].component == "ada-01"


def test_a_recabled_link_is_said_once_with_both_far_ends(tmp_path: Path) -> None:
    swapped = topology()
    a, b = (next(one for one in swapped.links if one["id"] == f"ada-01:mlx5_{n}/1") for n in (0, 1))
    a["b"], b["b"] = b["b"], a["b"]
    first, _ = lakes(tmp_path, swapped)
    found = compared(first.settings)
    assert [(one.component, one.before, one.after) for one in found.links] == [
        ("ada-01:mlx5_0/1", "leaf-0/port-1", "leaf-0/port-2"),
        ("ada-01:mlx5_1/1", "leaf-0/port-2", "leaf-0/port-1"),
    ]
    assert set(found.counts) == {"recabled"}


def test_cables_parts_and_serials_are_compared_where_both_state_them(tmp_path: Path) -> None:
    after = changed(topology(), "ada-01:mlx5_0/1", cable="CAB-99")
    after = changed(after, "ada-01:gpu0/nvlink-0", part="board-2")
    after = changed(after, "ada-01:mlx5_1/1", cable="")
    after.nodes[1]["serial"] = "SER-NEW"
    first, _ = lakes(tmp_path, after)
    found = [
        (one.change, one.component, one.before, one.after, one.what)
        for one in compared(first.settings).links
    ]
    assert found == [
        ("cable", "ada-01:gpu0/nvlink-0", "board", "board-2", "part"),
        ("cable", "ada-01:mlx5_0/1", "CAB-00", "CAB-99", "cable"),
        ("serial", "ada-02", "SER1", "SER-NEW", "node serial"),
    ]


def test_links_that_went_and_came(tmp_path: Path) -> None:
    less = topology()
    less.links = [one for one in less.links if one["id"] != "ada-01:mlx5_0/1"]
    first, second = lakes(tmp_path, less)
    second.counters(all_ends(less)).judged()
    assert [(one.change, one.component) for one in compared(first.settings).links] == [("gone", "ada-01:mlx5_0/1")]  # fmt: skip
    assert [(one.change, one.after) for one in compared(first.settings, "b", "a").links] == [("added", "leaf-0/port-1")]  # fmt: skip


def test_widths_and_speeds_are_those_that_were_read(tmp_path: Path) -> None:
    first, second = lakes(tmp_path)
    end = ("ada-01", "gpu0/pcie")
    for lake, width in ((first, 16.0), (second, 8.0)):
        gauge = readings(lake, end, "width", [None], value=width, kind="gauge", link_type="pcie")
        lake.write("link_counters", gauge + readings(lake, end, "pcie_replay", [0.0]))
    speeds = compared(first.settings).links_of("speed")
    assert [(one.component, one.what, one.before, one.after) for one in speeds] == [("ada-01:gpu0/pcie", "width", "16 lanes", "8 lanes")]  # fmt: skip


@pytest.mark.parametrize("kind", ["recabled", "gone", "cable", "silent", "topology", "same"])
def test_comparing_the_links_that_differ_tells_all_that_comparing_every_link_does(
    tmp_path: Path, kind: str
) -> None:
    other = topology()
    if kind == "recabled":
        ends = [
            next(one for one in other.links if one["id"] == f"ada-01:mlx5_{n}/1") for n in (0, 1)
        ]
        ends[0]["b"], ends[1]["b"] = ends[1]["b"], ends[0]["b"]
    if kind == "gone":
        other.links = other.links[3:]
    if kind == "cable":
        other = changed(other, "ada-01:mlx5_0/1", cable="CAB-99")
    first, second = lakes(tmp_path, other)
    if kind == "silent":
        second.counters([end for end in all_ends(other) if end[0] != "ada-02"]).judged()
    if kind == "topology":
        second = Lake(tmp_path, "b").topology(topology(("ada-01", "zoe-01"))).judged()
    a, b = (load_fabric_view(first.settings, drop) for drop in ("a", "b"))
    every, some = Differing(list(a.links), list(b.links)), differing_links(a, b)
    assert changed_links(a, b, some) == changed_links(a, b, every)
    assert silenced_ends(some) == silenced_ends(every)
    assert (len(some.before) < len(every.before)) or kind in ("topology", "silent")
    assert bool(some.before or some.after) == (kind != "same")


def test_a_drop_without_topology_recables_nothing(tmp_path: Path) -> None:
    first, _ = lakes(tmp_path)
    Lake(tmp_path, "c").counters(all_ends(topology())).judged()
    found = compared(first.settings, "a", "c")
    assert not {"recabled", "cable", "serial", "gone", "added"} & set(found.counts)
    assert any("no topology" in note for note in found.notes)


def test_a_drop_is_not_compared_with_itself(tmp_path: Path) -> None:
    first, _ = lakes(tmp_path)
    with pytest.raises(UsageError, match="itself"):
        compared(first.settings, "a", "a")


def test_the_newest_two_of_a_cluster_are_the_default(tmp_path: Path) -> None:
    first, second = lakes(tmp_path)
    assert window_end(first.settings, "a") == START + timedelta(hours=2)
    ends = [("a", START), ("b", START + timedelta(hours=5)), ("c", None)]
    assert pair_to_compare(first.settings, ends) == ("a", "b")
    with pytest.raises(NotFoundError, match="no two drops"):
        pair_to_compare(second.settings, ends[:1])
