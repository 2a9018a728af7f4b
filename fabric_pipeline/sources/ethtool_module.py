"""Reads `ethtool -m`: identity, optical levels and alarms of the module in one network port.

Levels stay uninterpreted, because a limit is the module's own; a flag that stands on `On` is the module
saying so, and becomes a note. Raw register dumps (`hex on`) are another format.
"""

from __future__ import annotations

import re
from typing import ClassVar

from fabric_pipeline.model.records import FabricEvent, ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.lines import (
    body_lines,
    count_hits,
    reject,
    stamped,
    typed_command,
)
from fabric_pipeline.sources.infiniband.ports import PortRef

_FIRST = re.compile(r"^\s{0,20}Identifier\s{1,60}: 0x[0-9a-fA-F]{2} \((?P<kind>[^)]{1,60})\)")
_FIELD = re.compile(r"^\s{0,20}(?P<name>[A-Z][\w ,./()+-]{2,70}?)\s{0,60}: (?P<value>.{1,300})$")
_FLAG = re.compile(
    r"\b(?:alarm|warning|fault|loss of signal|LOS|LOL|loss of lock)\b", re.IGNORECASE
)
_LEVEL = re.compile(
    r"^(?:Laser bias current|Laser tx bias current|Laser output power|Transmit avg optical power"
    r"|Receiver signal average optical power|Rcvr signal avg optical power|Rx power"
    r"|Module temperature|Module voltage)\b(?!.*(?:alarm|warning|threshold))",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"^(?P<first>-?[0-9]{1,9}(?:\.[0-9]{1,6})?) ?(?P<unit>mA|mW|V|degrees C)")
_DBM = re.compile(r"/ (-?[0-9]{1,4}(?:\.[0-9]{1,4})?) dBm")
_INTERFACE = re.compile(r"^(?:-m|--module-info|--dump-module-eeprom)\s+([\w.@-]{1,40})")
_IDENTITY = ("Vendor name", "Vendor PN", "Vendor SN", "Length (Copper or Active cable)")


class EthtoolModuleReader:
    """Reader of the module report of ethtool."""

    format_id: ClassVar[str] = "ethtool_module"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="ethtool -m",
        versions="SFP (SFF-8472), QSFP (SFF-8636) and CMIS modules of ethtool 4 to 6",
        recognised_by="a first row `Identifier : 0x11 (QSFP28)`",
        gives=(
            "alarm and warning flags that the module raises, as events; temperature, voltage, bias "
            "and optical power uninterpreted; vendor, part and serial number as facts"
        ),
        traps=(
            "A raised flag accuses nothing: fibre, far end and module look alike.",
            "A report without its command does not say which interface it is.",
            "Thresholds are no readings.",
            "Modules without diagnostics say nothing of light or temperature.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Likely with the identifier row of a module; statistics beside it are worth more."""
        return 65 if count_hits(file, _FIRST, 1) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Levels, raised flags and identity of each module."""
        result, host = ReadResult(), file.hints.node
        named = port = PortRef(host, "", "", "ethernet")
        for number, line in body_lines(file, result):
            command = typed_command(line, "ethtool")
            if command:
                host = file.hints.node or command.host
                found = _INTERFACE.match(command.arguments)
                name = found[1] if found else ""
                named = PortRef(host, name, name, "ethernet")
            elif found := _FIRST.match(line):
                port, named = named, PortRef(host, "", "", "ethernet")
                module = {"component": port.id, "identifier": found["kind"]}
                result.facts.setdefault("modules", []).append(module)
            elif "modules" in result.facts and (found := _FIELD.match(line)):
                _field(number, found["name"].strip(), found["value"].strip(), port, result)
        return stamped(result, file)


def _field(line: int, name: str, value: str, port: PortRef, result: ReadResult) -> None:
    if name in _IDENTITY:
        result.facts["modules"][-1].setdefault(name.lower(), value)
    elif _FLAG.search(name) and "threshold" not in name:
        _flag(line, name, value, port, result)
    elif _LEVEL.match(name):
        found = _AMOUNT.match(value)
        if not found:
            reject(result, line, f"{name}: {value}", "the level is no number with a unit")
            return
        dbm = _DBM.search(value)
        number = float(dbm[1] if dbm else found["first"])
        result.readings.append(port.reading(line, name, value, value=number))


def _flag(line: int, name: str, value: str, port: PortRef, result: ReadResult) -> None:
    """`On`, `Yes`, or the channels a flag is raised for (`[ Yes, No, No, No ]`)."""
    words = [word.lower() for word in re.findall(r"[A-Za-z]+", value)]
    lanes = [str(n) for n, word in enumerate(words, 1) if word in ("on", "yes")]
    if not lanes or "implemented" in name:
        return
    place = f" on channel {', '.join(lanes)}" if len(words) > 1 else ""
    event = FabricEvent(line, "module_alarm", f"{name}: {value}", port.node, port.interface)
    event.severity = "watch"
    event.reason = f"the module raises {name}{place}"
    result.events.append(event)
