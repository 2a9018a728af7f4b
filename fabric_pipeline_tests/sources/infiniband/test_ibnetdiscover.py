"""ibnetdiscover: topology files, port lists (-p) and node lists."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from fabric_pipeline.sources.base import Hints
from fabric_pipeline.sources.infiniband.ibnetdiscover import IbnetdiscoverReader
from fabric_pipeline.sources.infiniband.ibnetdiscover_ports import IbnetdiscoverPortsReader
from fabric_pipeline.sources.infiniband.ibswitches import IbswitchesReader
from fabric_pipeline_tests.sources.infiniband.files import ends, one, read, source

TOPOLOGY, PORTS, SWITCHES = IbnetdiscoverReader(), IbnetdiscoverPortsReader(), IbswitchesReader()

FILE = """#
# Topology file: generated on Mon Nov  9 08:00:00 2026
#
vendid=0x2c9
devid=0xd2f0
switchguid=0xbb0001(bb0001)
Switch\t41 "S-0000000000bb0001"\t\t# "alder-1" enhanced port 0 lid 4 lmc 0
[3]\t"H-0000000000aa0003"[1](aa0013) \t\t# "oak-03 HCA-2" lid 9 4xHDR s=1 w=2 v=4 e=4
[33][ext 9]\t"S-0000000000bb0002"[8][ext 4]\t\t# "crown-2" lid 6 1xHDR
[41]\t"H-0000000000bb0009"[1](bb0009) \t\t# "Mellanox Technologies Aggregation Node" lid 77 4xHDR

caguid=0xaa0003
Ca\t2 "H-0000000000aa0003"\t\t# "oak-03 HCA-2"
[1](aa0013) \t"S-0000000000bb0001"[3]\t\t# lid 9 lmc 0 "alder-1" lid 4 4xHDR
"""


def test_each_link_once_with_levels_at_both_ends(tmp_path: Path) -> None:
    result = read(TOPOLOGY, tmp_path, FILE)
    assert frozenset({"alder-1/port-3", "HCA-2/1"}) in ends(result)
    assert len(ends(result)) == 3
    assert one(result, "HCA-2/1", "speed_gbps").value == 200
    assert one(result, "alder-1/port-33", "width").value == 1
    # an aggregation node inside the switch has no host name
    assert frozenset({"alder-1/port-41", "0x0000000000bb0009/port-1"}) in ends(result)


def test_time_of_the_header_in_the_zone_of_the_drop(tmp_path: Path) -> None:
    east = Hints(timezone=timezone(timedelta(hours=2)))
    assert read(TOPOLOGY, tmp_path, FILE, east).readings[0].time == datetime(
        2026, 11, 9, 6, tzinfo=UTC
    )
    odd = FILE.replace("Mon Nov  9", "lun. 9 nov.")
    assert read(TOPOLOGY, tmp_path, odd).readings[0].time is None


def test_cut_row_is_refused_and_rows_without_rate_are_unknown(tmp_path: Path) -> None:
    cut = FILE[: FILE.index("[8][ext 4]")]
    assert [r.line for r in read(TOPOLOGY, tmp_path, cut).rejected] == [9]
    bare = FILE.replace(" 1xHDR", "")
    unknown = read(TOPOLOGY, tmp_path, bare).unknown
    assert [(u.interface, u.what) for u in unknown] == [("alder-1/port-33", "speed")]


def test_port_list_with_and_without_peers(tmp_path: Path) -> None:
    text = (
        "CA     9  1 0x0000000000aa0013 4x HDR - SW     4  3 0x0000000000bb0001"
        " ( ' oak-03 HCA-2' - 'alder-1 ' )\n"
        "SW     4  7 0x0000000000bb0001 4x SDR                                    'alder-1 '\n"
        "SW     4  8 0x0000000000bb0001 4x ???                                    'alder-1'\n"
        "SW     4 33 0x0000000000bb0001 1x XDR - SW     6  8 0x00000000"
    )
    result = read(PORTS, tmp_path, text)
    assert ends(result) == {frozenset({"alder-1/port-3", "HCA-2/1"})}
    assert one(result, "alder-1/port-7", "link_up").state == "Down/no peer"
    assert not [
        r for r in result.readings if r.interface == "alder-1/port-7" and r.counter == "width"
    ]
    assert [r.line for r in result.rejected] == [4]
    assert result.facts["ports_without_peer"] == 2


def test_node_list_is_topology_only(tmp_path: Path) -> None:
    text = (
        'Switch\t: 0x0000000000bb0001 ports 41 "alder-1" enhanced port 0 lid 4 lmc 0\n'
        'Ca\t: 0x0000000000aa0003 ports 1 "oak-03 HCA-2"\n'
        'Ca\t: 0x0000000000aa0004 ports 1 "oak-03 HCA-3"\nSwitch\t: 0x00000000\n'
    )
    result = read(SWITCHES, tmp_path, text)
    assert result.topology is not None
    assert result.topology.switches[0]["lid"] == 4
    assert result.topology.nodes == [
        {"node": "oak-03", "nics": [{"hca": "HCA-2"}, {"hca": "HCA-3"}]}
    ]
    assert not result.readings
    assert result.unknown
    assert [r.line for r in result.rejected] == [4]


def test_empty_is_nobody_s(tmp_path: Path) -> None:
    for reader in (TOPOLOGY, PORTS, SWITCHES):
        assert reader.score(source(tmp_path, "")) == 0
