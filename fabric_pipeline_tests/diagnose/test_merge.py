"""One finding per physical component; nothing that was said is lost."""

from __future__ import annotations

from typing import Any

from fabric_pipeline.diagnose.merge import merge_findings
from fabric_pipeline.model.findings import EvidenceRef, Finding
from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.model.topology import Topology
from fabric_pipeline_tests.diagnose.evidence import at, components, topology

NEAR, FAR = "n1:gpu3/nvlink-4", "n1:nvswitch-2/port-17"
KNOWN = topology((NEAR, FAR))


def said(component: str = NEAR, kind: str = "physical_link_degradation", **changes: Any) -> Finding:
    facts: dict[str, Any] = {
        "severity": "warning",
        "role": "cause",
        "reason": f"{kind} at {component}.",
    }
    return Finding(component, kind, **(facts | changes))


def test_what_is_said_of_both_ends_is_said_once() -> None:
    counters = said(
        evidence=[EvidenceRef("a", 1)], rules=["r1"], alternatives=["x"], numbers={"p_value": 0.02, "score": None},
        first_seen=at(60), last_seen=at(90),
    )  # fmt: skip
    event = said(
        FAR, "sxid", severity="critical", evidence=[EvidenceRef("b", 2), EvidenceRef("a", 1)], rules=["r1", "r2"], alternatives=["x", "y"],
        numbers={"score": 4.0, "p_value": 0.9}, first_seen=at(30), last_seen=at(80), error_class="uncorrected", class_basis="reported",
    )  # fmt: skip
    (head,) = merge_findings([event, counters], KNOWN)
    assert (head.component, head.kind, head.far_end) == (NEAR, "physical_link_degradation", FAR)
    assert head.severity == "critical"
    assert head.reason == f"physical_link_degradation at {NEAR}. sxid at {FAR}."
    assert head.evidence == [EvidenceRef("a", 1), EvidenceRef("b", 2)]
    assert (head.rules, head.alternatives) == (["r1", "r2"], ["x", "y"])
    assert (head.numbers["p_value"], head.numbers["score"]) == (0.02, 4.0)
    assert (head.first_seen, head.last_seen) == (at(30), at(90))
    assert (head.error_class, head.class_basis) == ("uncorrected", "reported")


def test_without_a_map_two_ends_stay_two() -> None:
    assert components(merge_findings([said(NEAR), said(FAR)], Topology())) == [NEAR, FAR]


def test_what_says_most_of_the_state_names_the_finding() -> None:
    kinds = [
        "aer",
        "physical_link_degradation",
        "width_downgrade",
        "nvlink_inactive",
        "link_flapping",
        "gpu_lost",
        "link_down",
    ]
    for place in range(1, len(kinds)):
        found = merge_findings([said(kind=kind) for kind in kinds[: place + 1]], KNOWN)
        assert [f.kind for f in found] == [kinds[place]]


def test_a_lane_that_one_of_them_names_is_kept() -> None:
    (head,) = merge_findings([said(kind="link_down"), said(f"{NEAR}/lane-2")], KNOWN)
    assert (head.kind, head.component) == ("link_down", f"{NEAR}/lane-2")
    (head,) = merge_findings([said(FAR, "link_down"), said(f"{NEAR}/lane-2")], KNOWN)
    assert head.component == FAR, "a lane of the other end is no lane of this one"


def test_lesser_findings_on_an_accused_link_become_its_symptoms() -> None:
    lesser = [
        said(FAR, "sxid", severity="watch", role="context"),
        said(NEAR, "link_errors", severity="watch"),
        said(NEAR, "width_change", severity="info", role="context", cause="n9:gpu0/pcie"),
    ]
    head, *others = merge_findings([*lesser, said()], KNOWN)
    assert head.accuses
    assert {f.kind: (f.role, f.cause) for f in others} == {
        "sxid": ("context", NEAR),
        "link_errors": ("symptom", NEAR),
        "width_change": ("context", "n9:gpu0/pcie"),
    }


def test_findings_that_accuse_nobody_stay_as_they_are() -> None:
    found = merge_findings([said(severity="watch"), said(FAR, severity="info")], KNOWN)
    assert [(f.component, f.cause, f.role) for f in found] == [
        (NEAR, "", "cause"),
        (FAR, "", "cause"),
    ]


def test_a_symptom_finds_its_cause_under_the_name_that_was_chosen() -> None:
    waiting = said(
        "n1:gpu0", "late_rank", severity="watch", role="symptom", is_link=False, cause=NEAR
    )
    found = merge_findings([waiting, said(), said(FAR, "link_down", severity="critical")], KNOWN)
    assert components(found) == [FAR, "n1:gpu0"]
    assert found[1].cause == FAR


def test_links_and_other_trouble_of_one_component_are_told_apart() -> None:
    found = merge_findings([said(), said(kind="thermal", is_link=False)], KNOWN)
    assert [(f.kind, f.is_link) for f in found] == [
        ("physical_link_degradation", True),
        ("thermal", False),
    ]
    assert not any(f.cause for f in found)


def test_whole_nodes_are_not_joined_across_kinds() -> None:
    found = merge_findings([said("n1:unknown", "gpu_lost"), said("n1:unknown", "aer")], Topology())
    assert len(found) == 2


def test_names_by_pci_address_are_resolved() -> None:
    gpus = [{"gpu": 3, "pci": "5d:00.0"}]
    known = Topology([TopologyPart(nodes=[{"node": "n1", "gpus": gpus}])])
    (head,) = merge_findings(
        [said("n1:pci-0000:5d:00.0", "aer"), said("n1:gpu3/pcie", "link_down")], known
    )
    assert (head.component, head.kind) == ("n1:gpu3/pcie", "link_down")


def slow_run(run: str, degradation: float, ranks: list[int]) -> Finding:
    numbers = {
        "runs": [run], "degradation_pct": degradation, "latency_us": 10 * degradation, "baseline_us": 1.0, "late_ranks": ranks,
        "lost_gpu_s": 5.0,
    }  # fmt: skip
    return said("unknown:unknown", "slow_without_link_evidence", is_link=False, numbers=numbers)


def test_slow_runs_without_a_place_are_one_finding_with_all_runs() -> None:
    (head,) = merge_findings(
        [slow_run("r1", 20.0, [3]), slow_run("r2", 80.0, [1]), slow_run("r3", 50.0, [])], Topology()
    )
    assert head.numbers == {
        "runs": ["r1", "r2", "r3"], "degradation_pct": 80.0, "latency_us": 800.0, "baseline_us": 1.0, "late_ranks": [1, 3], "lost_gpu_s": 15.0,
    }  # fmt: skip


def test_the_loss_of_one_run_is_not_counted_twice() -> None:
    (head,) = merge_findings([slow_run("r1", 20.0, []), slow_run("r1", 10.0, [])], Topology())
    assert head.numbers["lost_gpu_s"] == 5.0


def test_order_is_by_weight_and_does_not_depend_on_the_order_of_arrival() -> None:
    findings = [
        said("n2:gpu0/nvlink-1", severity="info", role="context"),
        said("n2:gpu1/nvlink-1", severity="critical"),
        said("n1:gpu1/nvlink-1"),
        said("n1:gpu2/nvlink-1", severity="watch", role="symptom"),
    ]
    expected = ["n2:gpu1/nvlink-1", "n1:gpu1/nvlink-1", "n1:gpu2/nvlink-1", "n2:gpu0/nvlink-1"]
    assert components(merge_findings(findings, Topology())) == expected
    assert components(merge_findings(findings[::-1], Topology())) == expected
    assert merge_findings([], Topology()) == []
