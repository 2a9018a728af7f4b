"""Drafts that an earlier version of the ticket model wrote, read into the present one.

Reading is for people who look something up; the hash that was approved stays that of the recorded
text (`ticket.content_sha256`). Whether such a draft may still be published is said in `review`.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from fabric_pipeline.incidents.ticket import TicketDraft

_FIRST_SCHEMA = "1.0"
_MAX_COMPONENT = 200


def body_of(text: str) -> dict[str, Any] | None:
    """A recorded draft as plain JSON, or None when the text is no JSON object."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def readable_draft(body: dict[str, Any]) -> TicketDraft | None:
    """The draft in the present model, keeping its own `schema_version`; None when it fits no version."""
    if body.get("schema_version") == _FIRST_SCHEMA:
        body = _from_first_schema(body)
    try:
        return TicketDraft.model_validate_json(json.dumps(body))
    except ValidationError:
        return None


def _from_first_schema(body: dict[str, Any]) -> dict[str, Any]:
    """Schema 1.0 had a `topology_reading` without a level: it always spoke of a link."""
    upgraded = {name: value for name, value in body.items() if name != "topology_reading"}
    reading = body.get("topology_reading")
    if isinstance(reading, dict):
        component = str(reading.get("component", ""))[:_MAX_COMPONENT]
        upgraded["topology_finding"] = {**reading, "component": component, "level": "link"}
    return upgraded
