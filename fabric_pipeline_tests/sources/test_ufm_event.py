"""UFM's event log: whole lines and bare messages, both ends of a link, alarms."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.ufm_event import UfmEventReader

MESSAGE = (
    "Link went down: (Switch:LEAF-A:1/17/1)9c05910300aa0001:33 - (Switch:SPINE-B:1/4/2)"
    "fc6a1c0300bb0002:8, cable S/N: MT2400XX00001"
)
ENTRY = "2025-06-20 07:46:24.442 [6659] [{code}] WARNING [Hardware] IBPort [{place}] [dev_id: 9c05910300aa0001]: {text}\n"


def file(tmp_path: Path, text: str) -> SourceFile:
    path = tmp_path / "f"
    path.write_bytes(text.encode())
    return SourceFile(path, "f")


def read(tmp_path: Path, text: str) -> ReadResult:
    return UfmEventReader().read(file(tmp_path, text))


def test_bare_message_gives_both_ends_and_the_cable(tmp_path: Path) -> None:
    result = read(tmp_path, MESSAGE + "\n")
    (event,) = result.events
    assert (event.kind, event.code, event.interface) == ("link_down", 329, "LEAF-A/port-33")
    assert event.details["far_end"] == "unknown:SPINE-B/port-8"
    assert event.details["cage"] == "1/17/1"
    assert result.facts["cable_serial"] == {"LEAF-A/port-33": "MT2400XX00001"}


def test_whole_line_has_a_time_and_a_host_end_its_host(tmp_path: Path) -> None:
    text = "Link went down: (Computer:node5 mlx5_3:1)b83fd203000c0001:1 - (Switch:LEAF-A:1/2/1)9c05910300aa0001:3"
    (event,) = read(tmp_path, ENTRY.format(code=329, place="default / x / 1", text=text)).events
    assert (event.node, event.interface) == ("node5", "mlx5_3/1")
    assert event.time == datetime(2025, 6, 20, 7, 46, 24, 442000, tzinfo=UTC)


def test_port_known_by_cage_takes_the_index_another_entry_tells(tmp_path: Path) -> None:
    text = ENTRY.format(code=329, place="default / Switch: LEAF-A / 1/17/1", text=MESSAGE)
    text += ENTRY.format(code=918, place="default / Switch: LEAF-A / 1/17/1", text="Symbol BER")
    assert [e.interface for e in read(tmp_path, text).events] == ["LEAF-A/port-33"] * 2


def test_unhealthy_port_carries_its_condition(tmp_path: Path) -> None:
    text = "Peer Port SPINE-B:1/19/2 is considered by SM as unhealthy due to FLAPPING."
    entry = ENTRY.format(code=702, place="default / Switch: LEAF-A / 12", text=text)
    (event,) = read(tmp_path, entry).events
    assert (event.kind, event.interface) == ("port_unhealthy", "LEAF-A/port-12")
    assert event.details["condition"] == "FLAPPING"
    assert event.details["far_end"] == "unknown:SPINE-B/port-1/19/2"


def test_entries_about_other_things_are_counted_only(tmp_path: Path) -> None:
    entry = ENTRY.format(code=527, place="Grid", text="UFM CPU usage is high")
    result = read(tmp_path, entry * 3)
    assert (result.events, result.facts["other_events"]) == ([], {"527": 3})


def test_link_line_without_ports_is_rejected(tmp_path: Path) -> None:
    result = read(tmp_path, "Link went down: (Swit\n")
    assert (result.events, len(result.rejected)) == ([], 1)


def test_missing_serial_is_unknown(tmp_path: Path) -> None:
    result = read(tmp_path, MESSAGE.partition(", cable")[0] + "\n")
    assert "serial number" in result.unknown[0].what


@pytest.mark.parametrize(
    ("text", "is_mine"),
    [
        (MESSAGE, True),
        (ENTRY.format(code=527, place="Grid", text="x"), True),
        ("", False),
        ("mlx5_core ens4np0: Link down\n", False),
        ("\0" + MESSAGE, False),
    ],
)
def test_recognised_by_content(tmp_path: Path, text: str, is_mine: bool) -> None:
    assert (UfmEventReader().score(file(tmp_path, text)) >= 80) is is_mine


def test_hostile_line_is_read_quickly(tmp_path: Path) -> None:
    assert len(read(tmp_path, "Link went down: " + "(Switch:a:1/1/1)" * 60_000).events) == 1
