"""Makes events for the tests of event rules; every value is invented."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import FabricEvent

START = datetime(2026, 1, 5, 12, 0, 0, tzinfo=UTC)
_FATAL = {74: True, 79: True, 149: True}


def event(
    kind: str,
    interface: str = "",
    at_s: float | None = None,
    line: int = 1,
    node: str = "n1",
    code: int | None = None,
    role: str = "context",
    severity: str = "watch",
    **details: Any,
) -> FabricEvent:
    """One event; `at_s` counts from a fixed start, None leaves it without a clock."""
    return FabricEvent(
        line=line,
        last_line=line,
        kind=kind,
        text=f"line {line}",
        node=node,
        interface=interface,
        code=code,
        role=role,
        severity=severity,
        time=None if at_s is None else START + timedelta(seconds=at_s),
        details=details,
        file="log",
    )


def xid(
    code: int, interface: str, at_s: float | None = None, line: int = 1, **kw: Any
) -> FabricEvent:
    """An Xid with the fields the kernel log reader fills in."""
    if code in _FATAL:
        kw.setdefault("is_fatal", True)
    is_link = code in (74, 79, 80, 121, 137, 144, 145, 146, 147, 148, 149, 150)
    kw.setdefault("is_link", is_link)
    kw.setdefault("role", "symptom" if code in (45, 145) else "cause")
    kw.setdefault("severity", "warning")
    return event("xid", interface, at_s, line, code=code, **kw)


def accused(findings: list[Finding]) -> set[str]:
    """Components that are named as cause."""
    return {f.component for f in findings if f.accuses}


def about(findings: list[Finding], component: str) -> Finding:
    """The only finding about a component."""
    (found,) = [f for f in findings if f.component == component]
    return found
