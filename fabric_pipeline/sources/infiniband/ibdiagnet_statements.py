"""Statements of ibdiagnet2 about ports and links, as they stand in its log and in reports.

`S<guid>/N<guid>/P20` names a port by GUID, `host/U1/P1` or `host/mlx5_0/P1` by description; port
numbers are decimal here, cages count as `1/3/1`. A statement becomes readings or a context event.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from fabric_pipeline.model.records import FabricEvent, Reading
from fabric_pipeline.sources.infiniband.fabric import Fabric, Levels, level_readings
from fabric_pipeline.sources.infiniband.guids import is_adapter, is_product_name, normalise_guid
from fabric_pipeline.sources.infiniband.ports import PortRef, adapter_port, switch_port
from fabric_pipeline.sources.infiniband.rates import parse_width

_BY_GUID = re.compile(
    r"^S[0-9a-fA-F]{12,16}/N(?P<guid>[0-9a-fA-F]{12,16})/(?:[\w .-]{1,64}/)?P(?P<port>\d{1,4}(?:/\d{1,3}){0,3})$"
)
_BY_NAME = re.compile(
    r"^(?P<name>[\w.:;-]{1,80})/(?:(?P<rest>[\w.:/-]{1,60})/)?P(?P<port>\d{1,4}(?:/\d{1,3}){0,3})$"
)
_LINK = re.compile(r"^Link:\s*(?P<a>\S{3,120}?)<-->(?P<b>\S{3,120})\s+-\s+(?P<text>\S.{0,600})$")
_PORT = re.compile(r"^(?P<port>[^\s<>]{3,120})\s+-\s+(?P<text>\S.{0,600})$")
_INCREASE = re.compile(
    r"^\"(?P<counter>\w{3,64})\" increased during the run \(difference value=(?P<value>[0-9]{1,20})"
)
_VALUE = re.compile(r"^\"(?P<counter>\w{3,64})\"\D{0,60}(?P<value>[0-9]{1,20})\b")
_SPEED = re.compile(
    r"Unexpected actual link speed (?P<speed>[0-9]{1,3}(?:\.[0-9]{1,4})?)"
    r"(?:.{0,200}?final speed should be (?P<max>[0-9]{1,3}(?:\.[0-9]{1,4})?))?"
)
_WIDTH = re.compile(
    r"Unexpected (?:actual link )?width\D{0,40}(?P<width>[0-9]{1,2}x)"
    r"(?:.{0,200}?final width should be (?P<max>[0-9]{1,2}x))?",
    re.IGNORECASE,
)
_BER = re.compile(
    r"BER.{0,120}?value\s*=\s*(?P<value>[0-9]{1,12}(?:\.[0-9]{1,12})?(?:e[-+]?[0-9]{1,3})?)",
    re.IGNORECASE,
)
_HOT = re.compile(r"High Temperature", re.IGNORECASE)
_TEXT_KEPT = 400
BOTH_ENDS = "both ends enable it"  # `Reading.state` of a maximum that ibdiagnet2 derived


@dataclass(slots=True)
class Statements:
    """What was gathered from the statements of one file."""

    readings: list[Reading] = field(default_factory=list)
    events: list[FabricEvent] = field(default_factory=list)
    fabric: Fabric = field(default_factory=Fabric)
    messages: dict[str, int] = field(default_factory=dict)

    def take(self, line: int, text: str, severity: str) -> bool:
        """Read one statement; False when it names no port.

        `severity` is the tool's mark: `E`, `W` or `I`.
        """
        link = _LINK.match(text)
        if link:
            self._take_link(line, link, severity)
            return True
        found = _PORT.match(text)
        port = named_port(found.group("port")) if found else None
        if found is None or port is None:
            return False
        self._take_port(line, port, found.group("text"), severity)
        return True

    def _take_link(self, line: int, found: re.Match[str], severity: str) -> None:
        a, b, text = named_port(found.group("a")), named_port(found.group("b")), found.group("text")
        if a is None or b is None:
            self._note(line, None, f"{found.group('a')}<-->{found.group('b')} - {text}", severity)
            return
        if a.guid and a.guid == b.guid:
            # sub-ports of one adapter looped inside the chip have no cable and no real speed
            self._note(line, a, text, "I")
            return
        levels = _levels(line, text)
        self.fabric.link(a, b, levels)
        if levels is None:
            self._take_port(line, a, text, severity)
        else:
            self.readings += level_readings(a, levels)

    def _take_port(self, line: int, port: PortRef, text: str, severity: str) -> None:
        reading = _port_reading(line, port, text, severity)
        if reading is not None:
            self.readings.append(reading)
        else:
            self._note(line, port, text, severity)

    def _note(self, line: int, port: PortRef | None, text: str, severity: str) -> None:
        """Errors become context events; warnings of one wording are counted together."""
        kind = "ibdiagnet_temperature_remark" if _HOT.search(text) else "ibdiagnet_message"
        wording = re.sub(r"[\d.]+", "#", text)[:120]
        self.messages[wording] = self.messages.get(wording, 0) + 1
        if severity != "E" and kind == "ibdiagnet_message":
            return
        self.events.append(
            FabricEvent(
                line,
                kind,
                text[:_TEXT_KEPT],
                node=port.node if port else "",
                interface=port.interface if port else "",
                severity="watch",
                reason="ibdiagnet2 remarks on this port; the remark alone names no bad link.",
            )
        )


def named_port(text: str) -> PortRef | None:
    """The port that an ibdiagnet name stands for, or None when it is no port."""
    found = _BY_GUID.match(text)
    if found:
        guid = normalise_guid(found.group("guid"))
        return switch_port("", found.group("port"), guid) if guid else None
    found = _BY_NAME.match(text)
    if not found:
        return None
    name, rest, port = found.group("name"), found.group("rest") or "", found.group("port")
    adapter = rest.partition("/")[0]
    if is_adapter(adapter):
        return adapter_port(name, adapter, port)
    # the default system name of a chip is U1, for adapters and switches alike
    if rest in ("", "U1") and port in ("1", "2") and not is_product_name(name):
        return adapter_port(name, rest or "U1", port)
    return switch_port(name, port)


def _levels(line: int, text: str) -> Levels | None:
    speed, width = _SPEED.search(text), _WIDTH.search(text)
    if not speed and not width:
        return None
    levels = Levels(line, max_source=BOTH_ENDS)
    if speed:
        levels.lane_gbps = float(speed.group("speed"))
        levels.lane_text = f"{speed.group('speed')} Gb/s a lane"
        levels.lane_max_gbps = float(speed.group("max")) if speed.group("max") else None
    if width:
        levels.width = parse_width(width.group("width"))
        levels.width_max = parse_width(width.group("max") or "")
    return levels


def _port_reading(line: int, port: PortRef, text: str, severity: str) -> Reading | None:
    found = _INCREASE.match(text) or (_VALUE.match(text) if severity == "E" else None)
    if found:
        value = found.group("value")
        reading = port.count(line, found.group("counter"), value, float(value), is_wide=True)
        reading.kind = "delta" if _INCREASE.match(text) else reading.kind
        return reading
    ber = _BER.search(text)
    if ber:
        words = text.lower()
        kind = next((kind for kind in ("raw", "symbol") if kind in words), "effective")
        value = ber.group("value")
        return port.level(line, f"{kind}_ber", value, float(value))
    return None
