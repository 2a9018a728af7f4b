"""mlxlink: text and JSON, several devices, colours, zero rates, cut objects, firmware advice."""

from __future__ import annotations

import json
from pathlib import Path

from fabric_pipeline.sources.infiniband.mlxlink_json import MlxlinkJsonReader
from fabric_pipeline.sources.infiniband.mlxlink_text import MlxlinkTextReader
from fabric_pipeline_tests.sources.infiniband.files import one, read, source

TEXT, JSON = MlxlinkTextReader(), MlxlinkJsonReader()

FIRST = """Physical Counters and BER Info
------------------------------
Time Since Last Clear [Min]        : 62.5
Effective Physical Errors          : 0
Effective Physical BER             : 15E-255
Raw Physical Errors Per Lane       : 11,12,13,900
Raw Physical BER                   : 3E-9
Link Down Counter                  : 4
Link Error Recovery Counter        : N/A
"""
SECOND = """ops@larch-2:~$ sudo mlxlink -d /dev/mst/mt4129_pciconf1 -p 1 -c
Operational Info
----------------
State                              : \x1b[32mActive\x1b[0m
Physical state                     : LinkUp
Speed                              : IB-NDR
Width                              : 4x
Troubleshooting Info
--------------------
Status Opcode                      : 57
Recommendation                     : Signal not detected
"""


def test_sections_stay_apart(tmp_path: Path) -> None:
    result = read(TEXT, tmp_path, FIRST + "\n" + SECOND)
    assert one(result, "", "effective_ber").value == 0
    assert one(result, "", "raw_ber").value == 3e-9
    assert one(result, "", "link_downed").value == 4
    lanes = {r.lane: r.value for r in result.readings if r.scope == "lane"}
    assert lanes == {0: 11, 1: 12, 2: 13, 3: 900}
    up = one(result, "mt4129_pciconf1/port-1", "link_up")
    assert (up.value, up.node, up.link_type) == (1, "larch-2", "infiniband")
    assert one(result, "mt4129_pciconf1/port-1", "speed_gbps").value == 400
    assert [u.what for u in result.unknown] == ["port state"]


def test_firmware_advice_is_an_event_of_that_port(tmp_path: Path) -> None:
    (event,) = read(TEXT, tmp_path, SECOND).events
    assert (event.code, event.role, event.interface) == (57, "cause", "mt4129_pciconf1/port-1")
    assert not read(TEXT, tmp_path, SECOND.replace(": 57", ": 1024")).events


def test_port_names_of_hca_and_pci_devices(tmp_path: Path) -> None:
    for device, interface in (("mlx5_3", "mlx5_3/1"), ("9c:00.0", "pci-0000:9c:00.0")):
        text = SECOND.replace("/dev/mst/mt4129_pciconf1", device)
        assert one(read(TEXT, tmp_path, text), interface, "link_up").value == 1


def test_ethernet_and_inactive_ports(tmp_path: Path) -> None:
    text = SECOND.replace("IB-NDR", "25GbE").replace("4x", "1x")
    speed = one(read(TEXT, tmp_path, text), "mt4129_pciconf1/port-1", "speed_gbps")
    assert (speed.value, speed.link_type) == (25, "ethernet")
    polling = SECOND.replace("\x1b[32mActive\x1b[0m", "Polling").replace("IB-NDR", "N/A")
    result = read(TEXT, tmp_path, polling)
    assert one(result, "mt4129_pciconf1/port-1", "link_up").state == "Polling/LinkUp"
    assert not [r for r in result.readings if r.counter == "speed_gbps"]


def test_repeated_title_begins_a_section(tmp_path: Path) -> None:
    result = read(TEXT, tmp_path, FIRST + FIRST.replace(": 4\n", ": 9\n"))
    assert one(result, "", "link_downed").value == 4
    assert one(result, "device-2", "link_downed").value == 9


def output(state: str = "Active") -> str:
    groups = {
        "Operational Info": {
            "State": state,
            "Physical state": "LinkUp",
            "Speed": "IB-HDR",
            "Width": "2x",
        },
        "Physical Counters and BER Info": {
            "Raw Physical Errors Per Lane": {"values": ["5", "6"]},
            "Symbol BER": "15E-255",
            "Link Down Counter": "1",
        },
    }
    return json.dumps({"status": {"code": 0}, "result": {"output": groups}}, indent=3)


def test_json_behind_prompts_and_twice(tmp_path: Path) -> None:
    text = "".join(f"[root@larch-9 ~]# mlxlink -d mlx5_{n} -c --json\n{output()}\n" for n in (0, 4))
    result = read(JSON, tmp_path, text)
    assert one(result, "mlx5_4/1", "speed_gbps").value == 100
    assert one(result, "mlx5_0/1", "symbol_ber").value == 0
    line = one(result, "mlx5_4/1", "link_downed").line
    assert line is not None
    assert "Link Down Counter" in text.split("\n")[line - 1]


def test_cut_json_keeps_its_lines(tmp_path: Path) -> None:
    text = output()
    result = read(JSON, tmp_path, text[: text.index('"Symbol BER"')])
    assert one(result, "", "link_up").value == 1
    assert len(result.rejected) == 1


def test_empty_is_nobody_s(tmp_path: Path) -> None:
    assert TEXT.score(source(tmp_path, "")) == JSON.score(source(tmp_path, "{}")) == 0


MODULE = """Operational Info
----------------
State                              : Active
Speed                              : IB-NDR
Width                              : 4x
Module Info
-----------
Temperature [C]                    : 71 [-5..70]
Voltage [mV]                       : 3262.3 [3000..3600]
Bias Current [mA]                  : 0.000,0.000 [0..0]
Rx Power Current [dBm]             : 1.68,-18.99,1.07,1.75 [-9.3..6.5]
Tx Power Current [dBm]             : N/A
Rx LOS [per lane]                  : 0,1,0,0
Tx Fault [per lane]                : N/A
Module FW Fault                    : 0
Histogram of FEC Errors
-----------------------
Header                             : Range       Occurrences
Bin 0                              : [0:0]       4209340933
Bin 1                              : [1:1]       23090
Bin 2                              : [2:4]       5
"""


def test_module_limits_alarms_and_repaired_code_words(tmp_path: Path) -> None:
    result = read(TEXT, tmp_path, "ops@larch-2:~$ mlxlink -d mlx5_1 -m --show_histogram\n" + MODULE)
    assert [(e.kind, e.interface, e.role, e.reason) for e in result.events] == [
        ("module_out_of_range", "mlx5_1/1", "context", "temperature [c]: 71 outside -5 to 70"),
        (
            "module_out_of_range",
            "mlx5_1/1",
            "context",
            "rx power current [dbm]: -18.99 on lane 1 outside -9.3 to 6.5",
        ),
        ("module_alarm", "mlx5_1/1", "context", "the module raises rx los on lane 1"),
    ]
    assert one(result, "mlx5_1/1", "fec_bin_1").value == 23090
    assert [r.value for r in result.readings if r.counter_text == "FEC bin 2"] == [5]
    assert not [r for r in result.readings if r.counter == "fec_bin_2"]


def test_module_values_and_bins_of_json(tmp_path: Path) -> None:
    groups = {
        "Operational Info": {"State": "Active", "Speed": "400G", "Width": "4x"},
        "Module Info": {"Rx LOS [per lane]": {"values": ["0", "0", "1", "0"]}},
        "Histogram of FEC Errors": {"Bin 3": {"values": ["[3:3]", 12]}},
    }
    result = read(JSON, tmp_path, json.dumps({"result": {"output": groups}}))
    assert [e.reason for e in result.events] == ["the module raises rx los on lane 2"]
    assert one(result, "", "fec_bin_3").value == 12
