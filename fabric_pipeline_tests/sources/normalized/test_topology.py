"""The normalized topology: what is kept of a file with slips in it, and what is refused with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.normalized.topology import TopologyReader
from fabric_pipeline.workflows.topology_rows import topology_from_rows, topology_rows

READER = TopologyReader()
NODE: dict[str, Any] = {
    "node": "elm-07",
    "rack": "r7",
    "gpus": [{"gpu": 1, "socket": 0, "pci": "0000:1b:00.0"}],
    "nvswitches": ["nvswitch-0"],
    "nics": [{"hca": "mlx5_2"}],
}
LINK: dict[str, Any] = {
    "id": "L1",
    "type": "nvlink",
    "a": {"node": "elm-07", "port": "gpu1/nvlink-4"},
    "b": {"node": "elm-07", "port": "nvswitch-0/port-9"},
    "lanes": 2,
}


def read(tmp_path: Path, value: Any) -> ReadResult:
    path = tmp_path / "t"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return READER.read(SourceFile(path, "t"))


def rules(result: ReadResult) -> list[str]:
    return [one.rule for one in result.rejected]


def test_a_sound_topology_is_kept_whole(tmp_path: Path) -> None:
    value = {"site": "hall-2", "nodes": [NODE], "switches": [{"name": "leaf-4"}], "links": [LINK]}
    path = tmp_path / "t"
    path.write_text(json.dumps(value))
    assert READER.score(SourceFile(path, "t")) == 98
    part = READER.read(SourceFile(path, "t")).topology
    assert part is not None
    assert (part.site, part.nodes, part.switches, part.links) == (
        "hall-2", [NODE], [{"name": "leaf-4"}], [LINK]
    )  # fmt: skip
    rows = list(topology_rows("t", part))
    assert [row[1] for row in rows] == [
        "site", "node", "gpu", "nic", "nvswitch", "switch", "link"
    ]  # fmt: skip
    again = topology_from_rows([(row[1], row[-1]) for row in rows])
    assert again.far_end("elm-07:gpu1/nvlink-4") == "elm-07:nvswitch-0/port-9"
    assert again.site == "hall-2"


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ({"nodes": 5}, "nodes is not a list"),
        ({"nodes": [NODE, None]}, "nodes[1] is not an object"),
        ({"nodes": [NODE, {"rack": "r1"}]}, "nodes[1] has no 'node' of 1 to 300 characters"),
        ({"nodes": [{"node": "x" * 301}]}, "nodes[0] has no 'node' of 1 to 300 characters"),
        ({"nodes": [{"node": {"a": 1}}]}, "nodes[0] has no 'node' of 1 to 300 characters"),
        ({"nodes": [NODE | {"gpus": "8"}]}, "nodes[0].gpus is not a list"),
        ({"nodes": [NODE | {"gpus": [3]}]}, "nodes[0].gpus[0] is not an object"),
        ({"nodes": [NODE | {"gpus": [{"gpu": -1}]}]}, "nodes[0].gpus[0].gpu is no number of zero or more"),
        ({"nodes": [NODE | {"gpus": [{"gpu": "x"}]}]}, "nodes[0].gpus[0].gpu is no number of zero or more"),
        ({"nodes": [NODE | {"nics": [[1]]}]}, "nodes[0].nics[0] is not an object"),
        ({"switches": [{"tier": 1}]}, "switches[0] has no 'name' of 1 to 300 characters"),
        ({"links": [LINK, {"type": "nvlink"}]}, "links[1] end 'a' names neither a node nor a switch"),
        ({"links": [LINK | {"b": {"switch": ""}}]}, "links[0] end 'b' names neither a node nor a switch"),
        ({"links": [LINK | {"a": {"node": "n", "port": [1]}}]}, "links[0] end 'a' has a port that is no name"),
        ({"links": [LINK | {"lanes": True}]}, "links[0].lanes is no number of zero or more"),
        ({"links": [LINK | {"speed_gbps": 1e999}]}, "links[0].speed_gbps is no number of zero or more"),
        ({"links": [LINK | {"speed_gbps": 10**400}]}, "links[0].speed_gbps is no number of zero or more"),
    ],
)  # fmt: skip
def test_a_slip_costs_its_own_part(tmp_path: Path, value: dict[str, Any], rule: str) -> None:
    result = read(tmp_path, {"nodes": [NODE], "links": [LINK]} | value)
    assert rules(result) == [rule]
    assert result.topology is not None
    assert list(topology_rows("t", result.topology))
    assert Topology([result.topology])


def test_numbers_written_as_text(tmp_path: Path) -> None:
    node = NODE | {"gpus": [{"gpu": "3", "socket": 1.0}]}
    part = read(tmp_path, {"nodes": [node]}).topology
    assert part is not None
    assert part.nodes[0]["gpus"] == [{"gpu": 3, "socket": 1}]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"nodes": [\n{"node": "a",\n"gpus": [{"gpu": 0}', 3),
        ('{"nodes": [{"node": "a"}],\n\n"links": [}', 3),
        ('{"nodes": ' + "[" * 100_000, None),
    ],
)
def test_a_cut_file_is_one_refusal_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    result = read(tmp_path, text)
    assert [one.line for one in result.rejected] == [line]
    assert "not readable as JSON" in result.rejected[0].rule
    assert result.topology is None


def test_nesting_without_end_is_refused(tmp_path: Path) -> None:
    deep = '{"nodes": [{"node": "a", "gpus": [], "x": ' + "[" * 400 + "]" * 400 + "}]}"
    assert rules(read(tmp_path, deep)) == ["nodes[0] is nested too deep"]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"nodes": []}', '{"nodes": ["n1"], "run": "r"}', '{"nodes": [{"id": 1}], "links": []}'],
)  # fmt: skip
def test_what_is_no_topology_of_ours(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t"
    path.write_text(text)
    assert READER.score(SourceFile(path, "t")) == 0


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["node", "name", "type", "gpus", "gpu", "pci", "nics", "a", "b", "port", "switch"]),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(
    st.dictionaries(
        st.sampled_from(["site", "nodes", "switches", "links"]),
        json_values | st.lists(json_values, max_size=4),
    )
)
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_json_gives_a_graph(tmp_path: Path, value: dict[str, Any]) -> None:
    """Whatever is kept can be walked, stored and made into the graph again."""
    result = read(tmp_path, value)
    part = result.topology
    assert part is not None
    rows = list(topology_rows("t", part))
    again = topology_from_rows([(row[1], row[-1]) for row in rows])
    assert set(again.nodes) == set(Topology([part]).nodes)
    assert all(one.rule for one in result.rejected)
