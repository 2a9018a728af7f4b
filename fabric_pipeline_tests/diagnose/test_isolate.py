"""Which link is held responsible: by size and chance, one explanation for one slow time."""

from __future__ import annotations

from math import exp

import pytest

from fabric_pipeline.diagnose.isolate import combined_p, hold_responsible
from fabric_pipeline.diagnose.link_cases import LinkCase
from fabric_pipeline.diagnose.thresholds import IsolationLimits
from fabric_pipeline_tests.diagnose.evidence import correlation, spike

LIMITS = IsolationLimits()
A, B = "n1:gpu0/nvlink-0", "n2:gpu1/nvlink-1"


def case(component: str = A, *runs: str, **match: object) -> LinkCase:
    found = [correlation(component, run, **match) for run in runs or ("r1",)]
    return LinkCase(component, "", "nvlink", [spike(component)], found)


def guilty(*cases: LinkCase) -> list[str]:
    hold_responsible(cases, LIMITS)
    return [one.component for one in cases if one.guilty_of]


def test_a_good_match_is_held_responsible_and_explains_its_run() -> None:
    one = case()
    assert hold_responsible([one], LIMITS) == {"r1"}
    assert one.guilty_of == one.correlations


@pytest.mark.parametrize(
    ("match", "is_guilty"),
    [
        ({"overlap_share": 0.5}, True),
        ({"overlap_share": 0.49}, False),  # most of its errors fall elsewhere
        ({"covered_share": 0.25}, True),
        ({"covered_share": 0.24}, False),  # most of the slow time is something else
        ({"effect_pct": 5.0}, True),
        ({"effect_pct": 4.9}, False),  # within the noise
        ({"effect_pct": None}, False),
        ({"p_value": 0.05}, True),
        ({"p_value": 0.051}, True),  # beyond chance by the shares of a short run
        ({"p_value": 0.1}, True),
        ({"p_value": 0.101}, False),
        ({"p_value": 0.051, "overlap_share": 0.79}, False),
        ({"p_value": 0.051, "covered_share": 0.79}, False),
        ({"p_value": 0.05, "overlap_share": 0.79}, True),
        ({"p_value": None}, False),
    ],
)
def test_limits_of_responsibility(match: dict[str, object], is_guilty: bool) -> None:
    assert guilty(case(A, "r1", **match)) == ([A] if is_guilty else [])


def test_a_little_explained_leaves_the_run_unexplained() -> None:
    for covered, explained in ((0.5, {"r1"}), (0.45, set())):
        assert hold_responsible([case(A, "r1", covered_share=covered)], LIMITS) == explained


def test_a_weaker_coincident_candidate_is_explained_away() -> None:
    strong, weak = case(A, score=8.0), case(B, score=7.9)
    assert guilty(weak, strong) == [A]
    assert weak.outweighed_by == [A]
    assert strong.outweighed_by == []


def test_a_second_link_may_explain_what_the_first_leaves_over() -> None:
    first = case(A, covered_share=0.6, score=8.0)
    second = case(B, covered_share=0.4, score=7.0, covered_bins=list(range(12, 20)))
    assert guilty(first, second) == [A, B]
    assert hold_responsible(
        [
            case(A, covered_share=0.3),
            case(B, covered_share=0.3, covered_bins=list(range(10, 16))),
        ],
        LIMITS,
    ) == {"r1"}


def test_the_same_slow_time_is_explained_once() -> None:
    first, second = case(A, covered_share=0.5, score=8.0), case(B, covered_share=0.5, score=7.0)
    assert guilty(first, second) == [A], "both cover the same half of the slow bins"
    assert second.outweighed_by == [A]


def test_equal_candidates_are_decided_by_name_so_that_reruns_agree() -> None:
    assert guilty(case(B), case(A)) == [A]
    assert guilty(case(A), case(B)) == [A]


def test_runs_are_explained_one_by_one() -> None:
    both = case(A, "r1", "r2")
    other = case(B, "r3", overlap_share=0.1)
    assert hold_responsible([both, other], LIMITS) == {"r1", "r2"}


def test_chances_of_several_runs_are_combined() -> None:
    weak = {"p_value": 0.12, "overlap_share": 0.7, "covered_share": 0.7}
    assert guilty(case(A, "r1", **weak)) == []
    assert guilty(case(A, "r1", "r2", "r3", **weak)) == [A]


def test_a_run_that_does_not_fit_adds_no_chance() -> None:
    one = case(A, "r1", p_value=0.12, overlap_share=0.7)
    one.correlations += [correlation(A, "r2", p_value=1e-6, overlap_share=0.1)]
    assert guilty(one) == []


def test_fisher_in_closed_form() -> None:
    assert combined_p([]) == 1.0
    assert combined_p([0.05]) == pytest.approx(0.05)
    assert combined_p([1.0, 1.0]) == 1.0
    half = 3.2188758  # -ln(0.2 * 0.2)
    assert combined_p([0.2, 0.2]) == pytest.approx(exp(-half) * (1 + half))
    assert combined_p([0.2, 0.3]) == combined_p([0.3, 0.2])
    assert 0 <= combined_p([0.0, 0.5]) < 1e-100
