"""Every source of one fabric in one drop: each link once with both ends, one switch, one conflict told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabric_pipeline.workflows.inspect import inspect
from fabric_pipeline_tests.workflows.one_fabric import files
from fabric_pipeline_tests.workflows.readout import READ_AT, Readout, read_files, write

CONFLICT = "oak-08:HCA-1/1 ends at unknown:fern-2/port-3 in ibdiagnet2.db_csv and at unknown:fern-2/port-4 in cables.csv"


@pytest.fixture(scope="module")
def readout(tmp_path_factory: pytest.TempPathFactory) -> Readout:
    return read_files(tmp_path_factory.mktemp("fabric"), files(), is_checked=True)


def test_every_file_is_read_by_its_reader(readout: Readout) -> None:
    assert readout.violations == []
    assert {report.name: (report.format, report.problem) for report in readout.read.files} == {
        "cables.csv": ("netbox_csv", ""),
        "devices.csv": ("netbox_csv", ""),
        "ibdiagnet2.db_csv": ("ibdiagnet2_db_csv", ""),
        "ibnetdiscover.txt": ("ibnetdiscover", ""),
        "oak-07/ibstat.txt": ("ibstat", ""),
        "oak-07/nccl.xml": ("nccl_topo_xml", ""),
        "oak-07/node.prom": ("node_exporter", ""),
        "oak-07/remote.txt": ("nvidia_smi_nvlink_remote", ""),
        "oak-07/topo.txt": ("nvidia_smi_topo_matrix", ""),
        "topology.conf": ("slurm_topology", ""),
        "topology.json": ("fabric_topology", ""),
    }


def test_each_link_is_there_once_with_both_ends(readout: Readout) -> None:
    links = {frozenset((one.a, one.b)) for one in readout.read.topology.links}
    expected = {
        ("oak-07:mlx5_0/1", "unknown:fern-1/port-3"),
        ("oak-08:HCA-1/1", "unknown:fern-2/port-3"),
        ("unknown:crown-1/port-1", "unknown:fern-1/port-20"),
        ("unknown:crown-1/port-2", "unknown:fern-2/port-20"),
        *((f"oak-07:gpu0/nvlink-{n}", f"oak-07:gpu1/nvlink-{n}") for n in range(4)),
    }
    assert links == {frozenset(ends) for ends in expected}
    rows = [row for row in readout.rows("fabric_topology") if row["kind"] == "link"]
    assert len(rows) == len(links), "the table holds the merged graph"


def test_the_link_knows_what_every_source_states_of_it(readout: Readout) -> None:
    link = readout.read.topology.link_of("oak-07:mlx5_0/1")
    assert link is not None
    stated = {name: link.attributes.get(name) for name in ("medium", "length_m", "cable_serial")}
    assert stated == {"medium": "DAC", "length_m": 2.0, "cable_serial": "CS-1"}
    assert (link.cable_id, link.speed_gbps) == ("C-1", 200.0)
    (row,) = [row for row in readout.rows("fabric_topology") if row["entity_id"] == link.link_id]
    assert json.loads(row["attributes"])["stated_in"] == [
        "topology.json", "ibdiagnet2.db_csv", "ibnetdiscover.txt", "cables.csv",
    ]  # fmt: skip


def test_nodes_and_switches_are_one_each(readout: Readout) -> None:
    topology = readout.read.topology
    assert set(topology.switches) == {"fern-1", "fern-2", "crown-1"}
    assert topology.place("unknown:fern-1/port-3")["serial"] == "L1"
    node = topology.nodes["oak-07"]
    assert (node["serial"], node["unit"], node["leaf_switches"]) == ("S7", "12", ["fern-1"])
    (nic,) = node["nics"]
    assert (nic["hca"], nic["pci"], nic["socket"], nic["pcie_switch"]) == (
        "mlx5_0", "0000:1c:00.0", 0, "pci-0000:1a:00.0",
    )  # fmt: skip
    assert [(gpu["gpu"], gpu["pci"], gpu["socket"]) for gpu in node["gpus"]] == [
        (0, "0000:1b:00.0", 0),
        (1, "0000:3d:00.0", 1),
    ]


def test_readings_of_all_tools_stand_at_the_same_ports(readout: Readout) -> None:
    counted = {
        (row["node"], row["interface"])
        for row in readout.rows("link_counters")
        if row["counter"] == "symbol_error"
    }
    assert counted == {
        ("", "fern-1/port-3"),
        ("", "fern-2/port-3"),
        ("oak-07", "mlx5_0/1"),
    }


def test_the_one_contradiction_is_told_with_both_files(readout: Readout, tmp_path: Path) -> None:
    assert readout.read.topology.conflicts == [CONFLICT]
    told = inspect([write(tmp_path, files())], READ_AT)
    assert told["facts"]["topology_conflicts"] == [CONFLICT]
