"""Reader of `events.jsonl`: events that a site has already put into the normalized form.

An Xid, SXid or AER event of this form is judged by the same catalogue as a kernel log line.
"""

from __future__ import annotations

from typing import ClassVar

from fabric_pipeline.model.components import parse_component
from fabric_pipeline.model.records import MAX_TEXT, FabricEvent, ReadResult, RejectedLine
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.normalized.fields import optional_int, optional_time
from fabric_pipeline.sources.normalized.tables import Row, header_of, rows

# What an event of this kind means alone: role, severity (the vendor catalogue refines Xids).
_ROLES = {
    "link_down": ("cause", "warning"),
    "link_up": ("context", "info"),
    "cable_unplugged": ("cause", "warning"),
    "module_over_temperature": ("cause", "warning"),
    "gpu_lost": ("cause", "critical"),
    "aer_corrected": ("context", "watch"),
    "aer_uncorrected": ("cause", "critical"),
}


class EventsReader:
    """Reads normalized events."""

    format_id: ClassVar[str] = "fabric_events"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"events"})

    def score(self, file: SourceFile) -> int:
        """Sure when the first object has kind, text and ts."""
        return 98 if set(header_of(file)) >= {"kind", "ts", "text"} else 0

    def read(self, file: SourceFile) -> ReadResult:
        """One event per row."""
        result = ReadResult()
        for row in rows(file, result.rejected):
            try:
                result.events.append(_event(row, file))
            except ValueError as problem:
                result.rejected.append(RejectedLine(row.line, row.text, str(problem)))
        return result


def _event(row: Row, file: SourceFile) -> FabricEvent:
    f = row.fields
    kind = str(f.get("kind") or "").strip().lower()
    if not kind:
        raise ValueError("row has no kind")
    component = parse_component(
        f"{f.get('node') or ''}:{str(f.get('component') or '').rpartition(':')[2]}"
    )
    role, severity = _ROLES.get(kind, ("context", "info"))
    text = str(f.get("text") or "")[:MAX_TEXT]
    return FabricEvent(
        line=row.line,
        kind=kind,
        text=text,
        node=component.node or file.hints.node,
        interface=component.interface,
        lane=component.lane,
        code=optional_int(f.get("code"), "code"),
        role=role,
        severity=severity,
        reason=text,
        time=optional_time(str(f.get("ts") or ""), file.hints.timezone),
        time_text=str(f.get("ts") or ""),
    )
