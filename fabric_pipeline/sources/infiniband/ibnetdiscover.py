"""Reads `ibnetdiscover`: the topology file of a fabric, one block a switch, adapter or router.

Every row is a link that is physically up; ports without a link are not printed at all. Width and
generation stand at the row's end, optionally followed by the raw fields `s= w= v=`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

from fabric_pipeline.model.records import ReadResult, UnknownFact
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.fabric import Fabric, FabricRow, Levels, Names, RawEnd
from fabric_pipeline.sources.infiniband.guids import normalise_guid
from fabric_pipeline.sources.infiniband.lines import body_lines, count_hits, reject
from fabric_pipeline.sources.infiniband.rates import LANE_GBPS

_NODE = re.compile(
    r"^(?:[<>]\s?)?(Switch|Ca|Rt)\s+\d{1,4}\s+\"([SHR])-([0-9a-fA-F]{1,16})\"\s*"
    r"(?:#\s*\"(?P<name>[^\"]{0,128})\"(?:.{0,40}?\blid (?P<lid>\d{1,6}))?)?"
)
_ROW = re.compile(
    r"^(?:[<>]\s?)?\[(?P<port>\d{1,4})\](?:\[[^\]]{0,20}\])?\s*(?:\((?P<guid>[0-9a-fA-F]{1,16})\))?\s*"
    r"\"(?P<kind>[SHR])-(?P<peer>[0-9a-fA-F]{1,16})\"\[(?P<peer_port>\d{1,4})\](?:\[[^\]]{0,20}\])?\s*"
    r"(?:\((?P<peer_guid>[0-9a-fA-F]{1,16})\))?\s*"
    r"(?:#\s*(?:lid (?P<lid>\d{1,6}) lmc \d{1,3} )?\"(?P<name>[^\"]{0,128})\""
    r"(?: lid (?P<peer_lid>\d{1,6})(?: (?P<width>[0-9]{1,2})x(?P<speed>\S{1,8}))?)?)?"
)
_GENERATED = re.compile(
    r"^#\s*Topology file: generated on (\w{3} \w{3} {1,2}\d{1,2} [\d:]{8} \d{4})"
)
_START = re.compile(r"^(?:[<>]\s?)?\[\d{1,4}\]")
_HEADS = re.compile(
    r"^(?:[<>]\s?)?(?:(?:switch|ca|rt)guid=0x|(?:Switch|Ca|Rt)\s+\d{1,4}\s+\"[SHR]-)"
)
_KINDS = {"S": "switch", "H": "adapter", "R": "adapter"}


@dataclass(slots=True)
class _Node:
    """The node whose rows follow."""

    kind: str
    guid: str
    name: str
    lid: int | None


class IbnetdiscoverReader:
    """Reader of ibnetdiscover topology files."""

    format_id: ClassVar[str] = "ibnetdiscover"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="ibnetdiscover",
        versions="infiniband-diags 44.0, a fabric file of August 2025, others not stated",
        recognised_by='node headers such as `Switch 41 "S-..."` or `Ca 1 "H-..."`, or their link rows alone',
        gives="every link with both ends, width and speed of linked ports",
        traps=(
            (
                "Ports without a link are not printed at all: what is missing is not known to be "
                "down."
            ),
            "The time in the header is local time of the drop's zone.",
            "No error counters.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with node headers; likely with link rows alone."""
        if count_hits(file, _HEADS, 1):
            return 95
        return 70 if count_hits(file, _ROW, 2) >= 2 else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Width and speed of every linked port, and the links."""
        result = ReadResult()
        rows, node = list[FabricRow](), _Node("", "", "", None)
        taken = file.hints.time
        for number, line in body_lines(file, result):
            if found := _GENERATED.match(line):
                taken = taken or _written_at(found.group(1), file)
            elif found := _NODE.match(line):
                lid = found.group("lid")
                node = _Node(
                    _KINDS[found.group(2)],
                    normalise_guid(found.group(3)),
                    found.group("name") or "",
                    int(lid) if lid else None,
                )
            elif _START.match(line):
                row = _row(number, line, node)
                if row is None:
                    reject(result, number, line, "a link row is cut or unreadable")
                else:
                    rows.append(row)
        self._finish(rows, result)
        for reading in result.readings:
            reading.time = taken
        return result

    def _finish(self, rows: list[FabricRow], result: ReadResult) -> None:
        names, fabric = Names.of(rows), Fabric()
        for row in rows:
            port = fabric.add(row, names, "ibnetdiscover")
            if row.levels.lane_gbps is None:
                result.unknown.append(
                    UnknownFact(port.node, port.interface, "speed", "the row states no rate")
                )
        result.readings = fabric.readings
        result.topology = fabric.topology() if rows else None
        result.facts["link_rows"] = len(rows)


def _written_at(text: str, file: SourceFile) -> datetime | None:
    """The local time of the header in UTC; None when it is no C-locale date."""
    try:
        local = datetime.strptime(text, "%a %b %d %H:%M:%S %Y")  # noqa: DTZ007
    except ValueError:
        return None
    return local.replace(tzinfo=file.hints.timezone).astimezone(UTC)


def _row(number: int, line: str, node: _Node) -> FabricRow | None:
    found = _ROW.match(line)
    if not found:
        return None
    own_lid = int(found.group("lid")) if found.group("lid") else node.lid
    # the port's own GUID is used for adapters so that the peer's row names the same port
    guid = normalise_guid(found.group("guid") or "") or node.guid
    peer_lid = found.group("peer_lid")
    peer = RawEnd(
        _KINDS[found.group("kind")],
        found.group("name") or "",
        int(found.group("peer_port")),
        normalise_guid(found.group("peer_guid") or "") or normalise_guid(found.group("peer")),
        int(peer_lid) if peer_lid else None,
    )
    own = RawEnd(node.kind, node.name, int(found.group("port")), guid, own_lid)
    speed = (found.group("speed") or "").upper()
    width, lane_gbps = found.group("width"), LANE_GBPS.get(speed)
    levels = Levels(
        number,
        int(width) if width else None,
        lane_gbps,
        f"{width}X {speed}" if lane_gbps else "",
    )
    return FabricRow(own, levels, peer, "Active", "linked")
