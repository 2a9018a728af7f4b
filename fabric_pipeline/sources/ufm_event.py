"""Event log of NVIDIA UFM, the InfiniBand fabric manager: full lines or only their message part.

A line is `time [id] [event] LEVEL [topic] Type [place]: message`; excerpts often begin at the
message. Ports are named by cage (`1/17/1`) and by index behind the GUID; the index is used.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from fabric_pipeline.model.components import component_id
from fabric_pipeline.model.records import FabricEvent, ReadResult, RejectedLine, UnknownFact
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.kernel_log.frames import FrameReader, KernelLine

_ENTRY = re.compile(
    r"\[(?P<id>\d{1,12})\]\s{0,4}\[(?P<code>[0-9]{1,5})\]\s{1,4}(?P<level>[A-Z]{4,9})\s{1,4}"
    r"\[(?P<topic>[^\]]{1,60})\]\s{1,4}(?P<type>[\w ]{1,40}?)\s{1,4}\[(?P<place>[^\]]{1,300})\]"
    r"(?:\s{0,4}\[dev_id: (?P<guid>[\w:]{1,40})\])?:?\s{0,4}(?P<message>.*)"
)
_DATE = re.compile(
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)\s{1,4}(?=\[\d{1,12}\]\s{0,4}\[)"
)
_LINK = re.compile(r"\bLink (?:went|is) (?P<state>down|up)\b", re.IGNORECASE)
_LINK_PORT = re.compile(
    r"\((?P<type>[A-Za-z ]{2,20}):\s{0,3}(?P<name>[^():]{1,100}):(?P<cage>[^()]{1,40})\)"
    r"(?P<guid>(?:0x)?[0-9a-fA-F]{8,16})?(?::(?P<index>\d{1,4}))?"
)
_SERIAL = re.compile(r"cable S/N:\s{0,4}([\w./-]{2,40})", re.IGNORECASE)
_UNHEALTHY = re.compile(
    r"(?:Peer Port (?P<name>[^:]{1,100}):(?P<cage>\S{1,40}) )?is considered by SM as unhealthy"
    r"(?: due to (?P<why>\w{1,40}))?",
    re.IGNORECASE,
)
_CAGE = re.compile(r"^(?:1/)?\d{1,3}(?:/\d{1,3}){1,2}$")

# UFM event numbers (UFM user manual, supported traps and events) with kind, severity and phrase.
_EVENTS: dict[int, tuple[str, str, str]] = {
    110: ("threshold_exceeded", "watch", "symbol error rate"),
    111: ("threshold_exceeded", "watch", "link error recovery"),
    112: ("threshold_exceeded", "watch", "link downed"),
    113: ("threshold_exceeded", "watch", "port receive errors"),
    114: ("upstream_errors", "watch", "port receive remote physical errors"),
    115: ("congestion_alarm", "info", "port receive switch relay errors"),
    116: ("congestion_alarm", "info", "port transmit discards"),
    117: ("congestion_alarm", "info", "port transmit constraint errors"),
    118: ("congestion_alarm", "info", "port receive constraint errors"),
    119: ("threshold_exceeded", "watch", "local link integrity errors"),
    120: ("congestion_alarm", "info", "excessive buffer overrun errors"),
    328: ("link_up", "info", "link went up"),
    329: ("link_down", "watch", "link went down"),
    331: ("node_down", "watch", "node is down"),
    332: ("node_up", "info", "node is up"),
    394: ("switch_alarm", "watch", "switch critical failure"),
    702: ("port_unhealthy", "watch", "port is considered unhealthy"),
    907: ("switch_down", "watch", "switch is down"),
    908: ("switch_up", "info", "switch is up"),
    915: ("symbol_ber", "watch", "critical bit error rate"),
    916: ("symbol_ber_warning", "watch", "high bit error rate"),
    917: ("symbol_ber", "watch", "symbol bit error rate"),
    918: ("symbol_ber_warning", "watch", "symbol bit error rate warning"),
    1502: ("cable_moved", "info", "cable detected in a new location"),
}


class UfmEventReader:
    """Reads UFM's event log."""

    format_id: ClassVar[str] = "ufm_event"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"events"})
    wanted_lines: ClassVar[str] = ""  # entries about other things are counted
    note: ClassVar[FormatNote] = FormatNote(
        tool="NVIDIA UFM, its event log",
        versions="event 329",
        recognised_by="lines `time [id] [event] LEVEL [topic] ...`, or link messages that name both ends",
        gives=(
            "links that went down or up with both ends and the cable's serial number, thresholds,"
            " bit error rates, unhealthy ports"
        ),
        traps=(
            (
                "A port has a cage name (`1/17/1`) and an index; the index is used where any "
                "entry tells it."
            ),
            "Remote physical errors were made upstream of the port that counted them.",
            "Congestion alarms (discards, constraint errors) are no link fault.",
            "The host that wrote the log is the manager, not the fabric.",
            "A port that was marked unhealthy by hand is no error.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """By lines of the log's own shape or link messages that name both ends."""
        if file.is_binary:
            return 0
        lines = [line[:4000] for line in file.head.splitlines()[:300] if line.strip()]
        own = sum(1 for line in lines if _ENTRY.search(line) or _is_link_line(line))
        if not own:
            return 0
        return 95 if own >= 0.3 * len(lines) else 60

    def read(self, file: SourceFile) -> ReadResult:
        """Events of ports; entries about other things are counted only."""
        result = ReadResult()
        frames = FrameReader(file.hints)
        other: dict[str, int] = {}
        for number, raw in file.numbered():
            text = raw[:8000]
            entry = _ENTRY.search(text)
            if not entry and not _is_link_line(text) and not _UNHEALTHY.search(text):
                if _LINK.search(text):
                    rule = "a link event needs the ports it speaks of"
                    result.rejected.append(RejectedLine(number, text[:2000], rule))
                continue
            event = None
            if entry is None or _is_of_ports(entry):
                line = _frame(frames, number, text)
                event = _event(line, entry, entry["message"] if entry else text)
            if event is None:
                code = entry["code"] if entry else "none"
                other[code] = other.get(code, 0) + 1
                continue
            result.events.append(event)
            _note(result, event)
        _use_index(result.events)
        result.facts["lines"] = file.line_count
        result.facts["other_events"] = other
        return result


def _is_link_line(text: str) -> bool:
    return bool(_LINK.search(text)) and bool(_LINK_PORT.search(text))


def _is_of_ports(entry: re.Match[str]) -> bool:
    return int(entry["code"]) in _EVENTS or bool(_LINK.search(entry["message"]))


def _frame(frames: FrameReader, number: int, text: str) -> KernelLine:
    """Place and time of the line. The host that wrote it is the manager, not the fabric."""
    found = _DATE.search(text)
    line = frames.read(number, f"[{found.group(1)}] {text}" if found else text)
    line.raw = text[:2000].strip()
    line.node = ""
    return line


def _event(line: KernelLine, entry: re.Match[str] | None, message: str) -> FabricEvent | None:
    if link := _LINK.search(message):
        return _link_event(line, entry, message, link["state"].lower())
    if entry is None or int(entry["code"]) not in _EVENTS:
        return None
    code = int(entry["code"])
    kind, severity, says = _EVENTS[code]
    place = _place(entry["place"], entry["guid"])
    details: dict[str, Any] = {**place, "level": entry["level"], "is_link": True, "subject": "port"}
    if found := _UNHEALTHY.search(message):
        details["condition"] = (found["why"] or "").upper()
        details["is_error"] = details["condition"] != "MANUAL"
        says = f"{says}, {details['condition'] or 'no reason given'}"
        if found["name"]:
            details["far_end"] = component_id(
                "", _port_name(found["name"], found["cage"].rstrip("."), "")
            )
    return line.event(
        kind, place["interface"], code=code, severity=severity, reason=says, details=details
    )


def _link_event(
    line: KernelLine, entry: re.Match[str] | None, message: str, state: str
) -> FabricEvent | None:
    """A link with both its ends; the first one is the component, the other the far end."""
    ports = [_port_end(found) for found in list(_LINK_PORT.finditer(message))[:2]]
    details: dict[str, Any] = {
        "is_link": True,
        "subject": "port",
        "is_fabric": True,
        "sources": ["ufm"],
    }
    node, interface = "", ""
    if ports:
        node, interface = ports[0].pop("node"), ports[0].pop("interface")
        details.update(ports[0])
    elif entry is not None:
        details.update(_place(entry["place"], entry["guid"]))
        interface = details.pop("interface")
    else:
        return None
    if len(ports) > 1:
        details["far_end"] = component_id(ports[1].pop("node"), ports[1].pop("interface"))
        details.update({f"far_{key}": value for key, value in ports[1].items()})
    if serial := _SERIAL.search(message):
        details["cable_serial"] = serial.group(1)
    line.node = node
    return line.event(
        f"link_{state}",
        interface,
        code=int(entry["code"]) if entry else {"down": 329, "up": 328}[state],
        severity="watch" if state == "down" else "info",
        reason=f"link went {state}",
        details=details,
    )


def _port_end(found: re.Match[str]) -> dict[str, str]:
    """One end: a switch is named by its own name, a host port by host and adapter."""
    name, cage, index = found["name"].strip(), found["cage"].strip(), found["index"] or ""
    end = {"cage": cage, "guid": (found["guid"] or "").removeprefix("0x"), "node": ""}
    host, _, adapter = name.partition(" ")
    if found["type"].strip().lower() != "switch" and adapter:
        return {**end, "node": host, "interface": f"{adapter.strip()}/{cage or index}"}
    return {**end, "interface": _port_name(name, cage, index)}


def _port_name(name: str, cage: str, index: str) -> str:
    """`switch/port-33` by index when it is stated, else by cage."""
    return f"{name.strip()}/port-{index or cage.strip()}"


def _place(text: str, guid: str | None) -> dict[str, str]:
    """Device and port of `default / Switch: NAME / 1/17/1`; the last part may be the port index."""
    parts = [part.strip() for part in text.split(" / ")]
    parts = [p for p in parts if p and p not in ("default", "NA")]
    port = parts.pop() if len(parts) > 1 and (parts[-1].isdigit() or _CAGE.match(parts[-1])) else ""
    name = parts[0].partition(":")[2].strip() or parts[0] if parts else ""
    place = {"interface": f"{name}/port-{port}" if name and port else name}
    if port and not port.isdigit():
        place["cage"] = port
    if guid:
        place["guid"] = guid.removeprefix("0x")
    return place


def _use_index(events: list[FabricEvent]) -> None:
    """Entries that know a port by its cage only take the index that a link event tells for it."""
    known: dict[str, str] = {}
    for event in events:
        name, _, port = event.interface.partition("/port-")
        if event.kind.startswith("link_") and port.isdigit() and event.details.get("cage"):
            known[f"{name}/port-{event.details['cage']}"] = event.interface
    for event in events:
        event.interface = known.get(event.interface, event.interface)


def _note(result: ReadResult, event: FabricEvent) -> None:
    """Serial numbers for the ticket, and what the line leaves open."""
    serial = event.details.get("cable_serial")
    if serial:
        result.facts.setdefault("cable_serial", {})[event.interface] = serial
    elif event.kind == "link_down":
        result.unknown.append(
            UnknownFact("", event.interface, "serial number of the cable", "the event names none")
        )
