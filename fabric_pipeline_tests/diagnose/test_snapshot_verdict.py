"""The two axes of a snapshot and the two zones of rounding, on exact decimals."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.detect.spikes.thresholds import SpikeLimits
from fabric_pipeline.diagnose.snapshot_verdict import (
    reported_degradation,
    snapshot_verdict,
)
from fabric_pipeline.diagnose.thresholds import IsolationLimits


@pytest.mark.parametrize(
    ("totals", "axis"),
    [
        ([], "unknown"),
        ([0], "E0"),
        ([100], "E0"),
        ([101], "E1"),
        ([999], "E1"),
        ([1000], "E2"),
        ([0, 1000], "E2"),
        ([100, 100, 100], "E0"),  # different kinds of errors are never added up
    ],
)
def test_error_axis(totals: list[int], axis: str) -> None:
    assert snapshot_verdict(totals, None, None).errors == axis


@pytest.mark.parametrize(
    ("latency", "axis"),
    [
        ("189", "L0"),  # exactly 5 %
        ("189.0000001", "L1"),
        ("180", "L0"),
        ("90", "L0"),  # faster is not slower
        ("270", "L1"),  # exactly 50 %
        ("270.0000001", "L2"),
    ],
)
def test_latency_axis(latency: str, axis: str) -> None:
    assert snapshot_verdict([0], Decimal(latency), Decimal(180)).latency == axis


@pytest.mark.parametrize(
    ("latency", "baseline"), [(None, None), (Decimal(5), None), (None, Decimal(5))]
)
def test_half_a_pair_is_no_latency(latency: Decimal | None, baseline: Decimal | None) -> None:
    found = snapshot_verdict([0], latency, baseline)
    assert (found.latency, found.degradation_exact, found.degradation_pct) == (
        "unknown",
        None,
        None,
    )


LATENCY = {"L0": Decimal(100), "L1": Decimal(120), "L2": Decimal(200), "unknown": None}
TOTALS = {"E0": [0], "E1": [500], "E2": [5000], "unknown": []}


@pytest.mark.parametrize(
    ("errors", "latency", "fault", "severity", "priority", "blames"),
    [
        ("E0", "L0", "nominal", "INFO", "low", False),
        ("E0", "L1", "not_a_link", "WARNING", "normal", False),
        ("E0", "L2", "not_a_link", "WARNING", "high", False),
        ("E1", "L0", "link_errors_without_effect", "WATCH", "normal", False),
        ("E1", "L1", "physical_link_degradation", "WARNING", "high", True),
        ("E1", "L2", "physical_link_degradation", "WARNING", "high", True),
        ("E2", "L0", "link_errors_without_effect", "WARNING", "normal", True),
        ("E2", "L1", "physical_link_degradation", "WARNING", "high", True),
        ("E2", "L2", "physical_link_degradation", "CRITICAL", "urgent", True),
        ("E0", "unknown", "no_data", "INFO", "low", False),
        ("E1", "unknown", "link_errors_without_effect", "WATCH", "normal", False),
        ("E2", "unknown", "physical_link_degradation", "WARNING", "high", True),
        ("unknown", "L0", "no_data", "INFO", "low", False),
        ("unknown", "L1", "no_data", "WARNING", "normal", False),
        ("unknown", "L2", "no_data", "WARNING", "high", False),
        ("unknown", "unknown", "no_data", "INFO", "low", False),
    ],
)
def test_every_cell_of_the_table(
    errors: str, latency: str, fault: str, severity: str, priority: str, blames: bool
) -> None:
    found = snapshot_verdict(TOTALS[errors], LATENCY[latency], Decimal(100))
    assert (found.errors, found.latency) == (errors, latency)
    assert (found.fault_type, found.severity, found.priority) == (fault, severity, priority)
    assert found.blames_link == blames


def test_limits_are_arguments() -> None:
    strict = snapshot_verdict(
        [2], Decimal(101), Decimal(100), SpikeLimits(snapshot_transient=0, snapshot_severe=2), IsolationLimits(noise_pct=0.5, severe_pct=0.9)
    )  # fmt: skip
    assert (strict.errors, strict.latency, strict.severity) == ("E2", "L2", "CRITICAL")


@pytest.mark.parametrize(
    ("exact", "shown"),
    [
        ("0.6666666666", 0.6),
        ("0.99", 0.9),
        ("4.999999", 4.9),
        ("5", 5.0),
        ("5.0000001", 5.0),  # outside of the noise: rounded half up
        ("5.05", 5.1),
        ("5.049999", 5.0),
        ("89.1666666", 89.2),
        ("89.15", 89.2),
        ("89.1499999", 89.1),
        ("0", 0.0),
        ("-0.04", 0.0),
        ("-0.69", -0.6),
        ("-5", -5.0),
        ("-5.05", -5.1),
        ("-99.96", -100.0),
        ("1605.88235", 1605.9),
        ("1e40", 1e40),
        ("1e-40", 0.0),
    ],
)
def test_two_zones_of_rounding(exact: str, shown: float) -> None:
    found = reported_degradation(Decimal(exact))
    assert found == shown
    assert str(found) != "-0.0"


@given(st.decimals(-100, 10**6, places=9))
def test_the_shown_figure_is_near_and_never_hides_the_verdict(exact: Decimal) -> None:
    shown = Decimal(str(reported_degradation(exact)))
    assert abs(shown - exact) <= Decimal("0.1")
    if abs(exact) <= 5:
        assert abs(shown) <= abs(exact), "noise is never rounded up"
    else:
        assert abs(shown) >= 5
