"""Reads `ibdiagnet2.cables`: the cable or module of each port (maker, part, serial, length).

It is an inventory: serial and part numbers matter for a ticket, but no state or counter is in it.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from fabric_pipeline.model.records import ReadResult, UnknownFact
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.guids import normalise_guid
from fabric_pipeline.sources.infiniband.ibdiagnet_statements import named_port
from fabric_pipeline.sources.infiniband.lines import body_lines, count_hits, reject

_HEADER = re.compile(
    r"^\s*Port=(?P<port>\d{1,4}(?:/\d{1,3}){0,3})\s+Lid=(?P<lid>0x[0-9a-fA-F]{1,6}|\d{1,6})\s+"
    r"GUID=(?P<guid>0x[0-9a-fA-F]{1,16})\s+Port Name=(?P<name>\S.{0,140})$"
)
_FIELD = re.compile(r"^\s*(?P<name>[A-Za-z][\w ()/,.-]{0,50}?)\s*:\s*(?P<value>.{0,400})$")
_RULE = re.compile(r"^[-=]{5,}$")


class Ibdiagnet2CablesReader:
    """Reader of ibdiagnet2 cable inventories."""

    format_id: ClassVar[str] = "ibdiagnet2_cables"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset()
    note: ClassVar[FormatNote] = FormatNote(
        tool="ibdiagnet2, ibdiagnet2.cables",
        versions="not stated",
        recognised_by="block headers `Port=2 Lid=0x.. GUID=0x.. Port Name=...`",
        gives="facts only: maker, part number, serial number and length of each cable",
        traps=("An inventory has no states and no counters.",),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with one block header."""
        return 95 if count_hits(file, _HEADER, 1) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """One fact block a cable end; states and counters are named as not measured."""
        result = ReadResult()
        cables: list[dict[str, Any]] = []
        for number, line in body_lines(file, result):
            if found := _HEADER.match(line):
                cables.append(_cable(number, found))
            elif cables and (found := _FIELD.match(line)):
                cables[-1][found.group("name")] = found.group("value").strip()
            elif cables and line.strip() and not _RULE.match(line.strip()):
                reject(result, number, line, "a line of a cable block without a field name")
        result.facts["cables"] = cables
        result.unknown.append(
            UnknownFact("", "", "port states and error counters", "an inventory holds neither")
        )
        return result


def _cable(line: int, found: re.Match[str]) -> dict[str, Any]:
    name = found.group("name").strip()
    port = named_port(name)
    return {
        "line": line,
        "component": port.id if port else "",
        "port_name": name,
        "port": found.group("port"),
        "guid": normalise_guid(found.group("guid")),
    }
