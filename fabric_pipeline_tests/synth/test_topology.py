"""The synthetic cluster: H100 wiring, both ends of every link, stable serial numbers."""

from __future__ import annotations

from collections import Counter

import pytest

from fabric_pipeline.errors import NotFoundError, UsageError
from fabric_pipeline.model.components import link_type_of
from fabric_pipeline.synth.cluster import Cluster
from fabric_pipeline.synth.hardware import nvswitch_of
from fabric_pipeline.synth.topology import ClusterSpec, build_topology

TOPOLOGY = build_topology(ClusterSpec())
LINKS = TOPOLOGY["links"]


def test_every_gpu_has_18_nvlinks_as_5_4_4_5() -> None:
    per_switch = Counter(
        (link["a"]["node"], link["a"]["port"].split("/")[0], link["b"]["port"].split("/")[0])
        for link in LINKS
        if link["type"] == "nvlink"
    )
    counts = [per_switch["gpu-r12-n03", "gpu6", f"nvswitch-{n}"] for n in range(4)]
    assert counts == [5, 4, 4, 5]
    assert sum(per_switch.values()) == 8 * 8 * 18


def test_no_port_is_used_twice_and_each_end_names_its_device() -> None:
    ends = [(end.get("node", ""), end["port"]) for link in LINKS for end in (link["a"], link["b"])]
    assert len(ends) == len(set(ends))
    assert len({link["id"] for link in LINKS}) == len(LINKS)
    for link in LINKS:
        for end in (link["a"], link["b"]):
            assert link_type_of(end["port"]) == link["type"]
            assert end["port"].startswith(end.get("switch", ""))


def test_links_carry_lanes_speed_part_and_only_fibres_a_cable() -> None:
    for link in LINKS:
        assert link["lanes"] > 0
        assert link["speed_gbps"] > 0
        assert link["part"]
        assert (link["cable"] is not None) == (link["type"] == "infiniband")
    cables = [link["cable"] for link in LINKS if link["cable"]]
    assert len(cables) == len(set(cables)) == 64 + 32


def test_two_gpus_share_each_cage_and_four_pairs_each_socket() -> None:
    for node in TOPOLOGY["nodes"]:
        cages = Counter(nic["port_label"][:-2] for nic in node["nics"])
        assert set(cages.values()) == {2}
        assert Counter(nic["socket"] for nic in node["nics"]) == {0: 4, 1: 4}
        assert [gpu["pcie_switch"] for gpu in node["gpus"]] == [
            nic["pcie_switch"] for nic in node["nics"]
        ]
        assert len({gpu["uuid"] for gpu in node["gpus"]}) == 8


def test_nic_of_each_rail_ends_on_the_leaf_of_that_rail() -> None:
    link = Cluster.of(TOPOLOGY).rail_link("gpu-r12-n02", 2)
    assert link.near.interface == "mlx5_4/1"
    assert link.far.id == "unknown:leaf-2/port-6"


def test_same_seed_same_serial_numbers_other_seed_other_ones() -> None:
    assert build_topology(ClusterSpec()) == TOPOLOGY
    assert build_topology(ClusterSpec(seed=1)) != TOPOLOGY


def test_large_cluster_gets_more_leaves_without_port_clashes() -> None:
    cluster = Cluster.of(build_topology(ClusterSpec(nodes=40)))
    far = cluster.rail_link(cluster.nodes[33], 3).far
    assert far.interface == "leaf-11/port-2"
    assert len({(end.node, end.interface) for link in cluster.links for end in link.ends}) == (
        2 * len(cluster.links)
    )


def test_impossible_sizes_and_places_are_refused_in_words() -> None:
    with pytest.raises(UsageError, match="1 to 256 nodes"):
        ClusterSpec(nodes=0)
    cluster = Cluster.of(TOPOLOGY)
    with pytest.raises(NotFoundError, match="gpu9/pcie"):
        cluster.link_at("gpu-r11-n01", "gpu9/pcie")
    with pytest.raises(NotFoundError, match="nodes 0 to 7"):
        cluster.node_at(8)
    with pytest.raises(ValueError, match="0 to 17"):
        nvswitch_of(18)


def test_the_facts_of_a_ticket_are_stated_for_every_machine_and_fibre() -> None:
    machines = [*TOPOLOGY["nodes"], *TOPOLOGY["switches"]]
    assert all(one["hall"] and one["cage"] and one["face"] for one in machines)
    assert len({one["asset_tag"] for one in machines}) == len(machines)
    for link in LINKS:
        assert ("medium" in link) == (link["cable"] is not None)
    fibres = [link for link in LINKS if link["cable"]]
    assert {(link["medium"], link["colour"]) for link in fibres} == {("MMF", "aqua"), ("SMF", "yellow")}  # fmt: skip
    assert len({link["cable_serial"] for link in fibres}) == len(fibres)
    assert all(link["length_m"] > 0 for link in fibres)
    assert set(TOPOLOGY["service"]["sla"]) == {"urgent", "high", "normal", "low"}
    parts = {link["part"] for link in LINKS}
    assert all({spare["part"], spare.get("fits")} & parts for spare in TOPOLOGY["spares"])


def test_the_facts_of_a_ticket_do_not_move_serials_or_cable_ids() -> None:
    node = TOPOLOGY["nodes"][0]
    assert node["serial"] == "KX246865140"
    assert node["gpus"][0]["serial"] == "1654865817211"
    assert Cluster.of(TOPOLOGY).topology["switches"][0]["port_labels"]["6"] == "1/3/2"
