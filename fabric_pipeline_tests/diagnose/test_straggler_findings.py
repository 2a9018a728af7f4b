"""Slow runs that no link explains: most stragglers are not links, and that is a result."""

from __future__ import annotations

from typing import Any

import pytest

from fabric_pipeline.detect.stragglers.evaluate import Straggler
from fabric_pipeline.diagnose.straggler_findings import straggler_findings
from fabric_pipeline.diagnose.thresholds import IsolationLimits
from fabric_pipeline.model.findings import Finding
from fabric_pipeline_tests.diagnose.evidence import at, straggler

LIMITS = IsolationLimits()
LATE: dict[str, Any] = {"kind": "late_rank", "late_ranks": [5], "late_places": ["n1:gpu5"]}


def findings(
    *stragglers: Straggler,
    explained: tuple[str, ...] = (),
    guilty: dict[str, list[str]] | None = None,
) -> list[Finding]:
    return straggler_findings(stragglers, set(explained), guilty or {}, LIMITS)


def test_unexplained_slowness_is_the_negative_verdict() -> None:
    (found,) = findings(straggler(), straggler(start_ts=at(0), collectives=3))
    assert (found.component, found.kind) == ("unknown:unknown", "slow_without_link_evidence")
    assert (found.severity, found.role, found.is_link) == ("warning", "cause", False)
    assert "no link's errors fit that time" in found.reason
    assert "63 collectives" in found.reason
    assert "100.0 % more" in found.reason
    assert (found.first_seen, found.last_seen) == (at(0), at(1200))
    assert found.numbers["runs"] == ["r1"]
    assert found.numbers["lost_gpu_s"] == pytest.approx(2 * 0.06 * 16)
    assert found.evidence[0].file == "collectives.csv"


def test_a_moment_is_no_fault() -> None:
    for collectives, severity in ((3, "watch"), (4, "warning")):
        (found,) = findings(straggler(collectives=collectives))
        assert (found.severity, found.accuses) == (severity, severity == "warning")
        (late,) = findings(straggler(**LATE, collectives=collectives))
        assert (late.severity, late.accuses) == (severity, severity == "warning")


@pytest.mark.parametrize(("latency_us", "count"), [(1050.0, 0), (1050.1, 1)])
def test_noise_is_nothing(latency_us: float, count: int) -> None:
    assert len(findings(straggler(latency_us=latency_us))) == count


def test_a_run_that_a_link_explains_is_not_named_again() -> None:
    assert findings(straggler(), explained=("r1",)) == []
    (found,) = findings(straggler(), straggler("r2"), explained=("r1",))
    assert found.numbers["runs"] == ["r2"]


def test_a_late_rank_is_named_and_no_link() -> None:
    (found,) = findings(straggler(**LATE))
    assert (found.component, found.kind, found.is_link) == ("n1:gpu5", "late_rank", False)
    assert found.accuses
    assert "rank 5 arrives last in 60 slow collectives" in found.reason
    assert "not to a link" in found.reason
    assert found.numbers["late_ranks"] == [5]


def test_a_late_rank_is_told_even_in_a_run_that_a_link_slows() -> None:
    found = findings(straggler(), straggler(**LATE), explained=("r1",))
    assert [f.kind for f in found] == ["late_rank"]


def test_a_late_rank_on_the_node_of_the_guilty_link_is_its_symptom() -> None:
    link = "n1:gpu3/nvlink-4"
    (found,) = findings(straggler(**LATE), guilty={"r1": ["n9:gpu0/nvlink-0", link]})
    assert (found.role, found.severity, found.cause, found.accuses) == (
        "symptom",
        "watch",
        link,
        False,
    )
    assert link in found.reason
    (other,) = findings(straggler(**LATE), guilty={"r2": [link], "r1": ["n9:gpu0/nvlink-0"]})
    assert other.accuses


@pytest.mark.parametrize("places", [[], ["unknown:unknown"]])
def test_an_unnamed_place_is_never_taken_for_the_unnamed_node_of_a_link(places: list[str]) -> None:
    late: dict[str, Any] = {**LATE, "late_places": places}
    (found,) = findings(straggler(**late), guilty={"r1": ["unknown:leaf-4/port-12"]})
    assert found.component == "unknown:unknown"
    assert (found.cause, found.accuses) == ("", True)


def test_one_finding_a_run_with_bounded_evidence() -> None:
    many = [straggler(latency_us=1100.0 + n) for n in range(40)]
    (found,) = findings(*many)
    assert len(found.evidence) == 6
    assert "1139 us" in found.evidence[0].excerpt
