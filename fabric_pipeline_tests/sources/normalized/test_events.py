"""Normalized events: places, the vendor's catalogues, refused rows."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.diagnose.event_roles import judge_events
from fabric_pipeline.model.records import FabricEvent, ReadResult
from fabric_pipeline.sources.base import Hints, SourceFile
from fabric_pipeline.sources.kernel_log.reader import KernelLogReader
from fabric_pipeline.sources.normalized.events import EventsReader

EVENTS = EventsReader()
LINK_DOWN = "NETIR_LINK_EVT Fatal XC0 i0 Link 07 (0x004505c6 0x00000000 0x00000000)"


def source(folder: Path, content: str | bytes, hints: Hints | None = None) -> SourceFile:
    path = folder / "capture"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return SourceFile(path, "capture", hints=hints or Hints())


def row(kind: str, **fields: Any) -> str:
    value = {"ts": "2026-11-20T08:00:00Z", "node": "birch-04", "kind": kind, "text": ""}
    return json.dumps({**value, **fields})


def read(folder: Path, *lines: str) -> ReadResult:
    file = source(folder, "\n".join(lines) + "\n")
    assert EVENTS.score(file) >= 50
    return EVENTS.read(file)


def one(folder: Path, kind: str, **fields: Any) -> FabricEvent:
    (event,) = read(folder, row(kind, **fields)).events
    return event


# -- places -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "component", "expected_node", "expected_interface", "lane"),
    [
        ("birch-04", "gpu5/nvlink-11", "birch-04", "gpu5/nvlink-11", None),
        ("birch-04", "birch-04:gpu5/nvlink-11", "birch-04", "gpu5/nvlink-11", None),
        ("birch-04", "gpu5/nvlink-11/lane-2", "birch-04", "gpu5/nvlink-11", 2),
        ("birch-04", "pci-0000:5d:00.0/nvlink-3", "birch-04", "pci-0000:5d:00.0/nvlink-3", None),
        ("birch-04", "birch-04:pci-0000:5d:00.0", "birch-04", "pci-0000:5d:00.0", None),
        ("birch-04", "00000000:5D:00.0", "birch-04", "pci-0000:5d:00.0", None),
        ("birch-04", "5D:00.0", "birch-04", "pci-0000:5d:00.0", None),
        ("birch-04", "birch-04", "birch-04", "", None),
        ("birch-04", "", "birch-04", "", None),
        ("birch-04", None, "birch-04", "", None),
        ("birch-04.example", "birch-04:mlx5_1/1", "birch-04.example", "mlx5_1/1", None),
        ("", "birch-04:pci-0000:5d:00.0/pcie", "birch-04", "pci-0000:5d:00.0/pcie", None),
        ("", "pci-0000:5d:00.0/pcie", "", "pci-0000:5d:00.0/pcie", None),
        (None, "unknown:leaf-3/port-12", "", "leaf-3/port-12", None),
        ("unknown", "leaf-3/port-12", "", "leaf-3/port-12", None),
        ("birch-04", "unknown:unknown", "birch-04", "", None),
    ],
)
def test_places(
    tmp_path: Path,
    node: str | None,
    component: str | None,
    expected_node: str,
    expected_interface: str,
    lane: int | None,
) -> None:
    event = one(tmp_path, "link_down", node=node, component=component)
    assert (event.node, event.interface, event.lane) == (expected_node, expected_interface, lane)


@given(
    st.from_regex(r"[a-z][a-z0-9-]{0,12}", fullmatch=True),
    st.sampled_from(["gpu3/nvlink-4", "mlx5_2/1", "pci-0000:9c:00.0/nvlink-17", "gpu0/pcie"]),
    st.booleans(),
)
def test_a_written_place_reads_back(
    tmp_path_factory: pytest.TempPathFactory, node: str, interface: str, is_full: bool
) -> None:
    component = f"{node}:{interface}" if is_full else interface
    event = one(tmp_path_factory.mktemp("drop"), "link_down", node=node, component=component)
    assert (event.node, event.interface) == ("" if node == "unknown" else node, interface)


def test_time_node_and_text(tmp_path: Path) -> None:
    text = row("link_down", node="", ts="2026-11-20T09:00:00+01:00", text="port went down")
    file = source(tmp_path, text, Hints(node="birch-09"))
    (event,) = EVENTS.read(file).events
    assert (event.node, event.time) == ("birch-09", datetime(2026, 11, 20, 8, tzinfo=UTC))
    assert (event.role, event.severity, event.reason) == ("cause", "warning", "port went down")


# -- catalogues -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "role", "severity", "subject", "is_link"),
    [
        (79, "cause", "critical", "pcie", True),
        (74, "cause", "critical", "nvlink", True),
        (31, "cause", "warning", "application", False),
        (45, "symptom", "info", "follow-up", False),
        (8888, "context", "watch", "unknown", False),
        (12345, "context", "watch", "unknown", False),
    ],
)
def test_xid_by_its_number(
    tmp_path: Path, code: int, role: str, severity: str, subject: str, is_link: bool
) -> None:
    event = one(tmp_path, "XID", component="gpu2", code=code, text="told by the monitor")
    assert (event.kind, event.code, event.role, event.severity) == ("xid", code, role, severity)
    assert (event.details["subject"], event.details["is_link"]) == (subject, is_link)
    assert event.reason
    assert event.reason != event.text
    assert event.details["gpu"] == 2


def test_an_xid_means_the_same_as_on_a_log_line(tmp_path: Path) -> None:
    line = f"NVRM: Xid (PCI:0000:5d:00): 149, {LINK_DOWN}"
    told = one(tmp_path, "xid", component="", code=149, text=line)
    (tmp_path / "log").write_text(f"[  12.5] {line}\n")
    (logged,) = KernelLogReader().read(SourceFile(tmp_path / "log", "log")).events
    assert (told.interface, told.role, told.severity, told.reason) == (
        logged.interface,
        logged.role,
        logged.severity,
        logged.reason,
    )
    clock = {"clock", "since_boot_s"}
    assert told.details == {k: v for k, v in logged.details.items() if k not in clock}


def test_the_text_completes_code_and_link(tmp_path: Path) -> None:
    event = one(tmp_path, "xid", component="gpu5", text=f"Xid (PCI:0000:5d:00): 149, {LINK_DOWN}")
    assert (event.code, event.interface) == (149, "gpu5/nvlink-7")
    assert (event.details["pci"], event.details["link"]) == ("0000:5d:00.0", 7)
    plain = one(tmp_path, "xid", component="gpu5", text="Xid 79 on GPU 5")
    assert (plain.code, plain.severity, plain.interface) == (79, "critical", "gpu5")
    kept = one(tmp_path, "xid", component="gpu5/nvlink-3", code=149, text=LINK_DOWN)
    assert (kept.interface, kept.details["link"]) == ("gpu5/nvlink-3", 3)
    other = one(tmp_path, "xid", component="nvlink-3", code=149, text=LINK_DOWN)
    assert other.interface == "nvlink-3"


def test_an_xid_without_number_accuses_nobody(tmp_path: Path) -> None:
    event = one(tmp_path, "xid", component="gpu1", text="something happened")
    assert (event.code, event.role, event.severity) == (None, "context", "watch")
    assert not any(finding.accuses for finding in judge_events([event]))


@pytest.mark.parametrize(
    ("code", "text", "is_fatal"),
    [
        (20034, "Fatal, Link 32 LTSSM Fault Up", True),
        (20034, "", True),
        (20034, "reported as non-fatal", False),
        (20009, "Non-fatal, Link 12 RX Short Error Rate", False),
        (20009, "switch says: fatal", True),
        (20009, "", False),
        (20034, "Severity 0 Engine instance 32 Sub-engine instance 00", False),
        (24999, "no word on that", None),
    ],
)
def test_sxid_severity(tmp_path: Path, code: int, text: str, is_fatal: bool | None) -> None:
    event = one(tmp_path, "sxid", component="nvswitch-1/port-32", code=code, text=text)
    assert event.details.get("is_fatal") is is_fatal
    expected = ("cause", "critical") if is_fatal else ("context", "watch")
    assert (event.role, event.severity) == expected
    assert event.interface == "nvswitch-1/port-32"
    assert (event.details["switch"], event.details["link"]) == ("nvswitch-1", 32)
    assert event.details["subject"] == "nvlink"


def test_sxid_place_from_the_drivers_text(tmp_path: Path) -> None:
    text = "nvidia-nvswitch2: SXid (PCI:0000:07:00.0): 20034, Fatal, Link 9 LTSSM Fault Up"
    bare = one(tmp_path, "sxid", component="", text=text)
    assert (bare.code, bare.interface) == (20034, "nvswitch-2/port-9")
    whole = one(tmp_path, "sxid", component="birch-04:nvswitch-2", code=20034, text=text)
    assert (whole.interface, whole.details["pci"]) == ("nvswitch-2/port-9", "0000:07:00.0")
    findings = judge_events([bare])
    assert [f.component for f in findings if f.accuses] == ["birch-04:nvswitch-2/port-9"]


@pytest.mark.parametrize(
    ("kind", "text", "expected", "is_fatal", "role"),
    [
        ("aer_corrected", "Bad TLP, non-fatal", "aer_corrected", False, "context"),
        ("aer_correctable", "", "aer_corrected", False, "context"),
        ("aer_uncorrected", "severity=Uncorrected (Non-Fatal)", "aer_uncorrected", False, "context"),
        ("aer_uncorrected", "severity=Uncorrected (Fatal)", "aer_uncorrected", True, "cause"),
        ("aer_uncorrected", "no word", "aer_uncorrected", None, "cause"),
        ("aer_nonfatal", "", "aer_uncorrected", False, "context"),
        ("aer_fatal", "", "aer_uncorrected", True, "cause"),
    ],
)  # fmt: skip
def test_aer(
    tmp_path: Path, kind: str, text: str, expected: str, is_fatal: bool | None, role: str
) -> None:
    event = one(tmp_path, kind, component="pci-0000:5d:00.0", text=text)
    assert (event.kind, event.role) == (expected, role)
    assert event.details.get("is_fatal") is is_fatal
    assert event.details["pci"] == "0000:5d:00.0"
    accused = [f for f in judge_events([event]) if f.accuses]
    assert bool(accused) is (role == "cause")


def test_a_lost_gpu_is_found_at_its_place(tmp_path: Path) -> None:
    event = one(tmp_path, "gpu_lost", component="pci-0000:5d:00.0", text="fallen off the bus")
    (finding,) = judge_events([event])
    assert finding.component == "birch-04:pci-0000:5d:00.0"
    assert "0000:5d:00.0" in finding.reason


# -- rows that cannot be read -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        (row(""), "no kind"),
        (row("xid", code="many"), "not a number"),
        (row("xid", code=7.5), "whole number"),
        (row("xid", code=-3), "no code"),
        (row("xid", code=1e30), "no code"),
        (row("xid", ts="yesterday"), "ISO 8601"),
        (row("xid", component="x" * 400), "characters"),
        ('{"ts": "2026-11-20T08:00:00Z", "kind": "xid", "te', "JSON object"),
        ("[" * 100_000, "JSON object"),
        ("x" * 1_000_000, "more than"),
    ],
)
def test_refused_rows_keep_their_line(tmp_path: Path, line: str, rule: str) -> None:
    result = read(tmp_path, row("link_up"), line, row("link_up"))
    assert [event.line for event in result.events] == [1, 3]
    (refused,) = result.rejected
    assert refused.line == 2
    assert rule in refused.rule


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"\x00\xff" * 500, b"{" * 100_000, b"word\n" * 9]
)
def test_other_content_is_not_claimed(tmp_path: Path, content: bytes) -> None:
    file = source(tmp_path, content)
    assert EVENTS.score(file) == 0
    assert not EVENTS.read(file).events


def test_a_long_text_is_bounded(tmp_path: Path) -> None:
    event = one(tmp_path, "xid", component="gpu1", code=74, text="NVLink: " + "Link " * 15_000)
    assert len(event.text) == 2000
    csv = 'ts,node,component,kind,code,text\n2026-11-20T08:00:00Z,n1,gpu1,xid,79,"lost, gone"\n'
    (row_event,) = EVENTS.read(source(tmp_path, csv)).events
    assert (row_event.line, row_event.code, row_event.text) == (2, 79, "lost, gone")
