"""Reader of `ibdiagnet2.db_csv`: nodes, ports, links, cables and performance counters of a fabric.

The file is a set of tables; which rows belong to which is told by `db_csv_sections`. Counters come from
PM_INFO, where the 64-bit column of a counter replaces the classic one, which stops at its ceiling.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

from fabric_pipeline.model.records import Reading, ReadResult, RejectedLine
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.db_csv_sections import MARK, Row, section_rows, whole
from fabric_pipeline.sources.infiniband.fabric import (
    Fabric,
    Levels,
    Names,
    RawEnd,
    level_readings,
)
from fabric_pipeline.sources.infiniband.guids import normalise_guid
from fabric_pipeline.sources.infiniband.ibdiagnet_statements import BOTH_ENDS
from fabric_pipeline.sources.infiniband.lines import count_hits, stamped
from fabric_pipeline.sources.infiniband.pma import counter_name
from fabric_pipeline.sources.infiniband.ports import PortRef
from fabric_pipeline.sources.infiniband.rates import LANE_GBPS

_WANTED = frozenset(
    {"NODES", "PORTS", "LINKS", "PM_INFO", "CABLE_INFO", "SYSTEM_GENERAL_INFORMATION"}
)
_KINDS = {1: "adapter", 2: "switch", 3: "adapter"}
# PortInfo encodings (InfiniBand Architecture 14.2.5.6; speeds above EDR as ibdiagnet joins them).
_WIDTHS = {1: 1, 2: 4, 4: 8, 8: 12, 16: 2}
_SPEEDS = {
    1: "SDR", 2: "DDR", 4: "QDR", 0x100: "FDR", 0x200: "EDR", 0x400: "HDR", 0x800: "NDR", 0x1000: "XDR", 0x10000: "FDR10",
}  # fmt: skip
_STATES = {1: "Down", 2: "Init", 3: "Armed", 4: "Active"}
_PHYSICAL = {
    1: "Sleep", 2: "Polling", 3: "Disabled", 4: "PortConfigurationTraining", 5: "LinkUp", 6: "LinkErrorRecovery", 7: "PhyTest",
}  # fmt: skip
# A part of PortRcvErrors, not a counter beside it.
_PARTS = frozenset({"portlocalphysicalerrors"})
_SHOWN_NAMES = 60
_TOOL = "ibdiagnet2.db_csv"
PortKey = tuple[str, int]


class Ibdiagnet2DbCsvReader:
    """Reads the database file; sections that hold nothing of links are counted by name."""

    format_id: ClassVar[str] = "ibdiagnet2_db_csv"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="ibdiagnet2, ibdiagnet2.db_csv",
        versions="columns as public tools read them between 2014 and 2025",
        recognised_by="sections between `START_NODES`, `START_PORTS`, `START_PM_INFO` and their ends",
        gives=(
            "state, width and speed of every port, performance counters, both ends of every link, "
            "cable makers' serial and part numbers, serial numbers of switches"
        ),
        traps=(
            "Columns are found by name; a version that renames one leaves its value out, not wrong.",
            "Where a 64-bit column exists the classic one is left out, because it stops at its ceiling.",
            "The counters are sums without a start: one file tells no rate.",
            "Port 0 of a switch is its management port and has no cable.",
            "The file names no time.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with one of the sections of ports, links or counters."""
        if file.is_binary or "START_" not in file.head:
            return 0
        named = {found["name"] for line in file.head.splitlines() if (found := MARK.match(line))}
        return 96 if named & _WANTED and count_hits(file, MARK, 1) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Readings of all ports, the links with their cables, the switches."""
        result, others = ReadResult(), Counter[str]()
        tables: dict[str, list[Row]] = {}
        for row in section_rows(file, _WANTED, result, others):
            tables.setdefault(row.section, []).append(row)
        database = _Database(tables, result)
        database.tell()
        if others:
            result.facts["other_sections"] = dict(others.most_common(_SHOWN_NAMES))
        return stamped(result, file)


class _Database:
    """The tables of one file and what they give together."""

    def __init__(self, tables: dict[str, list[Row]], result: ReadResult) -> None:
        self._tables = tables
        self._result = result
        self._nodes: dict[str, tuple[str, str]] = {}
        self._port_guids: dict[PortKey, tuple[str, int | None]] = {}
        self._names = Names()
        self._fabric = Fabric()
        self._rows: dict[PortKey, Row] = {}

    def tell(self) -> None:
        """Nodes first, because every other table names ports by the GUID of their node."""
        for row in self._of("NODES"):
            guid = normalise_guid(row.text_of("nodeguid"))
            kind = _KINDS.get(row.number("nodetype") or 0, "")
            self._nodes[guid] = (kind, row.text_of("nodedesc"))
        for row in self._of("PORTS"):
            key = _key(row, "nodeguid", "portnum")
            if key is None:
                self._refuse(row, "a port without a GUID and a number")
                continue
            self._rows[key] = row
            self._port_guids[key] = (normalise_guid(row.text_of("portguid")), row.number("lid"))
        for key in [*self._rows, *(k for row in self._of("LINKS") for k in _both(row) if k)]:
            self._names.learn(self._end(key))
        links = self._links()
        self._ports(links)
        self._counters()
        self._serials()
        topology = self._fabric.topology()
        self._result.readings = self._fabric.readings
        self._result.topology = topology if topology.links or topology.switches else None
        counts = {name.lower(): len(rows) for name, rows in self._tables.items()}
        self._result.facts["sections"] = counts

    def _of(self, section: str) -> list[Row]:
        return self._tables.get(section, [])

    def _refuse(self, row: Row, rule: str) -> None:
        self._result.rejected.append(RejectedLine(row.line, row.text[:2000], rule))

    def _end(self, key: PortKey) -> RawEnd:
        """A port as other tools print it: a switch by its own GUID, an adapter by that of the port."""
        kind, name = self._nodes.get(key[0], ("", ""))
        port_guid, lid = self._port_guids.get(key, ("", None))
        guid = key[0] if kind == "switch" else port_guid or key[0]
        return RawEnd(kind, name, key[1], guid, lid)

    def _port(self, key: PortKey) -> PortRef:
        port = self._names.port(self._end(key))
        self._fabric.note_switch(port)
        return port

    def _links(self) -> dict[PortKey, PortKey]:
        """Far ends by port; every link goes into the fabric with its cable."""
        cables = {
            key: row for row in self._of("CABLE_INFO") if (key := _key(row, "nodeguid", "portnum"))
        }
        found: dict[PortKey, PortKey] = {}
        for row in self._of("LINKS"):
            near, far = _both(row)
            if near is None or far is None:
                self._refuse(row, "a link without two ends")
                continue
            found[near], found[far] = far, near
            levels = self._levels(near, far)
            self._fabric.link(self._port(near), self._port(far), levels)
            cable = cables.get(near) or cables.get(far)
            if cable is not None:
                self._fabric.describe(self._port(near), self._port(far), _cable(cable))
        return found

    def _levels(self, key: PortKey, far: PortKey | None) -> Levels:
        """Width and rate as they are, and the most that both ends are set to."""
        row = self._rows.get(key)
        levels = Levels(row.line if row else 0)
        if row is None:
            return levels
        levels.width = _WIDTHS.get(row.number("linkwidthactv") or 0)
        name = _SPEEDS.get(row.number("linkspeedactv") or 0, "")
        levels.lane_gbps = LANE_GBPS.get(name)
        levels.lane_text = f"{levels.width or '?'}X {name}" if name else ""
        other = self._rows.get(far) if far else None
        if other is not None:
            (width, lane), (far_width, far_lane) = _most(row), _most(other)
            levels.width_max = min(width, far_width) if width and far_width else None
            levels.lane_max_gbps = min(lane, far_lane) if lane and far_lane else None
            levels.max_source = BOTH_ENDS
        return levels

    def _ports(self, links: dict[PortKey, PortKey]) -> None:
        for key, row in self._rows.items():
            port = self._port(key)
            if key[1] == 0:
                continue
            logical = _STATES.get(row.number("portstate") or 0, "")
            physical = _PHYSICAL.get(row.number("portphystate") or 0, "")
            if logical or physical:
                self._fabric.readings += port.presence(row.line, logical, physical, _TOOL)
            # Width and speed of a port that is not linked are left over from before.
            if physical == "LinkUp" or (key in links and logical != "Down"):
                self._fabric.readings += level_readings(port, self._levels(key, links.get(key)))

    def _counters(self) -> None:
        unmapped: Counter[str] = Counter()
        for row in self._of("PM_INFO"):
            key = _key(row, "nodeguid", "portnumber", "portnum")
            if key is None:
                self._refuse(row, "counters without a GUID and a port number")
            elif key[1] != 0:
                self._fabric.readings += self._counted(row, self._port(key), unmapped)
        if unmapped:
            self._result.facts["other_counters"] = [
                name for name, _ in unmapped.most_common(_SHOWN_NAMES)
            ]

    def _counted(self, row: Row, port: PortRef, unmapped: Counter[str]) -> list[Reading]:
        """One reading a canonical counter: the 64-bit column where it has a value."""
        best: dict[str, tuple[bool, str, str]] = {}
        for name, text in row.cells.items():
            plain = name.removesuffix("extended").removesuffix("ext")
            counter = "" if plain in _PARTS else counter_name(plain).counter
            is_wide = plain != name
            if not counter:
                unmapped[name] += bool(text.strip())
            elif counter not in best or (is_wide and whole(text.strip()) is not None):
                best[counter] = (is_wide, plain, text.strip())
        made = []
        for is_wide, plain, text in best.values():
            value = whole(text)
            if value is not None:
                made.append(port.count(row.line, plain, text, float(value), is_wide))
            elif text and text.upper() != "N/A" and not text.lower().startswith("0xffff"):
                self._refuse(row, f"{plain} is no number")
        return made

    def _serials(self) -> None:
        for row in self._of("SYSTEM_GENERAL_INFORMATION"):
            guid = normalise_guid(row.text_of("nodeguid"))
            stated: dict[str, Any] = {
                "serial": row.text_of("serialnumber"),
                "part_number": row.text_of("partnumber"),
                "platform": row.text_of("productname"),
            }
            if self._nodes.get(guid, ("",))[0] == "switch":
                name = self._port((guid, 0)).interface.rpartition("/")[0]
                known = {key: value for key, value in stated.items() if value}
                self._fabric.switches.setdefault(name, {"name": name}).update(known)


def _key(row: Row, guid: str, *ports: str) -> PortKey | None:
    node, port = normalise_guid(row.text_of(guid)), row.number(*ports)
    return (node, port) if node and port is not None and port < 1000 else None


def _both(row: Row) -> tuple[PortKey | None, PortKey | None]:
    return _key(row, "nodeguid1", "portnum1"), _key(row, "nodeguid2", "portnum2")


def _most(row: Row) -> tuple[int | None, float | None]:
    """Width and lane rate that a port is set to at most; what it supports where that is not stated."""
    widths = row.number("linkwidthen", "linkwidthsup") or 0
    speeds = row.number("linkspeeden", "linkspeedsup") or 0
    width = max((lanes for bit, lanes in _WIDTHS.items() if widths & bit), default=None)
    rates = [LANE_GBPS[name] for bit, name in _SPEEDS.items() if speeds & bit]
    return width, max(rates, default=None)


def _cable(row: Row) -> dict[str, Any]:
    stated = {
        "cable_serial": row.text_of("sn"),
        "cable_part_number": row.text_of("pn"),
        "cable_vendor": row.text_of("vendor"),
    }
    return {key: value for key, value in stated.items() if value}
