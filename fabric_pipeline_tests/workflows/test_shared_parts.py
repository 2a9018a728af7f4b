"""Which parts links share: by the topology, by labels on the box, and by names where nothing is stated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric_pipeline.drafting.lookup import FabricLookup
from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline_tests.workflows.fabric_lake import Lake
from fabric_pipeline_tests.workflows.lookup_rows import asked, counter_row, erring_lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return erring_lake(tmp_path)


def shared_kinds(lookup: FabricLookup, *components: str) -> dict[str, str]:
    return {row["kind"]: row["shared"] for row in lookup.shared_components(components)}


def test_shared_parts_of_links_by_the_topology(lake: Lake) -> None:
    with asked(lake) as lookup:
        same_gpu = shared_kinds(lookup, "ada-01:gpu1/nvlink-2", "ada-01:gpu1/nvlink-5")
        same_chip = shared_kinds(lookup, "ada-01:gpu1/nvlink-2", "ada-01:gpu2/nvlink-0")
        behind = shared_kinds(lookup, "ada-01:gpu0/pcie", "ada-01:mlx5_0/1")
        leaf = shared_kinds(lookup, "ada-01:mlx5_0/1", "bob-01:mlx5_1/1", "unknown:leaf-0/port-33")
        apart = shared_kinds(lookup, "ada-01:gpu1/nvlink-2", "bob-01:gpu1/nvlink-2")
    assert same_gpu["gpu"] == "ada-01:gpu1"
    assert "nvswitch" not in same_gpu
    assert same_chip["nvswitch"] == "ada-01:nvswitch-0"
    assert "gpu" not in same_chip
    assert behind["pcie_switch"] == "ada-01:pcie-switch-0"
    assert leaf["switch"] == "leaf-0"
    assert apart == {}


def test_shared_parts_count_their_links_and_the_clean_ones(lake: Lake) -> None:
    with asked(lake) as lookup:
        rows = lookup.shared_components(
            ["ada-01:gpu1/nvlink-2", "ada-01:gpu1/nvlink-2/lane-0", "ada-01:gpu1/nvlink-5"]
        )
    gpu = next(row for row in rows if row["kind"] == "gpu")
    assert gpu["links"] == ["ada-01:gpu1/nvlink-2", "ada-01:gpu1/nvlink-5"]
    assert (gpu["links_in_all"], gpu["clean_links"], gpu["unmeasured_links"]) == (7, 6, 0)
    assert rows[0]["kind"] == "gpu", "the part with the fewest other links tells most"


def test_lanes_of_one_link_share_nothing_by_themselves(lake: Lake) -> None:
    with asked(lake) as lookup:
        rows = lookup.shared_components(
            [
                "ada-01:gpu1/nvlink-2/lane-0",
                "ada-01:gpu1/nvlink-2/lane-1",
                "ada-01:nvswitch-0/port-5",
            ]
        )
    assert rows == []


def ports(**of_nics: dict[str, Any]) -> TopologyPart:
    node = {"node": "n1", "nics": [{"hca": hca, **facts} for hca, facts in of_nics.items()]}
    links = [
        {
            "id": hca,
            "type": "infiniband",
            "a": {"node": "n1", "port": f"{hca}/1"},
            "b": {"switch": f"leaf-{n}", "port": "3"},
        }
        for n, hca in enumerate(of_nics)
    ]
    return TopologyPart(nodes=[node], links=links)


@pytest.mark.parametrize(
    ("first", "second", "plug"),
    [
        ({"port_label": "OSFP1P1"}, {"port_label": "OSFP1P2"}, "n1:OSFP1"),
        ({"port_label": "osfp12-p1"}, {"port_label": "OSFP12P2"}, "n1:OSFP12"),
        ({"port_label": "OSFP1P1"}, {"port_label": "OSFP2P1"}, None),
        ({"plug": "cage-7"}, {"plug": "cage-7"}, "n1:cage-7"),
        ({"port_label": "Port 1"}, {"port_label": "Port 1"}, None),
        ({}, {}, None),
    ],
)
def test_a_twin_port_plug_is_known_by_labels_or_by_the_topology_only(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], plug: str | None
) -> None:
    made = Lake(tmp_path).topology(ports(mlx5_0=first, mlx5_1=second))
    with asked(made) as lookup:
        found = shared_kinds(lookup, "n1:mlx5_0/1", "n1:mlx5_1/1")
    assert found.get("twin_port_plug") == plug


def test_two_ports_of_one_card_share_the_card_and_a_bundle_its_cable(tmp_path: Path) -> None:
    part = ports(mlx5_0={"serial": "MT1"}, mlx5_1={"serial": "MT1"}, mlx5_2={"serial": "MT2"})
    for link in part.links[:2]:
        link["cable"] = "SPLIT-9"
    with asked(Lake(tmp_path).topology(part)) as lookup:
        found = shared_kinds(lookup, "n1:mlx5_0/1", "n1:mlx5_1/1")
        other = shared_kinds(lookup, "n1:mlx5_0/1", "n1:mlx5_2/1")
    assert (found["nic"], found["cable"]) == ("n1:mlx5_0+mlx5_1", "SPLIT-9")
    assert set(other) == {"node"}


def test_without_topology_names_alone_tell_gpu_switch_and_node(tmp_path: Path) -> None:
    made = Lake(tmp_path)
    rows = counter_row(("n9", "gpu4/nvlink-1"), "replay", [0, 3]) + counter_row(
        ("n9", "gpu4/nvlink-2"), "replay", [0, 5]
    )
    made.write("link_counters", rows)
    with asked(made) as lookup:
        found = shared_kinds(lookup, "n9:gpu4/nvlink-1", "n9:gpu4/nvlink-2")
        rows_near = lookup.neighbours("n9:gpu4/nvlink-1")
    assert found == {"gpu": "n9:gpu4", "node": "n9"}
    assert [(row["component"], row["far_end"], row["errors"]) for row in rows_near] == [
        ("n9:gpu4/nvlink-2", "", 5.0),
        ("n9:gpu4/nvlink-1", "", 3.0),
    ]
