"""How sure a record may claim to be: capped by the grade of its evidence."""

from __future__ import annotations

from typing import Any

import pytest

from fabric_pipeline.incidents.confidence import confidence, evidence_grade, would_change
from fabric_pipeline.model.findings import Finding
from fabric_pipeline_tests.incidents.test_build import SEEN


def said(severity: str = "warning", **changes: Any) -> Finding:
    return Finding("n1:x", "k", severity, changes.pop("role", "cause"), "r.", **changes)


TESTED = {"p_value": 0.02, "overlap_share": 1.0, "covered_share": 1.0}


@pytest.mark.parametrize(
    ("finding", "grade"),
    [
        (said(numbers=TESTED), "A"),
        (said(numbers=TESTED, is_link=False), "C"),
        (said(first_seen=SEEN), "B"),
        (said(first_seen=SEEN, numbers={"is_snapshot": True}), "C"),
        (said(), "C"),
    ],
)
def test_grades(finding: Finding, grade: str) -> None:
    assert evidence_grade(finding) == grade


def test_a_weighed_coincidence_is_as_certain_as_it_was_weighed() -> None:
    assert confidence(said(numbers={**TESTED, "confidence": 0.874})) == 0.874
    assert confidence(said(numbers={**TESTED, "confidence": 0.9999})) == 0.99, "never certain"
    assert confidence(said("watch", numbers={**TESTED, "confidence": 0.6})) == 0.6, "a suspect"


def test_totals_are_never_more_certain_than_their_cap() -> None:
    outlier = {"rules": ["sibling_outlier"]}
    assert confidence(said("critical", **outlier)) == 0.8
    assert confidence(said("critical", first_seen=SEEN, **outlier)) == 0.86
    assert confidence(said("critical")) == 0.78
    assert confidence(said()) == 0.62


@pytest.mark.parametrize("severity", ["info", "watch"])
def test_what_accuses_nobody_is_not_certain(severity: str) -> None:
    assert confidence(said(severity, numbers=TESTED)) == 0.3
    assert confidence(said(role="symptom")) == 0.3


def test_what_would_change_the_verdict() -> None:
    assert would_change(said(is_link=False), "no_data") == [
        "Telemetry of this node for the same time."
    ]
    assert "per-rank compute times" in would_change(said(is_link=False), "not_a_link")[0]
    snapshot = would_change(said(), "physical_link_degradation")
    timed = would_change(said(first_seen=SEEN), "physical_link_degradation")
    tested = would_change(said(numbers=TESTED), "physical_link_degradation")
    assert [len(texts) for texts in (snapshot, timed, tested)] == [4, 3, 2]
    assert "at least 60 s later" in snapshot[0]
