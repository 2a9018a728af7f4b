"""Reads `ibdiagnet2.lst`: one line a link with both ends, width, state and lane rate.

`PN` is hexadecimal (PN:14 is port 20), and so are LIDs and device ids. The device ids tell which
generation both ends belong to, so a link that fell back to a far lower rate shows without peers.
"""

from __future__ import annotations

import re
from typing import ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.fabric import Fabric, FabricRow, Levels, Names, RawEnd
from fabric_pipeline.sources.infiniband.guids import normalise_guid
from fabric_pipeline.sources.infiniband.lines import body_lines, count_hits, reject, stamped
from fabric_pipeline.sources.infiniband.rates import LANE_GBPS, lane_name, nominal_lane_gbps

GENERATION = "device generation"  # `Reading.state` of a maximum that follows from device ids alone

_END = (
    r"\{{\s*(?P<kind{n}>CA|SW|RT|HCA)\s+Ports:[0-9a-fA-F]{{1,4}}\s+SystemGUID:[0-9a-fA-F]{{1,16}}\s+"
    r"NodeGUID:(?P<guid{n}>[0-9a-fA-F]{{1,16}})\s+PortGUID:[0-9a-fA-F]{{1,16}}\s+VenID:[0-9a-fA-F]{{1,8}}\s+"
    r"DevID:(?P<dev{n}>[0-9a-fA-F]{{1,8}})\s+Rev:[0-9a-fA-F]{{1,8}}\s+"
    r"(?:\{{(?P<name{n}>[^{{}}]{{0,128}})\}})?\s*LID:(?P<lid{n}>[0-9a-fA-F]{{1,6}})\s+"
    r"PN:(?P<port{n}>[0-9a-fA-F]{{1,4}})\s*\}}"
)
_ROW = re.compile(
    r"^\s*"
    + _END.format(n=1)
    + r"\s*"
    + _END.format(n=2)
    + r"\s*PHY=(?P<width>[0-9]{1,2})x\s+LOG=(?P<state>\w{2,12})\s+SPD=(?P<speed>[\w.?]{1,12})"
)
_LOOSE = re.compile(r"^\s*\{\s*(?:CA|SW|RT|HCA)\s+Ports:")
_KINDS = {"CA": "adapter", "HCA": "adapter", "RT": "adapter", "SW": "switch"}

# Highest lane rate (nominal Gb/s) of chips by PCI device id (pci.ids of the PCI ID Repository;
# Mellanox/NVIDIA product families ConnectX-2 to -8, InfiniScale IV to Quantum-3).
_LANE_GBPS_OF_DEVICE = {
    0x673C: 10.0,
    0xBD36: 10.0,
    0x1003: 14.0,
    0x1007: 14.0,
    0x1011: 14.0,
    0xC738: 14.0,
    0x1013: 25.0,
    0x1017: 25.0,
    0x1019: 25.0,
    0xCB20: 25.0,
    0xCF08: 25.0,
    0x101B: 50.0,
    0xA2D6: 50.0,
    0xD2F0: 50.0,
    0x1021: 100.0,
    0xA2DC: 100.0,
    0xD2F2: 100.0,
    0x1023: 200.0,
    0xD2F4: 200.0,
}


class Ibdiagnet2LstReader:
    """Reader of ibdiagnet2 link lists."""

    format_id: ClassVar[str] = "ibdiagnet2_lst"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="ibdiagnet2, ibdiagnet2.lst",
        versions="2014",
        recognised_by="rows of two ends `{ CA Ports:02 ... PN:01 } { SW ... PN:14 } PHY=4x LOG=ACT SPD=2.5`",
        gives=(
            "state, width and lane rate of every link with both ends; the rate that the devices "
            "of both ends allow"
        ),
        traps=(
            "Ports, LIDs and device ids are hexadecimal here (PN:14 is port 20).",
            "The rate is that of one lane.",
            "The allowed rate follows from the device ids; an unknown id leaves it open.",
            "No error counters and no time stamps.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with one row of two ends."""
        return 95 if count_hits(file, _LOOSE, 1) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """State, width and speed of each link at its first end, and the links."""
        result = ReadResult()
        rows = list[FabricRow]()
        for number, line in body_lines(file, result):
            found = _ROW.match(line)
            if found:
                rows.append(_row(number, found))
            elif _LOOSE.match(line):
                reject(result, number, line, "a link row is cut or unreadable")
        names, fabric = Names.of(rows), Fabric()
        for row in rows:
            fabric.add(row, names, "ibdiagnet2.lst")
        result.readings = fabric.readings
        result.topology = fabric.topology() if rows else None
        result.facts["links"] = len(rows)
        return stamped(result, file)


def _row(number: int, found: re.Match[str]) -> FabricRow:
    ends = [_end(found, index) for index in (1, 2)]
    # readings stand at the switch end, so that one link is not read twice
    own, peer = sorted(ends, key=lambda end: end.kind != "switch")
    speed, width = found.group("speed").upper(), int(found.group("width"))
    lane = LANE_GBPS.get(speed)
    if lane is None and re.fullmatch(r"\d{1,3}(?:\.\d{1,6})?", speed):
        lane = nominal_lane_gbps(float(speed))
    levels = Levels(number, width, lane)
    if lane:
        levels.lane_text = f"{width}X {lane_name(lane)} (SPD={found.group('speed')} a lane)"
    known = [_LANE_GBPS_OF_DEVICE.get(_device_id(found.group(f"dev{i}"))) for i in (1, 2)]
    if known[0] and known[1]:
        levels.lane_max_gbps = min(known[0], known[1])
        levels.max_source = GENERATION
    return FabricRow(own, levels, peer, found.group("state"), "")


def _device_id(text: str) -> int:
    """PCI device id; the first ibdiagnet printed it in the upper half of 32 bits."""
    number = int(text, 16)
    return number >> 16 if number > 0xFFFF else number


def _end(found: re.Match[str], index: int) -> RawEnd:
    return RawEnd(
        _KINDS[found.group(f"kind{index}")],
        (found.group(f"name{index}") or "").strip(),
        int(found.group(f"port{index}"), 16),
        normalise_guid(found.group(f"guid{index}")),
        int(found.group(f"lid{index}"), 16),
    )
