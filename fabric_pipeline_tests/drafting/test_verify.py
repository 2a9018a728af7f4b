"""A draft is checked against incident and catalogue: names, figures, citations, orders, completeness."""

from __future__ import annotations

from typing import Any

import pytest

from fabric_pipeline.drafting.catalogue import Catalogue
from fabric_pipeline.drafting.verify import problems, reading_problems, same_component
from fabric_pipeline.incidents.ticket import DraftText
from fabric_pipeline_tests.drafting import answers
from fabric_pipeline_tests.drafting.incidents import (
    infiniband_incident,
    nvlink_incident,
    unplaced_incident,
)

INCIDENT = nvlink_incident()


def text(**changes: Any) -> DraftText:
    return DraftText.model_validate(answers.answer(**changes)["text"])


def steps(do: str) -> list[dict[str, str]]:
    return [{"do": do, "proves": "A pass shows bad contact."}] * 2


def test_good_text_has_no_problems(catalogue: Catalogue) -> None:
    assert problems(text(), INCIDENT, catalogue) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"title": "CRITICAL: NVLink 4 of GPU 2"}, "title: gpu 2 is not of the isolated link"),
        ({"rollback": "Put module SN00000001 back."}, "rollback: 'SN00000001' stands neither"),
        ({"rollback": "  "}, "rollback: empty"),
        ({"summary": "NVLink 13 of GPU 6 is bad."}, "summary: too short"),
        (
            {"alternatives": ["It may be the module in GPU 5."]},
            "alternative 1: 'gpu 5' stands neither",
        ),
        (
            {"alternatives": ["Reset the GPU to see."]},
            "alternative 1: it asks for or names a reset",
        ),
        ({"repair_steps": steps("Wait 45 minutes.")}, "repair step 1 (do): '45' stands neither"),
        (
            {"repair_steps": steps("Run ipmitool.")},
            "repair step 2 (do): it asks for or names a command",
        ),
        ({"repair_steps": steps("Seat it again.")[:1]}, "repair_steps: fewer than 2 steps"),
        ({"rollback": "Order part no. A-1."}, "rollback: the catalogue holds no part number 'A-1'"),
        (
            {
                "evidence_statements": [
                    {"claim": "It counts 31,408 errors.", "evidence_ids": ["E1"]}
                ]
            },
            "evidence statement 1: '31,408' stands neither",
        ),
        (
            {"evidence_statements": [{"claim": "It is bad.", "evidence_ids": ["E1", "E3"]}]},
            "evidence_statements: there is no evidence 'E3'",
        ),
    ],
)
def test_problem_is_named_with_its_field(
    changes: dict[str, Any], problem: str, catalogue: Catalogue
) -> None:
    found = problems(text(**changes), INCIDENT, catalogue)
    assert any(problem in sentence for sentence in found), found


def test_isolated_component_must_be_named(catalogue: Catalogue) -> None:
    vague = answers.GOOD["text"]["summary"].replace("trn-b07-n03:gpu6/nvlink-13", "of this node")
    found = problems(text(title="CRITICAL: a link is degraded", summary=vague), INCIDENT, catalogue)
    assert "title and summary: neither names the isolated component" in found


def test_part_number_passes_only_from_the_catalogue(catalogue: Catalogue) -> None:
    incident = infiniband_incident()
    summary = (
        "The link trn-b02-n11:mlx5_4/1 went down 6 times in 11 hours while its peers stayed up. Clean it first, "
        "then use spares with part number {}."
    )
    stated = {
        "title": "WARNING: mlx5_4/1 flaps",
        "evidence_statements": [{"claim": "It went down 6 times.", "evidence_ids": ["E1"]}],
        "alternatives": [],
        "repair_steps": steps("Clean both ends."),
        "rollback": "Put the old cable back.",
    }
    good = DraftText.model_validate({**stated, "summary": summary.format("MMA4Z00-NS")})
    assert problems(good, incident, catalogue) == []
    other = DraftText.model_validate({**stated, "summary": summary.format("MMS4X00-NS")})
    assert any(
        "no part number 'MMS4X00-NS'" in problem for problem in problems(other, incident, catalogue)
    )


def test_excerpt_cannot_lend_a_part_number(catalogue: Catalogue) -> None:
    lying = INCIDENT.model_copy(deep=True)
    lying.evidence[0].excerpt = "replace with part number ZX-99-1"
    found = problems(text(rollback="Use part number ZX-99-1."), lying, catalogue)
    assert found == ["rollback: the catalogue holds no part number 'ZX-99-1'"]


def test_record_without_evidence_is_cited_by_its_own_id(catalogue: Catalogue) -> None:
    bare = unplaced_incident()
    cited = [{"claim": "The record holds the figures.", "evidence_ids": [bare.incident_id]}]
    found = problems(text(evidence_statements=cited), bare, catalogue)
    assert not any("evidence_statements" in problem for problem in found)


@pytest.mark.parametrize(
    ("component", "why", "expected"),
    [
        ("trn-b07-n03:gpu6/nvlink-13", "It alone counts errors.", []),
        ("trn-b07-n03:gpu2/nvlink-4", "It waits longest.", []),
        (
            "trn-b07-n09:gpu6/nvlink-13",
            "It is bad.",
            ["reading.component: not a component of this incident"],
        ),
        (
            "trn-b07-n03:gpu6/nvlink-13",
            "Reboot it.",
            ["reading.why: it asks for or names a reboot"],
        ),
    ],
)
def test_reading_is_checked_too(
    component: str, why: str, expected: list[str], catalogue: Catalogue
) -> None:
    assert reading_problems(component, {"reading.why": why}, INCIDENT, catalogue) == expected


@pytest.mark.parametrize(
    ("reading", "isolated", "same"),
    [
        ("n1:gpu5/nvlink-11", "n1:gpu5/nvlink-11", True),
        ("N1:GPU5/nvlink-11", "n1:gpu5/nvlink-11", True),
        ("n1:gpu5/nvlink-11/lane-2", "n1:gpu5/nvlink-11", True),
        ("n1:gpu5/nvlink-11/lane-2", "n1:gpu5/nvlink-11/lane-3", False),
        ("n1:gpu5/nvlink-12", "n1:gpu5/nvlink-11", False),
        ("n2:gpu5/nvlink-11", "n1:gpu5/nvlink-11", False),
        ("gpu5/nvlink-11", "n1:gpu5/nvlink-11", False),
    ],
)
def test_agreement_is_computed(reading: str, isolated: str, same: bool) -> None:
    assert same_component(reading, isolated) is same
