"""Sheets and payloads of published tickets: complete, within limits, and strings stay data."""

from __future__ import annotations

import json
import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.workflows.outbox_payloads import (
    dedup_key,
    jira_issue,
    outbox_files,
    pagerduty_event,
    servicenow_change,
)
from fabric_pipeline.workflows.outbox_sheet import Release, plain, technician_sheet
from fabric_pipeline_tests.store.fakes import START, draft, later

HOSTILE = (
    "x\n## Approved\n- [ ] run `rm`\x1b[31m \u202egnp.exe <script>alert(1)</script> [a](http://b)"
)


def release(ticket: TicketDraft) -> Release:
    return Release(ticket, ticket.sha256, 2, 5, "Mara", "fits", START, later(60))


def test_the_sheet_names_place_steps_limits_and_approval() -> None:
    sheet = technician_sheet(release(draft(rack="R12", gpu_index=2, part_number="P-9")))
    for line in (
        "# Reseat the cable",
        "- Rack: `R12`",
        "- Link: `calc-07:gpu2/nvlink-5`",
        "- Cable: not stated by any source",
        "- GPU index: `2`",
        "1. [ ] reseat the cable",
        "- [ ] no replay in ten minutes",
        "- Approved by Mara on 2031-03-04 05:06 UTC",
        f"- Content SHA-256: `{draft(rack='R12', gpu_index=2, part_number='P-9').sha256}`",
    ):
        assert line in sheet.splitlines()


def test_hostile_text_forges_no_heading_box_link_or_colour() -> None:
    ticket = draft(fault=HOSTILE, title=HOSTILE[:100], drain_required="- [ ] go")
    sheet = technician_sheet(release(ticket))
    assert not any(line.startswith("## Approved") for line in sheet.splitlines())
    assert "\x1b" not in sheet
    assert "\u202e" not in sheet
    assert re.search(r"(?<!\\)[<\[](?! \] )", sheet) is None
    assert "\n- Drain: \\- \\[ \\] go" in sheet
    in_code = technician_sheet(release(draft(node=HOSTILE)))
    assert sum(line.startswith("- Node: `x ") for line in in_code.splitlines()) == 1
    assert in_code.count("`") == technician_sheet(release(draft())).count("`")


@given(st.text(max_size=60))
def test_no_text_adds_a_line_or_a_tick_box(text: str) -> None:
    base = technician_sheet(release(draft()))
    sheet = technician_sheet(release(draft(test_after_repair=text, fault=text)))
    assert len(sheet.splitlines()) == len(base.splitlines())
    assert sheet.count("[ ] ") == base.count("[ ] ")


@given(st.text(max_size=400), st.integers(1, 300))
def test_plain_text_is_one_printable_line_within_its_limit(text: str, limit: int) -> None:
    shown = plain(text, limit)
    assert len(shown) <= limit
    assert not any(unicodedata.category(c).startswith("C") for c in shown)
    assert len(shown.splitlines()) <= 1


@given(st.text(max_size=140), st.text(max_size=900), st.text(max_size=600), st.text(max_size=600))
def test_payloads_stay_within_the_receivers_limits(
    title: str, summary: str, link: str, node: str
) -> None:
    ticket = draft(title=title, link=link, node=node, safety=[summary] * 20)
    ticket.text.summary = summary
    out = release(ticket)
    event = pagerduty_event(out)
    assert len(event["payload"]["summary"]) <= 1024
    assert 0 < len(event["dedup_key"]) <= 255
    assert event["payload"]["severity"] in ("critical", "error", "warning", "info")
    assert len(jira_issue(out)["fields"]["summary"]) <= 255
    change = servicenow_change(out)
    assert len(change["short_description"]) <= 160
    assert all(len(str(value)) <= 4000 for value in change.values())


def test_every_json_file_is_ascii_and_the_ticket_is_exact() -> None:
    ticket = draft(node=HOSTILE)
    files = outbox_files(release(ticket))
    for name, content in files.items():
        if name.endswith(".json"):
            json.loads(content.decode("ascii"))
            assert b"\x1b" not in content
    kept = json.loads(files["ticket.json"])
    assert TicketDraft.model_validate(kept["ticket"]) == ticket
    assert kept["origins"]["rack"] == "topology"


def test_one_link_and_fault_is_one_alert_and_two_are_two() -> None:
    assert dedup_key(draft()) == "calc-07:gpu2/nvlink-5|physical_link_degradation"
    assert dedup_key(draft(title="Other words")) == dedup_key(draft())
    long = [dedup_key(draft(link="n" * 400 + end)) for end in "ab"]
    assert long[0] != long[1]
    assert max(map(len, long)) <= 255


def test_jira_paragraphs_are_never_empty() -> None:
    content = jira_issue(release(draft()))["fields"]["description"]["content"]
    assert all(paragraph["content"][0]["text"] for paragraph in content)
