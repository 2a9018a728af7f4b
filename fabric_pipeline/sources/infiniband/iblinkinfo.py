"""Reads `iblinkinfo`: the link table of a fabric, in blocks a node or one line a link (`--line`).

Rows say width, line rate and state of a port and which port is at the far end; a port that is down
has no far end. The hint in brackets (`Could be 12X`) is kept as a maximum and not believed here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.fabric import Fabric, FabricRow, Levels, Names, RawEnd
from fabric_pipeline.sources.infiniband.guids import normalise_guid, split_description
from fabric_pipeline.sources.infiniband.lines import body_lines, count_hits, reject, stamped
from fabric_pipeline.sources.infiniband.rates import lane_name, nominal_lane_gbps

HINT = "tool hint"  # `Reading.state` of a maximum that iblinkinfo only suggests

_HEADER = re.compile(
    r"^(?:[<>]\s?)?\s*(CA|Switch|Router)\s*:?\s+(?:(0x[0-9a-fA-F]{1,16})\s+)?(\S.{0,200}?)\s*:?\s*$"
)
_OWN = re.compile(
    r"^(?:[<>]\s?)?\s*(?:(?P<guid>0x[0-9a-fA-F]{1,16})\s+)?(?:\"(?P<name>[^\"]{0,128})\"\s+)?"
    r"(?P<lid>\d{1,6})\s+(?P<port>\d{1,4})\[\s*\d*\s*\]\s*$"
)
_LINK = re.compile(
    r"^\(\s*(?:(?P<width>[0-9]{1,2})X\s+)?(?:(?P<speed>[0-9]{1,6}(?:\.[0-9]{1,6})?)\s*Gbps\s*(?:\(FDR10\))?\s*)?"
    r"(?:undefined \(\d+\)\s*)?(?P<logical>[A-Za-z?][\w?]{2,20})\s*/\s*(?P<physical>[A-Za-z?][\w?]{2,30})"
)
_PEER = re.compile(
    r"^\s*(?:(?P<guid>0x[0-9a-fA-F]{1,16})\s+)?(?P<lid>\d{1,6})\s+(?P<port>\d{1,4})\[\s*\d*\s*\]\s*"
    r"\"(?P<name>[^\"]{0,128})\"?\s*(?:\((?P<hint>[^)]{0,120}))?"
)
_COULD_WIDTH = re.compile(r"Could be (\d{1,2})X")
_COULD_SPEED = re.compile(r"Could be (\d{1,6}(?:\.\d{1,6})?) Gbps")
_KINDS = {"CA": "adapter", "Switch": "switch", "Router": "adapter"}


@dataclass(slots=True)
class _Block:
    """The node whose port rows follow."""

    kind: str = ""
    guid: str = ""
    name: str = ""


class IblinkinfoReader:
    """Reader of `iblinkinfo` in both layouts."""

    format_id: ClassVar[str] = "iblinkinfo"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="iblinkinfo, also --line",
        versions="a listing of 2010, infiniband-diags 44.0, others not stated",
        recognised_by="rows with the arrow `==( 4X ... Active/ LinkUp)==>`",
        gives="state, width and speed of every port, and both ends of every link",
        traps=(
            "`Could be 12X` is a hint of the tool: it is kept as a maximum and not believed.",
            "A port that is down has no valid width, speed or far end.",
            (
                "The printed rate is the line rate of a lane with its coding; it is turned into "
                "the nominal rate (53.125 is HDR, 50 a lane)."
            ),
            "Default descriptions name products, not machines; the GUID takes their place.",
            "No error counters.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with the arrow rows of the tool; another tool quotes them as `Link info:`."""
        return 92 if count_hits(file, _ROW_START, 1) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """State, width and speed of each port, and the links."""
        result = ReadResult()
        rows, block = list[FabricRow](), _Block()
        for number, line in body_lines(file, result):
            if "==(" in line:
                row = parse_row(number, line, block)
                if row is None:
                    reject(result, number, line, "a row of the link table is cut or unreadable")
                else:
                    rows.append(row)
            elif found := _HEADER.match(line):
                block = _Block(
                    _KINDS[found.group(1)],
                    normalise_guid(found.group(2) or ""),
                    found.group(3),
                )
        names, fabric = Names.of(rows), Fabric()
        for row in rows:
            fabric.add(row, names, "iblinkinfo")
        result.readings = fabric.readings
        result.topology = fabric.topology() if rows else None
        result.facts["link_rows"] = len(rows)
        return stamped(result, file)


_ROW_START = re.compile(r"^(?!\s*Link info:)[^=]{0,220}==\(.{0,120}==>")


def parse_row(line_number: int, line: str, block: _Block | None = None) -> FabricRow | None:
    """One arrow row; `block` names the node when the row itself does not."""
    left, _, peer_text = line.partition("==>")
    own_text, _, link_text = left.partition("==")
    own, link = _OWN.match(own_text), _LINK.match(link_text)
    if not own or not link or "==>" not in line:
        return None
    levels = Levels(line_number)
    row = FabricRow(
        _own_end(own, block or _Block()),
        levels,
        logical=link.group("logical"),
        physical=link.group("physical"),
    )
    # a port that is down has no valid width, speed or far end (InfiniBand C14-24.2.1)
    if row.logical.lower() != "down":
        _take_rate(levels, link.group("width"), link.group("speed"))
        peer = _PEER.match(peer_text)
        if peer:
            row.peer = _peer_end(peer)
            _take_hint(levels, peer.group("hint") or "")
    return row


def _own_end(own: re.Match[str], block: _Block) -> RawEnd:
    name = own.group("name") if own.group("name") is not None else block.name
    guid = normalise_guid(own.group("guid") or "") or block.guid
    kind = block.kind if own.group("name") is None else _line_kind(name)
    return RawEnd(kind, name.strip(), int(own.group("port")), guid, int(own.group("lid")))


def _peer_end(peer: re.Match[str]) -> RawEnd:
    name = peer.group("name").strip()
    guid = normalise_guid(peer.group("guid") or "")
    return RawEnd(_line_kind(name), name, int(peer.group("port")), guid, int(peer.group("lid")))


def _line_kind(name: str) -> str:
    """A line without block says no kind; an adapter word in the description settles it."""
    return "adapter" if split_description(name)[1] else ""


def _take_rate(levels: Levels, width: str | None, speed: str | None) -> None:
    levels.width = int(width) if width else None
    if speed:
        levels.lane_gbps = nominal_lane_gbps(float(speed))
        name = lane_name(levels.lane_gbps)
        levels.lane_text = f"{width or '?'}X {name} ({speed} Gbps a lane)"


def _take_hint(levels: Levels, hint: str) -> None:
    width, speed = _COULD_WIDTH.search(hint), _COULD_SPEED.search(hint)
    levels.width_max = int(width.group(1)) if width else None
    levels.lane_max_gbps = nominal_lane_gbps(float(speed.group(1))) if speed else None
    levels.max_source = HINT
