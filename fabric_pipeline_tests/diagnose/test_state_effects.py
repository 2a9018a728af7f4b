"""Slow runs explained by a lost width or a flapping link, which counts no error of its own."""

from __future__ import annotations

from typing import Any

import pytest

from fabric_pipeline.diagnose.correlate import Correlation
from fabric_pipeline.diagnose.state_effects import explain_by_state
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.topology import Topology
from fabric_pipeline_tests.diagnose.evidence import at, correlation, straggler, topology

NARROW = "n1:mlx5_2/pcie"


def narrow(component: str = NARROW, **changes: object) -> Finding:
    made = Finding(component, "width_downgrade", "warning", "cause", "x8 where x16 was.")
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def test_the_one_accused_link_in_the_path_takes_the_slow_run() -> None:
    finding = narrow()
    assert explain_by_state([finding], [straggler("r1")], set(), Topology()) == {"r1"}
    assert finding.numbers["runs"] == ["r1"]
    assert finding.numbers["degradation_pct"] == 100.0
    assert "r1 runs over this link and was slow" in finding.reason


def test_two_accused_links_decide_nothing() -> None:
    both = [narrow(), narrow("n2:mlx5_7/pcie")]
    assert explain_by_state(both, [straggler("r1")], set(), Topology()) == set()
    assert not both[0].numbers


def test_a_link_outside_the_path_or_of_another_time_explains_nothing() -> None:
    assert (
        explain_by_state([narrow("n9:mlx5_2/pcie")], [straggler("r1")], set(), Topology()) == set()
    )
    early = narrow(first_seen=at(-4000), last_seen=at(-3000))
    assert explain_by_state([early], [straggler("r1")], set(), Topology()) == set()


def test_only_unexplained_communication_counts() -> None:
    late = straggler("r1", kind="late_rank")
    assert explain_by_state([narrow()], [late], set(), Topology()) == set()
    assert explain_by_state([narrow()], [straggler("r1")], {"r1"}, Topology()) == set()
    watched = narrow(severity="watch", role="context")
    assert explain_by_state([watched], [straggler("r1")], set(), Topology()) == set()


def weighed(component: str = NARROW, run: str = "r1", **changes: Any) -> Correlation:
    figures = {"share_slow": 0.97, "slow_anyway": 0.02, "edges_fitting": 2, "edges_visible": 2}
    return correlation(component, run, **(figures | changes))


def explain(
    finding: Finding, *correlations: Correlation, runs: tuple[str, ...] = ("r1",)
) -> set[str]:
    slow = [straggler(run) for run in runs]
    return explain_by_state([finding], slow, set(), Topology(), correlations)


def test_a_weighed_state_takes_the_runs_it_is_responsible_for() -> None:
    finding = narrow()
    assert explain(finding, weighed(), weighed(run="r2"), runs=("r1", "r2")) == {"r1", "r2"}
    assert finding.numbers["runs"] == ["r1", "r2"]
    assert finding.numbers["confidence"] == 0.95
    assert finding.numbers["p_value"] == 0.02
    assert "97% of the collectives that cross it were slow" in finding.reason
    assert "2 of the 2 starts and ends" in finding.reason


def test_a_weighed_state_stands_beside_other_accused_links() -> None:
    """Without times two accused links decide nothing; with them the verdict does."""
    both = [narrow(), narrow("n2:mlx5_7/pcie")]
    found = explain_by_state(both, [straggler("r1")], set(), Topology(), [weighed()])
    assert found == {"r1"}
    assert both[0].numbers["runs"] == ["r1"]
    assert not both[1].numbers


@pytest.mark.parametrize("verdict", ["suspect", "masked", "not_responsible", "not_weighed"])
def test_other_verdicts_attach_no_weighing(verdict: str) -> None:
    finding = narrow("n9:mlx5_2/pcie")
    assert explain(finding, weighed(finding.component, verdict=verdict)) == set()
    assert not finding.numbers
    assert finding.reason == "x8 where x16 was."


def test_a_watched_state_that_slows_a_run_becomes_a_cause() -> None:
    watched = narrow(severity="watch", role="context")
    assert explain(watched, weighed()) == {"r1"}
    assert (watched.severity, watched.role) == ("warning", "cause")


def test_of_several_findings_on_one_link_the_gravest_carries_the_weighing() -> None:
    """An event noted on the same link is no second accusation, and nothing is said twice."""
    noted, accused = narrow(severity="info", role="context"), narrow()
    explain_by_state([noted, accused], [straggler("r1")], set(), Topology(), [weighed()])
    assert accused.numbers["confidence"] == 0.95
    assert (noted.severity, noted.numbers, noted.reason) == ("info", {}, "x8 where x16 was.")


def test_a_run_that_was_not_slow_while_it_erred_is_not_taken() -> None:
    finding = narrow("n9:mlx5_2/pcie")
    assert explain(finding, weighed(finding.component, overlap_bins=0)) == set()
    late = straggler("r1", kind="late_rank")
    row = weighed(finding.component)
    assert explain_by_state([finding], [late], set(), Topology(), [row]) == set()


def test_a_symptom_and_a_weighed_finding_are_left_alone() -> None:
    for finding in (narrow(role="symptom"), narrow(numbers={"p_value": 0.01})):
        before = finding.reason
        explain(finding, weighed())
        assert finding.reason == before


def test_either_end_of_a_link_finds_its_verdict() -> None:
    port = "unknown:leaf-1/port-2"
    finding = narrow("n1:mlx5_2/1", kind="link_down")
    known = topology(("n1:mlx5_2/1", port))
    found = explain_by_state([finding], [straggler("r1")], set(), known, [weighed(port)])
    assert found == {"r1"}
