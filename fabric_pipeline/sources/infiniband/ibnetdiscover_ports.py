"""Reads `ibnetdiscover -p`: one line a port with its width and generation, and its peer if linked.

A row without a peer is a port nobody answers on; the rate printed for it has no meaning and is not
read. Names may carry stray blanks.
"""

from __future__ import annotations

import re
from typing import ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.fabric import Fabric, FabricRow, Levels, Names, RawEnd
from fabric_pipeline.sources.infiniband.guids import normalise_guid
from fabric_pipeline.sources.infiniband.lines import body_lines, count_hits, reject, stamped
from fabric_pipeline.sources.infiniband.rates import LANE_GBPS

_ROW = re.compile(
    r"^\s*(?P<kind>SW|CA|RT)\s+(?P<lid>\d{1,6})\s+(?P<port>\d{1,4})\s+(?P<guid>0x[0-9a-fA-F]{1,16})\s+"
    r"(?P<width>[0-9]{1,2}|\?+)x\s+(?P<speed>\S{1,12})(?:\s+-\s+(?P<peer_kind>SW|CA|RT)\s+(?P<peer_lid>\d{1,6})\s+"
    r"(?P<peer_port>\d{1,4})\s+(?P<peer_guid>0x[0-9a-fA-F]{1,16})\s*\(\s*'(?P<pair>.{0,280})'\s*\)"
    r"|\s+'(?P<name>.{0,140})')\s*$"
)
_START = re.compile(
    r"^\s*(?:SW|CA|RT)\s+\d{1,6}\s+\d{1,4}\s+0x[0-9a-fA-F]{1,16}\s+(?:\d{1,2}|\?+)x\s"
)
_LOOSE = re.compile(r"^\s*(?:SW|CA|RT)\s+\d{1,6}\s+\d{1,4}\b")
_KINDS = {"SW": "switch", "CA": "adapter", "RT": "adapter"}


class IbnetdiscoverPortsReader:
    """Reader of `ibnetdiscover -p` port lists."""

    format_id: ClassVar[str] = "ibnetdiscover_ports"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="ibnetdiscover -p",
        versions="infiniband-diags 44.0, others not stated",
        recognised_by="rows that begin with `SW` or `CA`, LID, port, GUID and width",
        gives="width and speed of linked ports, the links, and which ports have no peer",
        traps=(
            (
                "A port without a peer may simply be unused; the rate printed for it has no "
                "meaning and is not read."
            ),
            "No error counters and no time stamps.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with one port row."""
        return 95 if count_hits(file, _START, 1) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Width and speed of linked ports, the links, and which ports have no peer."""
        result = ReadResult()
        rows = list[FabricRow]()
        for number, line in body_lines(file, result):
            found = _ROW.match(line)
            if found:
                rows.append(_row(number, found))
            elif _LOOSE.match(line):
                reject(result, number, line, "a port row is cut or unreadable")
        names, fabric = Names.of(rows), Fabric()
        for row in rows:
            fabric.add(row, names, "ibnetdiscover -p")
        result.readings = fabric.readings
        result.topology = fabric.topology() if rows else None
        result.facts["ports"] = len(rows)
        result.facts["ports_without_peer"] = sum(row.peer is None for row in rows)
        return stamped(result, file)


def _row(number: int, found: re.Match[str]) -> FabricRow:
    own_name, peer_name = _names(found)
    own = RawEnd(
        _KINDS[found.group("kind")],
        own_name,
        int(found.group("port")),
        normalise_guid(found.group("guid")),
        int(found.group("lid")),
    )
    row = FabricRow(own, Levels(number), logical="Down", physical="no peer")
    if found.group("peer_kind"):
        row.peer = RawEnd(
            _KINDS[found.group("peer_kind")],
            peer_name,
            int(found.group("peer_port")),
            normalise_guid(found.group("peer_guid")),
            int(found.group("peer_lid")),
        )
        row.logical, row.physical = "Active", "linked"
        _take_rate(row.levels, found.group("width"), found.group("speed").upper())
    return row


def _names(found: re.Match[str]) -> tuple[str, str]:
    """Own and peer description; the pair is split at the quotes around its dash."""
    if found.group("pair") is None:
        return found.group("name").strip(), ""
    own, _, peer = found.group("pair").partition("' - '")
    return own.strip(), peer.strip()


def _take_rate(levels: Levels, width: str, speed: str) -> None:
    levels.width = int(width) if width.isdecimal() else None
    levels.lane_gbps = LANE_GBPS.get(speed)
    levels.lane_text = f"{width}X {speed}" if levels.lane_gbps else ""
