"""Reads `rdma link` and `rdma statistic` of iproute2: state and RDMA counters, one port a line.

The counters are those of sysfs `hw_counters` under the same names. Only `rdma link` tells what kind of
link a port has: with a LID it is InfiniBand, with a network interface alone it is Ethernet (RoCE).
"""

from __future__ import annotations

import re
from typing import ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.lines import (
    body_lines,
    count_hits,
    reject,
    stamped,
    typed_command,
)
from fabric_pipeline.sources.infiniband.ports import PortRef

_ROW = re.compile(
    r"^\s{0,8}(?:[0-9]{1,4}/[0-9]{1,4}: ?|link )(?P<device>[A-Za-z]\w{1,40})/(?P<port>[0-9]{1,3}):? "
    r"(?P<pairs>\w{2,60} \S.{0,3900})$"
)
_STATE = re.compile(r"\bstate [A-Z_]{3,20}(?:\s|$)")
_NUMBER = re.compile(r"^[0-9]{1,20}$")
_LOGICAL = frozenset({"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"})
_WORDS = frozenset({"subnet_prefix", "lmc", "netdev", "netdev_index", "physical_state", "state"})
_PHYSICAL = {
    "LINK_UP": "LinkUp",
    "POLLING": "Polling",
    "DISABLED": "Disabled",
    "SLEEP": "Sleep",
    "PORT_CONFIGURATION_TRAINING": "PortConfigurationTraining",
    "LINK_ERROR_RECOVER": "LinkErrorRecovery",
    "LINK_ERROR_RECOVERY": "LinkErrorRecovery",
}


class RdmaPortsReader:
    """Reader of the port lists of the `rdma` tool."""

    format_id: ClassVar[str] = "rdma_ports"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="rdma link show, rdma statistic show (iproute2)",
        versions="not stated; rows with and without a leading index",
        recognised_by="rows `link mlx5_0/1 state ACTIVE ...` or `link mlx5_0/1 <counter> <number> ...`",
        gives="port state and LIDs; RDMA counters of every port of a host",
        traps=(
            "The counters are sums without a start: one listing tells no rate.",
            "The output names no host and no time.",
            "A statistic does not say whether the port is InfiniBand or Ethernet.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Likely with one row that has a port and a pair of words."""
        return 65 if count_hits(file, _ROW, 1) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """State of each port of a `link` list, counters of each of a `statistic` list."""
        result = ReadResult()
        host = file.hints.node
        for number, line in body_lines(file, result):
            command = typed_command(line, "rdma")
            if command:
                host = file.hints.node or command.host
            elif found := _ROW.match(line):
                words = found["pairs"].split()
                pairs = dict(zip(words[::2], words[1::2], strict=False))
                interface = f"{found['device']}/{found['port']}"
                port = PortRef(host, interface, interface, _link_type(pairs))
                if _STATE.search(line):
                    _emit_state(number, pairs, port, result)
                else:
                    _emit_counters(number, line, pairs, port, result)
        return stamped(result, file)


def _link_type(pairs: dict[str, str]) -> str:
    return "roce" if "netdev" in pairs and "lid" not in pairs else "infiniband"


def _emit_state(line: int, pairs: dict[str, str], port: PortRef, result: ReadResult) -> None:
    logical, physical = pairs.get("state", ""), pairs.get("physical_state", "")
    if logical not in _LOGICAL:
        reject(result, line, f"state {logical}", f"{logical[:40]!r} is no state of a port")
        return
    words = _PHYSICAL.get(physical, physical)
    result.readings += port.presence(line, logical, words, "rdma link")
    for name, counter in (("lid", "base_lid"), ("sm_lid", "sm_lid")):
        text = pairs.get(name, "")
        if _NUMBER.match(text):
            result.readings.append(
                port.reading(line, name, text, counter=counter, value=float(text))
            )


def _emit_counters(
    line: int, text: str, pairs: dict[str, str], port: PortRef, result: ReadResult
) -> None:
    for name, value in pairs.items():
        if _NUMBER.match(value):
            result.readings.append(port.count(line, name, value, float(value), is_wide=True))
        elif name not in _WORDS:
            reject(result, line, text, f"the counter {name} has no number")
