"""A finding: one statement about one component, with its role, its reason and where it stands.

Detectors and diagnosis produce findings; incident records are made of them. Nothing here judges.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

SEVERITIES = ("info", "watch", "warning", "critical")
ROLES = ("context", "symptom", "cause")
VERDICTS = ("faulty", "not_a_link", "healthy", "no_data")


@dataclass(frozen=True, slots=True)
class EvidenceRef:
    """Where a statement can be checked: file, line range, and the text as it stood there."""

    file: str
    line: int | None = None
    last_line: int | None = None
    excerpt: str = ""


@dataclass(slots=True)
class Finding:
    """One statement about one component.

    `component` is a component id. `kind` is a slug. Only role `cause` with severity `warning` or
    `critical` accuses; `watch` and `info`, `symptom` and `context` never do. `is_link` is False when
    the trouble is no link's (slow compute, congestion, software): such a finding never becomes a
    cable ticket. `cause` names the component this is a symptom of. `summary` is the reason in one short sentence
    ("" when the first sentence of `reason` does). `numbers` hold every figure that
    `reason` mentions; `rules` the ids of the rules that fired; `alternatives` what else was weighed.
    `machine` tells apart machines that no source names, "" when there is one or it is named.
    """

    component: str
    kind: str
    severity: str
    role: str
    reason: str
    evidence: list[EvidenceRef] = field(default_factory=list)
    is_link: bool = True
    far_end: str = ""
    cause: str = ""
    error_class: str = ""
    class_basis: str = ""
    first_seen: datetime | None = None
    last_seen: datetime | None = None
    numbers: dict[str, Any] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)
    alternatives: list[str] = field(default_factory=list)
    summary: str = ""
    machine: str = ""

    @property
    def accuses(self) -> bool:
        """True when this finding names its component as the cause of real trouble."""
        return self.role == "cause" and self.severity in ("warning", "critical")
