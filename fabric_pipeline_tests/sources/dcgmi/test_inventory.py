"""Discovery lists and topology documents: outputs of dcgmi that measure nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabric_pipeline.sources.dcgmi.discovery import DcgmiDiscoveryReader
from fabric_pipeline.sources.dcgmi.topo_json import DcgmiTopoJsonReader
from fabric_pipeline_tests.sources.nvidia_smi.files import JUNK, UUID, read, source

LIST, TOPO = DcgmiDiscoveryReader(), DcgmiTopoJsonReader()


def discovery(gpus: int, found: int) -> str:
    rows = "".join(
        f"| {n}      | Name: Some Card  |\n|        | PCI Bus ID: 00000000:{n + 16:02X}:00.0  |\n"
        f"|        | Device UUID: {UUID}  |\n+---+---+\n"
        for n in range(gpus)
    )
    return f"{found} GPUs found.\n+---+---+\n| GPU ID | Device Information |\n+---+---+\n{rows}"


def test_inventory(tmp_path: Path) -> None:
    text = (
        discovery(2, 2) + "2 NvSwitches found.\n+---+\n| Switch ID |\n+---+\n| 8 |\n| 9 |\n+---+\n"
    )
    result = read(LIST, tmp_path, text)
    assert result.topology is not None
    (node,) = result.topology.nodes
    assert node["gpus"][1] == {"gpu": 1, "model": "Some Card", "pci": "0000:11:00.0", "uuid": UUID}
    assert node["nvswitches"] == [8, 9]
    assert (result.readings, result.unknown) == ([], [])


def test_cut_inventory_is_unknown(tmp_path: Path) -> None:
    text = discovery(2, 8)
    facts = read(LIST, tmp_path, text[: text.rindex("|        | Device UUID")]).unknown
    assert {fact.what for fact in facts} == {"GPUs of the host", "uuid of GPU 1"}


def topology(gpu: int, peers: dict[int, list[int]], cores: str = "0 - 15, 32 - 47") -> str:
    body: dict[str, object] = {"CPU Core Affinity": {"value": cores}}
    for peer, links in peers.items():
        named = ", ".join(map(str, links))
        words = [f"Connected via two NVLINKs (Links: {named})"] if links else []
        body[f"To GPU {peer}"] = {"value": "Connected via a CPU-level link", "overflow": words}
    return json.dumps(
        {"body": body, "header": ["Topology Information", f"GPU ID: {gpu}"]}, indent=2
    )


def test_direct_links_are_named(tmp_path: Path) -> None:
    text = "$ dcgmi topo --gpuid 1 -j\n" + topology(1, {0: [2, 3], 2: [0], 3: []})
    result = read(TOPO, tmp_path, text)
    assert result.topology is not None
    ends = {(link["a"]["port"], link["b"]["port"]) for link in result.topology.links}
    assert ends == {("gpu1/nvlink-2", "gpu0"), ("gpu1/nvlink-3", "gpu0"), ("gpu1/nvlink-0", "gpu2")}
    assert result.topology.nodes == [{"node": "", "gpus": [{"gpu": 1, "cpus": "0-15,32-47"}]}]


def test_links_for_all_peers_end_on_a_switch(tmp_path: Path) -> None:
    result = read(TOPO, tmp_path, topology(1, {0: [0, 1], 2: [0, 1]}))
    assert result.topology is not None
    assert result.topology.links == []
    assert result.facts["nvlinks_to"] == {"unknown:gpu1": {"gpu0": 2, "gpu2": 2}}


def test_damaged_cores_and_cut_documents(tmp_path: Path) -> None:
    assert read(TOPO, tmp_path, topology(1, {0: [1]}, "- 31")).rejected
    text = topology(1, {0: [0, 1], 2: [0, 1]})
    cut = read(TOPO, tmp_path, text[: text.index("header")])
    assert cut.rejected
    assert cut.unknown


@pytest.mark.parametrize("junk", JUNK)
def test_junk_is_nobodys(tmp_path: Path, junk: bytes) -> None:
    file = source(tmp_path, junk)
    for reader in (LIST, TOPO):
        assert reader.score(file) == 0
        topology_part = reader.read(file).topology
        assert topology_part is not None
        assert topology_part.nodes == []
