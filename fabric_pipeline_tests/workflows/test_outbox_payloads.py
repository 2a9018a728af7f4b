"""Files of published tickets: complete, within the receivers' limits, and strings stay data."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.workflows.outbox_jira import jira_issue, texts_of
from fabric_pipeline.workflows.outbox_payloads import (
    Release,
    cut_to,
    dedup_key,
    outbox_files,
    pagerduty_event,
    servicenow_change,
)
from fabric_pipeline.workflows.outbox_sheet import Approval, Sheet
from fabric_pipeline_tests.store.fakes import START, draft, later
from fabric_pipeline_tests.workflows.full_tickets import HOSTILE, hostile, longest, typical

NEEDED = (
    "R07-12", "U14", "rear", "gpu-n003:mlx5_9/1", "OSFP2P2", "leaf-su1-05:17/1", "17A", "R07-20",
    "CBL-00417", "2 x Twin-port OSFP transceiver", "MMA4Z00-NS", "Store B, bin 14", "MPO cleaner",
    "Drain the whole node", "take port 17/1 of leaf-su1-05 out of routing", "Class 1 laser",
    "compare the serial on the pull-out tab", "proves: Dirt as the cause", "0 new symbol errors",
    "Put the old transceivers back", "ATTACH: Vendor bug report", "T-0aa1", "the fault came back",
    "8 h on site", "weekdays 08:00", "fabric desk", "CR-20031", "swap_transceivers (NEXT)",
    "reviewer-1",
)  # fmt: skip


def release(ticket: TicketDraft, portal: str = "") -> Release:
    approval = Approval(5, "reviewer-1", "fits", START, 2, ticket.sha256)
    sheet = Sheet(ticket, ticket.sha256, 2, approval, portal_url=portal)
    return Release(sheet, approval, later(60))


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def test_each_payload_holds_what_the_desk_and_the_technician_need() -> None:
    out = release(typical())
    jira = jira_issue(out.draft, out.proof)
    for payload in (jira, servicenow_change(out), pagerduty_event(out)):
        told = "\n".join(strings(payload))
        for word in NEEDED:
            assert word in told, word
        assert "cut" not in told.lower()


def test_plan_test_and_way_back_have_their_own_columns() -> None:
    change = servicenow_change(release(typical()))
    assert change["implementation_plan"].count("\n1. ") == 1
    assert "4. If the test fails" in change["implementation_plan"]
    assert "Pass: Link at 400 Gb/s" in change["test_plan"]
    assert change["backout_plan"].startswith("Put the old transceivers back")
    assert "Drain the whole node" in change["risk_impact_analysis"]
    assert (change["type"], change["priority"], change["cmdb_ci"]) == ("normal", "2", "gpu-n003")


def test_the_jira_description_is_a_document_of_known_nodes() -> None:
    out = release(typical())
    content = jira_issue(out.draft, out.proof)["fields"]["description"]["content"]
    assert {node["type"] for node in content} == {
        "paragraph",
        "heading",
        "bulletList",
        "orderedList",
    }
    assert all(list(texts_of(node)) and all(texts_of(node)) for node in content)
    (steps,) = [node for node in content if node["type"] == "orderedList"]
    assert len(steps["content"]) == 4
    plain = release(draft())
    assert all(texts_of(jira_issue(plain.draft, plain.proof)["fields"]["description"]))


def test_what_a_receiver_does_not_take_is_cut_and_said() -> None:
    out = release(longest("\u7db2"))
    description = jira_issue(out.draft, out.proof)["fields"]["description"]
    assert len(json.dumps(description["content"])) <= 32_767
    assert any(
        "Cut to Jira's limit: the rest of" in text for text in texts_of(description["content"])
    )
    assert "Content SHA-256" in list(texts_of(description["content"]))[-2]
    change = servicenow_change(out)
    assert len(change["description"]) <= 4000
    assert change["description"].endswith("[cut here, the rest is in ticket.json]")
    assert pagerduty_event(out)["payload"]["summary"].endswith("ticket.json]")


@settings(deadline=None, max_examples=40)
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
    issue = jira_issue(ticket, out.proof)
    assert 0 < len(issue["fields"]["summary"]) <= 255
    change = servicenow_change(out)
    assert len(change["short_description"]) <= 160
    assert all(len(str(value)) <= 4000 for value in change.values())
    for text in strings([event, issue, change]):
        assert not any(unicodedata.category(c) in ("Cc", "Cf") for c in text.replace("\n", ""))


@given(st.text(max_size=300), st.integers(60, 200))
def test_a_cut_line_fits_and_says_so(text: str, limit: int) -> None:
    shown = cut_to(text, limit)
    assert len(shown) <= limit
    assert shown.endswith("ticket.json]") or "\n" not in shown


def test_every_json_file_is_ascii_and_the_ticket_is_exact() -> None:
    ticket = hostile()
    files = outbox_files(release(ticket))
    assert set(files) == {
        "ticket.json", "ticket.txt", "sheet.html", "jira.json", "servicenow.json", "pagerduty.json",
    }  # fmt: skip
    for name, content in files.items():
        assert b"\x1b" not in content
        if name.endswith(".json"):
            json.loads(content.decode("ascii"))
    kept = json.loads(files["ticket.json"])
    assert TicketDraft.model_validate(kept["ticket"]) == ticket.model_copy(
        update={"failed_attempts": []}
    )
    assert TicketDraft.model_validate(kept["ticket"]).sha256 == kept["draft_sha256"]
    assert kept["origins"]["rack"] == kept["origins"]["parts[].spare_location"] == "topology"
    assert (kept["approval"]["reviewer"], kept["approval"]["review"]) == ("reviewer-1", 5)


def test_failed_attempts_never_leave() -> None:
    for name, content in outbox_files(release(typical())).items():
        assert b"secret attempt" not in content, name
        assert b"names port 18/1" not in content, name


def test_hostile_text_adds_no_line_and_no_mark() -> None:
    text = outbox_files(release(hostile()))["ticket.txt"].decode()
    assert not any(line.startswith(("## ", "- [ ]")) for line in text.splitlines())
    assert "\u202e" not in text
    change = servicenow_change(release(draft(fault=HOSTILE)))
    assert not any(line.startswith("## ") for line in change["justification"].splitlines())


def test_one_link_and_fault_is_one_alert_and_two_are_two() -> None:
    assert dedup_key(draft()) == "calc-07:gpu2/nvlink-5|physical_link_degradation"
    assert dedup_key(draft(title="Other words")) == dedup_key(draft())
    graver = typical(fault="physical link degradation, WARNING, single bit")
    assert dedup_key(graver) == dedup_key(typical())
    assert dedup_key(typical(fault="link down, CRITICAL")) != dedup_key(typical())
    long = [dedup_key(draft(link="n" * 400 + end)) for end in "ab"]
    assert long[0] != long[1]
    assert max(map(len, long)) <= 255


def test_a_portal_makes_the_alert_a_link() -> None:
    assert "links" not in pagerduty_event(release(typical()))
    (link,) = pagerduty_event(release(typical(), "https://portal.example"))["links"]
    assert link["href"] == "https://portal.example/tickets/T-5f0c2a9be1d4?revision=2"
