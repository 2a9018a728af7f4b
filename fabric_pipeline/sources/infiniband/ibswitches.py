"""Reads `ibswitches` (and `ibhosts`, `ibnodes`): names, GUIDs and LIDs of the nodes of a fabric.

The list holds no state and no counter, so it yields topology only.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from fabric_pipeline.model.records import ReadResult, TopologyPart, UnknownFact
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.guids import (
    is_product_name,
    normalise_guid,
    split_description,
)
from fabric_pipeline.sources.infiniband.lines import body_lines, count_hits, reject

_ROW = re.compile(
    r"^\s*(?P<kind>Switch|Ca|Rt)\s*:\s+(?P<guid>0x[0-9a-fA-F]{1,16})\s+ports\s+(?P<ports>\d{1,4})\s+"
    r"\"(?P<name>[^\"]{0,128})\"(?:.{0,40}?\blid (?P<lid>\d{1,6}))?"
)
_LOOSE = re.compile(r"^\s*(?:Switch|Ca|Rt)\s*:\s+0x[0-9a-fA-F]{1,16}(?:\s+ports\b|\s*$)")


class IbswitchesReader:
    """Reader of node lists."""

    format_id: ClassVar[str] = "ibswitches"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="ibswitches, ibhosts, ibnodes",
        versions="infiniband-diags 44.0",
        recognised_by='rows `Switch : 0xguid ports 40 "name"`',
        gives="switches with GUID, LID and number of ports, hosts with their adapters",
        traps=("A node list has no states and no counters.",),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with one row."""
        return 95 if count_hits(file, _LOOSE, 1) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Switches, and hosts when the list names any."""
        topology, hosts = TopologyPart(), dict[str, dict[str, Any]]()
        result = ReadResult(topology=topology)
        for number, line in body_lines(file, result):
            found = _ROW.match(line)
            if found:
                _keep(found, topology, hosts)
            elif _LOOSE.match(line):
                reject(result, number, line, "a row of the node list is cut")
        result.unknown.append(
            UnknownFact("", "", "port states and error counters", "a node list states neither")
        )
        return result


def _keep(found: re.Match[str], topology: TopologyPart, hosts: dict[str, dict[str, Any]]) -> None:
    name, guid = " ".join(found.group("name").split()), normalise_guid(found.group("guid"))
    if found.group("kind") == "Switch":
        entry: dict[str, Any] = {
            "name": guid if is_product_name(name) else name,
            "guid": guid,
            "ports": int(found.group("ports")),
        }
        if found.group("lid"):
            entry["lid"] = int(found.group("lid"))
        topology.switches.append(entry)
        return
    host, adapter = split_description(name)
    if host and host not in hosts:
        hosts[host] = {"node": host, "nics": []}
        topology.nodes.append(hosts[host])
    if host and adapter:
        hosts[host]["nics"].append({"hca": adapter})
