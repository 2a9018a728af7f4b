"""One verdict over all findings, and one table of advice."""

from __future__ import annotations

import itertools
from typing import get_args

import pytest

from fabric_pipeline.diagnose.actions import ACTIONS, action_for
from fabric_pipeline.diagnose.verdict import verdict
from fabric_pipeline.incidents.record import FaultType, Severity
from fabric_pipeline.model.findings import ROLES, SEVERITIES, VERDICTS, Finding

LINK_TYPES = ("nvlink", "pcie", "infiniband", "roce", "ethernet", "", "unheard of")


def said(severity: str = "warning", role: str = "cause", is_link: bool = True) -> Finding:
    return Finding("n1:x", "k", severity, role, "r.", is_link=is_link)


def test_only_causes_of_weight_accuse() -> None:
    for severity, role in itertools.product(SEVERITIES, ROLES):
        accuses = role == "cause" and severity in ("warning", "critical")
        expected = "faulty" if accuses else "healthy"
        assert verdict([said(severity, role)], has_measurements=True) == expected


def test_a_link_outweighs_other_causes() -> None:
    assert verdict([said(is_link=False)], has_measurements=True) == "not_a_link"
    assert verdict([said(is_link=False), said()], has_measurements=True) == "faulty"


def test_unknown_is_not_healthy() -> None:
    assert verdict([], has_measurements=False) == "no_data"
    assert verdict([said("watch")], has_measurements=False) == "no_data"
    assert verdict([], has_measurements=True) == "healthy"
    assert verdict([said()], has_measurements=False) == "faulty"
    assert set(VERDICTS) == {"faulty", "not_a_link", "healthy", "no_data"}


def test_every_fault_has_an_action_with_a_text() -> None:
    for fault, kind, is_link, severity in itertools.product(
        get_args(FaultType), LINK_TYPES, (True, False), get_args(Severity)
    ):
        assert action_for(fault, kind, is_link, severity) in ACTIONS


@pytest.mark.parametrize(
    ("fault", "link_type", "is_link", "severity", "action"),
    [
        ("nominal", "nvlink", False, "INFO", "none"),
        ("no_data", "nvlink", True, "WARNING", "collect_missing_telemetry"),
        ("congestion", "infiniband", True, "WARNING", "check_congestion"),
        ("not_a_link", "nvlink", True, "CRITICAL", "check_compute_and_host"),
        ("physical_link_degradation", "nvlink", False, "WARNING", "check_compute_and_host"),
        ("physical_link_degradation", "nvlink", True, "WATCH", "monitor"),
        (
            "physical_link_degradation",
            "nvlink",
            True,
            "WARNING",
            "reseat_cable_or_replace_mezzanine",
        ),
        ("physical_link_degradation", "pcie", True, "WARNING", "reseat_card_or_riser"),
        ("link_down", "infiniband", True, "CRITICAL", "clean_and_reseat_cable_then_replace"),
        ("link_flapping", "roce", True, "WARNING", "clean_and_reseat_cable_then_replace"),
        ("width_or_speed_downgrade", "pcie", True, "WARNING", "restore_width_or_speed"),
        ("shared_component", "nvlink", True, "CRITICAL", "inspect_shared_component"),
    ],
)
def test_advice(fault: str, link_type: str, is_link: bool, severity: str, action: str) -> None:
    assert action_for(fault, link_type, is_link, severity) == action


def test_no_advice_acts_on_hardware() -> None:
    for text in ACTIONS.values():
        for word in ("reset", "reboot", "power", "disable", "drain", "cordon", "shutdown"):
            assert word not in text.lower()
