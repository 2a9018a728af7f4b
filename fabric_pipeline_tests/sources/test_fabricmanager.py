"""Fabric Manager's log and its journal: errors become events, set-up chatter does not."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.fabricmanager import FabricManagerLogReader

CHATTER = (
    "[Mar 05 2026 13:59:45] [INFO] [tid 18] Received an inband message:  Message header details: x\n"
    "Message payload details:Team release request: Team Handle:99c9 Flags:0\n\n"
    "[Mar 05 2026 13:59:45] [INFO] [tid 18] multicast group 0 is freed.\n"
)
ERROR = (
    "[Mar 05 2026 14:10:02] [ERROR] [tid 9] detected NVSwitch {word} error {code} on fid 0 on NVSwitch "
    "pci bus id 00000000:86:00.0 physical id 2 port 17\n"
)


def file(tmp_path: Path, text: str) -> SourceFile:
    path = tmp_path / "f"
    path.write_text(text)
    return SourceFile(path, "f")


def read(tmp_path: Path, text: str) -> ReadResult:
    return FabricManagerLogReader().read(file(tmp_path, text))


def test_nonfatal_error_among_chatter_is_watched(tmp_path: Path) -> None:
    result = read(tmp_path, CHATTER + ERROR.format(word="non-fatal", code=12028))
    (event,) = result.events
    assert (event.interface, event.code, event.line) == ("nvswitch-2/port-17", 12028, 5)
    assert (event.role, event.severity) == ("context", "watch")
    assert event.time == datetime(2026, 3, 5, 14, 10, 2, tzinfo=UTC)


def test_fatal_error_in_the_newer_wording_of_a_journal(tmp_path: Path) -> None:
    (event,) = read(
        tmp_path,
        "Mar 03 18:40:57 n7 nv-fabricmanager[5183]: detected NVSwitch fatal error 20034 on NodeId 0 on "
        "NVSwitch pci bus id 00000000:08:00.0 physical id 3 port 60\n",
    ).events
    assert (event.node, event.interface, event.severity) == ("n7", "nvswitch-3/port-60", "critical")


def test_manager_that_gave_up_is_no_link_matter(tmp_path: Path) -> None:
    (event,) = read(
        tmp_path,
        "[Mar 05 2026 14:10:02] [ERROR] [tid 9] detected number of NVSwitches don't match with any "
        "supported system topology, aborting fabric manager\n",
    ).events
    assert (event.kind, event.details["is_link"]) == ("fabric_manager_failed", False)


def test_other_errors_name_no_link_and_are_watched(tmp_path: Path) -> None:
    text = "[Mar 05 2026 14:10:02] [ERROR] [tid 9] failed to find the GPU handle 7 in the multicast team\n"
    (event,) = read(tmp_path, text).events
    assert (event.kind, event.severity, event.interface) == ("fabric_manager_error", "watch", "")


def test_cut_error_line_is_rejected(tmp_path: Path) -> None:
    result = read(tmp_path, "[Mar 05 2026 14:10:02] [ERROR] [tid 9] detected NVSwitch fatal err")
    assert (result.events, len(result.rejected)) == ([], 1)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        (CHATTER, 70, 100),
        (ERROR.format(word="fatal", code=1), 90, 100),
        ("", 0, 0),
        ("[1.0] NVRM: Xid (PCI:0000:4e:00): 79, x\n", 0, 0),
        ("\0\0detected NVSwitch fatal error 1", 0, 0),
    ],
)
def test_recognised_by_content(tmp_path: Path, text: str, least: int, most: int) -> None:
    assert least <= FabricManagerLogReader().score(file(tmp_path, text)) <= most
