"""Reader of `dcgmi health -c`: what the health watches of DCGM complain about, by device and system.

DCGM counts an error against a limit without regard to resets, and for older NVLink against any count
since the driver was loaded, and calls links down that a card without bridge never had; so a complaint
is a note.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from fabric_pipeline.model.records import FabricEvent, ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.dcgmi.tables import TableRow, table_rows

_TITLE = "Health Monitor Report"
_HEALTH = frozenset({"Healthy", "Warning", "Failure", "Internal error"})
_ENTITY = re.compile(r"^-> ?([0-9]{1,5})$")
_SYSTEM = re.compile(r"^-> ?(?P<system>[A-Za-z][\w -]{1,40}?)(?: system)?$")
_LINK_SYSTEMS = re.compile(r"^(?:nvlink|pcie|nvswitch|connectx)\b", re.IGNORECASE)
_LINK = re.compile(r"\b(?:nv)?link (?:id )?([0-9]{1,3})\b", re.IGNORECASE)


@dataclass(slots=True)
class _Incident:
    row: TableRow
    group: str
    entity: str
    system: str
    health: str
    text: str = ""


class DcgmiHealthReader:
    """Complaints of the health watches about NVLink, PCIe, NVSwitch and network cards."""

    format_id: ClassVar[str] = "dcgmi_health"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"events"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="dcgmi health -c",
        versions="tables of DCGM 3 and 4",
        recognised_by="the table heading `Health Monitor Report`",
        gives="complaints about NVLink, PCIe, NVSwitch and network cards as events",
        traps=(
            "Only watched systems are checked, so `Healthy` alone says nothing of a link.",
            (
                "DCGM takes a counter that was reset for new errors and fails older NVLink on any "
                "count, so a complaint is a note and accuses nothing."
            ),
            "A link called down may be one that the card never had, as without a bridge.",
            "Complaints about memory, power or temperature are facts.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Likely with the heading of the table; counters and states beside it are worth more."""
        if file.is_binary or _TITLE not in file.head:
            return 0
        return 65 if any(row.left == _TITLE for row in table_rows(file, head_only=True)) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Complaints as events, the overall result as a fact."""
        result = ReadResult()
        incidents, group, entity = list[_Incident](), "", ""
        for row in table_rows(file):
            if row.left == "Overall Health":
                result.facts["overall_health"] = row.right
            elif found := _ENTITY.match(row.left):
                entity = found[1]
            elif (found := _SYSTEM.match(row.left)) and row.right in _HEALTH:
                incidents.append(_Incident(row, group, entity, found["system"], row.right))
            elif row.left and not row.left.startswith("->"):
                group = row.left
            elif not row.left and incidents:
                incidents[-1].text = f"{incidents[-1].text} {row.right}".strip()[:2000]
        for incident in incidents:
            _tell(incident, result)
        return result


def _tell(incident: _Incident, result: ReadResult) -> None:
    line = incident.row.line
    if not _LINK_SYSTEMS.match(incident.system):
        note = {"system": incident.system, "health": incident.health, "text": incident.text}
        result.facts.setdefault("health_complaints", []).append(note)
        return
    links = dict.fromkeys(_LINK.findall(incident.text))
    place = _interface(incident, next(iter(links))) if len(links) == 1 else _interface(incident, "")
    words = f"{incident.system}: {incident.health}: {incident.text}"
    event = FabricEvent(line.number, "dcgm_health", words, line.node, place)
    event.time, event.severity = line.time, "watch"
    event.reason = f"DCGM calls {incident.system} {incident.health}: {incident.text[:200]}"
    result.events.append(event)


def _interface(incident: _Incident, link: str) -> str:
    group, number = incident.group.lower(), incident.entity
    if group == "nvswitch":
        device = f"nvswitch-{number}"
        return f"{device}/port-{link}" if link else device
    if group != "gpu" or not number:
        return ""
    if incident.system.lower().startswith("pcie"):
        return f"gpu{number}/pcie"
    return f"gpu{number}/nvlink-{link}" if link else f"gpu{number}"
