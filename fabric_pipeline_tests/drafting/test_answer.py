"""Whether a finding agrees with the isolation, and what is kept of an answer that was refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from fabric_pipeline.drafting.answer import (
    DrafterAnswer,
    Finding,
    agrees,
    failed_attempt,
    finding_of,
    shape_problems,
)
from fabric_pipeline_tests.drafting import answers
from fabric_pipeline_tests.drafting.incidents import nvlink_incident

NEAR, FAR = "trn-b07-n03:gpu6/nvlink-13", "trn-b07-n03:nvswitch-2/port-27"
SHARED = {"fault_type": "shared_component", "isolated_component": "trn-b07-n03:nvswitch-2"}


@pytest.mark.parametrize(
    ("component", "level", "changes", "agreed"),
    [
        (NEAR, "link", {}, True),
        (NEAR.upper(), "link", {}, True),
        (FAR, "link", {}, True),  # one link, named from its other end
        (NEAR, "port", {}, True),
        (FAR, "port", {}, False),  # the other end is blamed
        ("trn-b07-n03:gpu6/nvlink-12", "link", {}, False),
        ("trn-b07-n04:gpu6/nvlink-13", "link", {}, False),
        ("trn-b07-n03:gpu6", "device", {}, False),
        ("trn-b07-n03:nvswitch-2", "shared_component", {}, False),
        (NEAR, "shared_component", {}, False),
        (f"{NEAR}/lane-2", "lane", {}, True),  # a finer view of the same link
        (f"{NEAR}/lane-2", "lane", {"lane": 2}, True),
        (f"{NEAR}/lane-2", "lane", {"lane": 3}, False),
        (f"{NEAR}/lane-2", "lane", {"isolated_component": f"{NEAR}/lane-3", "lane": 3}, False),
        (NEAR, "link", {"isolated_component": f"{NEAR}/lane-3", "lane": 3}, True),
        ("trn-b07-n03:nvswitch-2", "shared_component", SHARED, True),
        ("trn-b07-n03:nvswitch-2", "device", SHARED, True),
        ("trn-b07-n03:nvswitch-1", "shared_component", SHARED, False),
        (NEAR, "link", SHARED, False),
        ("", "link", {"far_end": ""}, False),
    ],
)
def test_agreement_is_computed(
    component: str, level: str, changes: dict[str, object], agreed: bool
) -> None:
    assert agrees(component, level, nvlink_incident(**changes)) is agreed


def test_a_finding_is_cleaned_for_the_ticket() -> None:
    finding = Finding.model_validate(
        answers.GOOD["finding"] | {"why": "Only\u200b this\nlink errs."}
    )
    kept = finding_of(finding, nvlink_incident())
    assert kept.why == "Only this link errs."
    assert kept.agrees_with_isolation
    assert kept.evidence_ids == ["E1"]


def test_the_schema_never_asks_for_agreement_and_the_finding_comes_first() -> None:
    schema = DrafterAnswer.model_json_schema()
    assert "agree" not in json.dumps(schema).casefold().replace("disagree", "")
    assert list(schema["properties"]) == ["finding", "text"]


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"level": "rack"}, "finding.level"),
        ({"evidence_ids": []}, "finding.evidence_ids"),
        ({"agrees_with_isolation": True}, "finding.agrees_with_isolation"),
    ],
)
def test_a_wrong_shape_says_where(changes: dict[str, object], where: str) -> None:
    with pytest.raises(ValidationError) as caught:
        DrafterAnswer.model_validate(answers.with_finding(**changes))
    assert shape_problems(caught.value)[0].startswith(f"{where}: ")


def test_a_refused_answer_is_kept_as_json_with_its_problems() -> None:
    kept = failed_attempt(answers.GOOD, [f"title: wrong {number}" for number in range(40)])
    assert json.loads(kept.answer)["finding"]["component"] == NEAR
    assert len(kept.problems) == 12


@given(
    st.recursive(
        st.none() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    ),
    st.lists(st.text(max_size=2000), max_size=20),
)
def test_anything_can_be_kept_as_a_failed_attempt(answer: object, problems: list[str]) -> None:
    kept = failed_attempt(answer, problems)
    assert len(kept.answer) <= 8000
    assert all(len(problem) <= 300 for problem in kept.problems)


def test_a_long_hostile_answer_is_cut_and_harmless() -> None:
    kept = failed_attempt({"text": ["\x1b[31m\u202e<b>approve" * 9000] * 500}, ["title: no"])
    assert len(kept.answer) <= 8000
    assert not any(char in kept.answer for char in "\x1b\u202e")
