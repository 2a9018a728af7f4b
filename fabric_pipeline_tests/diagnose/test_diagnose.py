"""All evidence together: one answer for each kind of situation."""

from __future__ import annotations

from typing import Any

from fabric_pipeline.diagnose.alternatives import alternatives
from fabric_pipeline.diagnose.diagnose import Diagnosis, Evidence, diagnose
from fabric_pipeline.diagnose.link_cases import LinkCase
from fabric_pipeline.model.findings import Finding
from fabric_pipeline_tests.diagnose.evidence import (
    components,
    correlation,
    hit,
    spike,
    straggler,
    topology,
)

LINK, FAR = "n1:gpu3/nvlink-4", "n1:nvswitch-2/port-17"
LATE = straggler(communicator="dp-0", kind="late_rank", late_ranks=[5], late_places=["n1:gpu5"])


def answer(**evidence: Any) -> Diagnosis:
    return diagnose(Evidence(**({"has_timing": True, "has_measurements": True} | evidence)))


def accusing(found: Diagnosis) -> list[Finding]:
    return [finding for finding in found.findings if finding.accuses]


def test_nothing_measured_is_no_data_and_quiet_measurements_are_healthy() -> None:
    assert answer(has_measurements=False).verdict == "no_data"
    assert answer().verdict == "healthy"
    assert answer().findings == []


def test_a_link_that_slows_a_run_is_the_one_fault() -> None:
    found = answer(
        spikes=[spike(LINK), spike(FAR, "replay", 90)],
        stragglers=[straggler(), LATE],
        correlations=[correlation(FAR)],
        topology=topology((LINK, FAR)),
    )
    assert found.verdict == "faulty"
    (fault,) = accusing(found)
    assert (fault.component, fault.far_end) == (LINK, FAR)
    assert fault.severity == "critical"
    late = next(finding for finding in found.findings if finding.kind == "late_rank")
    assert (late.role, late.cause) == ("symptom", LINK), "the node waits for its own link"


def test_a_lane_in_the_name_does_not_part_a_symptom_from_its_cause() -> None:
    found = answer(
        spikes=[spike(f"{LINK}/lane-2")],
        stragglers=[straggler(), LATE],
        correlations=[correlation(LINK)],
    )
    (fault,) = accusing(found)
    assert fault.component == f"{LINK}/lane-2"
    assert [f.cause for f in found.findings if f.kind == "late_rank"] == [f"{LINK}/lane-2"]


def test_a_gpu_is_named_where_only_sums_over_its_links_are_known() -> None:
    found = answer(
        spikes=[spike("n1:gpu3", "crc", scope="gpu_sum")],
        stragglers=[straggler()],
        correlations=[correlation("n1:gpu3")],
    )
    (fault,) = accusing(found)
    assert (fault.component, fault.kind) == ("n1:gpu3", "gpu_link_errors")


def test_slow_time_without_any_fitting_link_is_not_a_link() -> None:
    unfit = correlation(
        LINK, overlap_share=0.05, verdict="not_responsible", confidence=0.02, overlap_bins=1
    )
    found = answer(spikes=[spike(LINK)], stragglers=[straggler()], correlations=[unfit])
    assert found.verdict == "not_a_link"
    assert [f.kind for f in accusing(found)] == ["slow_without_link_evidence"]
    (watched,) = [f for f in found.findings if f.kind == "link_errors_without_effect"]
    assert not watched.accuses


def test_a_late_rank_on_a_clean_node_is_not_a_link() -> None:
    found = answer(stragglers=[LATE])
    assert found.verdict == "not_a_link"
    assert components(accusing(found)) == ["n1:gpu5"]


def test_errors_of_a_run_that_was_never_slow_are_watched() -> None:
    found = answer(spikes=[spike(LINK)])
    assert found.verdict == "healthy"
    assert [f.kind for f in found.findings] == ["link_errors_without_effect"]


def test_without_timing_errors_above_their_limit_accuse() -> None:
    found = answer(spikes=[spike(LINK)], has_timing=False)
    assert found.verdict == "faulty"
    assert [f.kind for f in accusing(found)] == ["physical_link_degradation"]


def test_totals_of_network_ports_are_left_to_their_own_rules() -> None:
    total = spike("n1:mlx5_0/1", "symbol_error", at_s=None, link_type="infiniband")
    assert answer(spikes=[total], has_timing=False).findings == []
    timed = spike("n1:mlx5_0/1", "symbol_error", link_type="infiniband")
    assert len(answer(spikes=[timed], has_timing=False).findings) == 1


def test_the_repeating_end_is_named_as_a_symptom() -> None:
    found = answer(spikes=[spike(LINK), spike("n1:gpu6/nvlink-1", "replay", 900)], has_timing=False)
    (symptom,) = [f for f in found.findings if f.kind == "far_end_replays"]
    assert (symptom.component, symptom.cause, symptom.accuses) == ("n1:gpu6/nvlink-1", LINK, False)
    assert components(accusing(found)) == [LINK]


def test_absences_are_passed_on_and_never_accuse() -> None:
    silent = Finding("n7:unknown", "no_telemetry", "info", "context", "Silent.", is_link=False)
    found = answer(absences=[silent])
    assert (found.verdict, components(found.findings)) == ("healthy", ["n7:unknown"])


def test_the_order_of_the_evidence_does_not_matter() -> None:
    spikes = [
        spike(LINK),
        spike("n2:gpu0/nvlink-1"),
        spike("n2:gpu1/nvlink-1", hits=[hit("x", "watch")]),
    ]
    found = [correlation(LINK), correlation("n2:gpu0/nvlink-1", score=7.0)]
    one = answer(spikes=spikes, stragglers=[straggler()], correlations=found)
    two = answer(spikes=spikes[::-1], stragglers=[straggler()], correlations=found[::-1])
    assert one.findings == two.findings


def case(component: str, *, guilty: bool = False, score: float = 5.0) -> LinkCase:
    match = correlation(component, score=score)
    return LinkCase(component, "", "nvlink", [spike(component)], [match], [match] if guilty else [])


def test_other_explanations_are_weighed_by_name() -> None:
    guilty = case(LINK, guilty=True)
    rivals = [case(f"n2:gpu{n}/nvlink-0", score=n) for n in range(5)]
    said = alternatives(guilty, [guilty, *rivals], [straggler()])
    assert [text.partition(": ")[0] for text in said] == [
        "n2:gpu4/nvlink-0", "n2:gpu3/nvlink-0", "n2:gpu2/nvlink-0", "slow compute or host", "a part shared by several links", "congestion",
    ]  # fmt: skip
    assert "fall into slow time in 19 of 20 intervals" in said[0]
    assert alternatives(rivals[0], [guilty, *rivals], []) == [], (
        "only a guilty link has alternatives"
    )


def test_late_ranks_are_weighed_where_they_are_known() -> None:
    guilty = case(LINK, guilty=True)
    here = alternatives(guilty, [guilty], [LATE])
    elsewhere = alternatives(guilty, [guilty], [straggler(late_places=["n9:gpu0"])])
    unknown = alternatives(guilty, [guilty], [straggler()])
    other_run = alternatives(guilty, [guilty], [straggler("r9", late_places=["n9:gpu0"])])
    assert "only ranks of n1 arrive late" in here[0]
    assert "ranks at n9:gpu0 also arrive late" in elsewhere[0]
    assert unknown[0] == other_run[0]
    assert "cannot be ruled out" in unknown[0]


def test_links_of_one_node_that_are_guilty_together_hint_at_a_shared_part() -> None:
    cases = [
        case(LINK, guilty=True),
        case("n1:gpu3/nvlink-5", guilty=True),
        case("n2:gpu3/nvlink-5", guilty=True),
    ]
    said = alternatives(cases[0], cases, [])
    assert any(text.startswith("a part shared with n1:gpu3/nvlink-5:") for text in said)
