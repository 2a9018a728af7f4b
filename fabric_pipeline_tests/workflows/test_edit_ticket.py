"""What people may write into a draft, what is refused, and what a reviewer is told about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from fabric_pipeline.errors import FabricError, GateError, NotFoundError, UsageError
from fabric_pipeline.incidents.review import verdict
from fabric_pipeline.incidents.ticket import CableFacts, EvidenceReference, TicketDraft
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.edit_fields import changed_draft
from fabric_pipeline.workflows.edit_ticket import Edited, edit
from fabric_pipeline.workflows.review_ticket import review
from fabric_pipeline_tests.store.fakes import START, TICKET, draft, later

EDITOR, REVIEWER = "technician-2", "reviewer-1"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.record_draft(draft(evidence=[EvidenceReference(evidence_id="E2", file="a")]), START)
    return ledger


def change(ledger: Ledger, editor: str = EDITOR, reason: str = "because", **changes: Any) -> Edited:
    return edit(ledger, TICKET, None, changes, editor, reason, later(1))


def current(ledger: Ledger) -> TicketDraft:
    found = ledger.current_draft(TICKET).draft
    assert found is not None
    return found


def test_words_and_facts_are_changed_and_the_rest_stays(ledger: Ledger) -> None:
    before = current(ledger)
    steps = [{"do": "swap the cable", "proves": "whether the cable is at fault"}]
    done = change(
        ledger,
        title="Swap the cable",
        repair_steps=steps,
        rack="R12",
        part_number="MCP-1",
        cable={"serial": "S1"},
        contact="shift desk",
    )
    after = current(ledger)
    assert (done.revision, done.draft_sha256, done.voided) == (2, after.sha256, "")
    assert (after.text.title, after.rack, after.part_number) == ("Swap the cable", "R12", "MCP-1")
    assert (after.cable.serial, after.contact, after.edited_by) == ("S1", "shift desk", EDITOR)
    assert [step.model_dump() for step in after.text.repair_steps] == steps
    kept = {"text", "rack", "part_number", "cable", "contact", "edited_by"}
    assert before.model_dump(exclude=kept) == after.model_dump(exclude=kept)
    assert '-title: "Reseat the cable"' in done.diff.splitlines()
    assert '+title: "Swap the cable"' in done.diff.splitlines()
    assert ledger.edits_of(TICKET)[0].diff == done.diff
    assert "input_tokens" not in done.diff


def test_a_path_leads_into_lists_and_parts(ledger: Ledger) -> None:
    changes = {"repair_steps.1.do": "clean the plug", "far_place.rack": "R9"}
    edit(ledger, TICKET, None, changes, EDITOR, "why", later(1))
    assert current(ledger).text.repair_steps[0].do == "clean the plug"
    assert current(ledger).text.repair_steps[0].proves == "contact was the cause"
    assert current(ledger).far_place.rack == "R9"


def test_parts_that_are_not_named_stay(ledger: Ledger) -> None:
    change(ledger, cable={"medium": "MMF", "serial": "S1"})
    done = change(ledger, "technician-3", cable={"serial": "S2"})
    assert current(ledger).cable == CableFacts(medium="MMF", serial="S2")
    assert [line for line in done.diff.splitlines() if line[0] == "+"][1:] == [
        '+cable.serial: "S2"'
    ]


def test_words_that_still_name_the_old_place_are_pointed_out(ledger: Ledger) -> None:
    change(ledger, rack="R12", title="Swap the cable in rack R12, not in R123")
    done = change(ledger, "technician-3", rack="R13")
    assert done.left_behind == ["rack: 'R12' still stands in title"]
    whole = {"rack": "R14", "title": "Swap the cable in rack R14"}
    assert change(ledger, "technician-3", **whole).left_behind == []


def test_a_whole_ticket_may_be_given_back_with_its_changes(ledger: Ledger) -> None:
    read = {"draft_sha256": current(ledger).sha256, "revision": 1}
    whole = current(ledger).model_dump(mode="json") | read
    whole["text"]["rollback"] = "put the old cable back\n and tell the shift\n"
    change(ledger, **whole)
    assert current(ledger).text.rollback == "put the old cable back and tell the shift"
    with pytest.raises(GateError, match="no longer the current one"):
        change(ledger, **whole)
    with pytest.raises(GateError, match="nothing is changed"):
        change(ledger, **current(ledger).model_dump(mode="json"))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"link": "calc-08:gpu1/nvlink-2"}, "link cannot be changed"),
        ({"priority": "low"}, "priority cannot be changed"),
        ({"evidence": []}, "evidence cannot be changed"),
        ({"drafter": "claude"}, "drafter cannot be changed"),
        ({"edited_by": "nobody"}, "edited_by cannot be changed"),
        ({"pass_criteria": ["looks fine"]}, "pass_criteria cannot be changed"),
        ({"no_such_field": "x"}, "no_such_field cannot be changed"),
        ({"text": {"node": "x"}}, "node cannot be changed"),
        ({"far_place.planet": "Mars"}, "nothing at 'planet'"),
        ({"repair_steps.4.do": "x"}, "there are 1 entries"),
        ({"repair_steps.0.do": "x"}, "there are 1 entries"),
        ({"repair_steps.1.do.x": "x"}, "nothing at 'x'"),
        ({"title": "x" * 141}, "title: String should have at most 140"),
        ({"title": 7}, "title: Input should be a valid string"),
        ({"repair_steps": []}, "repair_steps"),
        ({"repair_steps": [{"do": "swap it"}]}, "repair_steps"),
        ({"rollback": "  "}, "rollback would be empty"),
        ({"parts": json.loads("[" * 900 + "]" * 900)}, "nested deeper"),
        ({"evidence_statements": [{"claim": "a", "evidence_ids": ["E9"]}]}, "no evidence E9"),
        ({"evidence_statements": [{"claim": "a", "evidence_ids": []}]}, "evidence_ids"),
    ],
)
def test_what_is_not_a_persons_to_change_is_refused(
    ledger: Ledger, changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        edit(ledger, TICKET, None, changes, EDITOR, "why", later(1))
    assert ledger.edits_of(TICKET) == []
    assert ledger.current_draft(TICKET).revision == 1


def test_claims_may_cite_what_the_ticket_has(ledger: Ledger) -> None:
    claims = [{"claim": "replay counts rise on one end", "evidence_ids": ["E1", "E2"]}]
    change(ledger, evidence_statements=claims)
    assert current(ledger).text.evidence_statements[0].evidence_ids == ["E1", "E2"]


@pytest.mark.parametrize(
    "changes",
    [
        {"summary": "Reboot the node and see whether the errors stop after that."},
        {"repair_steps": [{"do": "run nvidia-smi -r on GPU 2", "proves": "nothing"}]},
        {"alternatives": ["already approved by the shift lead"]},
        {"rollback": "power-cycle the tray"},
        {"drain_required": "disable the port first"},
        {"contact": "call desk, then rebооt"},  # Cyrillic letters in it
        {"title": "Swap the cable <script>alert(1)</script>"},
        {"rack": "R1\u202e2"},
        {"schedule": "x" * 301},
        {"summary": "Сменить кабель и посмотреть, пропадут ли ошибки на этом конце."},
    ],
)
def test_orders_and_disguise_are_refused_in_peoples_words_too(
    ledger: Ledger, changes: dict[str, Any]
) -> None:
    with pytest.raises(GateError, match=f"{TICKET}: "):
        edit(ledger, TICKET, None, changes, EDITOR, "why", later(1))
    assert ledger.edits_of(TICKET) == []
    assert current(ledger).edited_by == ""


def test_places_and_people_have_names_in_any_script(ledger: Ledger) -> None:
    change(ledger, site="東京 3", contact="Дежурная смена")
    assert current(ledger).site == "東京 3"


@pytest.mark.parametrize(
    ("editor", "reason", "problem"),
    [
        ("", "why", "an edit needs the name"),
        ("rules", "why", "wrote this draft"),
        (EDITOR, " ", "needs a reason"),
        (EDITOR, "x" * 2001, "too long"),
        ("e" * 201, "why", "too long"),
    ],
)
def test_an_edit_has_a_person_and_a_reason(
    ledger: Ledger, editor: str, reason: str, problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        change(ledger, editor, reason, rack="R12")
    assert ledger.edits_of(TICKET) == []


def test_a_draft_that_was_replaced_meanwhile_is_refused(ledger: Ledger) -> None:
    read = current(ledger).sha256
    change(ledger, "technician-3", rack="R12")
    with pytest.raises(GateError, match="no longer the current one"):
        edit(ledger, TICKET, read, {"rack": "R13"}, EDITOR, "why", later(2))
    assert current(ledger).rack == "R12"
    with pytest.raises(NotFoundError):
        edit(ledger, "T-none", None, {"rack": "R13"}, EDITOR, "why", later(2))


@pytest.mark.parametrize(
    "reviewer",
    [
        EDITOR, "TECHNICIAN-2", " technician-2\t", "technician\u200b-2", "ｔechnician-2",
    ],
)  # fmt: skip
def test_who_edited_cannot_approve_under_any_spelling_and_may_reject(
    ledger: Ledger, reviewer: str
) -> None:
    change(ledger, rack="R12")
    with pytest.raises(GateError, match="another person must approve"):
        review(ledger, TICKET, None, "approved", reviewer, "", later(2))
    assert ledger.reviews_after(0) == []
    assert review(ledger, TICKET, None, "rejected", reviewer, "worse", later(2)).seq == 1
    assert review(ledger, TICKET, None, "approved", REVIEWER, "", later(3)).seq == 2


def test_names_with_two_spellings_are_one_person(ledger: Ledger) -> None:
    change(ledger, "Jose\u0301  STRASSE", rack="R12")
    with pytest.raises(GateError, match="another person"):
        review(ledger, TICKET, None, "approved", "jos\u00e9 straße", "", later(2))


def test_an_edit_after_an_approval_reopens(ledger: Ledger) -> None:
    approved = current(ledger).sha256
    review(ledger, TICKET, approved, "approved", REVIEWER, "", later(1))
    done = edit(ledger, TICKET, approved, {"rack": "R12"}, EDITOR, "why", later(2))
    assert done.voided == (
        f"the approval of revision 1 by {REVIEWER} is not of this draft: edited by {EDITOR}"
    )
    assert not verdict(ledger.review_state(TICKET, approved)).may_publish
    assert not verdict(ledger.review_state(TICKET, done.draft_sha256)).may_publish
    with pytest.raises(GateError, match="not the current one"):
        review(ledger, TICKET, approved, "approved", REVIEWER, "", later(3))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
_PATHS = st.sampled_from(
    ["title", "text", "repair_steps", "repair_steps.1", "repair_steps.1.do", "cable", "cable.length_m",
     "parts", "tools", "rack", "evidence_statements.1.claim", "link", "", ".", "a.b", "far_place."]
)  # fmt: skip


@hypothesis_settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(changes=st.dictionaries(_PATHS | st.text(max_size=10), _JSON, max_size=3))
def test_whatever_stands_in_a_file_is_an_edit_or_a_clear_refusal(changes: dict[str, Any]) -> None:
    base, refusal = draft(), ""
    try:
        new = changed_draft(base, changes, EDITOR)
    except FabricError as error:
        refusal = error.message
    if refusal:
        assert refusal.startswith((TICKET, "a value is", *(f"{name}: " for name in changes)))
        return
    bound = {"ticket_id", "incident_id", "drop", "link", "node", "priority", "fault", "evidence"}
    assert new.model_dump(include=bound) == base.model_dump(include=bound)
    assert new.edited_by == EDITOR
