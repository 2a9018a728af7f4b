"""NVLink and NVSwitch codes: who leads, who follows, who is the best suspect alone."""

from __future__ import annotations

import pytest

from fabric_pipeline.diagnose.event_roles import judge_events
from fabric_pipeline_tests.diagnose.events import about, accused, event, xid

GPU = "pci-0008:01:00.0"
LINK = f"{GPU}/nvlink-14"


def test_named_link_leads_and_the_rest_follows() -> None:
    events = [
        xid(145, "pci-0009:01:00.0/nvlink-2", line=1),
        xid(149, GPU, line=2, link=-1),
        xid(149, LINK, line=3),
        xid(145, f"{GPU}/nvlink-3", line=4),
    ]
    findings = judge_events(events)
    assert accused(findings) == {f"n1:{LINK}"}
    assert all(f.cause == f"n1:{LINK}" for f in findings if f.role == "symptom")
    assert "149" in about(findings, f"n1:{LINK}").reason


def test_followers_on_other_machines_follow_too() -> None:
    events = [xid(149, LINK, at_s=0)]
    events += [xid(145, f"{GPU}/nvlink-1", at_s=1, line=n, node=f"n{n}") for n in range(2, 8)]
    assert accused(judge_events(events)) == {f"n1:{LINK}"}


def test_follower_alone_is_the_best_suspect_with_its_caveat() -> None:
    (finding,) = judge_events([xid(145, LINK, is_fatal=False)])
    assert (finding.component, finding.severity) == (f"n1:{LINK}", "warning")
    assert "not proven" in finding.reason
    assert "145" in finding.reason


def test_follower_of_unknown_gpu_joins_the_known_gpu_of_the_same_link() -> None:
    findings = judge_events(
        [xid(145, "nvlink-5", line=1), xid(137, "gpu3/nvlink-5", line=2, gpu=3, role="context")]
    )
    assert accused(findings) == {"n1:gpu3/nvlink-5"}


def test_followers_at_many_links_name_no_link() -> None:
    findings = judge_events([xid(145, f"{GPU}/nvlink-{n}", at_s=1, line=n) for n in range(1, 19)])
    assert accused(findings) == {f"n1:{GPU}"}
    assert "18 NVLinks" in about([f for f in findings if f.accuses], f"n1:{GPU}").reason


def test_privilege_error_alone_is_only_noted() -> None:
    assert accused(judge_events([xid(137, "gpu3/nvlink-5", role="context")])) == set()


def test_whole_gpu_without_any_named_link() -> None:
    (finding,) = judge_events([xid(149, GPU, link=-1)])
    assert (finding.component, finding.severity) == (f"n1:{GPU}", "warning")


def test_nonfatal_bit_error_event_is_watched_and_nonfatal_link_event_warned() -> None:
    quiet = judge_events(
        [xid(149, LINK, is_fatal=False, unit="NETIR_BER_EVENT", role="context", severity="watch")]
    )
    loud = judge_events(
        [xid(149, LINK, is_fatal=False, unit="NETIR_LINK_DOWN", role="context", severity="watch")]
    )
    assert accused(quiet) == set()
    assert loud[0].severity == "warning"


@pytest.mark.parametrize("bits", ["secondary", "corrected", "ignored"])
def test_secondary_register_bits_never_open_a_ticket(bits: str) -> None:
    findings = judge_events([xid(74, LINK, register_class=bits, role="context", severity="watch")])
    assert accused(findings) == set()


def test_links_of_unrelated_hosts_are_separate_causes() -> None:
    other = "pci-0000:b9:00.0/nvlink-6"
    findings = judge_events([xid(74, LINK, at_s=0), xid(74, other, at_s=1, line=2, node="n2")])
    assert accused(findings) == {f"n1:{LINK}", f"n2:{other}"}


def test_many_links_of_one_gpu_in_one_moment_mean_the_gpu() -> None:
    findings = judge_events(
        [xid(74, f"{GPU}/nvlink-{n}", at_s=n / 10, line=n) for n in range(1, 7)]
    )
    assert accused(findings) == {f"n1:{GPU}"}
    assert sum(f.role == "symptom" for f in findings) == 6


def test_fatal_code_of_a_noticing_unit_leads_only_when_alone() -> None:
    unit = xid(144, LINK, at_s=5, line=2, is_fatal=True)
    assert accused(judge_events([unit])) == {f"n1:{LINK}"}
    other = f"{GPU}/nvlink-1"
    assert accused(judge_events([xid(149, other, at_s=0), unit])) == {f"n1:{other}"}


def test_links_down_at_boot_of_many_machines_are_a_note() -> None:
    events = [xid(149, LINK, at_s=n, line=n, node=f"n{n}", since_boot_s=90.0) for n in range(20)]
    (finding,) = judge_events(events)
    assert (finding.role, finding.severity) == ("context", "info")
    assert "20 machines" in finding.reason


def test_link_down_at_boot_of_one_machine_stays_a_fault() -> None:
    assert accused(judge_events([xid(149, LINK, at_s=1, since_boot_s=90.0)])) == {f"n1:{LINK}"}


def sxid(switch: int, port: int, at_s: float, **details: object):
    details.setdefault("is_fatal", True)
    return event("sxid", f"nvswitch-{switch}/port-{port}", at_s, port, code=20034, **details)


def test_fatal_switch_error_is_a_cause_and_nonfatal_a_note() -> None:
    assert accused(judge_events([sxid(1, 12, 0)])) == {"n1:nvswitch-1/port-12"}
    assert accused(judge_events([sxid(1, 12, 0, is_fatal=False)])) == set()


def test_switch_error_beside_a_controller_halt_is_the_cause() -> None:
    findings = judge_events(
        [sxid(1, 12, 0), xid(62, GPU, at_s=0.05, line=20), xid(45, GPU, at_s=0.1, line=21)]
    )
    assert accused(findings) == {"n1:nvswitch-1/port-12"}
    assert [f.cause for f in findings if f.role == "symptom"] == ["n1:nvswitch-1/port-12"] * 2


def test_first_of_two_ports_leads_and_many_ports_of_a_switch_mean_the_switch() -> None:
    assert accused(judge_events([sxid(1, 12, 0), sxid(2, 13, 1)])) == {"n1:nvswitch-1/port-12"}
    assert accused(judge_events([sxid(1, p, p / 10) for p in range(1, 9)])) == {"n1:nvswitch-1"}


def test_ports_of_several_switches_in_one_moment_name_the_first() -> None:
    findings = judge_events([sxid(s, 10 + s, s / 10) for s in range(4)])
    assert accused(findings) == {"n1:nvswitch-0/port-10"}
    assert "common cause" in about(findings, "n1:nvswitch-0/port-10").reason


def test_both_ends_of_one_link_are_named_together() -> None:
    findings = judge_events([xid(74, LINK, at_s=0), sxid(1, 12, 1)])
    assert accused(findings) == {f"n1:{LINK}", "n1:nvswitch-1/port-12"}
    assert about(findings, "n1:nvswitch-1/port-12").far_end == f"n1:{LINK}"


def test_one_error_told_by_driver_and_fabric_manager_is_one_cause() -> None:
    driver = sxid(1, 12, 0, pci="0000:86:00.0", link=12)
    manager = event(
        "sxid", "nvswitch-3/port-12", 1, 40, code=20034, is_fatal=True, pci="0000:86:00.0", link=12
    )
    assert accused(judge_events([driver, manager])) == {"n1:nvswitch-1/port-12"}
