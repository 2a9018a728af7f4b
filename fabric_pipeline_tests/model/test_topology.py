"""The fabric as a graph: far ends, one key per link, one entry per device, conflicts told."""

from __future__ import annotations

from typing import Any

from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.model.topology import Topology, end_component


def nvlink(gpu: int, link: int, switch: int, port: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"g{gpu}l{link}",
        "type": "nvlink",
        "a": {"node": "n1", "port": f"gpu{gpu}/nvlink-{link}"},
        "b": {"node": "n1", "port": f"nvswitch-{switch}/port-{port}"},
    } | more


def cable(**more: Any) -> dict[str, Any]:
    return {
        "type": "infiniband",
        "a": {"node": "n1", "port": "mlx5_3/1"},
        "b": {"switch": "leaf-4", "port": 12},
    } | more


def part(**more: Any) -> TopologyPart:
    return TopologyPart(**more)


def test_both_ends_know_each_other() -> None:
    topology = Topology([part(links=[nvlink(3, 4, 2, 17), cable()])])
    assert topology.far_end("n1:gpu3/nvlink-4") == "n1:nvswitch-2/port-17"
    assert topology.far_end("n1:nvswitch-2/port-17") == "n1:gpu3/nvlink-4"
    assert topology.far_end("n1:gpu3/nvlink-4/lane-1") == "n1:nvswitch-2/port-17"
    assert topology.far_end("n1:mlx5_3/1") == "unknown:leaf-4/port-12"
    assert topology.far_end("unknown:leaf-4/port-12") == "n1:mlx5_3/1"
    assert topology.far_end("n2:gpu3/nvlink-4") == ""
    assert topology.link_of("n2:gpu3/nvlink-4") is None


def test_a_link_has_one_key_whichever_end_is_named() -> None:
    topology = Topology([part(links=[nvlink(3, 4, 2, 17)])])
    near, far = "n1:gpu3/nvlink-4", "n1:nvswitch-2/port-17"
    assert topology.link_key(near) == topology.link_key(far) == topology.link_key(f"{near}/lane-0")
    assert topology.link_key("n9:gpu0/nvlink-1/lane-2") == "n9:gpu0/nvlink-1"


def test_ends_of_nodes_and_switches_are_written_alike() -> None:
    assert end_component({"node": "n1", "port": "mlx5_0/1"}) == "n1:mlx5_0/1"
    assert end_component({"switch": "leaf-1", "port": 7}) == "unknown:leaf-1/port-7"
    assert end_component({"switch": "leaf-1", "port": "7"}) == "unknown:leaf-1/port-7"
    assert end_component({"switch": "leaf-1", "port": "leaf-1/port-7"}) == "unknown:leaf-1/port-7"
    assert end_component({"switch": "leaf-1", "port": "1/7/2"}) == "unknown:leaf-1/1/7/2"
    assert end_component({"port": 0}) == "unknown:0"
    assert end_component({}) == "unknown:unknown"


def test_a_pci_address_is_resolved_to_its_gpu() -> None:
    gpus = [{"gpu": 3, "pci": "00000000:5D:00.0"}, {"gpu": 4}, {"pci": "0000:aa:00.0"}]
    topology = Topology([part(nodes=[{"node": "n1", "gpus": gpus}])])
    resolve = topology.resolve
    assert resolve("n1:pci-0000:5d:00.0/nvlink-4") == "n1:gpu3/nvlink-4"
    assert resolve("n1:pci-0000:5d:00.0/nvlink-4/lane-2") == "n1:gpu3/nvlink-4/lane-2"
    assert resolve("n1:pci-0000:5d:00.0") == "n1:gpu3/pcie"
    assert resolve("n2:pci-0000:5d:00.0") == "n2:pci-0000:5d:00.0"
    assert resolve("n1:pci-0000:aa:00.0") == "n1:pci-0000:aa:00.0"
    assert resolve("n1:gpu3/nvlink-4") == "n1:gpu3/nvlink-4"


def test_what_two_sources_say_of_one_device_is_one_entry() -> None:
    smi = {
        "node": "n1",
        "gpus": [
            {"gpu": 0, "uuid": "GPU-a", "pci": "00000000:1B:00.0"},
            {"gpu": 1, "uuid": "GPU-b"},
        ],
    }
    plan = {
        "node": "n1",
        "rack": "R1",
        "gpus": [{"gpu": 1, "serial": "S1", "slot": "SXM2"}, {"gpu": 0, "serial": "S0"}],
    }
    bus = {"node": "n1", "gpus": [{"pci": "0000:1b:00.0", "model": "H100"}]}
    topology = Topology([part(nodes=[smi]), part(nodes=[plan]), part(nodes=[bus])])
    assert topology.device("n1:gpu0/nvlink-3") == {
        "gpu": 0, "uuid": "GPU-a", "pci": "00000000:1B:00.0", "serial": "S0", "model": "H100",
    }  # fmt: skip
    assert topology.device("n1:gpu1/pcie")["serial"] == "S1"
    assert len(topology.nodes["n1"]["gpus"]) == 2
    assert topology.conflicts == []
    assert smi["gpus"] == [
        {"gpu": 0, "uuid": "GPU-a", "pci": "00000000:1B:00.0"},
        {"gpu": 1, "uuid": "GPU-b"},
    ]


def test_devices_without_a_common_name_stay_apart() -> None:
    gpus = [{"pci": f"0000:{n:02x}:00.0", "model": "H100", "name": "H100"} for n in range(8)]
    nics = [{"pci": f"0000:f{n}:00.0", "name": "ConnectX-7"} for n in range(4)]
    node = {"node": "n1", "gpus": gpus, "nics": nics, "nvswitches": ["nvswitch-0", "nvswitch-1"]}
    topology = Topology([part(nodes=[node]), part(nodes=[node])])
    assert len(topology.nodes["n1"]["gpus"]) == 8
    assert len(topology.nodes["n1"]["nics"]) == 4
    assert topology.nodes["n1"]["nvswitches"] == ["nvswitch-0", "nvswitch-1"]


def test_the_first_source_wins_and_the_difference_is_told() -> None:
    one = {"node": "n1", "rack": "R1", "gpus": [{"gpu": 0, "uuid": "GPU-a", "pci": "1b:00.0"}]}
    two = {
        "node": "n1",
        "rack": "R2",
        "unit": "",
        "gpus": [{"gpu": 0, "uuid": "GPU-b", "pci": "1B:00.0"}],
    }
    topology = Topology([part(nodes=[one], site="A"), part(nodes=[two], site="B")])
    assert topology.place("n1:gpu0/pcie") == {"site": "A", "rack": "R1"}
    assert topology.device("n1:gpu0/pcie")["uuid"] == "GPU-a"
    assert topology.conflicts == [
        "site is 'A' in one source and 'B' in another",
        "n1: rack is 'R1' in one source and 'R2' in another",
        "n1: uuid of gpu 0 is 'GPU-a' in one source and 'GPU-b' in another",
    ]


def test_an_end_with_two_far_ends_is_told_and_not_averaged() -> None:
    other = nvlink(3, 4, 1, 9, id="other")
    topology = Topology([part(links=[nvlink(3, 4, 2, 17)]), part(links=[other])])
    assert topology.far_end("n1:gpu3/nvlink-4") == "n1:nvswitch-2/port-17"
    assert topology.conflicts == [
        "n1:gpu3/nvlink-4 ends at n1:nvswitch-2/port-17 in one source and at n1:nvswitch-1/port-9 in another"
    ]
    swapped = nvlink(5, 5, 2, 17, id="third")
    topology = Topology([part(links=[nvlink(3, 4, 2, 17), swapped])])
    assert topology.far_end("n1:nvswitch-2/port-17") == "n1:gpu3/nvlink-4"
    assert topology.far_end("n1:gpu5/nvlink-5") == "", "a port has one far end, and the first holds"
    assert len(topology.conflicts) == 1


def test_a_second_source_fills_in_what_the_first_left_open() -> None:
    turned = cable(a=cable()["b"], b=cable()["a"], cable="C-17", lanes=4, speed_gbps=400, part="p")
    topology = Topology([part(links=[cable(speed_gbps=200)]), part(links=[turned])])
    link = topology.link_of("n1:mlx5_3/1")
    assert link is not None
    assert (link.cable_id, link.lanes, link.speed_gbps, link.part) == ("C-17", 4, 200.0, "p")
    assert topology.links == [link]
    assert topology.link_of("unknown:leaf-4/port-12") is link
    assert topology.conflicts == [
        "n1:mlx5_3/1<->unknown:leaf-4/port-12: speed_gbps is 200.0 in one source and 400.0 in another"
    ]


def test_a_link_type_follows_from_its_name_when_not_stated() -> None:
    plain = cable()
    del plain["type"]
    link = Topology([part(links=[plain])]).links[0]
    assert (link.link_type, link.link_id) == ("infiniband", "n1:mlx5_3/1<->unknown:leaf-4/port-12")


def test_links_without_two_ends_are_passed_over() -> None:
    topology = Topology([part(links=[{"a": {"node": "n1", "port": "x"}}, {"a": None, "b": 3}])])
    assert topology.links == []
    assert not topology


def test_places_and_devices_of_switches_and_nics() -> None:
    node = {"node": "n1", "rack": "R1", "unit": 0, "nics": [{"hca": "mlx5_3", "port_label": "P3"}]}
    switch = {"name": "leaf-4", "rack": "R9", "unit": "40", "serial": "S"}
    topology = Topology([part(nodes=[node], switches=[switch])])
    assert topology.place("unknown:leaf-4/port-12") == {"rack": "R9", "unit": "40", "serial": "S"}
    assert topology.place("n1:mlx5_3/1") == {"rack": "R1", "unit": 0}
    assert topology.device("n1:mlx5_3/1")["port_label"] == "P3"
    assert topology.device("unknown:leaf-4/port-12")["serial"] == "S"
    assert topology.device("n7:mlx5_3/1") == {}
    assert topology.place("n7:mlx5_3/1") == {}


def test_a_nic_stands_beside_the_gpu_of_its_switch() -> None:
    nics = [
        {"hca": "mlx5_3", "pcie_switch": "s1"},
        {"hca": "mlx5_4", "pcie_switch": "s2"},
        {"hca": "mlx5_5"},
    ]
    gpus = [
        {"gpu": 5, "pcie_switch": "s1"},
        {"gpu": 6, "pcie_switch": "s2"},
        {"gpu": 7, "pcie_switch": "s2"},
    ]
    topology = Topology([part(nodes=[{"node": "n1", "nics": nics, "gpus": gpus}])])
    assert topology.gpu_beside("n1:mlx5_3/1") == 5
    assert topology.gpu_beside("n1:mlx5_4/1") is None, "two GPUs share that switch"
    assert topology.gpu_beside("n1:mlx5_5/1") is None
    assert topology.gpu_beside("n2:mlx5_3/1") is None


def test_two_sources_of_one_cable_are_completed_and_their_conflict_is_told() -> None:
    one = cable(id="L", cable="C-17", medium="DAC")
    two = cable(id="L", cable="C-17", medium="AOC", length_m=3, cable_serial="S")
    topology = Topology([part(links=[one]), part(links=[two])])
    link = topology.link_of("n1:mlx5_3/1")
    assert link is not None
    assert link.attributes["medium"] == "DAC"
    assert (link.attributes["length_m"], link.attributes["cable_serial"]) == (3, "S")
    assert topology.conflicts == ["L: medium is 'DAC' in one source and 'AOC' in another"]
    assert "length_m" not in one


def test_service_and_spares_of_several_sources_are_one() -> None:
    desk = {"contact": "desk", "sla": {"urgent": "4 hours"}}
    other = {"contact": "noc", "schedule": "any day", "sla": {"urgent": "8 hours", "low": "a week"}}
    spare = {"part": "p", "location": "store", "quantity": 2}
    parts = [
        part(service=desk, spares=[spare, spare]),
        part(service=other, spares=[spare | {"quantity": 3}, spare | {"location": "van"}]),
    ]
    topology = Topology(parts)
    assert topology.service == {
        "contact": "desk",
        "schedule": "any day",
        "sla": {"urgent": "4 hours", "low": "a week"},
    }
    assert [one["location"] for one in topology.spares] == ["store", "van"]
    assert topology.conflicts == [
        "service: contact is 'desk' in one source and 'noc' in another",
        "service sla: urgent is '4 hours' in one source and '8 hours' in another",
        "spare p at store: quantity is 2 in one source and 3 in another",
    ]
    assert desk == {"contact": "desk", "sla": {"urgent": "4 hours"}}
    assert spare["quantity"] == 2


def test_port_labels_are_taken_as_printed_and_merged() -> None:
    first = {"name": "leaf-4", "port_labels": {"12": "1/6/2"}}
    second = {"name": "leaf-4", "port_labels": {"12": "6B", "port-13": "7A"}}
    nic = {"node": "n1", "nics": [{"hca": "mlx5_3", "port_label": "OSFP2P1"}, {"hca": "mlx5_4"}]}
    topology = Topology([part(switches=[first], nodes=[nic]), part(switches=[second])])
    labels = ["unknown:leaf-4/port-12", "unknown:leaf-4/port-13", "unknown:leaf-4/port-14"]
    assert [topology.port_label(one) for one in labels] == ["1/6/2", "7A", ""]
    assert topology.port_label("n1:mlx5_3/1") == "OSFP2P1"
    assert topology.port_label("n1:mlx5_4/1") == ""
    assert topology.conflicts == [
        "leaf-4 port_labels: 12 is '1/6/2' in one source and '6B' in another"
    ]
    assert first["port_labels"] == {"12": "1/6/2"}


def test_nvlinks_of_a_gpu_are_listed_with_their_far_ends() -> None:
    links = [nvlink(3, n, n % 2, n) for n in (0, 1, 11)]
    topology = Topology([part(links=links)])
    assert topology.nvlinks_of("n1:gpu3/pcie") == [
        ("n1:gpu3/nvlink-0", "n1:nvswitch-0/port-0"),
        ("n1:gpu3/nvlink-1", "n1:nvswitch-1/port-1"),
        ("n1:gpu3/nvlink-11", "n1:nvswitch-1/port-11"),
    ]
    assert topology.nvlinks_of("n1:mlx5_3/1") == []


def test_links_and_ends_are_found_by_what_they_end_at() -> None:
    bundle = {"a": {"node": "n1", "port": "gpu1"}, "b": {"node": "n1", "port": "gpu2"}, "count": 4}
    known = Topology([part(links=[nvlink(1, 4, 0, 9), bundle, nvlink(1, 5, 0, 10), cable()])])
    assert [link.link_id for link in known.links_at("n1:nvswitch-0/port-9")] == ["g1l4"]
    assert [link.is_bundle for link in known.links_at("n1:gpu2")] == [True]
    assert known.links_at("n1:gpu1/nvlink-9") == []
    assert known.ends_of_device("n1", "nvswitch-0") == [
        "n1:nvswitch-0/port-9", "n1:nvswitch-0/port-10"
    ]  # fmt: skip
    assert known.ends_of_device("n1", "gpu1") == ["n1:gpu1/nvlink-4", "n1:gpu1/nvlink-5", "n1:gpu1"]
    assert known.ends_of_device("", "leaf-4") == ["unknown:leaf-4/port-12"]
    assert known.ends_of_device("n2", "gpu1") == []
