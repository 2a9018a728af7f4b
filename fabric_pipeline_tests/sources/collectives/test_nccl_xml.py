"""NCCL topology and graph files: devices, places, PCIe maxima, damaged and hostile files."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.model.components import component_id
from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.sources.base import Hints, SourceFile
from fabric_pipeline.sources.collectives import nccl_xml
from fabric_pipeline.sources.collectives.nccl_graph import NcclGraphXmlReader
from fabric_pipeline.sources.collectives.nccl_topo import NcclTopoXmlReader

from .conftest import MakeFile

TOPO, GRAPH = NcclTopoXmlReader(), NcclGraphXmlReader()

GPU_0 = """    <pci busid="0000:15:00.0" class="0x030200" vendor="0x10de" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="90" rank="4" gdr="1">
        <nvlink target="0000:c1:00.0" count="4" tclass="0x068000"/>
        <nvlink target="0000:c2:00.0" count="4" tclass="0x068000"/>
        <nvlink target="0000:16:00.0" count="2" tclass="0x030200"/>
      </gpu>
    </pci>
"""
GPU_1 = """    <pci busid="00000000:16:00.0" class="0x030200" link_speed="8 GT/s" link_width="8"><gpu dev="1" rank="5"/></pci>
"""
CARD = """    <pci busid="0000:1a:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16">
      <nic><net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x94e40003a1b2c3d4" gdr="1"/></nic>
    </pci>
"""
LOOSE = """    <nic>
      <net name="docker0" dev="3" speed="10000" port="0" guid="0x3"/>
      <net name="mlx5_9" dev="4" speed="200000" port="1" guid="0x1122334455667788"/>
    </nic>
"""


def bridge(inside: str, busid: str = "0000:11:00.0", more: str = "") -> str:
    return f'  <pci busid="{busid}" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16"{more}>\n{inside}  </pci>\n'


def cpu(inside: str, numa: int = 0, more: str = "") -> str:
    return f'<cpu numaid="{numa}" affinity="ff" arch="x86_64"{more}>\n{inside}</cpu>\n'


def system(*cpus: str) -> str:
    return f'<system version="1">\n{"".join(cpus)}</system>\n'


WHOLE = system(cpu(bridge(GPU_0 + CARD) + LOOSE), cpu(GPU_1 + LOOSE, numa=1))


def values(out: ReadResult) -> dict[tuple[str, str], float | None]:
    return {(r.interface, r.counter): r.value for r in out.readings}


def node_of(out: ReadResult) -> dict[str, Any]:
    assert out.topology is not None
    (node,) = out.topology.nodes
    return node


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_devices_and_places(make_file: MakeFile, ends: str) -> None:
    file = make_file(WHOLE.replace("\n", ends))
    assert TOPO.score(file) >= 90
    assert GRAPH.score(file) == 0
    out = TOPO.read(file)
    node = node_of(out)
    assert (node["node"], node["sockets"]) == ("", [0, 1])
    first, second = node["gpus"]
    assert first == {
        "gpu": 0, "pci": "0000:15:00.0", "socket": 0, "rank": 4, "nvlinks": 10,
        "pcie_switch": "pci-0000:11:00.0",
    }  # fmt: skip
    assert second == {"gpu": 1, "pci": "0000:16:00.0", "socket": 1, "rank": 5}
    assert node["nics"] == [
        {
            "hca": "mlx5_0", "pci": "0000:1a:00.0", "socket": 0, "pcie_switch": "pci-0000:11:00.0",
            "near_gpus": [0], "port": 1, "speed_gbps": 400.0, "guid": "0x94e40003a1b2c3d4",
        },
        {"hca": "mlx5_9", "port": 1, "speed_gbps": 200.0, "guid": "0x1122334455667788"},
    ]  # fmt: skip
    assert node["pcie_switches"] == [{"pcie_switch": "pci-0000:11:00.0", "socket": 0}]
    (host,) = out.facts["hosts"]
    assert host["nvlinks"] == {"gpu0": {"nvswitch": 8, "gpu1": 2}}
    assert host["interfaces_without_device"] == ["docker0"]
    assert not out.rejected


def test_what_a_link_allows_is_no_current_state(make_file: MakeFile) -> None:
    """NCCL copies the maxima of the kernel, so a narrow link under load does not show here."""
    out = TOPO.read(make_file(WHOLE))
    assert values(out) == {
        ("pci-0000:11:00.0", "width_max"): 16.0,
        ("pci-0000:11:00.0", "speed_max_gbps"): 16.0,
        ("pci-0000:11:00.0", "pcie_gen_max"): 4.0,
        ("gpu0/pcie", "width_max"): 16.0,
        ("gpu0/pcie", "speed_max_gbps"): 16.0,
        ("gpu0/pcie", "pcie_gen_max"): 4.0,
        ("pci-0000:1a:00.0", "width_max"): 16.0,
        ("pci-0000:1a:00.0", "speed_max_gbps"): 32.0,
        ("pci-0000:1a:00.0", "pcie_gen_max"): 5.0,
        ("gpu1/pcie", "width_max"): 8.0,
        ("gpu1/pcie", "speed_max_gbps"): 8.0,
        ("gpu1/pcie", "pcie_gen_max"): 3.0,
    }
    assert {r.link_type for r in out.readings} == {"pcie"}
    gpu = next(r for r in out.readings if r.interface == "gpu0/pcie")
    assert (gpu.line, gpu.kind, gpu.socket, gpu.value_text) == (4, "gauge", 0, "16")
    assert "state of the links" in {u.what for u in out.unknown}


@pytest.mark.parametrize(
    ("attributes", "what"),
    [
        ('link_speed="" link_width="0"', "width and speed of the PCIe link"),
        ("", "width and speed of the PCIe link"),
        ('link_speed="Unknown speed" link_width="255"', "width and speed of the PCIe link"),
        ('link_speed="16.0 GT/s PCIe" link_width=""', "width of the PCIe link"),
        ('link_width="16"', "speed of the PCIe link"),
    ],
)
def test_not_stated_is_unknown(make_file: MakeFile, attributes: str, what: str) -> None:
    device = f'<pci busid="0001:00:00.0" class="0x030200" {attributes}><gpu dev="2"/></pci>\n'
    out = TOPO.read(make_file(system(cpu(device))))
    assert (out.unknown[0].interface, out.unknown[0].what) == ("gpu2/pcie", what)
    assert all(reading.value for reading in out.readings)
    assert not out.rejected


def test_values_that_cannot_be(make_file: MakeFile) -> None:
    device = (
        '<pci busid="0001:00:00.0" class="0x030200" link_width="17" link_speed="100000 MT/s"/>\n'
    )
    misplaced = '<gpu dev="7" sm="90"/>\n<pci busid="here" class="0x030200"/>\n'
    out = TOPO.read(make_file(system(cpu(device + misplaced))))
    rules = {refused.line: refused.rule for refused in out.rejected}
    assert {line: rule.split()[0:4] for line, rule in rules.items()} == {
        3: ["a", "PCIe", "link", "speed"],
        4: ["a", "GPU", "stands", "below"],
        5: ["a", "device", "needs", "a"],
    }
    assert len(out.rejected) == 4
    assert not out.readings


def test_invented_bridges_and_hidden_neighbours(make_file: MakeFile) -> None:
    gpu = '<pci busid="0004:00:00.0" class="0x030200"><gpu dev="0"><nvlink target="0004:00:00.0" count="12" tclass="0x030200"/></gpu></pci>\n'
    card = '<pci busid="0104:00:00.0" class="0x020700"/>\n'
    text = system(cpu(bridge(gpu + card, "ffff:ff:04.0", ' vendor="0x0000"')))
    out = TOPO.read(make_file(text))
    assert not out.readings
    node = node_of(out)
    assert node["nics"] == [
        {"hca": "pci-0104:00:00.0", "pci": "0104:00:00.0", "socket": 0, "pcie_switch": "pci-ffff:ff:04.0", "near_gpus": [0]}
    ]  # fmt: skip
    assert out.facts["hosts"][0]["nvlinks"] == {"gpu0": {"hidden": 12}}
    assert "pci-ffff:ff:04.0" not in {u.interface for u in out.unknown}


def test_nested_bridges_tell_which_gpus_are_near(make_file: MakeFile) -> None:
    text = system(cpu(bridge(bridge(GPU_0, "0000:13:00.0") + bridge(CARD, "0000:14:00.0"))))
    node = node_of(TOPO.read(make_file(text)))
    assert node["gpus"][0]["pcie_switch"] == "pci-0000:13:00.0"
    assert node["nics"][0]["near_gpus"] == [0]


def test_numa_nodes_that_are_no_sockets(make_file: MakeFile) -> None:
    out = TOPO.read(make_file(system(cpu(GPU_0, numa=3), cpu(GPU_1, numa=-1), cpu("", numa=7))))
    node = node_of(out)
    assert node["numa_nodes"] == [3, 7]
    assert node["gpus"][0]["numa"] == 3
    assert not {"socket", "numa"} & node["gpus"][1].keys()
    assert {reading.socket for reading in out.readings} == {None}


def test_other_accelerators_switches_and_ports(make_file: MakeFile) -> None:
    other = '<pci busid="0000:c1:00.0" class="0x120000"><gpu dev="0" gcn="942"><xgmi target="0000:c2:00.0" count="1" tclass="0x120000"/></gpu></pci>\n'
    other += '<pci busid="0000:c2:00.0" class="0x120000"/>\n'
    other += '<pci busid="0000:d1:00.0" class="0x068000"/>\n<pci busid="0000:d2:00.0" class="0x010802"/>\n'
    card = '<pci busid="0000:e1:00.0" class="0x020000"><nic><net name="bond" port="1"/><net name="bond" port="2"/></nic></pci>\n'
    out = TOPO.read(make_file(system(cpu(other + card))))
    node = node_of(out)
    assert node["gpus"][0]["xgmi_links"] == 1
    assert node["gpus"][1] == {"pci": "0000:c2:00.0", "socket": 0}
    assert [nic.get("ports") for nic in node["nics"]] == [[1, 2]]
    assert [switch["pci"] for switch in node["nvswitches"]] == ["0000:d1:00.0"]
    assert out.facts["hosts"][0]["nvlinks"] == {"gpu0": {"pci-0000:c2:00.0": 1}}


def test_two_gpus_with_one_index_have_none(make_file: MakeFile) -> None:
    out = TOPO.read(make_file(system(cpu(GPU_0 + GPU_1.replace('dev="1"', 'dev="0"')))))
    assert {r.interface for r in out.readings} == {"pci-0000:15:00.0", "pci-0000:16:00.0"}
    assert all("gpu" not in gpu for gpu in node_of(out)["gpus"])


def test_a_fused_dump_has_several_hosts(make_file: MakeFile) -> None:
    cpus = [cpu(GPU_0, more=f' host_hash="0xab{n}"') for n in range(2)]
    out = TOPO.read(make_file(system(*cpus)))
    assert out.topology is not None
    assert [node["node"] for node in out.topology.nodes] == ["host-ab0", "host-ab1"]
    assert {r.node for r in out.readings} == {"host-ab0", "host-ab1"}
    assert node_of(TOPO.read(make_file(system(cpus[0]))))["node"] == ""


def test_the_host_comes_from_the_surroundings(make_file: MakeFile) -> None:
    file = make_file(WHOLE)
    file.hints = Hints(node="birch-04")
    out = TOPO.read(file)
    assert out.topology is not None
    topology = Topology([out.topology])
    assert topology.resolve(component_id("birch-04", "pci-0000:15:00.0")) == "birch-04:gpu0/pcie"
    assert {r.node for r in out.readings} == {"birch-04"}


@pytest.mark.parametrize(
    "lead",
    ["", '<?xml version="1.0" encoding="UTF-8"?>\n', "\n<!-- by hand -->\n", "$ cat topo.xml\n"],
)
def test_what_may_stand_before_the_root(make_file: MakeFile, lead: str) -> None:
    file = make_file(lead + WHOLE + "\n$ exit\n")
    assert TOPO.score(file) >= 90
    out = TOPO.read(file)
    assert len(out.readings) == 12
    assert not out.rejected
    assert out.readings[0].line == 3 + lead.count("\n")


def test_deep_in_another_file(make_file: MakeFile) -> None:
    assert TOPO.score(make_file("<report><part>\n" + WHOLE)) == 45
    assert TOPO.score(make_file(WHOLE.replace(' version="1"', ""))) == 70


def test_a_cut_file_is_read_up_to_the_cut(make_file: MakeFile) -> None:
    text = WHOLE[: WHOLE.index("mlx5_0") + 20]
    file = make_file(text)
    assert TOPO.score(file) >= 90
    out = TOPO.read(file)
    assert ("gpu0/pcie", "width_max") in values(out)
    assert "rest of the file" in {u.what for u in out.unknown}
    (refused,) = out.rejected
    assert "cannot be read from here" in refused.rule


def test_a_second_document_is_refused(make_file: MakeFile) -> None:
    out = TOPO.read(make_file(WHOLE + WHOLE))
    (refused,) = out.rejected
    assert refused.line == WHOLE.count("\n") + 1
    assert "second document" in refused.rule
    assert len(out.readings) == 12


ENTITIES = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>\n'


@pytest.mark.parametrize(
    "content",
    [
        ENTITIES + WHOLE.replace("docker0", "&b;"),
        "<system><cpu numaid='0'>\n<!entity x 'y'>",
        WHOLE.replace("\n", "\n" + " " * 400_000, 12),
        "",
        "\n\n",
        "the quick brown fox\n" * 50,
        "<system version='1'>" + "<pci busid='0000:01:00.0'>" * 20_000,
        "<system " * 100_000,
        "<" * 1_000_000,
        "<!--" * 100_000,
        "<system version='1'><cpu numaid='0'>" + "x" * 1_000_000,
        "<graphs version='1'><graph id='0'>" + "<channel>" * 20_000,
    ],
)
def test_hostile_and_other_content(make_file: MakeFile, content: str) -> None:
    file = make_file(content)
    for reader in (TOPO, GRAPH):
        reader.score(file)
        out = reader.read(file)
        assert not out.readings
        assert out.rejected


def test_binary_content(make_file: MakeFile) -> None:
    file = make_file(b"\x00\xff\xfe\x01" * 500 + WHOLE.encode())
    assert TOPO.score(file) == GRAPH.score(file) == 0
    damaged = make_file(WHOLE.encode().replace(b"docker0", b"dock\xffer"))
    assert len(TOPO.read(damaged).readings) == 12


def test_size_limit_names_the_size(make_file: MakeFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nccl_xml, "MAX_XML_BYTES", 100)
    (refused,) = TOPO.read(make_file(WHOLE)).rejected
    assert f"{len(WHOLE)} bytes" in refused.rule


@given(
    st.lists(
        st.tuples(st.sampled_from([1, 2, 4, 8, 16]), st.sampled_from(["2.5", "5.0", "16.0", "64.0"])),
        min_size=1, max_size=16,
    )
)  # fmt: skip
def test_rendered_links_read_back(
    tmp_path_factory: pytest.TempPathFactory, links: list[tuple[int, str]]
) -> None:
    devices = "".join(
        f'<pci busid="0000:{16 + n:02x}:00.0" class="0x030200" link_width="{width}" link_speed="{speed} GT/s PCIe"><gpu dev="{n}"/></pci>\n'
        for n, (width, speed) in enumerate(links)
    )
    path = tmp_path_factory.mktemp("topo") / "capture"
    path.write_text(system(cpu(devices)))
    found = values(TOPO.read(SourceFile(path, path.name)))
    assert found.items() >= {(f"gpu{n}/pcie", "width_max"): float(w) for n, (w, _) in enumerate(links)}.items()  # fmt: skip
    assert found.items() >= {(f"gpu{n}/pcie", "speed_max_gbps"): float(s) for n, (_, s) in enumerate(links)}.items()  # fmt: skip


# -- graphs ---------------------------------------------------------------------------------------------

PLAN = """<graphs version="1">
  <graph id="0" pattern="4" crossnic="0" nchannels="{count}" speedintra="20" typeintra="NVL" typeinter="PIX">
    <channel><net dev="1"/><gpu dev="2"/><gpu dev="0"/><net dev="1"/></channel>
    <channel>
      <gpu dev="0"/>
      <gpu dev="2"/>
    </channel>
  </graph>
  <graph id="1" pattern="9" nchannels="0"/>
</graphs>
"""


def test_a_graph_is_a_plan(make_file: MakeFile) -> None:
    file = make_file(PLAN.format(count=2))
    assert GRAPH.score(file) >= 90
    assert TOPO.score(file) == 0
    out = GRAPH.read(file)
    ring, other = out.facts["graphs"]
    assert (ring["pattern"], ring["typeintra"]) == ("ring", "NVL")
    assert ring["channels"] == ["net1 gpu2 gpu0 net1", "gpu0 gpu2"]
    assert other["pattern"] == "9"
    assert out.understood == 0
    assert [u.what for u in out.unknown] == ["state of the links"]


def test_a_cut_graph(make_file: MakeFile) -> None:
    out = GRAPH.read(make_file(PLAN.format(count=8)[:260]))
    assert "channels of graph 0" in {u.what for u in out.unknown}
    assert out.rejected
