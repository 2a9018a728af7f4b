"""ibdiagnet2: log, Markdown report, link list and cable inventory."""

from __future__ import annotations

from pathlib import Path

from fabric_pipeline.sources.infiniband.ibdiagnet2_cables import Ibdiagnet2CablesReader
from fabric_pipeline.sources.infiniband.ibdiagnet2_log import Ibdiagnet2LogReader
from fabric_pipeline.sources.infiniband.ibdiagnet2_lst import Ibdiagnet2LstReader
from fabric_pipeline.sources.infiniband.ibdiagnet2_report import Ibdiagnet2ReportReader
from fabric_pipeline_tests.sources.infiniband.files import ends, one, read, source

LOG, REPORT = Ibdiagnet2LogReader(), Ibdiagnet2ReportReader()
LST, CABLES = Ibdiagnet2LstReader(), Ibdiagnet2CablesReader()
GUID = "0000bb0000bb0001"
SWITCH = f"0x{GUID}"

SLOW = (
    'Unexpected actual link speed 14 (enable_speed1="14 or 25", enable_speed2="14 or 25" '
    "therefore final speed should be 25)"
)
NARROW = (
    'Unexpected actual link width 1x (enable_width1="1x or 4x", enable_width2="1x or 4x" '
    "therefore final width should be 4x)"
)

TEXT = f"""-I- Discovering ... 6 nodes (2 Switches & 4 CA-s) discovered.
-E- Link: S{GUID}/N{GUID}/P23<-->oak-05/mlx5_1/P1 - {SLOW}
-E- Link: alder-1/U1/P9<-->crown-1/U1/P3 - {NARROW}
-E- S{GUID}/N{GUID}/P1/6/2 - "symbol_error_counter" increased during the run (difference value=41,difference allowed threshold=1)
-E- oak-06/U1/P1 - "port_rcv_remote_physical_errors" increased during the run (difference value=5,difference allowed threshold=1)
-W- S{GUID}/N{GUID}/P12 - Symbol BER exceeds the threshold, BER value=4e-11, threshold=1e-12
-E- S{GUID}/N{GUID}/P5 - Cable High Temperature Alarm reported, current temperature: 81C
-E- Link: S{GUID}/N{GUID}/P1s1<-->S{GUID}/N{GUID}/P1s2 - Unexpected actual link speed 10
-W- oak-09/mlx5_0 - Node has FW version 28.39 while the latest is 28.43
-I- Stage                     Warnings   Errors     Comment
-I- Port Counters             0          2
"""


def test_log_levels_growth_rates_and_stages(tmp_path: Path) -> None:
    result = read(LOG, tmp_path, TEXT)
    low = one(result, f"{SWITCH}/port-23", "speed_gbps")
    assert (low.value, low.scope) == (14, "lane")
    assert one(result, f"{SWITCH}/port-23", "speed_max_gbps").value == 25
    assert one(result, "alder-1/port-9", "width").value == 1
    grown = one(result, f"{SWITCH}/port-1/6/2", "symbol_error")
    assert (grown.value, grown.kind) == (41, "delta")
    assert one(result, "U1/1", "rx_remote_physical").node == "oak-06"
    assert one(result, f"{SWITCH}/port-12", "symbol_ber").value == 4e-11
    assert one(result, "", "fabric_check_errors").value == 2
    assert frozenset({f"{SWITCH}/port-23", "mlx5_1/1"}) in ends(result)


def test_log_remarks_never_accuse(tmp_path: Path) -> None:
    events = read(LOG, tmp_path, TEXT).events
    assert [(e.kind, e.role, e.severity) for e in events] == [
        ("ibdiagnet_temperature_remark", "context", "watch"),
        ("ibdiagnet_message", "context", "watch"),
    ]


def test_report_reads_bullets_and_names_the_gap(tmp_path: Path) -> None:
    text = f"""# Fabric report
* **Total Errors**: 9
* S{GUID}/N{GUID}/P1/4/2 - "link_down_counter" increased during the run (difference value=1,difference allowed threshold=1)
* oak-10/mlx5_6/C0/0/0 - No response for MAD SMPCableInfo
| Test Stage | Warnings | Errors |
|---|---|---|
| Port Counters | 4 | 9 |
"""
    result = read(REPORT, tmp_path, text)
    assert one(result, f"{SWITCH}/port-1/4/2", "link_downed").kind == "delta"
    assert result.facts["Total Errors"] == 9
    assert "counted 9 errors and the report lists 1" in result.unknown[0].reason
    assert LOG.score(source(tmp_path, text)) < REPORT.score(source(tmp_path, text))


def row(port: str, name: str, speed: str, device: str = "d2f0") -> str:
    return (
        "{ CA Ports:01 SystemGUID:00aa000000aa0003 NodeGUID:00aa000000aa0003 PortGUID:00aa000000aa0003 "
        f"VenID:000002c9 DevID:101b Rev:00000000 {name}LID:0009 PN:01 }} {{ SW Ports:29 SystemGUID:{GUID} "
        f"NodeGUID:{GUID} PortGUID:{GUID} VenID:000002c9 DevID:{device} Rev:000000a0 LID:0004 PN:{port} }} "
        f"PHY=4x LOG=ACT SPD={speed}\n"
    )


def test_list_has_hexadecimal_ports_and_device_generations(tmp_path: Path) -> None:
    result = read(LST, tmp_path, row("1C", "{oak-03 mlx5_0} ", "2.5"))
    assert one(result, f"{SWITCH}/port-28", "speed_gbps").value == 10
    top = one(result, f"{SWITCH}/port-28", "speed_max_gbps")
    assert (top.value, top.state) == (200, "device generation")
    assert ends(result) == {frozenset({f"{SWITCH}/port-28", "mlx5_0/1"})}


def test_list_of_the_first_tool_and_a_cut_row(tmp_path: Path) -> None:
    text = row("0A", "", "50", "d2f00000")
    result = read(LST, tmp_path, text + text[:150])
    assert one(result, f"{SWITCH}/port-10", "speed_gbps").value == 200
    assert one(result, f"{SWITCH}/port-10", "speed_max_gbps").value == 200
    assert [r.line for r in result.rejected] == [2]


def test_cables_are_facts_without_measurement(tmp_path: Path) -> None:
    rule = "-" * 55
    text = f"""{rule}
Port=7 Lid=0x0004 GUID=0x{GUID} Port Name=S{GUID}/N{GUID}/P7
{rule}
Vendor: Cordage
PN: CRD-200-C03
SN: CX7741Q002
Length: 3 m
"""
    result = read(CABLES, tmp_path, text)
    (cable,) = result.facts["cables"]
    assert (cable["SN"], cable["component"]) == ("CX7741Q002", f"unknown:{SWITCH}/port-7")
    assert not result.readings
    assert result.unknown


def test_empty_is_nobody_s(tmp_path: Path) -> None:
    for reader in (LOG, REPORT, LST, CABLES):
        assert reader.score(source(tmp_path, "")) == 0
