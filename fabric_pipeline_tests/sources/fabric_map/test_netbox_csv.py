"""NetBox exports: which kind a header shows, ends and cables, places of devices, what is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.sources.fabric_map.netbox_columns import kind_of, length_m, medium
from fabric_pipeline.sources.fabric_map.netbox_csv import NetboxCsvReader
from fabric_pipeline_tests.sources.infiniband.files import read

READER = NetboxCsvReader()
CABLES = """ID,Label,Termination A,Termination B,Device A,Device B,Rack A,Status,Type,Color,Length
1,W-1,mlx5_2,IB1/7,oak-03,fern-1,R4,Connected,DAC (Passive),ffeb3b,2.0 m
2,W-2,mlx5_3,IB1/8,oak-03,fern-1,R4,Planned,,,
3,W-3,"mlx5_4,mlx5_5",IB1/9,oak-03,fern-1,R4,Connected,AOC,,
4,W-4,,IB1/10,oak-03,fern-1,R4,Connected,AOC,,
5,"W-5
spare",eth0,swp1,oak-03,mgmt-1,—,Connected,CAT6,123456,100 cm
"""
IMPORT = """side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name,type,status,label,length,length_unit
oak-03,dcim.interface,mlx5_2,fern-1,dcim.interface,IB1/7,smf-os2,connected,W-1,30,ft
oak-03,dcim.powerport,psu1,pdu-1,dcim.poweroutlet,7,power,connected,W-2,,
"""
DEVICES = """Name,Status,Tenant,Site,Location,Rack,Role,Manufacturer,Type,Serial number,Asset tag,Position (U),Rack face
oak-03,Active,,north,Hall 2,R4,GPU node,Acme,Box-8,S3,A3,12.0,Front
fern-1,Active,,north,Hall 2,R4,Leaf switch,Acme,Q-40,S1,—,40,Rear
oak-09,Decommissioning,,north,Hall 2,R4,GPU node,Acme,Box-8,S9,A9,14.0,Front
"""
INTERFACES = """Device,Name,Label,Enabled,Type,MTU,WWN
oak-03,mlx5_2,OSFP 3,True,infiniband-hdr,4092,0C:42:A1:03:00:AA:00:03
fern-1,IB1/7,4/1,True,infiniband-hdr,4092,
oak-03,lo,,True,virtual,1500,
"""


def topology(folder: Path, text: str) -> TopologyPart:
    part = read(READER, folder, text).topology
    assert part is not None
    return part


def by_name(entries: list[dict[str, Any]], key: str = "node") -> dict[str, dict[str, Any]]:
    return {entry[key]: entry for entry in entries}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (CABLES, "cables"),
        (IMPORT, "cables"),
        ("Side A,Termination A,Side B,Termination B,Label", "cables"),
        (DEVICES, "devices"),
        ("name,device_role,manufacturer,device_type,serial,asset_tag,status,site,rack", "devices"),
        (INTERFACES, "interfaces"),
        ("Name,Site,Location,Status,Role,Height,Facility ID,Asset tag", "racks"),
        ("ts,node,link_type,link,counter,value", ""),
        ("name,site,role", ""),
    ],
)
def test_the_header_tells_the_kind(text: str, kind: str) -> None:
    assert kind_of(text.split("\n")[0].split(",")) == kind


def test_both_ends_of_cables_and_what_they_are(tmp_path: Path) -> None:
    result = read(READER, tmp_path, CABLES)
    assert result.topology is not None
    first, last = result.topology.links
    assert first == {
        "a": {"device": "oak-03", "port": "mlx5_2"}, "b": {"device": "fern-1", "port": "IB1/7"},
        "cable": "W-1", "medium": "DAC", "length_m": 2.0, "colour": "yellow", "netbox_id": "1",
    }  # fmt: skip
    assert (last["type"], last["cable"], last["colour"], last["length_m"]) == (
        "ethernet", "W-5\nspare", "123456", 1.0,
    )  # fmt: skip
    assert by_name(result.topology.nodes)["oak-03"]["rack"] == "R4"
    assert [(one.line, one.rule.split(":")[0]) for one in result.rejected] == [
        (4, "several terminations at one end"),
        (5, "a cable without a device and a port at both ends"),
    ]
    assert result.facts["netbox"] == {"kind": "cables", "rows": 5, "left_out_planned": 1}


def test_an_import_form_is_read_and_power_cords_are_no_links(tmp_path: Path) -> None:
    result = read(READER, tmp_path, IMPORT)
    assert result.topology is not None
    (link,) = result.topology.links
    assert (link["medium"], link["length_m"]) == ("SMF", 9.144)
    assert result.facts["netbox"]["left_out_no_network_port"] == 1


def test_places_of_devices(tmp_path: Path) -> None:
    part = topology(tmp_path, DEVICES)
    assert part.site == "north"
    assert by_name(part.nodes) == {
        "oak-03": {
            "node": "oak-03", "inventory": True, "is_device": True, "hall": "Hall 2", "rack": "R4", "unit": "12",
            "face": "front", "serial": "S3", "asset_tag": "A3", "platform": "Box-8",
        },
    }  # fmt: skip
    (switch,) = part.switches
    assert (switch["name"], switch["tier"], switch["unit"]) == ("fern-1", "leaf", "40")
    assert "asset_tag" not in switch


def test_labels_and_guids_of_interfaces(tmp_path: Path) -> None:
    nodes = by_name(topology(tmp_path, INTERFACES).nodes)
    assert nodes["oak-03"]["nics"] == [
        {"hca": "mlx5_2", "port_label": "OSFP 3", "guid": "0x0c42a10300aa0003"}
    ]
    assert nodes["fern-1"]["port_labels"] == {"IB1/7": "4/1"}


def test_lengths_need_a_unit() -> None:
    assert length_m("3", "Meters") == 3.0
    assert length_m("250", "cm") == 2.5
    assert length_m("3", "") is None
    assert length_m("three", "m") is None
    assert [medium(one) for one in ("mmf-om4", "AOC (Active)", "cat6a")] == ["MMF", "AOC", "cat6a"]
