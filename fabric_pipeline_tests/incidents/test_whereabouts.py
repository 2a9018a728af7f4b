"""Facts around a link that a ticket needs: copied from the topology, empty where it says nothing."""

from __future__ import annotations

from typing import Any

import pytest

from fabric_pipeline.incidents.build import Context, build_incidents
from fabric_pipeline.incidents.record import IncidentRecord, Spare
from fabric_pipeline.incidents.whereabouts import (
    cable_of,
    place_of,
    platform_of,
    service_of,
    spares_of,
)
from fabric_pipeline.model.findings import EvidenceRef, Finding
from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.model.topology import Topology

GPU = {"gpu": 3, "uuid": "GPU-3", "serial": "S3", "part_number": "PN-G", "model": "H200", "slot": "SXM4", "pcie_switch": "s1"}  # fmt: skip
NIC = {"hca": "mlx5_3", "slot": "module 1", "serial": "NS", "part_number": "PN-N", "model": "ConnectX-7", "port_label": "P3", "pcie_switch": "s1"}  # fmt: skip
NODE = {
    "node": "n1", "hall": "H1", "cage": "C2", "row": "C", "rack": "R1", "unit": 0, "face": "rear", "serial": "SN1", "asset_tag": "A-1",
    "platform": "HGX H200", "gpus": [GPU, {"gpu": 4, "model": "H200"}], "nics": [NIC],
}  # fmt: skip
SWITCH = {"name": "leaf-4", "rack": "R9", "serial": "SW", "slot": "2", "port_labels": {"12": "1/6/2"}}  # fmt: skip
CABLE = {
    "id": "c", "type": "infiniband", "a": {"node": "n1", "port": "mlx5_3/1"}, "b": {"switch": "leaf-4", "port": 12}, "cable": "C-17",
    "part": "P-1", "medium": "AOC", "length_m": 7, "connector": "OSFP", "colour": "aqua", "cable_serial": "CS", "cable_part_number": "CPN",
    "speed_gbps": 400,
}  # fmt: skip
SERVICE = {"contact": "desk", "schedule": "any day", "customer_reference": "REF", "sla": {"urgent": "4 hours"}}  # fmt: skip
SPARES: list[dict[str, Any]] = [
    {"part": "p-1", "location": "store 1", "quantity": 2},
    {"part": "gpu-module", "location": "store 2", "fits": "HGX h200"},
    {"part": "other", "location": "store 3"},
    {"part": "CPN", "location": "store 4"},
]


def nvlink(number: int, far: dict[str, Any]) -> dict[str, Any]:
    return {"type": "nvlink", "a": {"node": "n1", "port": f"gpu3/nvlink-{number}"}, "b": far}


def fabric(*links: dict[str, Any]) -> Topology:
    part = TopologyPart(
        nodes=[NODE], switches=[SWITCH], links=[CABLE, *links], site="LUX2", service=SERVICE, spares=SPARES
    )  # fmt: skip
    return Topology([part])


def incident(topology: Topology) -> IncidentRecord:
    finding = Finding(
        "n1:mlx5_3/1",
        "physical_link_degradation",
        severity="critical",
        role="cause",
        reason="It counted 40 errors.",
        evidence=[EvidenceRef("counters.csv", 1, 2, "40")],
    )
    (made,) = build_incidents([finding], Context("d1", "larch", topology))
    return made


def test_the_places_of_gpu_adapter_and_switch() -> None:
    topology = fabric()
    gpu, nic = place_of("n1:gpu3/nvlink-0", topology), place_of("n1:mlx5_3/1", topology)
    assert (gpu.hall, gpu.cage, gpu.face, gpu.asset_tag, gpu.unit) == ("H1", "C2", "rear", "A-1", "0")  # fmt: skip
    assert (gpu.gpu_serial, gpu.gpu_part_number, gpu.gpu_slot, gpu.nic_serial) == ("S3", "PN-G", "SXM4", "")  # fmt: skip
    assert (nic.nic_serial, nic.nic_part_number, nic.slot, nic.gpu) == ("NS", "PN-N", "module 1", 3)
    assert (nic.gpu_serial, nic.gpu_uuid, nic.port_label) == ("", "", "P3")
    far = place_of("unknown:leaf-4/port-12", topology)
    assert (far.rack, far.node_serial, far.slot, far.port_label) == ("R9", "SW", "2", "1/6/2")
    assert far.nic_serial == far.gpu_serial == ""


def test_cable_service_and_spares_of_the_link() -> None:
    cable = cable_of("n1:mlx5_3/1", fabric())
    assert cable.model_dump() == {
        "medium": "AOC", "length_m": 7.0, "connector": "OSFP", "colour": "aqua", "serial": "CS", "part_number": "CPN"
    }  # fmt: skip
    assert cable_of("n9:mlx5_3/1", fabric()).model_dump(exclude_defaults=True) == {}
    assert service_of("urgent", fabric()).sla == "4 hours"
    assert service_of("low", fabric()).model_dump(exclude_defaults=True) == {
        "contact": "desk", "schedule": "any day", "customer_reference": "REF"
    }  # fmt: skip
    assert spares_of(["P-1", ""], fabric()) == [Spare(part="p-1", location="store 1", quantity=2)]
    assert spares_of([], fabric()) == []


@pytest.mark.parametrize(
    ("far", "counts", "ends_on"),
    [
        ([{"node": "n1", "port": f"nvswitch-{n % 2}/port-{n}"} for n in range(18)], (18, 2), "nvswitch"),
        ([{"node": "n1", "port": f"gpu4/nvlink-{n}"} for n in range(4)], (4, None), "gpu"),
        ([{"switch": f"tray-{n}", "port": n} for n in range(2)], (2, None), "switch"),
        ([{"node": "tray-1", "port": "nvswitch-0/port-9"}], (1, None), "switch"),
        ([], (None, None), ""),
    ],
)  # fmt: skip
def test_what_tells_the_platform_is_counted_from_the_links_of_the_gpu(
    far: list[dict[str, Any]], counts: tuple[int | None, int | None], ends_on: str
) -> None:
    topology = fabric(*(nvlink(n, end) for n, end in enumerate(far)))
    near = "n1:gpu3/nvlink-0"
    facts = platform_of(near, topology.far_end(near), topology)
    assert (facts.nvlinks_of_gpu, facts.nvswitches_of_gpu) == counts
    assert facts.nvlink_far_end == ends_on
    assert (facts.stated, facts.gpu_model, facts.nic_model) == ("HGX H200", "H200", "")


def test_the_platform_of_a_network_link_names_adapter_speed_and_the_gpus_of_the_node() -> None:
    facts = platform_of("n1:mlx5_3/1", "unknown:leaf-4/port-12", fabric())
    assert (facts.nic_model, facts.speed_gbps, facts.gpu_model) == ("ConnectX-7", 400.0, "H200")
    assert facts.nvlinks_of_gpu is None


def test_the_record_carries_them_and_its_hash_covers_them() -> None:
    made = incident(fabric())
    assert made.schema_version == "1.2"
    assert (made.cable.medium, made.service.sla, made.platform.stated) == ("AOC", "4 hours", "HGX H200")  # fmt: skip
    assert [one.location for one in made.spares] == ["store 1", "store 2", "store 4"]
    assert IncidentRecord.model_validate_json(made.model_dump_json()) == made
    bare = fabric()
    bare.service = {}
    assert incident(bare).evidence_sha256 != made.evidence_sha256
    assert incident(fabric()).evidence_sha256 == made.evidence_sha256


def test_without_a_map_everything_stays_empty() -> None:
    made = incident(Topology())
    for facts in (made.cable, made.service, made.platform):
        assert facts.model_dump(exclude_defaults=True) == {}
    assert made.spares == []
