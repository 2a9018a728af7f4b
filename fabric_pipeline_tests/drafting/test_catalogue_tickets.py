"""Every entry of the shipped catalogue as a ticket, read the way a technician would."""

from __future__ import annotations

import re

import pytest

from fabric_pipeline.drafting.catalogue import Catalogue
from fabric_pipeline.drafting.forbidden import forbidden
from fabric_pipeline.drafting.rules_draft import draft_by_rules
from fabric_pipeline.drafting.verify import problems
from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline_tests.drafting.catalogue_cases import FITTING

ENTRIES = sorted(FITTING)


def sentences(ticket: TicketDraft) -> list[str]:
    steps = [words for step in ticket.text.repair_steps for words in (step.do, step.proves)]
    rules = [ticket.port_isolation_guidance, ticket.drain_required, ticket.test_after_repair]
    lists = [
        *ticket.safety,
        *ticket.tools,
        *ticket.pass_criteria,
        *(one.item for one in ticket.rma),
    ]
    return [ticket.text.title, ticket.text.summary, ticket.text.rollback, *steps, *rules, *lists]


@pytest.fixture(scope="module", params=ENTRIES)
def ticket(request: pytest.FixtureRequest, catalogue: Catalogue) -> TicketDraft:
    return draft_by_rules(FITTING[request.param], catalogue)


@pytest.mark.parametrize("entry_id", ENTRIES)
def test_the_text_passes_the_checks_of_any_draft(entry_id: str, catalogue: Catalogue) -> None:
    incident = FITTING[entry_id]
    assert problems(draft_by_rules(incident, catalogue).text, incident, catalogue) == []


def test_nothing_is_left_open_cut_or_garbled(ticket: TicketDraft) -> None:
    for words in sentences(ticket):
        assert not re.search(r"[{}…]|  |\bNone\b|\(\)|unknown:", words), words
        assert words.strip() == words
        assert forbidden(words, own_words=True) == ()


def test_confirmation_comes_first_and_a_test_with_figures_last(ticket: TicketDraft) -> None:
    steps = ticket.text.repair_steps
    assert steps[0].do.endswith("Wait for the confirmation that Port isolation and Drain ask for.")
    assert steps[-1].do.startswith("Run the test of this ticket")
    assert ticket.drain_scope in ("node", "nodes")
    assert any(char.isdigit() for text in ticket.pass_criteria for char in text)
    assert ticket.text.rollback.startswith("If the test fails")


def test_order_names_the_parts_and_the_least_invasive_step_comes_first(ticket: TicketDraft) -> None:
    names = {part.name.partition(":")[0] for part in ticket.parts} | {p.name for p in ticket.parts}
    exchanged = [step for step in ticket.repair_order if step.part]
    assert [step.step for step in ticket.repair_order] == list(
        range(1, len(ticket.repair_order) + 1)
    )
    assert {step.part.partition(":")[0] for step in exchanged} <= names
    first = min((step.step for step in exchanged), default=99)
    eased = [s.step for s in ticket.repair_order if s.action.startswith(("reseat", "clean"))]
    assert min(eased) < first


def test_what_is_replaced_always_stands_there(ticket: TicketDraft) -> None:
    assert ticket.replacement_part
    assert ticket.fabric_or_switch_port
    assert ticket.gpu_index is not None or ticket.gpu_slot.startswith("GPU not known")
    assert all(bool(part.source) == bool(part.part_number) for part in ticket.parts)


def test_return_form_is_filled_attached_or_asked(ticket: TicketDraft) -> None:
    states = {item.item: item for item in ticket.rma}
    assert states["Failing component"].value == ticket.link
    assert all(bool(item.value) == (item.state == "filled") for item in ticket.rma)
    assert {"filled", "to_attach", "to_ask"} == {item.state for item in ticket.rma}
    assert states["What was tried before, with serials"].value == "none reported"
