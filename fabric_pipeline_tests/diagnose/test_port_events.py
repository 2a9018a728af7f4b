"""Network ports: flaps, bring-up, modules, shared causes, alarms of the fabric manager."""

from __future__ import annotations

import pytest

from fabric_pipeline.diagnose.event_roles import judge_events
from fabric_pipeline_tests.diagnose.events import about, accused, event

PORT = "ens4np0"
HOUR = 3600.0


def drops(count: int, apart_s: float, port: str = PORT, start: float = 0.0):
    events = []
    for n in range(count):
        at = start + n * apart_s
        events.append(event("link_down", port, at, 2 * n + 1, sources=["mlx5"], is_fabric=True))
        events.append(event("link_up", port, at + 1, 2 * n + 2, severity="info"))
    return events


@pytest.mark.parametrize(
    ("count", "apart_h", "flaps"),
    [(1, 1, False), (2, 1, False), (3, 1, True), (3, 7, False), (5, 5.9, True)],
)
def test_flaps_by_number_and_window(count: int, apart_h: float, flaps: bool) -> None:
    findings = judge_events(drops(count, apart_h * HOUR))
    assert accused(findings) == ({f"n1:{PORT}"} if flaps else set())
    assert findings[0].kind == ("link_flapping" if flaps else "link_down")


def test_flaps_in_a_log_without_clock_are_counted() -> None:
    events = [event("link_down", PORT, line=n) for n in range(3)]
    assert judge_events(events)[0].kind == "link_flapping"


def test_port_down_at_the_end_is_a_cause() -> None:
    (finding,) = judge_events([event("link_down", PORT, 0)])
    assert (finding.severity, finding.error_class) == ("warning", "link_down")


@pytest.mark.parametrize("details", [{"is_fabric": False}, {"sources": ["daemon"]}])
def test_management_cards_and_daemons_alone_accuse_nobody(details: dict) -> None:
    assert accused(judge_events([event("link_down", "eno1", 0, **details)])) == set()


def test_init_then_active_at_boot_is_bring_up() -> None:
    events = [event("link_init", PORT, 0), event("link_up", PORT, 0, 2)]
    (finding,) = judge_events(events)
    assert (finding.kind, finding.severity, finding.role) == ("link_bring_up", "info", "context")


def test_down_then_up_while_the_machine_starts_is_bring_up() -> None:
    events = [
        event("link_down", PORT, 0, 1, since_boot_s=20.0),
        event("link_up", PORT, 9, 2, since_boot_s=29.0),
    ]
    assert judge_events(events)[0].kind == "link_bring_up"


def test_port_that_never_came_up_at_boot_is_no_fault() -> None:
    (finding,) = judge_events([event("link_down", PORT, 0, since_boot_s=20.0)])
    assert not finding.accuses


def test_hot_module_with_link_loss_names_the_port_and_the_temperature() -> None:
    events = [
        event("module_over_temperature", "", line=1, driver_words="Cable error, High Temperature"),
        event("link_down", PORT, line=2, sources=["mlx5"]),
    ]
    (finding,) = judge_events(events)
    assert (finding.component, finding.severity) == (f"n1:{PORT}", "critical")
    assert "temperature" in finding.reason


def test_module_without_power_is_not_called_a_broken_cable() -> None:
    (finding,) = judge_events([event("module_without_power", PORT, 0)])
    assert finding.accuses
    assert "power" in finding.reason


@pytest.mark.parametrize(("since_boot_s", "accuses"), [(9.0, False), (5000.0, True), (None, False)])
def test_unplugged_cable_alone(since_boot_s: float | None, accuses: bool) -> None:
    details = {} if since_boot_s is None else {"since_boot_s": since_boot_s}
    (finding,) = judge_events([event("cable_unplugged", PORT, 0, **details)])
    assert finding.accuses is accuses


def test_cable_pulled_with_link_loss_and_plugged_again() -> None:
    pulled = [
        event("cable_unplugged", PORT, 0, 1),
        event("link_down", PORT, 1, 2, sources=["mlx5"]),
    ]
    assert accused(judge_events(pulled)) == {f"n1:{PORT}"}
    again = [*pulled, event("cable_plugged", PORT, 60, 3), event("link_up", PORT, 61, 4)]
    assert accused(judge_events(again)) == set()


def test_many_ports_of_one_host_in_one_moment_have_one_cause() -> None:
    events = [event("link_down", f"ens{n}np0", n / 10, n, sources=["mlx5"]) for n in range(1, 9)]
    findings = judge_events(events)
    assert accused(findings) == {"n1:unknown"}
    assert sum(f.role == "symptom" for f in findings) == 8


def test_many_ports_of_one_switch_mean_the_switch() -> None:
    events = [event("link_down", f"LEAF-A/port-{n}", n / 10, n, node="") for n in range(1, 37)]
    assert accused(judge_events(events)) == {"unknown:LEAF-A"}


def test_link_of_a_fabric_manager_carries_far_end_and_cable() -> None:
    (finding,) = judge_events(
        [
            event(
                "link_down",
                "LEAF-A/port-33",
                node="",
                code=329,
                far_end="unknown:SP/port-8",
                cable_serial="MT1",
            )
        ]
    )
    assert finding.far_end == "unknown:SP/port-8"
    assert "MT1" in finding.reason
    assert finding.numbers["cable_serial"] == "MT1"


@pytest.mark.parametrize(
    ("kind", "count", "accuses"),
    [
        ("port_unhealthy", 1, True),
        ("symbol_ber", 1, True),
        ("symbol_ber_warning", 1, False),
        ("threshold_exceeded", 1, False),
        ("threshold_exceeded", 3, True),
        ("congestion_alarm", 9, False),
    ],
)
def test_alarms(kind: str, count: int, accuses: bool) -> None:
    events = [event(kind, "LEAF-A/port-3", n * 100.0, n, code=110) for n in range(count)]
    assert judge_events(events)[0].accuses is accuses


def test_port_taken_out_by_hand_is_no_fault() -> None:
    events = [event("port_unhealthy", "LEAF-A/port-3", is_error=False, condition="MANUAL")]
    assert accused(judge_events(events)) == set()


def test_flapping_condition_names_the_kind() -> None:
    events = [event("port_unhealthy", "LEAF-A/port-3", condition="FLAPPING")]
    assert about(judge_events(events), "n1:LEAF-A/port-3").kind == "link_flapping"
