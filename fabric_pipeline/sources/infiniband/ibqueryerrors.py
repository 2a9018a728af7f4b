"""Reads `ibqueryerrors`: ports whose counters exceed a threshold, and the summary of the check.

Understands the long counter names, the short ones of old versions, scaled figures in brackets
(which repeat the number) and the optional `Link info:` rows. `port ALL` is a capped sum over a
switch and never a port. A port that is not listed was not read: it is not known to be zero.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from fabric_pipeline.model.records import Reading, ReadResult, UnknownFact
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.fabric import Fabric, FabricRow, Names, RawEnd
from fabric_pipeline.sources.infiniband.guids import (
    is_product_name,
    normalise_guid,
    split_description,
)
from fabric_pipeline.sources.infiniband.iblinkinfo import parse_row
from fabric_pipeline.sources.infiniband.lines import body_lines, count_hits, reject, stamped
from fabric_pipeline.sources.infiniband.ports import PortRef, adapter_port, switch_port

_NODE = re.compile(
    r"^\s*(?:Errors|Data Counters) for (?:(?P<guid>0x[0-9a-fA-F]{1,16}) )?\"(?P<name>[^\"]{0,128})\""
)
_PORT = re.compile(
    r"^\s*GUID (?P<guid>0x[0-9a-fA-F]{1,16}) port (?P<port>ALL|\d{1,4})\s*:(?P<counters>.*)$"
)
_LOOSE = re.compile(r"^\s*(?:GUID 0x|Errors for |Link info:)")
_COUNTER = re.compile(r"\[\s*(\w{3,64})\s*==?\s*([0-9]{1,20})\s*(?:\([^()\]]{0,40}\))?\s*\]")
_SUMMARY = re.compile(r"^\s*##\s*Summary: ([0-9]{1,9}) nodes checked, ([0-9]{1,9}) bad nodes found")
_PORTS = re.compile(r"^\s*##\s*([0-9]{1,9}) ports checked, ([0-9]{1,9}) ports have errors")
_FAILURES = re.compile(r"^\s*##\s*([0-9]{1,9}) PMA query failures")


@dataclass(slots=True)
class _Current:
    """The node and port that following lines belong to."""

    kind: str = ""
    guid: str = ""
    name: str = ""
    port: PortRef | None = None
    end: RawEnd | None = None


class IbqueryerrorsReader:
    """Reader of `ibqueryerrors` listings."""

    format_id: ClassVar[str] = "ibqueryerrors"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="ibqueryerrors",
        versions="infiniband-diags 44.0, a listing of 2021, a newer form with scaled figures",
        recognised_by=(
            "`Errors for ...`, port rows `GUID 0x.. port 3: [SymbolErrorCounter == 5]`, or the "
            "summary"
        ),
        gives=(
            "error counters of the ports above the tool's threshold, links where they are "
            "printed, how many ports were checked"
        ),
        traps=(
            (
                "A port that is not listed was below the threshold or not read: it is not known "
                "to be zero."
            ),
            "`port ALL` is a capped sum over a switch and never a port.",
            "Classic counters at their ceiling are saturated.",
            "Scaled figures in brackets repeat the number; they are not added.",
            "Ports that did not answer the query are unknown.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with a node header, a port row or the summary."""
        if count_hits(file, _NODE, 1) or count_hits(file, _SUMMARY, 1):
            return 95
        return 90 if count_hits(file, _PORT, 1) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Counters of the listed ports, links where given, and how many ports were checked."""
        result, current = ReadResult(), _Current()
        rows = list[FabricRow]()
        for number, line in body_lines(file, result):
            if found := _NODE.match(line):
                current = _node(found)
            elif found := _PORT.match(line):
                _take_port(number, line, found, current, result)
            elif "Link info:" in line:
                _take_link(number, line, current, rows, result)
            elif line.lstrip().startswith("##"):
                _take_summary(number, line, result)
            elif _LOOSE.match(line):
                reject(result, number, line, "a row of ibqueryerrors is cut or unreadable")
        fabric, names = Fabric(), Names.of(rows)
        for row in rows:
            fabric.add(row, names, "ibqueryerrors")
        result.readings += fabric.readings
        result.topology = fabric.topology() if rows else None
        return stamped(result, file)


def _node(found: re.Match[str]) -> _Current:
    # the tool prints the GUID in a header for switches only
    guid = normalise_guid(found.group("guid") or "")
    return _Current("switch" if guid else "adapter", guid, found.group("name").strip())


def _take_port(
    number: int, line: str, found: re.Match[str], current: _Current, result: ReadResult
) -> None:
    counters = _COUNTER.findall(found.group("counters"))
    if not counters or found.group("counters").count("[") > len(counters):
        reject(result, number, line, "a counter of this port row is cut or unreadable")
    port = _port(found, current)
    for name, value in counters:
        reading = port.count(number, name, value, float(value))
        result.readings.append(reading)


def _port(found: re.Match[str], current: _Current) -> PortRef:
    guid, number = normalise_guid(found.group("guid")), found.group("port")
    kind = current.kind or "switch"
    name = current.name
    if number == "ALL":
        device = name if name and not is_product_name(name) else guid
        return PortRef("", device, f'{guid} "{name}" port ALL', guid=guid, scope="switch_sum")
    current.end = RawEnd(kind, name, int(number), guid)
    if kind == "switch":
        usable = "" if is_product_name(name) else name
        current.port = switch_port(usable or guid, number, guid)
    else:
        host, adapter = split_description(name)
        current.port = adapter_port(host, adapter, number, guid)
    return current.port


def _take_link(
    number: int, line: str, current: _Current, rows: list[FabricRow], result: ReadResult
) -> None:
    row = parse_row(number, line.partition("Link info:")[2])
    if row is None or current.end is None:
        reject(result, number, line, "a link row of ibqueryerrors is cut or has no port above it")
        return
    end = current.end
    row.own = RawEnd(end.kind, end.name, row.own.port, end.guid, row.own.lid)
    rows.append(row)


def _take_summary(number: int, line: str, result: ReadResult) -> None:
    if found := _SUMMARY.match(line):
        result.facts["nodes_checked"] = int(found.group(1))
        result.facts["bad_nodes"] = int(found.group(2))
    elif found := _PORTS.match(line):
        result.facts["ports_checked"] = int(found.group(1))
        result.facts["ports_with_errors"] = int(found.group(2))
        result.readings.append(
            Reading(
                number,
                "ports have errors beyond threshold",
                found.group(2),
                entity_text="ibqueryerrors summary",
                link_type="infiniband",
                counter="fabric_check_errors",
                value=float(found.group(2)),
                kind="gauge",
                scope="switch_sum",
            )
        )
    elif found := _FAILURES.match(line):
        count = int(found.group(1))
        result.facts["pma_query_failures"] = count
        if count:
            result.unknown.append(
                UnknownFact("", "", "error counters", f"{count} ports did not answer the query")
            )
