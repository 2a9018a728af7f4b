"""Names of several sources that mean one machine, adapter or port, and what is told when they differ."""

from __future__ import annotations

from typing import Any

from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.model.topology import Topology

SWITCH, CARD = "0x0000bb0000bb0001", "0x0000aa0000aa0013"


def link(a: dict[str, Any], b: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "infiniband", "a": a, "b": b} | more


def node(name: str, port: str, **more: Any) -> dict[str, Any]:
    return {"node": name, "port": port} | more


def switch(name: str, port: Any, **more: Any) -> dict[str, Any]:
    return {"switch": name, "port": port} | more


def part(source: str, **more: Any) -> TopologyPart:
    return TopologyPart(source=source, **more)


PLAN = part("plan.json", links=[link(node("oak-03", "mlx5_2/1"), switch("fern-1", 3))])


def one_link(*parts: TopologyPart) -> Topology:
    topology = Topology(parts)
    assert [(one.a, one.b) for one in topology.links] == [
        ("oak-03:mlx5_2/1", "unknown:fern-1/port-3")
    ]
    return topology


def test_a_switch_under_its_guid_and_its_name_is_one() -> None:
    listed = part("a.txt", switches=[{"name": "fern-1", "guid": SWITCH}])
    scan = part(
        "b.txt",
        switches=[{"name": SWITCH, "guid": SWITCH}],
        links=[link(node("oak-03", "mlx5_2/1"), switch(SWITCH, f"{SWITCH}/port-3"))],
    )
    topology = one_link(PLAN, listed, scan)
    assert list(topology.switches) == ["fern-1"]
    assert topology.kept(f"unknown:{SWITCH}/port-9") == "unknown:fern-1/port-9"
    assert topology.conflicts == []


def test_a_switch_that_only_its_far_ends_tell_is_one() -> None:
    """No source states the GUID beside the name; the port at the other end of the link does."""
    scan = part(
        "b.txt",
        switches=[{"name": SWITCH, "guid": SWITCH}],
        links=[link(node("oak-03", "mlx5_2/1"), switch(SWITCH, f"{SWITCH}/port-3"))],
    )
    topology = one_link(PLAN, scan)
    assert topology.kept(f"unknown:{SWITCH}/port-9") == "unknown:fern-1/port-9"


def test_a_switch_that_describes_itself_is_the_one_of_that_name() -> None:
    told = "MF0;fern-1:Q-9/U1"
    scan = part(
        "b.txt",
        switches=[{"name": told, "guid": SWITCH}],
        links=[link(switch(told, f"{told}/port-3"), node("oak-03", "mlx5_2/1"))],
    )
    topology = one_link(PLAN, scan)
    assert list(topology.switches) == ["fern-1"]
    assert topology.kept(f"unknown:{told}/port-4") == "unknown:fern-1/port-4"
    chips = [f"MF0;fern-1:Q-9/U{chip}" for chip in (1, 2)]
    apart = Topology([PLAN, part("b.txt", switches=[{"name": one} for one in chips])])
    assert set(apart.switches) == {"fern-1", chips[1]}


def test_a_card_under_its_guid_a_description_and_the_name_of_its_driver_is_one() -> None:
    named = part(
        "ibstat", nodes=[{"node": "oak-03", "nics": [{"hca": "mlx5_2", "port_guids": [CARD]}]}]
    )
    scan = part(
        "scan",
        links=[link(node("oak-03", "HCA-1/1", guid=CARD), switch("fern-1", "fern-1/port-3"))],
    )
    topology = one_link(named, scan)
    assert topology.kept(f"unknown:{CARD}/port-1") == "oak-03:mlx5_2/1"
    assert topology.kept("oak-03:HCA-1/1") == "oak-03:mlx5_2/1"
    assert topology.kept("oak-09:HCA-1/1") == "oak-09:HCA-1/1"


def test_nccl_writes_the_guid_of_a_card_backwards() -> None:
    nic = {"hca": "mlx5_2", "guid": "0x1300aa0000aa0000", "pci": "0000:1c:00.0"}
    scan = part("scan", links=[link(node("oak-03", "HCA-1/1", guid=CARD), switch("fern-1", 3))])
    topology = one_link(part("nccl.xml", nodes=[{"node": "oak-03", "nics": [nic]}]), scan)
    assert topology.device("oak-03:mlx5_2/1")["pci"] == "0000:1c:00.0"


def test_two_functions_of_one_card_stay_two() -> None:
    nics = [{"hca": f"mlx5_{n}", "guid": CARD} for n in (0, 1)]
    scan = part("scan", links=[link(node("oak-03", "HCA-1/1", guid=CARD), switch("fern-1", 3))])
    topology = Topology([part("nccl.xml", nodes=[{"node": "oak-03", "nics": nics}]), scan])
    assert topology.links[0].a == "oak-03:HCA-1/1"
    assert topology.conflicts == []


def test_one_card_on_two_hosts_is_told() -> None:
    parts = [
        part(f"{name}.txt", nodes=[{"node": name, "nics": [{"hca": "mlx5_0", "guid": CARD}]}])
        for name in ("oak-03", "oak-04")
    ]
    assert Topology(parts).conflicts == [
        f"the adapter {CARD} is oak-03:mlx5_0 in oak-03.txt and oak-04:mlx5_0 in oak-04.txt"
    ]


def test_labels_of_a_cable_plan_become_the_ports_of_the_fabric() -> None:
    """NetBox calls all machines devices and names ports as people do."""
    plan = part(
        "cables.csv",
        links=[{"a": {"device": "oak-03", "port": "ib0"}, "b": {"device": "FERN-1", "port": "IB1/3"}, "cable": "W-1"}],
    )  # fmt: skip
    topology = one_link(PLAN, plan)
    assert topology.links[0].cable_id == "W-1"
    assert topology.kept("oak-03:ib0") == "oak-03:mlx5_2/1"
    assert [one.nodes + one.switches for one in topology.parts()] == [[]]


def test_a_plan_that_names_both_ends_by_labels_is_laid_beside_the_only_link() -> None:
    plan = part(
        "cables.csv",
        links=[{"a": {"device": "oak-03", "port": "ib0"}, "b": {"device": "fern-1", "port": "IB1/2/1"}}],
    )  # fmt: skip
    topology = one_link(PLAN, plan)
    assert topology.kept("unknown:fern-1/IB1/2/1") == "unknown:fern-1/port-3"
    assert topology.conflicts == []


def test_a_plan_that_names_another_port_contradicts_the_fabric() -> None:
    plan = part(
        "cables.csv",
        links=[{"a": {"device": "oak-03", "port": "ib0"}, "b": {"device": "fern-1", "port": "IB1/4"}}],
    )  # fmt: skip
    topology = one_link(PLAN, plan)
    assert topology.conflicts == [
        "oak-03:mlx5_2/1 ends at unknown:fern-1/port-3 in plan.json and at unknown:fern-1/port-4 in cables.csv"
    ]


def test_nvlinks_by_pci_address_are_those_of_the_gpus() -> None:
    gpus = [{"gpu": n, "pci": f"0000:{n + 1}b:00.0"} for n in (0, 1)]
    rows = [
        {"type": "nvlink", "a": node("n1", f"gpu{own}/nvlink-{n}"), "b": node("n1", f"pci-0000:{2 - own}b:00.0/nvlink-{n}")}
        for own in (0, 1) for n in (0, 1)
    ]  # fmt: skip
    pair = {"type": "nvlink", "a": node("n1", "gpu0"), "b": node("n1", "gpu1"), "count": 4}
    topology = Topology(
        [part("nccl.xml", nodes=[{"node": "n1", "gpus": gpus}]), part("R.txt", links=rows), part("topo.txt", links=[pair])]
    )  # fmt: skip
    assert [(one.a, one.b) for one in topology.links] == [
        (f"n1:gpu0/nvlink-{n}", f"n1:gpu1/nvlink-{n}") for n in (0, 1)
    ]
    assert topology.conflicts == [
        "number of NVLinks between n1:gpu0 and n1:gpu1 is 2 in R.txt and 4 in topo.txt"
    ]


def test_pairs_of_three_gpus_do_not_contradict_each_other() -> None:
    pairs = [
        {"type": "nvlink", "a": node("n1", f"gpu{a}"), "b": node("n1", f"gpu{b}"), "count": 4}
        for a, b in ((0, 1), (0, 2), (1, 2))
    ]
    topology = Topology([part("topo.txt", links=pairs)])
    assert len(topology.links) == 3
    assert topology.conflicts == []


def test_what_differs_is_told_with_both_files_and_the_first_holds() -> None:
    one = {"node": "oak-03", "unit": "U12", "serial": "S1", "gpus": [{"gpu": 0, "socket": 0}]}
    two = {"node": "oak-03", "unit": 12, "serial": "S2", "gpus": [{"gpu": 0, "socket": 1}]}
    ends = (node("oak-03", "mlx5_2/1"), switch("fern-1", 3))
    topology = Topology(
        [
            part(
                "a.json",
                nodes=[one],
                links=[link(*ends, id="L", cable_serial="C1", speed_gbps=400)],
            ),
            part("b.csv", nodes=[two], links=[link(*ends, cable_serial="C2", speed_gbps=200.0)]),
        ]
    )
    assert topology.nodes["oak-03"]["serial"] == "S1"
    assert topology.conflicts == [
        "oak-03: serial is 'S1' in a.json and 'S2' in b.csv",
        "oak-03: socket of gpu 0 is 0 in a.json and 1 in b.csv",
        "L: speed_gbps is 400.0 in a.json and 200.0 in b.csv",
        "L: cable_serial is 'C1' in a.json and 'C2' in b.csv",
    ]


def test_slurm_that_places_a_node_elsewhere_is_told() -> None:
    other = link(node("oak-04", "mlx5_2/1"), switch("fern-2", 3))
    cables = part("cables.csv", links=[*PLAN.links, other])
    right = part(
        "t.conf", nodes=[{"node": "oak-03", "inventory": True, "leaf_switches": ["fern-1"]}]
    )
    wrong = part(
        "t.conf", nodes=[{"node": "oak-03", "inventory": True, "leaf_switches": ["fern-2"]}]
    )
    rack = part(
        "t.conf", nodes=[{"node": "oak-03", "inventory": True, "leaf_switches": ["rack-7"]}]
    )
    assert Topology([cables, right]).conflicts == []
    assert Topology([cables, rack]).conflicts == []
    assert Topology([cables, wrong]).conflicts == [
        "oak-03 is cabled to fern-1 in cables.csv and stands below fern-2 in t.conf"
    ]


def test_a_node_that_only_a_list_of_the_site_names_is_not_awaited() -> None:
    listed = part("t.conf", nodes=[{"node": n, "inventory": True} for n in ("oak-03", "oak-09")])
    seen = part("topo.txt", nodes=[{"node": "oak-03", "gpus": [{"gpu": 0}]}])
    for parts in ([listed, seen], [seen, listed]):
        assert Topology(parts).expected_nodes == {"oak-03"}


def test_two_spellings_of_a_host_are_one_unless_there_are_two_domains() -> None:
    seen = part("a", nodes=[{"node": "oak-03", "rack": "R1"}])
    long = part("b", nodes=[{"node": "OAK-03.hall.example", "serial": "S"}])
    assert list(Topology([seen, long]).nodes) == ["oak-03"]
    other = part("c", nodes=[{"node": "oak-03.cellar.example"}])
    assert len(Topology([seen, long, other]).nodes) == 3


def test_devices_that_a_third_source_shows_to_be_one_become_one() -> None:
    parts = [
        part("topo.txt", nodes=[{"node": "n1", "nics": [{"hca": "mlx5_0", "socket": 0}]}]),
        part("node.prom", nodes=[{"node": "n1", "nics": [{"pci": "0000:1c:00.0", "socket": 1}]}]),
        part(
            "nccl.xml", nodes=[{"node": "n1", "nics": [{"hca": "mlx5_0", "pci": "0000:1C:00.0"}]}]
        ),
    ]
    topology = Topology(parts)
    assert len(topology.nodes["n1"]["nics"]) == 1
    assert topology.conflicts == ["n1: socket of hca mlx5_0 is 0 in topo.txt and 1 in node.prom"]


def test_what_was_merged_is_read_back_equal() -> None:
    listed = part("a.txt", switches=[{"name": "fern-1", "guid": SWITCH, "rack": "R9"}])
    scan = part(
        "b.txt",
        links=[
            link(switch(SWITCH, f"{SWITCH}/port-3"), node("oak-03", "mlx5_2/1"), speed_gbps=200)
        ],
    )
    topology = Topology([listed, PLAN, scan])
    again = Topology(topology.parts())
    assert [(one.a, one.b, one.speed_gbps) for one in again.links] == [
        (one.a, one.b, one.speed_gbps) for one in topology.links
    ]
    assert again.switches["fern-1"]["rack"] == "R9"
    assert again.conflicts == []
    (kept,) = [one for made in topology.parts() for one in made.links]
    assert kept["stated_in"] == ["plan.json", "b.txt"]
