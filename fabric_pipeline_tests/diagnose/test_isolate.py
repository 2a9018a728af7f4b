"""Which link case is guilty, suspected or outweighed: the verdicts of localisation laid on the cases."""

from __future__ import annotations

from typing import Any

import pytest

from fabric_pipeline.diagnose.correlate import Correlation
from fabric_pipeline.diagnose.isolate import hold_responsible
from fabric_pipeline.diagnose.link_cases import LinkCase
from fabric_pipeline_tests.diagnose.evidence import correlation, spike

A, B = "n1:gpu0/nvlink-0", "n2:gpu1/nvlink-1"


def case(component: str = A, *correlations: Correlation) -> LinkCase:
    return LinkCase(component, "", "nvlink", [spike(component)], list(correlations))


def row(
    component: str = A, run: str = "r1", verdict: str = "responsible", **changes: Any
) -> Correlation:
    return correlation(component, run, verdict=verdict, **changes)


def test_a_responsible_link_is_guilty_and_explains_its_run() -> None:
    one = case(A, row())
    assert hold_responsible([one]) == {"r1"}
    assert one.guilty_of == one.correlations
    assert one.suspected_of == one.outweighed_by == []


def test_a_suspect_is_suspected_and_explains_nothing() -> None:
    one = case(A, row(verdict="suspect"))
    assert hold_responsible([one]) == set()
    assert one.suspected_of == one.correlations
    assert one.guilty_of == []


def test_a_masked_link_is_outweighed_by_the_better_ones() -> None:
    one = case(A, row(verdict="masked", behind=[B, A]))
    assert hold_responsible([one]) == set()
    assert one.outweighed_by == [B], "a link is not behind itself"
    assert one.guilty_of == one.suspected_of == []


@pytest.mark.parametrize("verdict", ["not_responsible", "not_weighed", "slow_place"])
def test_other_verdicts_leave_a_case_alone(verdict: str) -> None:
    one = case(A, row(verdict=verdict, behind=[B]))
    assert hold_responsible([one]) == set()
    assert one.guilty_of == one.suspected_of == one.outweighed_by == []


@pytest.mark.parametrize("verdict", ["responsible", "suspect"])
def test_a_run_without_slow_error_time_is_not_blamed_on_the_link(verdict: str) -> None:
    one = case(A, row(verdict=verdict), row(run="r2", verdict=verdict, overlap_bins=0))
    hold_responsible([one])
    assert [found.run for found in (*one.guilty_of, *one.suspected_of)] == ["r1"]


def test_a_little_explained_leaves_the_run_unexplained() -> None:
    for covered, explained in ((0.5, {"r1"}), (0.45, set())):
        assert hold_responsible([case(A, row(covered_share=covered))]) == explained


def test_two_links_may_explain_a_run_together() -> None:
    first = case(A, row(covered_share=0.3))
    second = case(B, row(B, covered_share=0.3, covered_bins=list(range(10, 16))))
    assert hold_responsible([first, second]) == {"r1"}
    again = case(B, row(B, covered_share=0.3))
    assert hold_responsible([case(A, row(covered_share=0.3)), again]) == set(), (
        "the same bins twice"
    )


def test_runs_are_explained_one_by_one() -> None:
    both = case(A, row(run="r1"), row(run="r2", covered_share=0.1))
    assert hold_responsible([both, case(B, row(B, "r3"))]) == {"r1", "r3"}


def test_groups_of_one_run_are_not_added_up() -> None:
    """Bins of two groups are counted on two clocks; the better explained group speaks for the run."""
    first = row(communicator="dp0", covered_share=0.3)
    second = row(B, communicator="dp1", covered_share=0.3, covered_bins=list(range(10, 16)))
    assert hold_responsible([case(A, first), case(B, second)]) == set()


def test_a_link_without_counted_errors_explains_too() -> None:
    lost_width = row("n1:mlx5_2/pcie", "r2")
    known = row()
    assert hold_responsible([case(A, known)], [known, lost_width]) == {"r1", "r2"}
    assert hold_responsible([], [row(verdict="suspect")]) == set()


def test_no_slow_bins_is_no_division_by_zero() -> None:
    assert hold_responsible([case(A, row(slow_bins=0, covered_bins=[]))]) == set()
