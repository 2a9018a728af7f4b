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
        ({"links": [LINK | {"length_m": "ten"}]}, "links[0].length_m is no number of zero or more"),
        ({"links": [LINK | {"cable": {"id": 1}}]}, "links[0].cable is no name of 1 to 300 characters"),
        ({"links": [LINK | {"medium": ["DAC"]}]}, "links[0].medium is no name of 1 to 300 characters"),
        ({"nodes": [NODE | {"hall": True}]}, "nodes[0].hall is no name of 1 to 300 characters"),
        ({"nodes": [NODE | {"asset_tag": "x" * 301}]}, "nodes[0].asset_tag is no name of 1 to 300 characters"),
        ({"nodes": [NODE | {"nics": [{"hca": "m", "slot": 1.5}]}]}, "nodes[0].nics[0].slot is no name of 1 to 300 characters"),
        ({"switches": [{"name": "leaf-4", "port_labels": ["1"]}]}, "switches[0].port_labels is not an object of port to label"),
        ({"switches": [{"name": "leaf-4", "port_labels": {"1": {}}}]}, "switches[0].port_labels.1 is no text of 1 to 300 characters"),
        ({"service": "desk"}, "service is not an object of plain fields"),
        ({"service": {"contact": ["a"]}}, "service.contact is no name of 1 to 300 characters"),
        ({"service": {"sla": "4 hours"}}, "service.sla is not an object of priority to text"),
        ({"service": {"sla": {"soon": "4 hours"}}}, "service.sla.soon is none of the priorities urgent, high, normal, low"),
        ({"spares": {"part": "a"}}, "spares is not a list"),
        ({"spares": [{"part": "a"}]}, "spares[0] has no 'location' of 1 to 300 characters"),
        ({"spares": [{"part": "a", "location": "b", "quantity": -1}]}, "spares[0].quantity is no number of zero or more"),
        ({"site": ["a"]}, "site is no name of 1 to 300 characters"),
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


FULL: dict[str, Any] = {
    "site": "hall-2",
    "service": {"contact": "desk", "schedule": "any day", "sla": {"urgent": "4 hours", "low": 7}},
    "spares": [{"part": "p-1", "location": "store", "quantity": "3", "fits": "hgx"}],
    "nodes": [NODE | {"hall": "H1", "cage": 4, "face": "front", "asset_tag": "A-1", "platform": "HGX H100", "unit": None}],
    "switches": [{"name": "leaf-4", "serial": "S4", "slot": "2", "port_labels": {"12": "1/6/2"}}],
    "links": [
        LINK | {"cable": "C-1", "medium": "DAC", "length_m": 1.5, "connector": "OSFP", "colour": "black",
                "cable_serial": "CS", "cable_part_number": "PN"}
    ],
}  # fmt: skip


def test_the_facts_of_a_ticket_survive_the_way_through_the_table(tmp_path: Path) -> None:
    result = read(tmp_path, FULL)
    assert result.rejected == []
    assert result.topology is not None
    rows = list(topology_rows("t", result.topology))
    stored = topology_from_rows([(row[1], row[-1]) for row in rows])
    direct = Topology([result.topology])
    for one in (stored, direct):
        assert one.service == {
            "contact": "desk", "schedule": "any day", "sla": {"urgent": "4 hours", "low": "7"}
        }  # fmt: skip
        assert one.spares == [{"part": "p-1", "location": "store", "quantity": 3, "fits": "hgx"}]
        assert one.place("elm-07:gpu1/nvlink-4") == {
            "site": "hall-2", "hall": "H1", "cage": 4, "rack": "r7", "face": "front", "asset_tag": "A-1"
        }  # fmt: skip
        assert one.port_label("unknown:leaf-4/port-12") == "1/6/2"
        link = one.link_of("elm-07:gpu1/nvlink-4")
        assert link is not None
        assert (link.cable_id, link.attributes["medium"], link.attributes["length_m"]) == (
            "C-1", "DAC", 1.5
        )  # fmt: skip
        assert one.conflicts == []


def test_service_facts_without_a_site_are_stored_too(tmp_path: Path) -> None:
    part = read(tmp_path, {"service": {"contact": "desk"}, "nodes": []}).topology
    assert part is not None
    rows = list(topology_rows("t", part))
    assert [row[1:3] for row in rows] == [("site", "unknown")]
    assert topology_from_rows([(row[1], row[-1]) for row in rows]).service == {"contact": "desk"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from([
            "node", "name", "type", "gpus", "gpu", "pci", "nics", "a", "b", "port", "switch", "hall", "cable", "medium", "length_m",
            "port_labels", "contact", "sla", "urgent", "part", "location", "quantity", "fits",
        ]),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(
    st.dictionaries(
        st.sampled_from(["site", "nodes", "switches", "links", "service", "spares"]),
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
    direct = Topology([part])
    assert set(again.nodes) == set(direct.nodes)
    assert (again.service, again.spares) == (direct.service, direct.spares)
    assert all(one.rule for one in result.rejected)


names = st.text(min_size=1, max_size=20).filter(str.strip) | st.integers(0, 10**6)
sound_or_not = names | st.none() | st.just("") | st.booleans() | st.lists(st.none(), max_size=1)


@given(
    st.dictionaries(
        st.sampled_from(["hall", "cage", "face", "asset_tag", "platform"]), sound_or_not
    )
)
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_place_is_kept_or_refused_field_by_field(tmp_path: Path, place: dict[str, Any]) -> None:
    result = read(tmp_path, {"nodes": [NODE | place]})
    assert result.topology is not None
    (node,) = result.topology.nodes
    unsound = {key for key, value in place.items() if isinstance(value, bool | list)}
    assert {one.rule.split(" ")[0] for one in result.rejected} == {f"nodes[0].{k}" for k in unsound}
    assert {key: node[key] for key in place if key in node} == {
        key: value for key, value in place.items() if key not in unsound
    }
