"""NVIDIA Fabric Manager's own log, or its lines in a journal: NVSwitch errors and set-up failures.

Most of such a log is the normal set-up of multicast teams; only its error lines become events. The
kernel log reader uses `nvswitch_error` for journals that hold both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from fabric_pipeline.model.components import normalise_pci
from fabric_pipeline.model.records import FabricEvent, ReadResult, RejectedLine, TopologyPart
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.kernel_log.frames import MAX_LINE, FrameReader, KernelLine
from fabric_pipeline.sources.kernel_log.sxid_catalog import sxid_meaning

_SWITCH_ERROR = re.compile(
    r"detected NVSwitch (?P<fatal>non-?fatal|fatal) error (?P<code>[0-9]{1,6})(?P<rest>.{0,300})",
    re.IGNORECASE,
)
_SWITCH_START = re.compile(r"detected NVSwitch (?:non-?)?fatal", re.IGNORECASE)
_PLACE = re.compile(r"physical id (\d{1,3})(?:.{0,20}?\bport (\d{1,3})\b)?", re.IGNORECASE)
_PCI = re.compile(r"pci bus id ([0-9a-fA-F:.]{7,20})", re.IGNORECASE)
_FABRIC_NODE = re.compile(r"on (?:fid|NodeId) (\d{1,4})", re.IGNORECASE)
_OWN_LINE = re.compile(
    r"\[\w{3} \d\d \d{4} \d\d:\d\d:\d\d\] \[[A-Z]{3,9}\s?\] \[tid \d{1,12}\]"
    r"|nv-fabricmanager\[\d|nvidia-fabricmanager(?:-start\.sh)?\[\d"
)
_WORTH = re.compile(r"(?i)NVSwitch|ERROR|FATAL|CRITICAL|fabric.?manager|failed!", re.ASCII)
_LEVEL = re.compile(r"^\[([A-Z]{3,9})\s?\]\s{0,3}(?:\[tid \d{1,12}\]\s{0,3})?")
_NOT_STARTED = re.compile(
    r"aborting fabric manager|Failed to start NVIDIA fabric manager|failed! Exit code"
    r"|request to query NVSwitch device information.{0,80} failed|nvidia-fabricmanager.service: Failed",
    re.IGNORECASE,
)
_TRAINING = re.compile(
    r"(?:fail|not|unable|error|abort)\w{0,12}\b.{0,120}\b(?:NVLink|NVSwitch|fabric|topology|GPU)"
    r"|(?:NVLink|NVSwitch|fabric|topology|GPU)\b.{0,120}\b(?:fail|unable|error|abort|don't match)",
    re.IGNORECASE,
)


def nvswitch_error(line: KernelLine) -> FabricEvent | None:
    """The event of a line that names an NVSwitch error, else None."""
    found = _SWITCH_ERROR.search(line.message)
    if not found:
        return None
    code, is_fatal = int(found["code"]), found["fatal"].lower() == "fatal"
    place, pci, node = (p.search(found["rest"]) for p in (_PLACE, _PCI, _FABRIC_NODE))
    details = {
        "is_fatal": is_fatal,
        "subject": "nvlink",
        "is_link": True,
        "told_by": "fabric manager",
    }
    if node:
        details["fabric_node"] = int(node.group(1))
    interface = ""
    if pci:
        details["pci"] = normalise_pci(pci.group(1))
        interface = f"pci-{details['pci']}"
    if place:
        interface = f"nvswitch-{int(place.group(1))}"
        if place.group(2):
            details["link"] = int(place.group(2))
            interface += f"/port-{int(place.group(2))}"
    return line.event(
        "sxid",
        interface,
        code=code,
        role="cause" if is_fatal else "context",
        severity="critical" if is_fatal else "watch",
        reason=sxid_meaning(code).says,
        details=details,
    )


def switch_addresses(events: Iterable[FabricEvent]) -> TopologyPart | None:
    """NVSwitches whose number and PCI address one line states, so that both name one switch."""
    found = {
        (event.node, event.interface.partition("/")[0], str(event.details["pci"]))
        for event in events
        if event.node and event.interface.startswith("nvswitch-") and event.details.get("pci")
    }
    nodes: dict[str, list[dict[str, str]]] = {}
    for node, switch, pci in sorted(found):
        nodes.setdefault(node, []).append({"nvswitch": switch, "pci": pci})
    listed = [{"node": node, "nvswitches": switches} for node, switches in nodes.items()]
    return TopologyPart(nodes=listed) if listed else None


class FabricManagerLogReader:
    """Reads `/var/log/fabricmanager.log`, its journal and `systemctl status` output."""

    format_id: ClassVar[str] = "fabricmanager_log"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"events", "topology"})
    wanted_lines: ClassVar[str] = _WORTH.pattern
    note: ClassVar[FormatNote] = FormatNote(
        tool="NVIDIA Fabric Manager, its log or journal",
        versions="not stated; wording of February 2025 and a newer one",
        recognised_by="lines that only Fabric Manager writes, or `detected NVSwitch ... error`",
        gives="NVSwitch errors with switch, port and SXid number; a manager that did not start",
        traps=(
            "A manager that gave up blames no link.",
            "Errors that name no link are watched, never charged to one.",
            "Non-fatal errors are context.",
            "The set-up of multicast teams is normal chatter and only counted.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """By the share of lines that only Fabric Manager writes."""
        if file.is_binary:
            return 0
        own = len(_OWN_LINE.findall(file.head))
        errors = len(_SWITCH_START.findall(file.head))
        kernel = file.head.count("NVRM:") + file.head.count("SXid (")
        if not own and not errors:
            return 0
        if kernel > own + errors:
            return 40
        return 95 if own >= 2 or errors else 70

    def read(self, file: SourceFile) -> ReadResult:
        """Errors become events; everything else is counted only."""
        result = ReadResult()
        frames = FrameReader(file.hints)
        for number, raw in file.numbered(lambda: False):
            if not _WORTH.search(raw[:MAX_LINE]):
                continue
            line = frames.read(number, raw)
            event = nvswitch_error(line)
            if event is not None:
                result.events.append(event)
            elif _SWITCH_START.search(line.message):
                rule = "an NVSwitch error line needs an error number"
                result.rejected.append(RejectedLine(number, line.raw, rule))
            elif event := _not_started(line) or _set_up_error(line):
                result.events.append(event)
        result.facts["lines"] = file.line_count
        result.topology = switch_addresses(result.events)
        return result


def _not_started(line: KernelLine) -> FabricEvent | None:
    """Fabric Manager gave up: no NVLink traffic through switches, and no link is to blame for it."""
    if not _NOT_STARTED.search(line.message):
        return None
    return line.event(
        "fabric_manager_failed",
        role="cause",
        severity="warning",
        reason="Fabric Manager did not start or gave up",
        details={"subject": "driver", "is_link": False},
    )


def _set_up_error(line: KernelLine) -> FabricEvent | None:
    """A line of level ERROR or worse about NVLink or NVSwitch set-up; names no link, so watch only."""
    level = _LEVEL.match(line.message)
    is_error = (
        bool(level) and level is not None and level.group(1) in ("ERROR", "FATAL", "CRITICAL")
    )
    if not is_error or not _TRAINING.search(line.message):
        return None
    return line.event(
        "fabric_manager_error",
        severity="watch",
        reason="Fabric Manager reports an error that names no link",
        details={"subject": "driver", "is_link": False},
    )
