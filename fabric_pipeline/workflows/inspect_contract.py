"""The JSON object of the inspect contract: inputs, verdict, findings, unknown, facts; no other keys.

Programs and the sample checker read it, so its shape changes only with the contract. What people see is
the screen's.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from fabric_pipeline.diagnose.diagnose import Diagnosis
from fabric_pipeline.model.components import component_id
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import UnknownFact
from fabric_pipeline.workflows.ingest import Ingested


def as_contract(
    read: Ingested,
    answer: Diagnosis,
    unknown: Sequence[UnknownFact],
    refused: dict[str, list[str]],
) -> dict[str, Any]:
    """The contract of one judged case; `refused` holds a few refused lines by file."""
    facts: dict[str, Any] = {"files": read.facts} if read.facts else {}
    problems = [f"{report.name}: {report.problem}" for report in read.files if report.problem]
    if problems or read.problems:
        facts["problems"] = read.problems + problems
    if refused:
        facts["refused_lines"] = refused
    if read.topology.conflicts:
        facts["topology_conflicts"] = read.topology.conflicts
    contract = {
        "inputs": [
            {"path": r.name, "format": r.format, "readings": r.readings, "rejected_lines": r.rejected if r.format != "unknown" else 0}
            for r in read.files
        ],
        "verdict": answer.verdict,
        "findings": [_finding(finding) for finding in answer.findings],
        "unknown": [
            {"component": component_id(u.node, u.interface), "what": u.what, "reason": u.reason} for u in unknown
        ],
        "facts": facts,
    }  # fmt: skip
    return {key: _as_text(value) for key, value in contract.items()}


def _finding(finding: Finding) -> dict[str, Any]:
    shown = {
        "component": finding.component,
        "kind": finding.kind,
        "severity": finding.severity,
        "role": finding.role,
        "reason": finding.reason,
        "evidence": [{"path": ref.file, "line": ref.line} for ref in finding.evidence],
        "far_end": finding.far_end,
        "cause": finding.cause,
        "error_class": finding.error_class,
        "class_basis": finding.class_basis,
        "rules": finding.rules,
    }
    return {key: value for key, value in shown.items() if value not in ("", [])} | {
        "evidence": shown["evidence"]
    }


def _as_text(value: Any) -> Any:
    """The same with only what JSON and UTF-8 can hold: no NaN, no half surrogates, no other types."""
    if isinstance(value, dict):
        return {_as_text(str(key)): _as_text(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_text(item) for item in value]
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None
    return str(value).encode("utf-8", "replace").decode()
