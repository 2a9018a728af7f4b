"""An approved ticket as the payloads that Jira, ServiceNow and PagerDuty take. Nothing is sent.

Only fields that every site has are filled; project, queue and routing key are added by whoever
sends. Free text goes into fields that hold plain text, cut to the length the receiver allows.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from fabric_pipeline.incidents.ticket import FIELD_ORIGINS, TicketDraft
from fabric_pipeline.workflows.outbox_sheet import Release, plain, technician_sheet

OUTBOX_SCHEMA_VERSION = "1.0"
# PagerDuty Events API v2: summary 1,024 and dedup_key 255 characters. Jira: summary 255 characters.
# ServiceNow change_request: short_description 160, text fields 4,000 characters.
PAGERDUTY_SUMMARY = 1024
PAGERDUTY_DEDUP_KEY = 255
JIRA_SUMMARY = 255
SERVICENOW_SHORT = 160
SERVICENOW_TEXT = 4000
_LINE = 900

_PAGERDUTY_SEVERITY = {"urgent": "critical", "high": "error", "normal": "warning", "low": "info"}
_JIRA_PRIORITY = {"urgent": "Highest", "high": "High", "normal": "Medium", "low": "Low"}
_SERVICENOW_PRIORITY = {"urgent": "1", "high": "2", "normal": "3", "low": "4"}


def outbox_files(release: Release) -> dict[str, bytes]:
    """File name to content of everything that is written for one published ticket."""
    return {
        "ticket.json": _json(_ticket(release)),
        "ticket.md": technician_sheet(release).encode(),
        "jira.json": _json(jira_issue(release)),
        "servicenow.json": _json(servicenow_change(release)),
        "pagerduty.json": _json(pagerduty_event(release)),
    }


def jira_issue(release: Release) -> dict[str, Any]:
    """Body of Jira's `POST /rest/api/3/issue`, the description as a document of plain paragraphs."""
    draft = release.draft
    paragraphs = [plain(text, _LINE) for text in (draft.text.summary, *_facts(release))]
    return {
        "fields": {
            "issuetype": {"name": "Task"},
            "summary": plain(draft.text.title, JIRA_SUMMARY),
            "priority": {"name": _JIRA_PRIORITY[draft.priority]},
            "labels": ["gpu-interconnect", draft.ticket_id],
            "description": {
                "type": "doc",
                "version": 1,
                "content": [
                    {"type": "paragraph", "content": [{"type": "text", "text": text}]}
                    for text in paragraphs
                    if text
                ],
            },
        }
    }


def servicenow_change(release: Release) -> dict[str, Any]:
    """Row for ServiceNow's `change_request` table: plan, test and way back in their own fields."""
    draft = release.draft
    steps = [
        f"{number}. {plain(step.do, 400)} (shows: {plain(step.proves, 400)})"
        for number, step in enumerate(draft.text.repair_steps, start=1)
    ]
    return {
        "short_description": plain(draft.text.title, SERVICENOW_SHORT),
        "description": _block([draft.text.summary, *_facts(release)]),
        "justification": _block([item.claim for item in draft.text.evidence_statements]),
        "risk_impact_analysis": _block([draft.drain_required, *draft.safety]),
        "implementation_plan": _block([*steps, draft.port_isolation_guidance]),
        "test_plan": _block([draft.test_after_repair, *draft.pass_criteria]),
        "backout_plan": _block([draft.text.rollback]),
        "category": "Hardware",
        "priority": _SERVICENOW_PRIORITY[draft.priority],
        "cmdb_ci": plain(draft.node, 255),
        "correlation_id": draft.ticket_id,
        "correlation_display": "fabric-pipeline",
    }


def pagerduty_event(release: Release) -> dict[str, Any]:
    """Body of a PagerDuty Events v2 trigger; the same link and fault always has the same key."""
    draft = release.draft
    return {
        "event_action": "trigger",
        "dedup_key": dedup_key(draft),
        "payload": {
            "summary": plain(f"{draft.text.title}: {draft.text.summary}", PAGERDUTY_SUMMARY),
            "source": plain(draft.node, 255),
            "severity": _PAGERDUTY_SEVERITY[draft.priority],
            "timestamp": release.published_at.isoformat(timespec="seconds"),
            "component": plain(draft.link, 255),
            "group": plain(draft.rack, 255),
            "class": plain(draft.fault, 255),
            "custom_details": {
                "ticket_id": draft.ticket_id,
                "incident_id": draft.incident_id,
                "far_end": plain(draft.far_end, 255),
                "draft_sha256": release.draft_sha256,
                "approved_by": plain(release.reviewer, 255),
            },
        },
    }


def dedup_key(draft: TicketDraft) -> str:
    """Link and fault in 255 characters; a longer pair ends in a hash, so two stay two."""
    key = f"{draft.link}|{draft.fault}"
    if len(key) <= PAGERDUTY_DEDUP_KEY and plain(key, PAGERDUTY_DEDUP_KEY) == key:
        return key
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    return f"{plain(key, PAGERDUTY_DEDUP_KEY - 17)}|{digest}"


def _ticket(release: Release) -> dict[str, Any]:
    return {
        "outbox_schema_version": OUTBOX_SCHEMA_VERSION,
        "draft_sha256": release.draft_sha256,
        "revision": release.revision,
        "published_at": release.published_at.isoformat(),
        "approval": {
            "review": release.review_seq,
            "reviewer": release.reviewer,
            "reason": release.reason,
            "at": release.reviewed_at.isoformat(),
        },
        "origins": FIELD_ORIGINS,
        "ticket": release.draft.model_dump(mode="json"),
    }


def _facts(release: Release) -> list[str]:
    draft = release.draft
    gpu = "" if draft.gpu_index is None else str(draft.gpu_index)
    named = {
        "Link": draft.link,
        "Far end": draft.far_end,
        "Fabric or switch port": draft.fabric_or_switch_port,
        "Rack and unit": f"{draft.rack} {draft.unit}".strip(),
        "GPU": gpu,
        "Cable": draft.cable_id,
        "Part": f"{draft.replacement_part} {draft.part_number}".strip(),
        "Approved by": release.reviewer,
        "Content SHA-256": release.draft_sha256,
    }
    return [f"{name}: {value}" for name, value in named.items() if value]


def _block(lines: list[str]) -> str:
    text = "\n".join(plain(line, _LINE) for line in lines if line.strip())
    return text if len(text) <= SERVICENOW_TEXT else text[: SERVICENOW_TEXT - 1] + "…"


def _json(value: dict[str, Any]) -> bytes:
    """JSON in plain ASCII, so that no terminal or reader interprets what a string holds."""
    return (json.dumps(value, indent=2, ensure_ascii=True) + "\n").encode()
