"""Lost GPUs, PCIe error reports and slots."""

from __future__ import annotations

import pytest

from fabric_pipeline.diagnose.event_roles import judge_events
from fabric_pipeline_tests.diagnose.events import about, accused, event, xid

GPU = "pci-0000:4e:00.0"
PORT = "pci-0000:40:01.0"


def test_lost_gpu_is_the_cause_and_switch_links_follow() -> None:
    events = [xid(79, GPU, at_s=0)]
    events += [
        event("sxid", f"nvswitch-{n}/port-{n}", at_s=12, line=n + 2, code=20034, is_fatal=True)
        for n in range(4)
    ]
    findings = judge_events(events)
    assert accused(findings) == {f"n1:{GPU}"}
    symptoms = [f for f in findings if f.role == "symptom"]
    assert len(symptoms) == 4
    assert all(f.cause == f"n1:{GPU}" and f.severity == "info" for f in symptoms)


def test_switch_link_an_hour_later_is_its_own_cause() -> None:
    findings = judge_events(
        [
            xid(79, GPU, at_s=0),
            event("sxid", "nvswitch-1/port-2", at_s=3600, code=20034, is_fatal=True),
        ]
    )
    assert accused(findings) == {f"n1:{GPU}", "n1:nvswitch-1/port-2"}


def test_many_gpus_lost_in_one_moment_have_one_common_cause() -> None:
    findings = judge_events(
        [xid(79, f"pci-0000:{bus:02x}:00.0", at_s=bus, line=bus) for bus in range(1, 6)]
    )
    assert accused(findings) == {"n1:unknown"}
    assert sum(f.role == "symptom" for f in findings) == 5


def test_other_boards_at_the_same_position_mean_the_slot() -> None:
    (finding,) = judge_events(
        [xid(79, GPU, at_s=0, gpu_uuid="GPU-a"), xid(79, GPU, at_s=9e5, line=2, gpu_uuid="GPU-b")]
    )
    assert "slot or board" in finding.reason


def test_fatal_report_accuses_the_port_and_not_the_functions_below() -> None:
    affected = [
        {"driver": "nvidia", "pci": "0000:4e:00.0"},
        {"driver": "snd", "pci": "0000:4e:00.1"},
    ]
    (finding,) = judge_events(
        [event("aer_uncorrected", PORT, is_fatal=True, bits=["SDES"], affected=affected)]
    )
    assert (finding.component, finding.severity) == (f"n1:{PORT}", "critical")
    assert finding.far_end == "n1:pci-0000:4e:00.0"
    assert "SDES" in finding.reason


def test_report_of_a_second_function_is_charged_to_the_device() -> None:
    (finding,) = judge_events(
        [event("aer_uncorrected", "pci-0000:4e:00.1", is_fatal=True, source="0000:4e:00.0")]
    )
    assert finding.component == "n1:pci-0000:4e:00.0"


@pytest.mark.parametrize(
    ("count", "recovery", "accuses"), [(1, "", False), (3, "", True), (1, "failed", True)]
)
def test_nonfatal_reports_accuse_when_repeated_or_not_recovered(
    count: int, recovery: str, accuses: bool
) -> None:
    events = [
        event("aer_uncorrected", PORT, at_s=n * 500, line=n + 1, is_fatal=False, recovery=recovery)
        for n in range(count)
    ]
    (finding,) = judge_events(events)
    assert finding.accuses is accuses
    assert finding.error_class == "uncorrected"


@pytest.mark.parametrize(
    ("count", "apart_s", "accuses"),
    [(1, 0, False), (31, 1, False), (33, 1, True), (99, 60, False), (100, 600, True)],
)
def test_corrected_reports_accuse_by_rate_or_number(
    count: int, apart_s: float, accuses: bool
) -> None:
    events = [
        event("aer_corrected", PORT, at_s=n * apart_s, line=n + 1, bits=["RxErr"], observed_s=1e6)
        for n in range(count)
    ]
    (finding,) = judge_events(events)
    assert finding.accuses is accuses
    assert str(32) in finding.reason


@pytest.mark.parametrize(("count", "accuses"), [(9, False), (12, True)])
def test_short_excerpt_gives_a_rate_when_it_holds_enough(count: int, accuses: bool) -> None:
    events = [
        event("aer_corrected", PORT, at_s=n / 5, line=n, observed_s=3.0) for n in range(count)
    ]
    assert judge_events(events)[0].accuses is accuses


def test_corrected_reports_without_clock_accuse_by_number() -> None:
    few = judge_events([event("aer_corrected", PORT, line=n) for n in range(10)])
    many = judge_events([event("aer_corrected", PORT, line=n) for n in range(40)])
    assert (few[0].accuses, many[0].accuses) == (False, True)


def test_slot_that_stays_down_is_a_cause_and_one_that_returns_is_not() -> None:
    down, up = (
        event("pcie_link_down", PORT, at_s=0, slot="5"),
        event("pcie_link_up", PORT, at_s=3, slot="5"),
    )
    assert accused(judge_events([down])) == {f"n1:{PORT}"}
    assert accused(judge_events([down, up])) == set()


def test_slot_that_goes_down_with_a_lost_gpu_follows() -> None:
    findings = judge_events([xid(79, GPU, at_s=0), event("pcie_link_down", PORT, at_s=1, line=2)])
    assert about(findings, f"n1:{PORT}").role == "symptom"
