"""Reader of `events.jsonl`: events that a site has already put into the normalized form.

An Xid, SXid or AER event of this form is judged by the same catalogue as a kernel log line
(`driver_events`); which event is a cause of which is decided in `diagnose`.
"""

from __future__ import annotations

import re
from typing import ClassVar

from fabric_pipeline.model.components import UNKNOWN, Component, parse_component
from fabric_pipeline.model.records import MAX_TEXT, FabricEvent, ReadResult, RejectedLine
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.kernel_log.nvidia import pci_interface
from fabric_pipeline.sources.normalized.driver_events import add_catalogue_words
from fabric_pipeline.sources.normalized.fields import optional_int, optional_time
from fabric_pipeline.sources.normalized.tables import Row, header_of, rows

MAX_NAME = 300  # characters of a node or component; a longer text names nothing
MAX_CODE = 10**9
# What an event of this kind means alone: role, severity (`driver_events` refines the driver's own).
_ROLES = {
    "link_down": ("cause", "warning"),
    "link_up": ("context", "info"),
    "cable_unplugged": ("cause", "warning"),
    "module_over_temperature": ("cause", "warning"),
    "gpu_lost": ("cause", "critical"),
}
# An interface that is named by its PCI address holds colons of its own.
_PCI_NAME = re.compile(
    r"(?:pci-)?((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?)(/.{0,100})?", re.IGNORECASE
)


class EventsReader:
    """Reads normalized events."""

    format_id: ClassVar[str] = "fabric_events"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"events"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="the normalized form of a site",
        versions="the first version",
        recognised_by="a first object with kind, ts and text",
        gives=(
            "one event a row with its place and code; Xid, SXid and AER events get the words of "
            "the same catalogue as a kernel log line"
        ),
        traps=(
            "An Xid event without a number accuses nobody.",
            (
                "The node column decides where a component's node ends; a PCI address is not "
                "split at its colons."
            ),
            "Which event caused which is not decided by the row.",
        ),
    )

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
    kind = _text(f.get("kind")).lower()
    if not kind:
        raise ValueError("row has no kind")
    component = _component(_text(f.get("node")), _text(f.get("component")))
    role, severity = _ROLES.get(kind, ("context", "info"))
    text = _text(f.get("text"))[:MAX_TEXT]
    event = FabricEvent(
        line=row.line,
        kind=kind[:MAX_NAME],
        text=text,
        node=component.node or file.hints.node,
        interface=component.interface,
        lane=component.lane,
        code=_code(f.get("code")),
        role=role,
        severity=severity,
        reason=text,
        time=optional_time(_text(f.get("ts")), file.hints.timezone),
        time_text=_text(f.get("ts")),
    )
    add_catalogue_words(event)
    return event


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


def _code(value: object) -> int | None:
    code = optional_int(value, "code")
    if code is not None and not 0 <= code <= MAX_CODE:
        raise ValueError(f"code {str(value)[:40]!r} is no code of an event")
    return code


def _component(node: str, text: str) -> Component:
    """The place an event names: an interface alone, or a full `<node>:<interface>`.

    The node column decides where the node ends: what stands in it is the node, and its name in front
    of the interface is taken off. Without it the text before the first colon is the node, unless the
    text is a PCI address.
    """
    if len(node) > MAX_NAME or len(text) > MAX_NAME:
        raise ValueError(f"node or component has more than {MAX_NAME} characters")
    node = "" if node == UNKNOWN else node
    prefix, interface = _split(node, text)
    found = parse_component(f":{interface}")
    return Component(node or prefix, found.interface, found.lane)


def _split(node: str, text: str) -> tuple[str, str]:
    """Node in front of the interface ("" when there is none) and the interface."""
    if node and f"{text}:".startswith(f"{node}:"):
        return node, _named(text[len(node) + 1 :])
    if _PCI_NAME.fullmatch(text):
        return "", _named(text)
    prefix, colon, interface = text.partition(":")
    if not colon:
        return "", _named(text)
    return "" if prefix == UNKNOWN else prefix, _named(interface)


def _named(interface: str) -> str:
    """The interface with a PCI address in its usual form."""
    found = _PCI_NAME.fullmatch(interface)
    pci = pci_interface(found.group(1)) if found else ""
    return f"{pci}{found.group(2) or ''}" if found and pci else interface
