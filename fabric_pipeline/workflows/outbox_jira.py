"""A ticket as the body of Jira's create-issue call, its description as an Atlassian document.

The document uses headings, paragraphs, bullet and ordered lists alone: nodes that Jira renders, without
marks or links, so that no text of a ticket turns into anything else. Sources:
developer.atlassian.com/cloud/jira/platform/apis/document/structure (version 1, type, content) and
jira.atlassian.com/browse/JRACLOUD-78553 (a description of more than 32,767 characters is refused).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.workflows.outbox_sections import Section, sections
from fabric_pipeline.workflows.sheet_text import one_line, plain

# Jira refuses a longer summary (255) or description. Whether it counts text or markup is not
# documented, so the whole document as ASCII JSON stays below the limit.
JIRA_SUMMARY = 255
JIRA_DESCRIPTION = 32_767
_PRIORITY = {"urgent": "Highest", "high": "High", "normal": "Medium", "low": "Low"}
_LINE = 900
_RESERVE = 400


def jira_issue(draft: TicketDraft, proof: list[str]) -> dict[str, Any]:
    """Body of `POST /rest/api/3/issue`; project and assignee are added by whoever sends it.

    `proof` are the closing lines: who approved, which content.
    """
    return {
        "fields": {
            "issuetype": {"name": "Task"},
            "summary": plain(draft.text.title, JIRA_SUMMARY) or draft.ticket_id,
            "priority": {"name": _PRIORITY[draft.priority]},
            "labels": ["gpu-interconnect", draft.ticket_id],
            "description": {"type": "doc", "version": 1, "content": _document(draft, proof)},
        }
    }


def _document(draft: TicketDraft, proof: list[str]) -> list[dict[str, Any]]:
    closing = [_paragraph(line) for line in proof]
    room = JIRA_DESCRIPTION - _RESERVE - _length(closing)
    content: list[dict[str, Any]] = []
    if one_line(draft.text.summary):
        content.append(_paragraph(draft.text.summary))
    whole = sections(draft)
    for number, section in enumerate(whole):
        nodes, complete = _fitting(section, room - _length(content))
        content += nodes
        if not complete:
            missing = ", ".join(left.title for left in whole[number + 1 :])
            rest = f" and all of: {missing}" if missing else ""
            content.append(
                _paragraph(
                    f"Cut to Jira's limit: the rest of {section.title}{rest} is in ticket.json."
                )
            )
            break
    return [*content, *closing]


def _fitting(section: Section, room: int) -> tuple[list[dict[str, Any]], bool]:
    """The section with as many lines as the room takes, and whether that is all of it."""
    kept = len(section.lines)
    while kept and _length(_nodes(section, kept)) > room:
        kept -= 1
    return (_nodes(section, kept) if kept else []), kept == len(section.lines)


def _nodes(section: Section, count: int) -> list[dict[str, Any]]:
    items = [{"type": "listItem", "content": [_paragraph(x)]} for x in section.lines[:count]]
    kind = "orderedList" if section.numbered else "bulletList"
    heading = {
        "type": "heading",
        "attrs": {"level": 3},
        "content": [{"type": "text", "text": section.title}],
    }
    return [heading, {"type": kind, "content": items}]


def _paragraph(text: str) -> dict[str, Any]:
    return {"type": "paragraph", "content": [{"type": "text", "text": plain(text, _LINE)}]}


def _length(nodes: list[dict[str, Any]]) -> int:
    return len(json.dumps(nodes, ensure_ascii=True))


def texts_of(node: Any) -> Iterator[str]:
    """Every text in a document node, in reading order."""
    if isinstance(node, list):
        for item in node:
            yield from texts_of(item)
    elif isinstance(node, dict):
        if node.get("type") == "text":
            yield node["text"]
        yield from texts_of(node.get("content", []))
