"""What a reader sees of an edit: which words went and came, paired entry by entry."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.incidents.ticket import RepairStep, TicketDraft
from fabric_pipeline.portal.word_diff import changes_between, words
from fabric_pipeline.workflows.dossier_bag import shown
from fabric_pipeline_tests.store.fakes import draft


def with_steps(*steps: str, **changes: Any) -> TicketDraft:
    made = draft(**changes)
    listed = [RepairStep(do=step, proves="it holds") for step in steps]
    return made.model_copy(update={"text": made.text.model_copy(update={"repair_steps": listed})})


@given(st.text(max_size=60), st.text(max_size=60))
def test_both_texts_can_be_read_back_from_the_pieces(old: str, new: str) -> None:
    pieces = words(old, new)
    assert "".join(one.text for one in pieces if one.kind != "ins") == shown(old)
    assert "".join(one.text for one in pieces if one.kind != "del") == shown(new)


def test_only_the_words_that_changed_are_marked() -> None:
    pieces = words(
        "read the counters for 10 minutes", "read the counters for 30 minutes under load"
    )
    marked = [(one.kind, one.text) for one in pieces if one.kind != "same"]
    assert marked == [("del", "10"), ("ins", "30"), ("ins", " under load")]


def test_a_very_long_text_is_exchanged_whole() -> None:
    pieces = words("a " * 3000, "b " * 3000)
    assert [one.kind for one in pieces] == ["del", "ins"]


def test_a_step_put_in_between_does_not_change_the_steps_after_it() -> None:
    old = with_steps("open", "swap", "close")
    new = with_steps("open", "look", "swap", "close")
    (change,) = changes_between(old, new)
    assert (change.field, change.where) == ("repair_steps", "repair steps 2, added")
    assert [one.kind for one in change.pieces] == ["ins"]


def test_parts_of_a_field_are_named() -> None:
    new = draft(far_place={"rack": "R9"}, rack="R8")
    found = {one.where: one.pieces for one in changes_between(draft(), new)}
    assert {name: pieces[-1].text for name, pieces in found.items()} == {
        "rack": "R8",
        "far place, rack": "R9",
    }


def test_a_draft_has_no_changes_to_itself() -> None:
    assert changes_between(draft(), draft()) == []
