"""Files with the output of several tools: terminal sessions, banners, support bundles."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import Hints, SourceFile
from fabric_pipeline.sources.registry import recognise

IBSTAT = """CA 'mlx5_0'
\tCA type: MT4129
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tLink layer: InfiniBand
"""
NVLINK = """GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0f0e0d0c-0b0a-0908-0706-050403020100)
\t Link 0: 26.562 GB/s
\t Link 1: <inactive>
"""
ETHTOOL = "NIC statistics:\n     rx_symbol_err_phy: 7\n     link_down_events_phy: 2\n"
XID = (
    "[ 12.5] NVRM: Xid (PCI:0000:5d:00): 74, NVLink: fatal error detected on link 3(0x10000, 0x0)\n"
)
PROMPT = "ops@beech-07:~$ "


def read(tmp_path: Path, text: str, hints: Hints | None = None) -> tuple[str, ReadResult]:
    path = tmp_path / "session.txt"
    path.write_text(text)
    file = SourceFile(path, "session.txt", hints=hints or Hints())
    match = recognise(file)
    assert match.reader is not None
    return match.format_id, match.reader.read(file)


def seen(result: ReadResult) -> set[tuple[int | None, str, str]]:
    return {(r.line, r.node, f"{r.interface} {r.counter}") for r in result.readings}


def test_each_part_of_a_session_is_read_by_its_own_reader(tmp_path: Path) -> None:
    text = (
        f"{PROMPT}ibstat\n{IBSTAT}{PROMPT}uptime\n 10:00:00 up 3 days\n"
        f"{PROMPT}sudo ethtool -S ens4 | grep phy\n{ETHTOOL}{PROMPT}dmesg | tail -1\n{XID}{PROMPT}\n"
    )
    lines = text.split("\n")
    format_id, result = read(tmp_path, text)
    assert format_id == "ibstat"
    link_up = lines.index("\t\tState: Active") + 1
    symbols = lines.index("     rx_symbol_err_phy: 7") + 1
    found = seen(result)
    assert (link_up, "beech-07", "mlx5_0/1 link_up") in found
    assert (symbols, "beech-07", "ens4 symbol_error") in found
    (event,) = result.events
    assert (event.node, event.line) == ("beech-07", lines.index(XID.strip()) + 1)
    assert event.interface == "pci-0000:5d:00.0/nvlink-3"
    assert result.facts["tools_in_file"] == ["ethtool_stats", "ibstat", "kernel_log"]


@pytest.mark.parametrize(
    "mark",
    ["=== {} ===\n", "### {}\n", "$ {}\n", "# $ {}\n", "_" * 44 + "\n\n/usr/bin/{}\n\n"],
)
def test_banners_and_support_bundles_cut_a_file_too(tmp_path: Path, mark: str) -> None:
    text = mark.format("nvidia-smi nvlink -s") + NVLINK + mark.format("ibstat") + IBSTAT
    _, result = read(tmp_path, text, Hints(node="n5"))
    states = {(r.interface, r.node, r.value) for r in result.readings if r.counter == "link_up"}
    assert states == {
        ("gpu0/nvlink-0", "n5", 1.0),
        ("gpu0/nvlink-1", "n5", 0.0),
        ("mlx5_0/1", "n5", 1.0),
    }


def test_prompts_of_two_hosts_name_neither_for_a_log_without_names(tmp_path: Path) -> None:
    text = f"ops@beech-07:~$ ibstat\n{IBSTAT}ops@beech-08:~$ dmesg\n{XID}"
    _, result = read(tmp_path, text)
    assert [event.node for event in result.events] == [""]


def test_one_tool_called_again_and_again_stays_with_its_reader(tmp_path: Path) -> None:
    text = f"{PROMPT}nvidia-smi nvlink -s\n{NVLINK}" * 3
    format_id, result = read(tmp_path, text)
    assert format_id == "nvidia_smi_nvlink_status"
    assert "tools_in_file" not in result.facts


def test_lines_in_front_of_the_first_command_are_read(tmp_path: Path) -> None:
    _, result = read(tmp_path, f"{XID}$ ibstat\n{IBSTAT}$ dmesg\n{XID}")
    assert [event.line for event in result.events] == [1, 11]


def test_a_log_that_only_mentions_tools_is_no_session(tmp_path: Path) -> None:
    text = XID + '[ 13.0] audit: exe="/usr/bin/nvidia-smi" comm="dmesg"\n' + XID
    format_id, result = read(tmp_path, text)
    assert (format_id, len(result.events)) == ("kernel_log", 2)
    assert "tools_in_file" not in result.facts
