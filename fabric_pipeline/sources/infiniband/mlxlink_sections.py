"""Meaning of the fields that `mlxlink` prints, shared by its text and its JSON form.

A section is what one run printed about one port. `15E-255` is the tool's way to say zero; raw
errors are counted before FEC and are normal. Operation codes follow the vendor's list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from fabric_pipeline.model.records import FabricEvent, ReadResult, RejectedLine, UnknownFact
from fabric_pipeline.sources.infiniband.mlxlink_module import emit_fec_bins, emit_module
from fabric_pipeline.sources.infiniband.ports import PortRef
from fabric_pipeline.sources.infiniband.rates import parse_speed_name, parse_width

NOT_MEASURED = frozenset({"", "n/a", "na", "-", "--", "unknown", "none"})
_NUMBER = re.compile(r"^[0-9]{1,20}$")
_RATE = re.compile(r"^[0-9]{1,3}(?:\.[0-9]{1,12})?(?:E[-+]?[0-9]{1,3})?$", re.IGNORECASE)
_PCI = re.compile(r"^(?:[0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$")
_OPCODE = re.compile(r"^\d{1,5}$")

_COUNTERS = {
    "effective physical errors": "effective_error",
    "symbol errors": "symbol_error",
    "link down counter": "link_downed",
    "link error recovery counter": "link_error_recovery",
    "total successful recovery events": "link_error_recovery",
}
_ERROR_RATES = {
    "raw physical ber": "raw_ber",
    "effective physical ber": "effective_ber",
    "symbol ber": "symbol_ber",
}
_LANE_ERRORS = "raw physical errors per lane"

# Operation codes that speak of the signal itself, and those of missing or refused modules:
# NVIDIA NVOS manual, "Link Diagnostic Per Port".
_SIGNAL_CODES = frozenset({5, 6, 7, 8, 15, 17, 34, 35, 42, 48, 49, 52, 57, 1027, 1031})
_NO_FAULT_CODES = frozenset({0, 1, 128, 1023, 1024, 1033, 1034})


@dataclass(slots=True)
class Section:
    """Fields of one run: lower-case name -> (line or None, value as printed)."""

    port: PortRef
    line: int | None
    fields: dict[str, tuple[int | None, str]] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """The value of a field, "" when it is absent or not measured."""
        value = self.fields.get(name, (None, ""))[1]
        return "" if value.lower() in NOT_MEASURED else value

    def line_of(self, name: str) -> int | None:
        """The line of a field."""
        return self.fields.get(name, (self.line, ""))[0]


def port_of_device(host: str, device: str, port: str, number: int) -> PortRef:
    """The port a typed `-d <device> -p <port>` means; `number` tells unnamed sections apart."""
    name = device.rstrip("/").rpartition("/")[2]
    entity = f"{device} port {port or '1'}".strip()
    if not name:
        return PortRef(host, "" if number == 1 else f"device-{number}", entity, "")
    if _PCI.match(name):
        full = name if name.count(":") == 2 else f"0000:{name}"
        return PortRef(host, f"pci-{full.lower()}", entity, "")
    if name.startswith(("mlx5_", "mlx4_")):
        return PortRef(host, f"{name}/{port or '1'}", entity, "")
    if "_" in name:
        return PortRef(host, f"{name}/port-{port or '1'}", entity, "")
    return PortRef(host, name, entity, "")


def typed_link(port: PortRef, speed: str) -> PortRef:
    """The same port with the link type its speed name shows."""
    kind = "infiniband" if speed.upper().startswith("IB-") else ""
    if not kind and speed:
        kind = "ethernet" if speed[0].isdigit() else "infiniband"
    return PortRef(port.node, port.interface, port.entity_text, kind or "infiniband")


def emit(section: Section, result: ReadResult) -> None:
    """Readings, events and unknown facts of one section."""
    port = typed_link(section.port, section.text("speed"))
    _emit_state(section, port, result)
    _emit_counters(section, port, result)
    _emit_lanes(section, port, result)
    _emit_advice(section, port, result)
    emit_fec_bins(section.fields, port, result)
    emit_module(section.fields, port, result)


def _emit_state(section: Section, port: PortRef, result: ReadResult) -> None:
    logical, physical = section.text("state"), section.text("physical state")
    if not logical and not physical:
        result.unknown.append(
            UnknownFact(port.node, port.interface, "port state", "the section does not state it")
        )
        return
    # the tool's words: Active, Disable, Polling, Negotiation ...; only Active carries traffic
    up = logical.lower() == "active" if logical else physical.lower() == "linkup"
    text = "/".join(part for part in ("Active" if up else logical or "Down", physical) if part)
    line = section.line_of("state" if logical else "physical state")
    result.readings += port.seen(line, float(up), text, "mlxlink")
    if up:
        _emit_levels(section, port, result)


def _emit_levels(section: Section, port: PortRef, result: ReadResult) -> None:
    width_text, speed_text = section.text("width"), section.text("speed")
    width = parse_width(width_text)
    if width:
        result.readings.append(port.level(section.line_of("width"), "width", width_text, width))
    speed = parse_speed_name(speed_text, width)
    if speed:
        line = section.line_of("speed")
        result.readings.append(port.level(line, "speed_gbps", speed_text, speed, speed_text))


def _emit_counters(section: Section, port: PortRef, result: ReadResult) -> None:
    for name, counter in _COUNTERS.items():
        text, line = section.text(name), section.line_of(name)
        if _NUMBER.match(text):
            result.readings.append(
                port.reading(line, name, text, counter=counter, value=float(text))
            )
        elif text:
            result.rejected.append(RejectedLine(line, text, f"{name} is no number"))
    for name, counter in _ERROR_RATES.items():
        text, line = section.text(name), section.line_of(name)
        if _RATE.match(text):
            result.readings.append(port.level(line, counter, text, error_rate(text)))
        elif text:
            result.rejected.append(RejectedLine(line, text, f"{name} is no error rate"))


def error_rate(text: str) -> float:
    """Errors per bit; exponents beyond -200 are the tool's spelling of zero."""
    value = float(text)
    return 0.0 if value < 1e-200 else value


def _emit_lanes(section: Section, port: PortRef, result: ReadResult) -> None:
    text, line = section.text(_LANE_ERRORS), section.line_of(_LANE_ERRORS)
    for lane, value in enumerate(_items(text)):
        if _NUMBER.match(value):
            result.readings.append(
                port.reading(
                    line,
                    _LANE_ERRORS,
                    value,
                    counter="corrected_bits",
                    value=float(value),
                    lane=lane,
                    scope="lane",
                )
            )


def _items(text: str) -> Iterator[str]:
    for part in text.split(","):
        if part.strip():
            yield part.strip()


def _emit_advice(section: Section, port: PortRef, result: ReadResult) -> None:
    """The tool's own troubleshooting line, when it is more than `no issue`."""
    code_text = section.text("status opcode")
    code = int(code_text) if _OPCODE.match(code_text) else None
    if code is None or code in _NO_FAULT_CODES:
        return
    advice = section.text("recommendation").rstrip(".")
    is_signal = code in _SIGNAL_CODES
    result.events.append(
        FabricEvent(
            section.line_of("status opcode") or 1,
            "port_diagnosis",
            f"Status Opcode {code}: {advice}",
            node=port.node,
            interface=port.interface,
            code=code,
            role="cause" if is_signal else "context",
            severity="warning" if is_signal else "watch",
            reason=f"The port's firmware reports code {code}: {advice or 'no text'}.",
        )
    )
