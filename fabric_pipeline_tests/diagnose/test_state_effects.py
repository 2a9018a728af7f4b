"""Slow runs explained by a lost width or a flapping link, which counts no error of its own."""

from __future__ import annotations

from fabric_pipeline.diagnose.state_effects import explain_by_state
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.topology import Topology
from fabric_pipeline_tests.diagnose.evidence import at, straggler

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
