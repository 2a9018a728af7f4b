"""Reads `ibstatus`: state, rate and link layer of every port of one host, one block a port.

The listing is often pasted and cut; a block that ends early yields what stands there and one
unknown fact for each line that is missing.
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
from fabric_pipeline.sources.infiniband.rates import parse_rate
from fabric_pipeline.sources.infiniband.states import logical_state, physical_state

_HEADER = re.compile(r"^\s*Infiniband device '([^']{1,64})' port (\d{1,3}) status:\s*$")
_FIELD = re.compile(
    r"^\s*(default gid|base lid|sm lid|state|phys state|rate|link_layer|link layer):\s*(.*)$"
)
_LAYERS = {"infiniband": "infiniband", "ib": "infiniband", "ethernet": "roce"}
_EXPECTED = ("state", "phys state", "rate", "link layer")


@dataclass(slots=True)
class _Block:
    """One port of the listing: fields with the lines they stand on."""

    device: str
    port: str
    line: int
    fields: dict[str, tuple[int, str]] = field(default_factory=dict)


class IbstatusReader:
    """Reader of `ibstatus` listings."""

    format_id: ClassVar[str] = "ibstatus"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="ibstatus",
        versions="not stated",
        recognised_by="block headers `Infiniband device 'mlx5_0' port 1 status:`",
        gives="port state, rate, width and LIDs of every port of a host",
        traps=(
            "The rate of a port that is down has no meaning and is kept uninterpreted.",
            "Each missing line of a cut block is one unknown fact.",
            "The output names no host.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with the tool's own block header."""
        return 95 if count_hits(file, _HEADER, 1) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """State, width and speed of each port."""
        result = ReadResult()
        host = file.hints.node
        blocks: list[_Block] = []
        for number, line in body_lines(file, result):
            command = typed_command(line, "ibstatus")
            if command:
                host = host or command.host
            elif found := _HEADER.match(line):
                blocks.append(_Block(found.group(1), found.group(2), number))
            elif blocks and (found := _FIELD.match(line)):
                name = found.group(1).replace("_", " ")
                blocks[-1].fields[name] = (number, found.group(2).strip())
            elif blocks and line.strip() and line[0].isspace():
                reject(result, number, line, "a line of an ibstatus block without a known field")
        for block in blocks:
            _emit(block, host, result)
        return stamped(result, file)


def _emit(block: _Block, host: str, result: ReadResult) -> None:
    layer = block.fields.get("link layer", (0, ""))[1].lower()
    interface = f"{block.device}/{block.port}"
    port = PortRef(host, interface, f"'{block.device}' port {block.port}", _LAYERS.get(layer, ""))
    for name in _EXPECTED:
        if not block.fields.get(name, (0, ""))[1]:
            result.unknown.append(
                UnknownFact(host, interface, name, f"the block of {interface} has no such line")
            )
    logical = block.fields.get("state", (0, ""))[1]
    physical = physical_state(block.fields.get("phys state", (0, ""))[1])
    if logical or physical:
        line = block.fields.get("state", (block.line, ""))[0]
        result.readings += port.presence(line, logical, physical, "ibstatus")
    for name in ("base lid", "sm lid"):
        line, text = block.fields.get(name, (0, ""))
        if re.fullmatch(r"0x[0-9a-fA-F]{1,8}", text):
            counter = name.replace(" ", "_")
            lid = float(int(text, 16))
            result.readings.append(port.reading(line, name, text, counter=counter, value=lid))
    _emit_rate(block, port, logical_state(logical) == "Down", result)


def _emit_rate(block: _Block, port: PortRef, is_down: bool, result: ReadResult) -> None:
    line, text = block.fields.get("rate", (0, ""))
    if not text or text == "unknown":
        return
    rate = parse_rate(text)
    if rate is None:
        reject(result, line, text, "the rate of an ibstatus block is cut or no rate")
        return
    # PortInfo of a port that is down holds no valid width or speed (InfiniBand C14-24.2.1)
    if is_down:
        result.readings.append(port.reading(line, "rate", text, value=rate.total_gbps))
        return
    result.readings.append(port.level(line, "speed_gbps", text, rate.total_gbps, rate.name))
    if rate.width:
        result.readings.append(port.level(line, "width", text, rate.width))
