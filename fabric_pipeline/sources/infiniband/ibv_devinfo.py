"""Reads `ibv_devinfo`: state, width and speed of every port of one host, one block a device.

Works with and without `-v`; the many capability rows of `-v` are left out. Width and speed are read
only while the port is active.
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
from fabric_pipeline.sources.infiniband.rates import parse_width

_DEVICE = re.compile(r"^\s{0,8}hca_id:\s{1,20}([\w.-]{1,64})\s*$")
_PORT = re.compile(r"^\s{1,40}port:\s{1,20}([0-9]{1,3})\s*$")
_FIELD = re.compile(
    r"^\s{1,40}(state|phys_state|link_layer|active_width|active_speed|port_lid|sm_lid):"
    r"\s{1,20}(\S.{0,100}?)\s*$"
)
_CODE = re.compile(r"\s*\([0-9]{1,5}\)$")
_SPEED = re.compile(r"^([0-9]{1,4}(?:\.[0-9]{1,4})?) ?Gbps$")
_NUMBER = re.compile(r"^[0-9]{1,6}$")
_LAYERS = {"infiniband": "infiniband", "ib": "infiniband", "ethernet": "roce"}
_STATES = {
    "PORT_DOWN": "Down",
    "PORT_INIT": "Init",
    "PORT_ARMED": "Armed",
    "PORT_ACTIVE": "Active",
    "PORT_ACTIVE_DEFER": "Active",
}
_PHYSICAL = {
    "LINK_UP": "LinkUp",
    "POLLING": "Polling",
    "DISABLED": "Disabled",
    "SLEEP": "Sleep",
    "LINK_ERROR_RECOVERY": "LinkErrorRecovery",
}


@dataclass(slots=True)
class _Block:
    """One port: its fields with the lines they stand on."""

    device: str
    port: str
    line: int
    fields: dict[str, tuple[int, str]] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """The value without the code in brackets."""
        return _CODE.sub("", self.fields.get(name, (0, ""))[1])


class IbvDevinfoReader:
    """Reader of `ibv_devinfo` listings."""

    format_id: ClassVar[str] = "ibv_devinfo"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="ibv_devinfo, -v (rdma-core)",
        versions="not stated; with and without `phys_state`",
        recognised_by="block headers `hca_id:` with rows such as `state: PORT_ACTIVE (4)`",
        gives="port state, width, speed and LIDs of every port of a host",
        traps=(
            "The speed it prints is that of one lane.",
            "Width and speed of a port that is down have no meaning and are left out.",
            "The output names no host.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Likely with the header of a device; a listing with counters beside it is worth more."""
        return 65 if count_hits(file, _DEVICE, 1) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """State, width and speed of each port."""
        result, host, device = ReadResult(), file.hints.node, ""
        blocks: list[_Block] = []
        for number, line in body_lines(file, result):
            command = typed_command(line, "ibv_devinfo")
            if command:
                host = file.hints.node or command.host
            elif found := _DEVICE.match(line):
                device = found[1]
            elif device and (found := _PORT.match(line)):
                blocks.append(_Block(device, found[1], number))
            elif blocks and blocks[-1].device == device and (found := _FIELD.match(line)):
                blocks[-1].fields.setdefault(found[1], (number, found[2]))
        for block in blocks:
            _emit(block, host, result)
        return stamped(result, file)


def _emit(block: _Block, host: str, result: ReadResult) -> None:
    interface = f"{block.device}/{block.port}"
    kind = _LAYERS.get(block.text("link_layer").lower(), "infiniband")
    port = PortRef(host, interface, f"{block.device} port {block.port}", kind)
    line, text = block.fields.get("state", (block.line, ""))
    state = _STATES.get(block.text("state"))
    if state is None:
        if text:
            reject(result, line, text, "the state is none that ports have")
        reason = f"the block of {interface} does not state it"
        result.unknown.append(UnknownFact(host, interface, "port state", reason))
        return
    physical = _PHYSICAL.get(block.text("phys_state"), block.text("phys_state"))
    result.readings += port.presence(line, state, physical, "ibv_devinfo")
    for name, counter in (("port_lid", "base_lid"), ("sm_lid", "sm_lid")):
        if kind == "infiniband" and _NUMBER.match(block.text(name)):
            line, text = block.fields[name]
            lid = float(block.text(name))
            result.readings.append(port.reading(line, name, text, counter=counter, value=lid))
    if state == "Active":
        _emit_levels(block, port, result)


def _emit_levels(block: _Block, port: PortRef, result: ReadResult) -> None:
    width = parse_width(block.text("active_width"))
    if not width:
        return
    line, text = block.fields["active_width"]
    result.readings.append(port.level(line, "width", text, width))
    speed = _SPEED.match(block.text("active_speed"))
    if speed:
        line, text = block.fields["active_speed"]
        total = float(speed[1]) * width
        result.readings.append(port.level(line, "speed_gbps", text, total, f"{width}x {text}"))
