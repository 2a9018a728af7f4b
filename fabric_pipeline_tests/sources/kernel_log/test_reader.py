"""The kernel log reader as a whole: recognition, counting, damaged and hostile input."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.kernel_log.reader import KernelLogReader
from fabric_pipeline_tests.sources.kernel_log.conftest import ReadLog

XID = "NVRM: Xid (PCI:0000:4e:00): 79, GPU has fallen off the bus."


def score(tmp_path: Path, text: str | bytes) -> int:
    path = tmp_path / "any name"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return KernelLogReader().score(SourceFile(path, "any name"))


@pytest.mark.parametrize(
    "text",
    [
        f"{XID}\n",
        f"[  12.5] {XID}\n",
        "Feb  4 01:02:03 n1 kernel: mlx5_core 0000:2a:00.0 ens4np0: Link down\n",
        '{"MESSAGE":"NVRM: Xid (PCI:0000:4e:00): 79, x","SYSLOG_IDENTIFIER":"kernel"}\n',
        "6,1,2000000,-;nvidia-nvswitch0: open (major=510)\n",
        " 12.123456] bond0: (slave ens4np0): link status definitely down, disabling slave\n",
    ],
)
def test_recognised_by_content(tmp_path: Path, text: str) -> None:
    assert score(tmp_path, text) >= 80


@pytest.mark.parametrize(
    "text",
    ["", "a,b,c\n1,2,3\n", '# HELP x\nDCGM_FI_DEV_XID_ERRORS{gpu="3"} 74\n', b"\0\1\2NVRM: Xid"],
)
def test_other_files_are_left_alone(tmp_path: Path, text: str | bytes) -> None:
    assert score(tmp_path, text) == 0


def test_events_stand_in_the_order_of_the_lines_with_facts(read_log: ReadLog) -> None:
    result = read_log(
        "[10.0] usb 1-1: new device\n"
        "[11.0] mlx5_core 0000:2a:00.0 ens4np0: Link down\n"
        f"[12.0] {XID}\n"
        "[40.0] usb 1-1: disconnected\n"
    )
    assert [e.line for e in result.events] == [2, 3]
    assert result.facts["event_counts"] == {"link_down": 1, "xid 79": 1}
    assert result.facts["observed_s"] == 30.0
    assert result.understood == 2


def test_missing_host_and_year_are_said(read_log: ReadLog) -> None:
    what = {fact.what for fact in read_log(f"[12.0] {XID}\n").unknown}
    assert {"host name", "absolute time"} <= what


def test_empty_file_and_file_without_fabric_lines(read_log: ReadLog) -> None:
    assert read_log("").events == []
    assert read_log("[1.0] hello\n[2.0] world\n").understood == 0


def test_windows_line_ends_and_utf16(read_log: ReadLog) -> None:
    assert len(read_log(f"[1.0] {XID}\r\n").events) == 1
    assert len(read_log(f"[1.0] {XID}\n".encode("utf-16")).events) == 1


def test_fabric_manager_line_in_a_journal(read_log: ReadLog) -> None:
    (event,) = read_log(
        "Mar  3 18:39:57 n1 nv-fabricmanager[5]: detected NVSwitch fatal error 20034 on NodeId 0 on "
        "NVSwitch pci bus id 00000000:08:00.0 physical id 3 port 60\n"
    ).events
    assert (event.node, event.interface, event.code) == ("n1", "nvswitch-3/port-60", 20034)


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "[1.0] NVRM: Xid (PCI:0000:5d:00): 74, " + "NVLink link " * 80_000,
        "pcieport 0000:00:01.0:   " + "[ 6] Bad " * 100_000,
        " " * 500_000 + "\n" + "[" * 500_000,
        bytes(range(256)) * 2000,
    ],
)
def test_hostile_input_is_read_quickly(read_log: ReadLog, text: str | bytes) -> None:
    assert read_log(text).understood >= 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    bus=st.integers(0, 255),
    link=st.integers(0, 35),
    unit=st.sampled_from(["NETIR_LINK_EVT", "NETIR_LINK_DOWN"]),
    words=st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=6),
    seconds=st.integers(0, 10**7),
)
def test_rendered_link_error_reads_back_equal(
    read_log: ReadLog, bus: int, link: int, unit: str, words: list[int], seconds: int
) -> None:
    text = " ".join(f"0x{word:08x}" for word in words)
    (event,) = read_log(
        f"[{seconds:5d}.000001] NVRM: Xid (PCI:0002:{bus:02x}:00): 149, {unit} Fatal XC0 i0 "
        f"Link {link:02d} ({text})\n"
    ).events
    assert event.interface == f"pci-0002:{bus:02x}:00.0/nvlink-{link}"
    assert (event.details["words"], event.details["unit"]) == (words, unit)
    assert event.seconds == pytest.approx(seconds + 1e-6)


EXPORT = """__CURSOR=s=5;i=1
_HOSTNAME=beech-07
__REALTIME_TIMESTAMP=1770000000250000
_TRANSPORT=kernel
MESSAGE=NVRM: Xid (PCI:0000:4e:00): 74, NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0)

MESSAGE=mlx5_core 0000:5e:00.0 ens4: Link down
_TRANSPORT=kernel
_HOSTNAME=beech-08
__REALTIME_TIMESTAMP=1770000004250000
"""


def test_a_journal_export_gives_each_message_its_host_and_time(read_log: ReadLog) -> None:
    result = read_log(EXPORT)
    found = [(e.line, e.node, e.interface, str(e.time), e.text[:8]) for e in result.events]
    assert found == [
        (5, "beech-07", "pci-0000:4e:00.0/nvlink-6", "2026-02-02 02:40:00.250000+00:00", "MESSAGE="),
        (7, "beech-08", "ens4", "2026-02-02 02:40:04.250000+00:00", "MESSAGE="),
    ]  # fmt: skip
    assert result.facts["observed_s"] == 4.0
    assert result.unknown == []


def test_a_journal_export_of_other_programs_is_no_kernel_log(tmp_path: Path) -> None:
    path = tmp_path / "export"
    path.write_text("__REALTIME_TIMESTAMP=1770000000250000\n_TRANSPORT=stdout\nMESSAGE=hello\n\n")
    assert KernelLogReader().score(SourceFile(path, "export")) == 0


def test_a_hot_network_card_is_noted_and_accuses_nothing(read_log: ReadLog) -> None:
    (event,) = read_log(
        "[9.5] mlx5_core 0000:5e:00.0: temp_warn:208:(pid 0): High temperature on sensors with bit set 0 1\n"
    ).events
    assert (event.kind, event.interface, event.role) == (
        "nic_over_temperature",
        "pci-0000:5e:00.0",
        "context",
    )
