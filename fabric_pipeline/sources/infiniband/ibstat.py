"""Reads `ibstat`: the adapters of one host and the state of their ports.

Also takes the short form for a single port (`CA: 'mlx5_0'`). The tool prints a rate without a
width, and for a port that is down that rate has no meaning, so it is kept uninterpreted then.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

from fabric_pipeline.model.records import ReadResult, TopologyPart, UnknownFact
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.guids import normalise_guid
from fabric_pipeline.sources.infiniband.lines import (
    body_lines,
    count_hits,
    head_lines,
    reject,
    stamped,
    typed_command,
)
from fabric_pipeline.sources.infiniband.ports import PortRef
from fabric_pipeline.sources.infiniband.rates import parse_rate

_DEVICE = re.compile(r"^\s*(?:CA|Switch|Router|iWARP RNIC)\s*:?\s+'([^']{1,64})'\s*$")
_PORT = re.compile(r"^\s*Port (\d{1,3}):\s*$")
_FIELD = re.compile(r"^\s*([A-Z][\w ]{2,30}):\s*(.*)$")
_PORT_FIELDS = frozenset(
    {
        "State",
        "Physical state",
        "Rate",
        "Effective speed",
        "Base lid",
        "LMC",
        "SM lid",
        "Capability mask",
        "Port GUID",
        "Link layer",
    }
)
_LAYERS = {"infiniband": "infiniband", "ib": "infiniband", "ethernet": "roce"}


@dataclass(slots=True)
class _Section:
    """One port of the listing: fields with the lines they stand on."""

    device: str
    port: str
    line: int
    device_fields: dict[str, str]
    fields: dict[str, tuple[int, str]] = field(default_factory=dict)


class IbstatReader:
    """Reader of `ibstat` listings."""

    format_id: ClassVar[str] = "ibstat"
    version: ClassVar[str] = "2"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="ibstat",
        versions="infiniband-diags 44.0; others not stated (HCA firmware 28.39 and 28.41)",
        recognised_by="`CA 'mlx5_0'` with ports and their physical state, or the short form of one port",
        gives="port state, rate and LIDs of every adapter port of a host; firmware and GUIDs as facts",
        traps=(
            "The rate of a port that is down has no meaning and is kept uninterpreted.",
            "A rate stands without its width, so a lost lane shows only as a lower rate.",
            "Lines that a cut took away are unknown, not healthy.",
            "The host comes from a prompt or the folder; the output names none.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with an adapter header and a port with its physical state."""
        if count_hits(file, _DEVICE, 1):
            return 95 if _has_field(file, "Physical state:") else 70
        has_port = count_hits(file, _PORT, 1) and _has_field(file, "Physical state:")
        return 60 if has_port and _has_field(file, "Link layer:") else 0

    def read(self, file: SourceFile) -> ReadResult:
        """States and rates of all ports; firmware and GUIDs as facts."""
        result = ReadResult()
        host = file.hints.node
        sections: list[_Section] = []
        device, device_fields = "", dict[str, str]()
        current: _Section | None = None
        for number, line in body_lines(file, result):
            command = typed_command(line, "ibstat")
            if command:
                host = host or command.host
            elif found := _DEVICE.match(line):
                device, device_fields, current = found.group(1), {}, None
                result.facts.setdefault("adapters", {})[device] = device_fields
            elif found := _PORT.match(line):
                current = _Section(device, found.group(1), number, device_fields)
                sections.append(current)
            elif found := _FIELD.match(line):
                _keep(
                    found.group(1).strip(), found.group(2).strip(), number, current, device_fields
                )
            elif current is not None and line.strip() and ":" not in line:
                reject(result, number, line, "a line of an ibstat port without a field name")
        for section in sections:
            _emit(section, host, result)
        result.topology = _adapters(sections, host)
        if device and not sections:
            result.unknown.append(UnknownFact(host, device, "port state", "no port is listed"))
        return stamped(result, file)


def _adapters(sections: list[_Section], host: str) -> TopologyPart | None:
    """The adapters of a known host with the GUIDs of their ports, by which other tools name them."""
    nics: dict[str, dict[str, Any]] = {}
    for section in sections:
        guid = normalise_guid(section.fields.get("Port GUID", (0, ""))[1])
        if host and section.device and guid:
            nic = nics.setdefault(section.device, {"hca": section.device, "port_guids": []})
            nic["port_guids"].append(guid)
    if not nics:
        return None
    return TopologyPart(nodes=[{"node": host, "nics": list(nics.values())}])


def _has_field(file: SourceFile, name: str) -> bool:
    return any(line.lstrip().startswith(name) for line in head_lines(file))


def _keep(
    name: str, value: str, line: int, section: _Section | None, device_fields: dict[str, str]
) -> None:
    if section is None:
        device_fields[name] = value
    elif name in _PORT_FIELDS:
        section.fields[name] = (line, value)


def _port_ref(section: _Section, host: str) -> PortRef:
    layer = section.fields.get("Link layer", (0, ""))[1].lower()
    guid = normalise_guid(section.fields.get("Port GUID", (0, ""))[1])
    kind = section.device_fields.get("CA type", "")
    interface = f"{section.device}/{section.port}" if section.device else ""
    entity = f"CA '{section.device}' ({kind or '-'}) port {section.port} guid {guid or '-'}"
    return PortRef(host, interface, entity, _LAYERS.get(layer, ""), guid=guid)


def _emit(section: _Section, host: str, result: ReadResult) -> None:
    port = _port_ref(section, host)
    missing = [name for name in ("State", "Physical state") if name not in section.fields]
    if len(missing) < 2:
        line, logical = section.fields.get("State", (section.line, ""))
        physical = section.fields.get("Physical state", (line, ""))[1]
        result.readings += port.presence(line, logical, physical, "ibstat")
    for name in missing:
        result.unknown.append(
            UnknownFact(host, port.interface, name.lower(), "the listing ends before this line")
        )
    if "Link layer" not in section.fields:
        result.unknown.append(
            UnknownFact(host, port.interface, "link layer", "the listing ends before this line")
        )
    _emit_rate(section, port, result)
    for name, counter in (("Base lid", "base_lid"), ("SM lid", "sm_lid")):
        line, text = section.fields.get(name, (0, ""))
        if text.isascii() and text.isdecimal():
            result.readings.append(
                port.reading(line, name, text, counter=counter, value=float(text))
            )


def _emit_rate(section: _Section, port: PortRef, result: ReadResult) -> None:
    if "Rate" not in section.fields:
        return
    line, text = section.fields["Rate"]
    rate = parse_rate(text.replace("(FDR10)", ""))
    if rate is None:
        reject(result, line, text, "the rate of an ibstat port is no number")
        return
    is_down = section.fields.get("State", (0, ""))[1].lower() == "down"
    result.readings.append(
        port.reading(line, "Rate", text, value=rate.total_gbps)
        if is_down
        else port.level(line, "speed_gbps", text, rate.total_gbps)
    )
