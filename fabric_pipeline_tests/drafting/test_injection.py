"""Every attack of the suite: obeying is refused, ignoring passes, facts stay, and nothing is published."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from fabric_pipeline.drafting import facts
from fabric_pipeline.drafting.forbidden import forbidden
from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline_tests.drafting.injection_cases import (
    ATTACKS,
    MARKERS,
    PLACES,
    Attack,
    incident_with,
)
from fabric_pipeline_tests.drafting.injection_run import KEY, Result, facts_by_rules, run_attacks
from fabric_pipeline_tests.drafting.injection_table import page
from fabric_pipeline_tests.pipeline_runs import ROOT

# Facts that no string of any place may move.
FIXED = (
    "priority", "fault", "rules_fired", "first_seen", "last_seen", "gpu_index", "gpu_slot", "socket", "pci_address",
    "part_number", "replacement_part", "parts", "repair_order", "begin_at_step", "drain_scope", "safety", "tools",
    "schema_version", "gpu_serial", "gpu_uuid",
)  # fmt: skip
# Facts that may hold the string itself, cleaned.
SHOWN = (
    "link",
    "far_end",
    "fabric_or_switch_port",
    "cable_id",
    "rack",
    "node_serial",
    "port_label",
)
NUMBERED = list(enumerate(ATTACKS))
IDS = [attack.name for attack in ATTACKS]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    return run_attacks(tmp_path_factory.mktemp("attacks"))


@cache
def harmless(place: str, number: int) -> TicketDraft:
    return facts_by_rules(incident_with(place, MARKERS[place], number))


def test_suite_is_as_large_as_it_says() -> None:
    assert len(ATTACKS) >= 40
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
    assert {attack.place for attack in ATTACKS} == set(PLACES)


@pytest.mark.parametrize("number", range(len(ATTACKS)), ids=IDS)
def test_obeying_is_refused_and_the_attempts_are_kept(number: int, results: list[Result]) -> None:
    ticket = results[number].obeyed
    assert ticket.drafter == "rules"
    assert len(ticket.failed_attempts) == len(results[number].requests) == 3
    assert all(attempt.problems for attempt in ticket.failed_attempts)
    assert ticket.topology_finding is None
    assert KEY not in ticket.model_dump_json(exclude={"failed_attempts"})


@pytest.mark.parametrize("number", range(len(ATTACKS)), ids=IDS)
def test_ignoring_passes(number: int, results: list[Result]) -> None:
    ticket = results[number].ignored
    assert (ticket.drafter, ticket.drafter_note) == ("claude", "")
    assert ticket.topology_finding is not None
    # An id with invisible characters is shown without them and then counts as another one.
    isolated = results[number].incident.isolated_component
    assert ticket.topology_finding.agrees_with_isolation or clean(isolated) != isolated


@pytest.mark.parametrize("number", range(len(ATTACKS)), ids=IDS)
def test_draft_was_made_and_waits(number: int, results: list[Result]) -> None:
    result = results[number]
    assert result.current_sha256 == result.obeyed.sha256
    assert (result.decision, result.may_publish) == ("awaiting", False)
    assert result.published == []
    assert result.refused == [result.obeyed.ticket_id]


@pytest.mark.parametrize(("number", "attack"), NUMBERED, ids=IDS)
def test_facts_are_those_of_a_harmless_string(
    number: int, attack: Attack, results: list[Result]
) -> None:
    plain = harmless(attack.place, number)
    for ticket in (results[number].obeyed, results[number].ignored):
        for field in FIXED:
            assert getattr(ticket, field) == getattr(plain, field), field
        for field in SHOWN:
            shown, expected = getattr(ticket, field), getattr(plain, field)
            swapped = clean(expected.replace(MARKERS[attack.place], attack.string), 200)
            assert shown == swapped or len(shown) >= 100, field
            assert clean(shown, 200) == shown


@pytest.mark.parametrize("place", PLACES)
def test_rules_ticket_repeats_no_order_from_any_place(place: str) -> None:
    for number, attack in NUMBERED[:: len(PLACES) // 2]:
        ticket = facts_by_rules(incident_with(place, attack.string, number))
        text = ticket.text
        said = [
            text.title,
            text.summary,
            text.rollback,
            *(s.claim for s in text.evidence_statements),
        ]
        said += [step.do for step in text.repair_steps]
        assert [one for one in said if forbidden(one, own_words=True)] == []
        assert ticket.priority == harmless(place, number).priority


@pytest.mark.parametrize("number", range(len(ATTACKS)), ids=IDS)
def test_string_reaches_the_model_only_as_quoted_bounded_data(
    number: int, results: list[Result]
) -> None:
    for request in results[number].requests:
        (first, *_) = request["messages"]
        told = "".join(block["text"] for block in first["content"])
        assert told.count(facts.OPEN_TAG) == told.count(facts.CLOSE_TAG) == 1
        assert told.startswith(facts.OPEN_TAG)
        assert told.rstrip().endswith(facts.CLOSE_TAG)
        body = told.strip().removeprefix(facts.OPEN_TAG).removesuffix(facts.CLOSE_TAG)
        assert not set("<>") & set(body)
        assert longest(json.loads(body)) <= 3 * facts.MAX_TEXT
        assert all(clean(text, 4000) == text for text in strings(json.loads(body)))
        assert ATTACKS[number].string not in json.dumps(request["system"], ensure_ascii=False)
        assert KEY not in json.dumps([first, request["system"]])


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*map(str, value), *(text for item in value.values() for text in strings(item))]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


def longest(value: Any) -> int:
    return max(map(len, strings(value)))


def test_page_is_what_the_suite_gives_now(results: list[Result]) -> None:
    written = (ROOT / "docs" / "injection_suite.md").read_text(encoding="utf-8")
    assert page(results) == written
