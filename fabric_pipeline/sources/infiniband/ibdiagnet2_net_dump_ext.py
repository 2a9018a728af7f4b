"""Reader of `ibdiagnet2.net_dump_ext`: one line a port with state, width, rate and bit error rates.

Columns are separated by colons and found by the header. The far end is told by its LID alone, so a link
is made only where that leaves one port to choose.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.fabric import Fabric, Levels, Names, RawEnd, level_readings
from fabric_pipeline.sources.infiniband.guids import normalise_guid
from fabric_pipeline.sources.infiniband.lines import body_lines, count_hits, reject, stamped
from fabric_pipeline.sources.infiniband.ports import PortRef
from fabric_pipeline.sources.infiniband.rates import LANE_GBPS, lane_name, nominal_lane_gbps

_HEAD = re.compile(r"^\s{0,8}Ty\s{0,40}:\s{0,40}#\s{0,40}:\s{0,40}#\s?IB\s{0,40}:", re.I)
_ROW = re.compile(r"^\s{0,8}(?P<kind>CA|SW|RT)\s{1,40}:|^\s{0,8}(?P<other>CA|SW|RT):")
_LID = re.compile(r"^(\d{1,6})\b")
_NUMBER = re.compile(r"^[0-9]{1,4}(?:\.[0-9]{1,6})?(?:[eE][+-]?[0-9]{1,4})?$")
_COUNT = re.compile(r"^[0-9]{1,20}$")
_KINDS = {"CA": "adapter", "RT": "adapter", "SW": "switch"}
_RATES = {"raw ber": "raw_ber", "effective ber": "effective_ber", "symbol ber": "symbol_ber"}
_COUNTERS = {"symbol err": "symbol_error", "effective err": "effective_error"}
_BLANK = frozenset({"", "-", "n/a", "na"})
_TOOL = "ibdiagnet2.net_dump_ext"


@dataclass(slots=True)
class _Port:
    """One row: the port, its cells by column, the LID at the far end."""

    line: int
    end: RawEnd
    cells: dict[str, str]
    far_lid: int | None


class Ibdiagnet2NetDumpExtReader:
    """Reads the port table; yields states, rates, bit error rates and such links as are certain."""

    format_id: ClassVar[str] = "ibdiagnet2_net_dump_ext"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="ibdiagnet2, ibdiagnet2.net_dump_ext",
        versions="columns as public tools read them for NDR and XDR fabrics",
        recognised_by="a header `Ty : # : #IB : GUID : LID : ...` and rows that begin with CA or SW",
        gives=(
            "state, width and lane rate of every port, bit error rates before and after FEC, symbol "
            "errors, what is printed beside the port, links whose far end its LID alone tells"
        ),
        traps=(
            "The far end is given by LID without a port: two links between the same switches stay open.",
            "The rate in LSA is that of one lane.",
            "Symbol errors are a sum without a start: one file tells no rate.",
            "The rates of a port that is down have no meaning and are not read.",
            "The file names no time.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with the header of the table."""
        return 96 if count_hits(file, _HEAD, 1) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Readings of all ports and the links between them."""
        result, header = ReadResult(), list[str]()
        ports: list[_Port] = []
        for number, line in body_lines(file, result):
            if _HEAD.match(line):
                header = [" ".join(cell.split()).lower() for cell in line.split(":")]
            elif header and _ROW.match(line):
                port = _port(number, line, header)
                if port is None:
                    reject(result, number, line, "a port row is cut or unreadable")
                else:
                    ports.append(port)
        names, fabric = Names(), Fabric()
        for port in ports:
            names.learn(port.end)
        named = [(port, names.port(port.end)) for port in ports]
        for port, ref in named:
            fabric.note_switch(ref)
            _tell(port, ref, fabric, result)
        for a, b in _pairs(ports):
            near, far = names.port(a.end), names.port(b.end)
            fabric.link(near, far, _levels(a))
        _label(named, fabric)
        result.readings = fabric.readings
        topology = fabric.topology()
        result.topology = topology if topology.links or topology.switches else None
        result.facts["ports"] = len(ports)
        return stamped(result, file)


def _port(number: int, line: str, header: list[str]) -> _Port | None:
    """Cells by column; the description comes last and may hold colons itself."""
    cells = [cell.strip() for cell in line.split(":", len(header) - 1)]
    if len(cells) < len(header):
        return None
    named = dict(zip(header, cells, strict=True))
    guid, port = normalise_guid(named.get("guid", "")), named.get("#ib", "")
    if not guid or not (port.isascii() and port.isdecimal() and len(port) < 4):
        return None
    name = named.get("node desc", "").strip('"').strip()
    far = next((text for key, text in named.items() if key.startswith("conn lid")), "")
    end = RawEnd(_KINDS[cells[0].upper()], name, int(port), guid, _lid(named.get("lid", "")))
    return _Port(number, end, named, _lid(far))


def _lid(text: str) -> int | None:
    found = _LID.match(text)
    return int(found[1]) or None if found else None


def _levels(port: _Port) -> Levels:
    width = port.cells.get("lwa", "").lower().removesuffix("x")
    speed = port.cells.get("lsa", "").upper()
    lane = LANE_GBPS.get(speed)
    if lane is None and _NUMBER.match(speed):
        lane = nominal_lane_gbps(float(speed)) or None
    levels = Levels(port.line, lane_gbps=lane)
    levels.width = int(width) if width.isascii() and width.isdecimal() and len(width) < 3 else None
    levels.width = levels.width or None
    if lane:
        levels.lane_text = f"{levels.width or '?'}X {lane_name(lane)} (LSA {speed} a lane)"
    return levels


def _tell(port: _Port, ref: PortRef, fabric: Fabric, result: ReadResult) -> None:
    """State, levels and error rates of one port."""
    physical = port.cells.get("physsta", "").replace("_", " ")
    physical = "LinkUp" if physical.upper() == "LINK UP" else physical
    state = port.cells.get("sta", "")
    fabric.readings += ref.presence(port.line, state, physical, _TOOL)
    if state.upper() in ("DOWN", "DWN"):
        return
    fabric.readings += level_readings(ref, _levels(port))
    for column, counter in _RATES.items():
        text = port.cells.get(column, "")
        if text.lower() in _BLANK:
            continue
        if not _NUMBER.match(text) or not isfinite(float(text)) or float(text) > 1:
            reject(result, port.line, text, f"{column} is no rate of errors")
            continue
        fabric.readings.append(ref.level(port.line, counter, text, float(text)))
    for column, counter in _COUNTERS.items():
        text = port.cells.get(column, "")
        if text.lower() in _BLANK:
            continue
        if not _COUNT.match(text):
            reject(result, port.line, text, f"{column} is no count")
            continue
        fabric.readings.append(
            ref.reading(port.line, column, text, counter=counter, value=float(text))
        )


def _pairs(ports: list[_Port]) -> list[tuple[_Port, _Port]]:
    """Ports that point at each other by LID, where both sides have only one that does."""
    pointing: dict[tuple[int, int], list[_Port]] = defaultdict(list)
    for port in ports:
        if port.end.lid and port.far_lid:
            pointing[port.end.lid, port.far_lid].append(port)
    return [
        (own[0], other[0])
        for (near, far), own in pointing.items()
        if near < far and len(own) == 1 and len(other := pointing.get((far, near), [])) == 1
    ]


def _label(named: list[tuple[_Port, PortRef]], fabric: Fabric) -> None:
    """What is printed beside the ports of a switch, where it says more than their number."""
    for port, ref in named:
        label = port.cells.get("#", "")
        if ref.is_switch and label and label != str(port.end.port):
            switch = fabric.switches[ref.interface.rpartition("/")[0]]
            switch.setdefault("port_labels", {})[str(port.end.port)] = label[:40]
