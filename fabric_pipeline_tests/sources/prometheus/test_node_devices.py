"""PCI devices of node_exporter as topology: socket, PCIe switch, and which devices count."""

from __future__ import annotations

from pathlib import Path

from fabric_pipeline.sources.prometheus.node_exporter import NodeExporterReader
from fabric_pipeline_tests.sources.infiniband.files import read


def info(bus: str, device: str, kind: str, vendor: str, parent: tuple[str, str] | None) -> str:
    above = ("0000", *parent, "0") if parent else ("*",) * 4
    names = ("parent_segment", "parent_bus", "parent_device", "parent_function")
    parents = ",".join(f'{name}="{value}"' for name, value in zip(names, above, strict=True))
    return (
        f'node_pcidevice_info{{segment="0000",bus="{bus}",device="{device}",function="0",{parents},'
        f'class_id="{kind}",vendor_id="{vendor}"}} 1\n'
    )


def numa(bus: str, node: int) -> str:
    place = f'segment="0000",bus="{bus}",device="00",function="0"'
    return f"node_pcidevice_numa_node{{{place}}} {node}\n"


BRIDGES = (
    info("16", "01", "0x060400", "0x8086", None)
    + info("1a", "00", "0x060400", "0x1000", ("16", "01"))
    + info("1a", "04", "0x060400", "0x1000", ("1a", "00"))
)
HOST = 'node_uname_info{nodename="oak-03"} 1\n'


def test_sockets_and_switches_of_gpus_and_cards(tmp_path: Path) -> None:
    text = (
        BRIDGES
        + info("1b", "00", "0x030200", "0x10de", ("1a", "04"))
        + info("3d", "00", "0x020700", "0x15b3", ("16", "01"))
        + info("01", "00", "0x030000", "0x1a03", None)
        + info("02", "00", "0x020000", "0x8086", None)
        + numa("1b", 0)
        + numa("3d", 1)
        + HOST
    )
    topology = read(NodeExporterReader(), tmp_path, text).topology
    assert topology is not None
    assert topology.nodes == [
        {
            "node": "oak-03",
            "gpus": [{"pci": "0000:1b:00.0", "socket": 0, "pcie_switch": "pci-0000:1a:00.0"}],
            "nics": [{"pci": "0000:3d:00.0", "socket": 1}],
        }
    ]


def test_more_numa_nodes_than_two_are_no_sockets(tmp_path: Path) -> None:
    text = HOST + info("1b", "00", "0x030200", "0x10de", None) + numa("1b", 3)
    topology = read(NodeExporterReader(), tmp_path, text).topology
    assert topology is not None
    assert topology.nodes[0]["gpus"] == [{"pci": "0000:1b:00.0", "numa": 3}]


def test_devices_of_an_unknown_host_are_left_out(tmp_path: Path) -> None:
    text = info("1b", "00", "0x030200", "0x10de", None) + numa("1b", 0)
    assert read(NodeExporterReader(), tmp_path, text).topology is None
