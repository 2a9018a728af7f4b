"""Cause, consequence or note: the door of the event rules and the faults that are no link's."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.diagnose.event_roles import judge_events
from fabric_pipeline_tests.diagnose.events import about, accused, event, xid

GPU = "pci-0000:4e:00.0"


def test_no_event_no_finding() -> None:
    assert judge_events([]) == []


@pytest.mark.parametrize("code", [13, 31, 48, 62, 63, 64, 92, 94, 95, 119])
def test_gpu_faults_are_not_a_link(code: int) -> None:
    (finding,) = judge_events([xid(code, GPU, at_s=t) for t in (0, 5000)])
    assert (finding.accuses, finding.is_link) == (True, False)
    assert finding.component == f"n1:{GPU}"
    assert f"Xid {code}" in finding.reason
    assert finding.numbers["events"] == 2


@pytest.mark.parametrize("kind", ["peermem_error", "fabric_manager_failed"])
def test_software_names_no_device(kind: str) -> None:
    (finding,) = judge_events([event(kind, role="cause", severity="warning", node="")])
    assert (finding.component, finding.is_link, finding.accuses) == ("unknown:unknown", False, True)


def test_program_fault_of_a_gpu_known_by_index_names_no_gpu() -> None:
    (finding,) = judge_events([xid(31, "gpu3")])
    assert finding.component == "n1:unknown"


def test_teardown_alone_accuses_nobody() -> None:
    (finding,) = judge_events([xid(45, GPU)])
    assert (finding.role, finding.accuses) == ("symptom", False)


def test_program_fault_right_after_a_memory_fault_is_its_symptom() -> None:
    findings = judge_events([xid(94, GPU, at_s=0), xid(43, GPU, at_s=2, line=2)])
    assert [f.role for f in findings] == ["cause", "symptom"]
    assert findings[1].cause == f"n1:{GPU}"


def test_memory_fault_after_a_link_fault_stands_for_itself() -> None:
    link = f"{GPU}/nvlink-3"
    findings = judge_events([xid(74, link, at_s=0), xid(48, "pci-0000:5e:00.0", at_s=3, line=2)])
    assert accused(findings) == {f"n1:{link}", "n1:pci-0000:5e:00.0"}


def test_firmware_time_outs_minutes_after_a_link_fault_follow_from_it() -> None:
    link = f"{GPU}/nvlink-3"
    findings = judge_events([xid(74, link, at_s=0), xid(119, "pci-0000:5e:00.0", at_s=300, line=2)])
    assert accused(findings) == {f"n1:{link}"}


def test_faults_of_another_host_do_not_follow() -> None:
    findings = judge_events(
        [xid(79, GPU, at_s=0), xid(62, "pci-0000:5e:00.0", at_s=2, line=2, node="n2")]
    )
    assert accused(findings) == {f"n1:{GPU}", "n2:pci-0000:5e:00.0"}


def test_recovery_action_is_quoted_and_never_a_cause() -> None:
    findings = judge_events(
        [
            xid(79, GPU, at_s=0),
            xid(154, GPU, at_s=1, line=2, recovery_action="0x1 (GPU Reset Required)"),
        ]
    )
    assert accused(findings) == {f"n1:{GPU}"}
    assert any("GPU Reset Required" in f.reason for f in findings if f.role == "symptom")


def test_xid_that_only_another_line_quotes_names_its_gpu() -> None:
    meaning = {
        "role": "cause",
        "severity": "critical",
        "reason": "NVLink",
        "is_link": True,
        "subject": "nvlink",
    }
    quoting = xid(45, GPU, previous_xid=149, previous_meaning=meaning)
    findings = judge_events(
        [quoting, xid(45, GPU, line=2, previous_xid=149, previous_meaning=meaning)]
    )
    (cause,) = [f for f in findings if f.accuses]
    assert (cause.component, cause.severity, cause.is_link) == (f"n1:{GPU}", "warning", True)
    assert "second hand" in cause.reason


def test_unlisted_codes_and_kinds_are_noted_only() -> None:
    findings = judge_events(
        [event("xid", GPU, code=999), event("something_new", "gpu1", severity="critical", line=2)]
    )
    assert not accused(findings)
    assert {f.severity for f in findings} == {"watch"}


def test_events_of_job_tools_are_left_to_their_own_rules() -> None:
    assert judge_events([event("ras_peer_dead", role="cause", severity="warning")]) == []


def test_evidence_points_to_file_and_lines() -> None:
    (finding,) = judge_events([xid(63, GPU, at_s=n, line=n + 1) for n in range(20)])
    assert len(finding.evidence) == 6
    assert (finding.evidence[0].file, finding.evidence[0].line) == ("log", 1)
    assert finding.evidence[-1].line == 20
    assert finding.first_seen is not None


def test_card_that_does_not_answer_is_a_bad_port() -> None:
    (finding,) = judge_events([event("nic_failed", "ens4np0", role="cause", severity="warning")])
    assert (finding.accuses, finding.is_link) == (True, True)
    assert about([finding], "n1:ens4np0").kind == "nic_failed"


def test_a_gpu_that_reports_a_degraded_fabric_is_accused_without_a_link() -> None:
    (finding,) = judge_events(
        [
            event("fabric_bandwidth", "gpu3", role="cause", severity="warning"),
            event("fabric_route", "gpu3", role="cause", severity="warning", line=2),
        ]
    )
    assert (finding.kind, finding.component, finding.accuses) == (
        "nvlink_fabric_degraded",
        "n1:gpu3",
        True,
    )
    (note,) = judge_events([event("fabric_state", "gpu3")])
    assert not note.accuses


_KINDS = st.sampled_from(
    ["xid", "sxid", "link_down", "link_up", "aer_corrected", "aer_uncorrected", "gpu_lost", "cable_error",
     "cable_unplugged", "pcie_link_down", "peermem_error", "threshold_exceeded", "unheard_of"]
)  # fmt: skip


@given(
    st.lists(
        st.builds(
            event,
            kind=_KINDS,
            interface=st.sampled_from(["", GPU, f"{GPU}/nvlink-1", "nvswitch-1/port-2", "ens4np0"]),
            at_s=st.one_of(st.none(), st.integers(0, 100_000)),
            line=st.integers(1, 500),
            code=st.sampled_from([None, 31, 45, 63, 74, 79, 119, 137, 144, 145, 149, 154, 20034]),
        ),
        max_size=25,
    )
)
def test_any_mixture_gives_complete_findings(events: list) -> None:
    for finding in judge_events(events):
        assert re.match(r"^[^:\s]+:\S", finding.component)
        assert finding.reason.endswith(".")
        assert finding.evidence
        assert finding.role in ("cause", "symptom", "context")
        if finding.role != "cause":
            assert finding.severity in ("info", "watch")
