"""An approved ticket as the files of the outbox: ticket, sheet, text, and payloads. Nothing is sent.

Only fields that every site has are filled; project, queue and routing key are added by whoever sends.
Free text goes into fields that hold plain text, cut to the length the receiver allows, and says so. No
file is CSV, so no field can become a formula.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.workflows import outbox_sections as content
from fabric_pipeline.workflows.field_origins import origins_by_path
from fabric_pipeline.workflows.outbox_jira import jira_issue
from fabric_pipeline.workflows.outbox_sheet import Approval, Sheet, technician_sheet
from fabric_pipeline.workflows.outbox_text import ticket_lines
from fabric_pipeline.workflows.sheet_text import one_line, plain

OUTBOX_SCHEMA_VERSION = "2.0"
PAGERDUTY_SUMMARY = 1024
PAGERDUTY_DEDUP_KEY = 255
SERVICENOW_SHORT = 160
SERVICENOW_TEXT = 4000
_FIELD = 255
_CUT = "[cut here, the rest is in ticket.json]"

_PAGERDUTY_SEVERITY = {"urgent": "critical", "high": "error", "normal": "warning", "low": "info"}
_SERVICENOW_PRIORITY = {"urgent": "1", "high": "2", "normal": "3", "low": "4"}


@dataclass(frozen=True, slots=True)
class Release:
    """An approved revision on its way out: the sheet's input and when it leaves (UTC)."""

    sheet: Sheet
    approval: Approval
    published_at: datetime

    @property
    def draft(self) -> TicketDraft:
        """The ticket itself."""
        return self.sheet.draft

    @property
    def proof(self) -> list[str]:
        """Who approved which content, and where the ticket is, one line each."""
        at = f"{self.approval.at:%Y-%m-%d %H:%M} UTC"
        return [
            f"Approved by {self.approval.reviewer} on {at}, revision {self.sheet.revision}",
            f"Content SHA-256: {self.sheet.draft_sha256}",
            f"Ticket: {self.sheet.address}",
        ]


def outbox_files(release: Release) -> dict[str, bytes]:
    """File name to content of everything that is written for one published ticket."""
    return {
        "ticket.json": _json(_ticket(release)),
        "ticket.txt": _text(release),
        "sheet.html": technician_sheet(release.sheet).encode(),
        "jira.json": _json(jira_issue(release.draft, release.proof)),
        "servicenow.json": _json(servicenow_change(release)),
        "pagerduty.json": _json(pagerduty_event(release)),
    }


def servicenow_change(release: Release) -> dict[str, Any]:
    """Row for ServiceNow's `change_request` table: plan, test and way back in their own fields.

    Column names as on the change form (AI-Agent/forms_filling_test_configs, create_change_request_task)
    and in api-evangelist/servicenow json-schema/servicenow-change-request-schema.json, which also has
    the 160 characters of `short_description`. 4,000 characters are the default of its text columns.
    """
    draft = release.draft
    steps = [f"{number}. {text}" for number, text in enumerate(content.steps(draft), 1)]
    where = [*content.where(draft), *content.this_end(draft), *content.other_end(draft)]
    more = [section for section in content.sections(draft) if section.title in _DESCRIBED]
    told = [f"{section.title}: {line}" for section in more for line in section.lines]
    return {
        "type": "normal",
        "short_description": cut_to(draft.text.title, SERVICENOW_SHORT),
        "description": _block(
            [*release.proof, *content.service_terms(draft), *where, draft.text.summary, *told]
        ),
        "justification": _block(content.why(draft)),
        "risk_impact_analysis": _block(content.before(draft)),
        "implementation_plan": _block(
            [*content.bring(draft), *steps, f"Port isolation: {draft.port_isolation_guidance}"]
        ),
        "test_plan": _block(content.test(draft)),
        "backout_plan": _block([draft.text.rollback]),
        "category": "Hardware",
        "priority": _SERVICENOW_PRIORITY[draft.priority],
        "cmdb_ci": plain(draft.node, _FIELD),
        "correlation_id": draft.ticket_id,
        "correlation_display": "fabric-pipeline",
    }


_DESCRIBED = frozenset({"Earlier work", "For a return to the vendor"})


def pagerduty_event(release: Release) -> dict[str, Any]:
    """Body of a PagerDuty Events v2 trigger; the same link and fault always has the same key.

    Fields and limits (summary 1,024, dedup_key 255 characters, four severities) as described at
    github.com/PagerDuty/developer-docs docs/events-API-v2, docs.rs/pagerduty_rs AlertTriggerPayload
    and docs.influxdata.com pagerduty.sendEvent.
    """
    draft = release.draft
    event: dict[str, Any] = {
        "event_action": "trigger",
        "dedup_key": dedup_key(draft),
        "payload": {
            "summary": cut_to(f"{draft.text.title}: {draft.text.summary}", PAGERDUTY_SUMMARY),
            "source": plain(draft.node, _FIELD),
            "severity": _PAGERDUTY_SEVERITY[draft.priority],
            "timestamp": release.published_at.isoformat(timespec="seconds"),
            "component": plain(draft.link, _FIELD),
            "group": plain(draft.rack, _FIELD),
            "class": plain(fault_kind(draft), _FIELD),
            "custom_details": {
                "ticket_id": draft.ticket_id,
                "incident_id": draft.incident_id,
                "draft_sha256": release.sheet.draft_sha256,
                "approved_by": plain(release.approval.reviewer, _FIELD),
                "drain_scope": draft.drain_scope,
                **{
                    section.title.lower().replace(" ", "_"): _block(section.lines)
                    for section in content.sections(draft)
                },
            },
        },
    }
    if release.sheet.portal_url:
        event["links"] = [{"href": release.sheet.address, "text": f"Ticket {draft.ticket_id}"}]
    return event


def fault_kind(draft: TicketDraft) -> str:
    """The rule's verdict without severity and error class, which may change while the fault stays."""
    return draft.fault.split(",")[0]


def dedup_key(draft: TicketDraft) -> str:
    """Link and kind of fault in 255 characters; a longer pair ends in a hash, so two stay two."""
    key = f"{draft.link}|{fault_kind(draft)}"
    if len(key) <= PAGERDUTY_DEDUP_KEY and one_line(key) == key:
        return key
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{plain(key, PAGERDUTY_DEDUP_KEY - 17)}|{digest}"


def cut_to(text: str, limit: int) -> str:
    """One printable line within the limit; a cut is stated."""
    shown = one_line(text)
    return shown if len(shown) <= limit else f"{plain(shown, limit - len(_CUT) - 1)} {_CUT}"


def _ticket(release: Release) -> dict[str, Any]:
    """The ticket as approved. Failed attempts stay with the reviewer."""
    return {
        "outbox_schema_version": OUTBOX_SCHEMA_VERSION,
        "draft_sha256": release.sheet.draft_sha256,
        "revision": release.sheet.revision,
        "published_at": release.published_at.isoformat(),
        "approval": {
            "review": release.approval.seq,
            "reviewer": release.approval.reviewer,
            "reason": release.approval.reason,
            "at": release.approval.at.isoformat(),
        },
        "origins": origins_by_path(),
        "ticket": release.draft.model_dump(mode="json", exclude={"failed_attempts"}),
    }


def _text(release: Release) -> bytes:
    proof = (one_line(line) for line in release.proof)
    return ("\n".join([*proof, "", *ticket_lines(release.draft)]) + "\n").encode()


def _block(lines: list[str]) -> str:
    """Lines of a text field within ServiceNow's limit; a cut is stated."""
    text = "\n".join(line for line in map(one_line, lines) if line)
    if len(text) <= SERVICENOW_TEXT:
        return text
    return text[: SERVICENOW_TEXT - len(_CUT) - 1].rstrip() + "\n" + _CUT


def _json(value: dict[str, Any]) -> bytes:
    """JSON in plain ASCII, so that no terminal or reader interprets what a string holds."""
    return (json.dumps(value, indent=2, ensure_ascii=True) + "\n").encode()
