"""The terminal form: grouped, with origins, wrapped, and only the reviewer's parts added to the ticket."""

from __future__ import annotations

import re
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.cli.ticket_text import ticket_text
from fabric_pipeline.incidents.ticket import EvidenceStatement, FailedAttempt, RmaItem
from fabric_pipeline_tests.store.fakes import draft
from fabric_pipeline_tests.workflows.full_tickets import hostile, longest, shortest, typical


def headings(text: str) -> list[str]:
    return [line for line in text.splitlines() if re.fullmatch(r"[A-Z' ]+", line)]


def test_a_full_ticket_shows_each_group_with_origin_letters() -> None:
    text = ticket_text(typical())
    assert headings(text) == [
        "WHERE", "THIS END", "OTHER END", "BRING", "BEFORE YOU START", "STEPS", "TEST AFTER THE REPAIR",
        "IF IT DOES NOT HELP", "EARLIER WORK", "WHY", "EVIDENCE", "FOR A RETURN TO THE VENDOR",
        "THE DRAFTER'S OWN READING",
    ]  # fmt: skip
    for line in (
        "  [R] Priority        high",
        "  [T] Rack            R07-12",
        "  [M] Link            gpu-n003:mlx5_9/1",
        "  [T] Switch port     leaf-su1-05:17/1",
        "  [C] Part 1          2 x Twin-port OSFP transceiver 2x400 Gb/s, part number MMA4Z00-NS",
        "  [T]   spare         Store B, bin 14",
        "  [C] order: clean_and_reseat (done) → swap_transceivers (NEXT) → swap_fibre",
        "  [L] 2031-03-01 clean_and_reseat, transceiver (old MT2231VS00417): the fault came back",
    ):
        assert line in text.splitlines()
    assert "AGREES with the isolation" in text
    assert "Cost: 0.0412 US dollars; 3 requests, 5,200 tokens in" in text


def test_sections_without_content_are_left_out_and_gaps_are_said() -> None:
    text = ticket_text(shortest())
    for absent in (
        "EARLIER WORK",
        "EVIDENCE",
        "OWN READING",
        "Cost",
        "edited",
        "NOT PASS",
        "order:",
    ):
        assert absent not in text
    assert "  [T] Rack            Not stated by any source" in text.splitlines()
    assert "  [M] GPU index       Not stated by any source" in text.splitlines()


def test_a_drafter_that_disagrees_is_shouted() -> None:
    ticket = typical()
    assert ticket.topology_finding is not None
    ticket.topology_finding.agrees_with_isolation = False
    assert "DISAGREES with the isolation" in ticket_text(ticket)


def test_failed_attempts_are_counted_with_reasons_and_shown_whole_on_request() -> None:
    short, full = ticket_text(typical()), ticket_text(typical(), full=True)
    assert "ANSWERS THAT DID NOT PASS THE CHECKS: 1" in short
    assert "names port 18/1" in short
    assert "secret attempt" not in short
    assert '{"title": "secret attempt"}' in full
    two = [FailedAttempt(problems=["a", "b"], answer=""), FailedAttempt(problems=["c"], answer="")]
    assert "CHECKS: 2" in ticket_text(typical(failed_attempts=two))


def test_who_edited_is_named() -> None:
    text = ticket_text(typical(edited_by="technician-2"))
    assert "edited by technician-2." in text
    assert "Last edited by technician-2; whoever edits cannot approve." in text


def test_lines_end_at_100_columns_and_hostile_text_forges_none() -> None:
    for ticket in (typical(), longest(), longest("W"), hostile()):
        assert max(map(len, ticket_text(ticket, full=True).splitlines())) <= 100
    text = ticket_text(hostile())
    assert headings(text) == headings(ticket_text(typical()))
    assert "\x1b" not in text
    assert not any(unicodedata.category(c) == "Cf" for c in text)


@settings(deadline=None)
@given(st.text(max_size=80))
def test_no_text_adds_a_heading(text: str) -> None:
    ticket = draft(fault=text, node=text, drain_required=text)
    assert headings(ticket_text(ticket)) == headings(ticket_text(draft()))


def test_values_for_a_return_carry_their_own_letter_and_rules_stand_line_by_line() -> None:
    told = [
        RmaItem(item="Serial of the adapter", value="MT5", state="filled", origin="topology"),
        RmaItem(item="First seen", value="2031-03-04", state="filled", origin="telemetry"),
        RmaItem(item="Support contract", state="to_ask"),
    ]
    rules = ["a: 5, limit 3 (source of the limit: x)", "b: 9, limit 1 (source of the limit: y)"]
    claims = [EvidenceStatement(claim="It went down.", evidence_ids=["E1", "E2", "E3", "E7", "c1"])]
    ticket = typical(rma=told, rules_fired=rules)
    ticket.text.evidence_statements = claims
    lines = ticket_text(ticket).splitlines()
    for line in (
        "  [T] Serial of the adapter: MT5",
        "  [M] First seen: 2031-03-04",
        "  [C] ASK: Support contract",
        f"  [R] Rules           {rules[0]}",
        f"  [R]                 {rules[1]}",
        "  [D] It went down. (E1 to E3, E7, c1)",
        "      A done step is reported by its name in brackets.",
    ):
        assert line in lines


def test_the_gpu_of_an_adapters_ticket_is_the_one_beside_it() -> None:
    assert "  [M] GPU beside      5" in ticket_text(typical()).splitlines()
    own = ticket_text(typical(link="gpu-n003:gpu5/nvlink-2"))
    assert "  [M] GPU index       5" in own.splitlines()
