"""One cable of a fabric, seen by tools at both of its ends: one finding, and what they disagree on is told."""

from __future__ import annotations

from pathlib import Path

from fabric_pipeline_tests.workflows import captures_of_one_link as tool
from fabric_pipeline_tests.workflows.answers_of_inspect import answer_of, causes, gaps, places


def test_a_cable_seen_at_both_ends_is_one_finding(tmp_path: Path) -> None:
    answer = answer_of(
        tmp_path,
        {
            "ibnetdiscover.txt": tool.discovery(),
            "perfquery.txt": "".join(tool.perfquery(5200 if p == 11 else 0, 4 if p == 11 else 0, 0, p) for p in (11, 12, 13)),
            "n07/sysfs.txt": tool.sysfs(3100, 4, 11),
            "exporter.prom": tool.node_exporter("n07", 3100, 4, 11),
        },
    )  # fmt: skip
    (finding,) = causes(answer)
    ends = {finding["component"], finding["far_end"]}
    assert ends == {"n07:mlx5_0/1", "unknown:leaf-3/port-11"}
    assert "3100 symbol_error" in finding["reason"]
    assert "5200 symbol_error" in finding["reason"]
    assert "At its other end" in finding["reason"]
    assert "0 more" not in finding["reason"], "two tools are not two captures"
    assert {"perfquery.txt", "sysfs.txt", "exporter.prom"} <= {file for file, _ in places(finding)}


def test_a_link_that_a_log_leaves_down_and_a_tool_sees_up(tmp_path: Path) -> None:
    log = (
        "2024-05-07 09:10:00.123 [1001] [329] WARNING [Link] IBPort [1/11] [dev_id: 1]: Link went down: "
        "(Switch:leaf-3:1/11/1)b8599f0300aa0001:11 - (Computer:n07 mlx5_0)1070fd0300123400:1, cable S/N: MT2101VS00001\n"
    )
    answer = answer_of(tmp_path, {"ibnetdiscover.txt": tool.discovery(), "ufm.log": log})
    (finding,) = causes(answer)
    assert finding["kind"] == "link_down"
    (said,) = gaps(answer, finding["component"], "link_up")
    assert "ibnetdiscover says up" in said


def test_the_speed_that_two_tools_state_differently(tmp_path: Path) -> None:
    ibstatus = (
        "Infiniband device 'mlx5_0' port 1 status:\n\tstate:\t\t 4: ACTIVE\n\tphys state:\t 5: LinkUp\n"
        "\trate:\t\t 100 Gb/sec (4X EDR)\n\tlink_layer:\t InfiniBand\n"
    )
    files = {"ibnetdiscover.txt": tool.discovery(), "n07/ibstatus.txt": ibstatus}
    (said,) = gaps(answer_of(tmp_path, files), "n07:mlx5_0/1", "speed_gbps")
    assert "ibstatus says 100" in said
    assert "ibnetdiscover says 200" in said


def test_a_speed_a_lane_is_not_set_against_the_speed_of_the_link(tmp_path: Path) -> None:
    """2.5 Gb/s a lane over four lanes are 10 Gb/s: the two files agree."""
    log = (
        "-E- Link: S0001a90300540030/N0001a90300540030/P20<-->S0001a90300160e63/N0001a90300160e60/P1 - Unexpected actual link "
        'speed 2.5 (enable_speed1="2.5 or 5 or 10", enable_speed2="2.5 or 5 or 10" therefore final speed should be 10)\n'
    )
    listing = (
        "{ CA Ports:01 SystemGUID:0001a90300160e63 NodeGUID:0001a90300160e60 PortGUID:0001a90300160e61 VenID:000002c9 DevID:1003 "
        "Rev:00000000 LID:0005 PN:01 } { SW Ports:24 SystemGUID:0001a90300540030 NodeGUID:0001a90300540030 "
        "PortGUID:0001a90300540030 VenID:000002c9 DevID:c738 Rev:000000a1 LID:0002 PN:14 } PHY=4x LOG=ACT SPD=2.5\n"
    )
    answer = answer_of(tmp_path, {"ibdiagnet2.log": log, "ibdiagnet2.lst": listing})
    (finding,) = causes(answer)
    assert "2.5 Gb/s a lane" in finding["reason"]
    assert "isagree" not in str(answer)


def test_captures_that_name_no_device_are_no_one_port(tmp_path: Path) -> None:
    """Four link downs in one and recoveries in the other would look like one bad cable."""
    mlxlink = (
        "\nOperational Info\n----------------\nState : Active\nPhysical state : LinkUp\nSpeed : IB-HDR\n"
        "Width : 4x\n\nPhysical Counters and BER Info\n----\nLink Error Recovery Counter : 40\n"
    )
    ethtool = "NIC statistics:\n     link_down_events_phy: 4\n     rx_crc_errors_phy: 0\n     rx_bytes_phy: 5\n"
    answer = answer_of(tmp_path, {"n07/mlxlink.txt": mlxlink, "n07/ethtool.txt": ethtool})
    both = [one for one in answer["findings"] if {"mlxlink.txt", "ethtool.txt"} <= {f for f, _ in places(one)}]  # fmt: skip
    assert both == []
    (said,) = gaps(answer, "unknown:unknown", "name of the host")
    assert "no device" in said


def test_classic_and_extended_counters_of_one_port_are_one_moment(tmp_path: Path) -> None:
    classic = tool.perfquery(65535, 4, 12)
    extended = tool.perfquery(120_000, 4, 12).replace("Port counters", "Port extended counters")
    (finding,) = causes(answer_of(tmp_path, {"perfquery.txt": classic + extended}))
    assert "120000 symbol_error" in finding["reason"]
    assert "4 link_downed" in finding["reason"]
    assert " more " not in finding["reason"], "one moment holds no growth"
