"""Reads `ethtool <interface>`: speed, lanes and state of network interfaces, one block an interface.

Modes that the port supports or advertises are left out: they do not say what the link runs at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from fabric_pipeline.model.records import ReadResult, UnknownFact
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.lines import (
    body_lines,
    count_hits,
    reject,
    stamped,
    typed_command,
)
from fabric_pipeline.sources.infiniband.ports import PortRef

_HEADER = re.compile(r"^\s{0,20}Settings for ([\w.@-]{1,40}):\s*$")
_FIELD = re.compile(r"^\s{1,24}(Speed|Lanes|Duplex|Port|Link detected): (.{1,200})$")
_SPEED = re.compile(r"^([0-9]{1,7})\s?Mb/s$")
_DETECTED = re.compile(r"^(?P<word>yes|no)\b\s*(?:\((?P<why>[^)]{1,120})\))?", re.IGNORECASE)
_NOT_KNOWN = ("unknown", "not reported")


@dataclass(slots=True)
class _Block:
    """One interface: its fields with the lines they stand on."""

    port: PortRef
    line: int
    fields: dict[str, tuple[int, str]] = field(default_factory=dict)


class EthtoolLinkReader:
    """Reader of the settings blocks of ethtool."""

    format_id: ClassVar[str] = "ethtool_link"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="ethtool with the name of an interface",
        versions="ethtool 4 to 6, with and without `Lanes` and the reason behind `Link detected`",
        recognised_by="blocks `Settings for eth0:`",
        gives="state, speed and lanes of each network interface, with the driver's reason for no link",
        traps=(
            "The speed of a link that is down is no speed and is left out.",
            "Supported and advertised modes are not what the link runs at.",
            "An interface without the line `Link detected` has an unknown state.",
            "The output names no host.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Likely with the header of a block; the statistics of `-S` beside it are worth more."""
        return 65 if count_hits(file, _HEADER, 1) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """State, speed and lanes of each interface."""
        result, host = ReadResult(), file.hints.node
        blocks: list[_Block] = []
        for number, line in body_lines(file, result):
            command = typed_command(line, "ethtool")
            if command:
                host = file.hints.node or command.host
            elif found := _HEADER.match(line):
                port = PortRef(host, found[1], found[1], "ethernet")
                blocks.append(_Block(port, number))
            elif blocks and (found := _FIELD.match(line)):
                blocks[-1].fields.setdefault(found[1], (number, found[2].strip()))
        for block in blocks:
            _emit(block, result)
        return stamped(result, file)


def _emit(block: _Block, result: ReadResult) -> None:
    port = block.port
    line, text = block.fields.get("Link detected", (block.line, ""))
    found = _DETECTED.match(text)
    if not found:
        if text:
            reject(result, line, text, "the line says neither yes nor no")
        reason = "the block does not say whether a link is detected"
        result.unknown.append(UnknownFact(port.node, port.interface, "link state", reason))
        return
    is_up = found["word"].lower() == "yes"
    why = f" ({found['why']})" if found["why"] else ""
    words = f"interface {'up' if is_up else 'down'}{why}"
    result.readings += port.seen(line, float(is_up), words, "ethtool")
    if is_up:
        _emit_speed(block, result)


def _emit_speed(block: _Block, result: ReadResult) -> None:
    line, text = block.fields.get("Speed", (block.line, ""))
    speed = _SPEED.match(text)
    if speed:
        value = int(speed[1]) / 1000
        result.readings.append(block.port.level(line, "speed_gbps", text, value))
    elif text and not text.lower().startswith(_NOT_KNOWN):
        reject(result, line, text, "the speed is no number of Mb/s")
    line, text = block.fields.get("Lanes", (block.line, ""))
    if text.isascii() and text.isdecimal() and 0 < int(text[:4]) <= 64:
        result.readings.append(block.port.level(line, "width", text, float(text)))
