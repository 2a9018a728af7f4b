"""The verdict that every way to publishing asks for, and who may review."""

from __future__ import annotations

from typing import get_args

import pytest

from fabric_pipeline.incidents.review import (
    ReviewState,
    Standing,
    is_named,
    person_problem,
    review_problem,
    same_person,
    verdict,
)
from fabric_pipeline_tests.store.fakes import START, draft

APPROVED = ReviewState("approved", "Mara", "fits", START, 3)


def test_an_approval_of_the_current_draft_may_go_out() -> None:
    assert verdict(APPROVED) == (True, "approved by Mara on 2031-03-04 05:06 UTC")


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (ReviewState("awaiting"), "no person has reviewed"),
        (ReviewState("rejected", "Olu", "wrong port", START, 3), "rejected by Olu: wrong port"),
        (ReviewState("approved", "", "", START, 3), "names no reviewer"),
        (ReviewState("approved", " \u200b", "", START, 3), "names no reviewer"),
        (ReviewState("approved", "Mara", "", START, None), "names no reviewer"),
        (ReviewState("approved", "Mara", "", None, 3), "names no reviewer"),
        (ReviewState("approved", "Mara", "", START, 3, "outdated"), "newer revision"),
        (ReviewState("approved", "Mara", "", START, 3, "retired"), "no longer found"),
        (ReviewState("approved", "Mara", "", START, 3, "altered"), "no longer matches"),
        (ReviewState("approved", "Mara", "", START, 3, "other_schema"), "another ticket schema"),
        (
            ReviewState("approved", "Mara", "", START, 3, "outdated", "edited by Olu"),
            "needs its own review (edited by Olu)",
        ),
    ],
)
def test_anything_else_stays_and_says_why(state: ReviewState, why: str) -> None:
    answer = verdict(state)
    assert not answer.may_publish
    assert why in answer.why


def test_every_standing_but_current_has_its_reason() -> None:
    for standing in get_args(Standing):
        state = ReviewState("approved", "Mara", "", START, 1, standing)
        assert verdict(state).may_publish == (standing == "current")


@pytest.mark.parametrize(
    ("decision", "reviewer", "reason", "problem"),
    [
        ("approved", "Mara", "", ""),
        ("rejected", "Mara", "wrong port", ""),
        ("rejected", "Mara", "  ", "needs a reason"),
        ("approved", "", "", "name of the person"),
        ("approved", "\u200b\t", "", "name of the person"),
        ("maybe", "Mara", "", "not a decision"),
        ("awaiting", "Mara", "", "not a decision"),
        ("approved", "Claude", "", "cannot review it"),
        ("approved", " Some-Model ", "", "cannot review it"),
        ("approved", "M" * 201, "", "too long"),
        ("rejected", "Mara", "x" * 2001, "too long"),
    ],
)
def test_reviews_are_checked(decision: str, reviewer: str, reason: str, problem: str) -> None:
    by_model = draft(drafter="claude", model="some-model")
    found = review_problem(decision, reviewer, reason, by_model)
    assert (problem in found) if problem else found == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("technician-2", " Technician-2\n"),
        ("Jos\u00e9", "JOSE\u0301"),
        ("a  b", "a\u00a0b"),
        ("stra\u00dfe", "STRASSE"),
        ("x\u200by", "xy"),
        ("\uff4data", "mata"),
    ],
)
def test_one_person_may_be_spelled_in_many_ways(one: str, other: str) -> None:
    assert same_person(one, other)
    problem = review_problem("approved", other, "", draft(), [one])
    assert "another person must approve" in problem
    assert review_problem("rejected", other, "worse", draft(), [one]) == ""
    assert "another person" in review_problem("approved", other, "", draft(edited_by=one))


def test_other_people_are_other_people() -> None:
    assert not same_person("technician-2", "technician-3")
    assert review_problem("approved", "reviewer-1", "", draft(edited_by="x"), ["y"]) == ""
    assert "an edit needs the name" in person_problem("--", draft(), "edit")


def test_names_in_any_script_are_names() -> None:
    assert is_named("山田")
    assert not is_named("--- ")


@pytest.mark.parametrize("name", ["\u0435ngineer-1", "r\u0435viewer", "re\u03bdiewer-1"])
def test_a_name_of_two_alphabets_that_look_alike_is_refused(name: str) -> None:
    assert "mixes letters" in person_problem(name, draft())
    assert "mixes letters" in review_problem("approved", name, "", draft(), ["engineer-1"])


@pytest.mark.parametrize("name", ["инженер-1", "μηχανικός", "山田 taro", "reviewer-1"])
def test_a_name_of_one_alphabet_is_a_name(name: str) -> None:
    assert person_problem(name, draft()) == ""
