"""How sure a record may claim to be, on what grade of evidence, and what would change its verdict.

Evidence grade limits confidence, it never changes a rule (detection.md section 6): A coincidence with
collectives tested, B counted over a known time, C totals since an unknown moment. Confidence of grade A
is the calibrated figure of `localise`; of B and C it is set by rule, because nothing was weighed.
"""

from __future__ import annotations

from typing import Literal

from fabric_pipeline.incidents.record import FaultType
from fabric_pipeline.model.findings import Finding

Grade = Literal["A", "B", "C"]
_CAPS: dict[Grade, float] = {"A": 0.99, "B": 0.90, "C": 0.80}


def evidence_grade(finding: Finding) -> Grade:
    """A: coincidence tested. B: times known. C: a snapshot."""
    if finding.numbers.get("p_value") is not None and finding.is_link:
        return "A"
    return "B" if finding.first_seen is not None and not finding.numbers.get("is_snapshot") else "C"


def confidence(finding: Finding) -> float:
    """0 to 1, capped by the grade of the evidence; lower for findings that do not accuse."""
    grade = evidence_grade(finding)
    weighed = finding.numbers.get("confidence")
    if weighed is not None:
        return round(min(float(weighed), _CAPS[grade]), 3)
    if not finding.accuses:
        return 0.3
    raw = {"critical": 0.78, "warning": 0.62}[finding.severity]
    raw += 0.08 if "sibling_outlier" in finding.rules else 0.0
    return round(min(raw, _CAPS[grade]), 3)


def would_change(finding: Finding, fault: FaultType) -> list[str]:
    """What a person could measure that would overturn or confirm the verdict."""
    grade = evidence_grade(finding)
    texts = []
    if fault == "no_data":
        return ["Telemetry of this node for the same time."]
    if not finding.is_link:
        return ["Errors of a link of this node in the same time; per-rank compute times."]
    if grade == "C":
        texts.append(
            "A second reading at least 60 s later: if the count stands still, the errors are old."
        )
    if grade != "A":
        texts.append(
            "Collective timing over this link in the same time: it would show whether jobs are slowed."
        )
    texts.append(
        "The same errors at the far end after the near end's part is swapped: then the far end is at fault."
    )
    texts.append("A run over this link at full speed while it counts errors at the same rate.")
    return texts
