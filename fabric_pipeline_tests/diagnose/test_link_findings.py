"""What is said of a link with errors: both axes apart, figures in the text, effect never assumed."""

from __future__ import annotations

from typing import Any

import pytest

from fabric_pipeline.detect.spikes.evaluate import Spike
from fabric_pipeline.detect.spikes.rules import RuleHit
from fabric_pipeline.detect.stragglers.evaluate import Straggler
from fabric_pipeline.diagnose.link_cases import LinkCase
from fabric_pipeline.diagnose.link_findings import link_finding
from fabric_pipeline.diagnose.thresholds import IsolationLimits
from fabric_pipeline.model.findings import Finding
from fabric_pipeline_tests.diagnose.evidence import at, correlation, hit, spike, straggler

LINK = "n1:gpu3/nvlink-4"
LIMITS = IsolationLimits()
GUILTY = correlation(LINK)


def case_of(*spikes: Spike, guilty: bool = False, **changes: Any) -> LinkCase:
    return LinkCase(
        LINK,
        "n1:nvswitch-2/port-17",
        "nvlink",
        list(spikes),
        [],
        [GUILTY] if guilty else [],
        **changes,
    )


def finding(
    case: LinkCase, stragglers: list[Straggler] | None = None, has_timing: bool = True
) -> Finding:
    found = link_finding(case, stragglers or [], has_timing, LIMITS)
    assert found is not None
    return found


def test_errors_that_break_no_rule_are_no_finding() -> None:
    quiet = case_of(spike(LINK, hits=[]))
    assert link_finding(quiet, [], True, LIMITS) is None
    assert link_finding(quiet, [], False, LIMITS) is None


@pytest.mark.parametrize(
    ("deviation", "rule_severity", "severity"),
    [
        (1500.0, "warning", "warning"),  # 50 % slower is not yet severe
        (1501.0, "warning", "critical"),
        (1501.0, "watch", "warning"),  # the errors alone are slight
        (1501.0, "critical", "critical"),
        (1100.0, "critical", "warning"),
    ],
)
def test_severity_of_a_guilty_link_needs_both_axes(
    deviation: float, rule_severity: str, severity: str
) -> None:
    case = case_of(spike(LINK, hits=[hit("x", rule_severity)]), guilty=True)
    found = finding(case, [straggler(latency_us=deviation)])
    assert (found.severity, found.role, found.kind) == (
        severity,
        "cause",
        "physical_link_degradation",
    )
    assert found.numbers["degradation_pct"] == pytest.approx(deviation / 10 - 100)


def test_a_guilty_link_without_any_rule_is_still_named() -> None:
    found = finding(case_of(spike(LINK, hits=[]), guilty=True), [straggler()])
    assert (found.severity, found.accuses) == ("warning", True)


def test_what_a_guilty_finding_holds() -> None:
    slow = [
        straggler(),
        straggler(latency_us=3000.0, lost_s=0.5, communicator="dp-1"),
        straggler(kind="late_rank", latency_us=9000.0),
        straggler("r2", latency_us=9000.0),
    ]
    found = finding(case_of(spike(LINK), spike(LINK, "crc_multi_bit", 40), guilty=True), slow)
    assert (found.component, found.far_end) == (LINK, "n1:nvswitch-2/port-17")
    assert found.numbers["degradation_pct"] == pytest.approx(200), (
        "late ranks and other runs are not its"
    )
    assert found.numbers["runs"] == ["r1"]
    assert found.numbers["lost_gpu_s"] == pytest.approx((0.06 + 0.5) * 16)
    assert found.numbers["counts"] == {"crc_flit": 500, "crc_multi_bit": 40}
    assert found.numbers["p_value"] == GUILTY.p_value
    assert (found.error_class, found.class_basis) == ("corrected_multi", "reported")
    assert found.rules == ["replay_plain_limit"]
    assert (found.first_seen, found.last_seen) == (at(600), at(1200))
    assert {ref.file for ref in found.evidence} == {"counters.csv", "collectives.csv"}
    for words in (
        "500 flits",
        "19 of 20 error intervals",
        "chance 0.02",
        "95%",
        "3000 per hour",
        "r1",
    ):
        assert words in found.reason


def test_errors_without_effect_are_watched() -> None:
    found = finding(case_of(spike(LINK)))
    assert (found.kind, found.severity, found.role) == (
        "link_errors_without_effect",
        "watch",
        "context",
    )
    assert not found.accuses
    assert "No run is known to have been slow" in found.reason


def test_errors_that_do_not_fit_say_so_with_figures() -> None:
    case = case_of(spike(LINK))
    case.correlations = [correlation(LINK, overlap_bins=2, p_value=0.6, score=1.0)]
    found = finding(case)
    assert (
        "do not fit the slow time of r1: 2 of 20 error intervals are slow (chance 0.6)"
        in found.reason
    )


def test_errors_that_fit_but_are_outweighed_are_not_called_unfit() -> None:
    case = case_of(spike(LINK), outweighed_by=["n2:gpu0/nvlink-1"])
    case.correlations = [correlation(LINK)]
    found = finding(case)
    assert "n2:gpu0/nvlink-1 explains better" in found.reason
    assert "do not fit" not in found.reason
    assert found.severity == "watch"


@pytest.mark.parametrize(
    ("rule", "severity"),
    [
        (hit("crc_per_second", "critical"), "warning"),
        (hit("link_flapping", "critical"), "warning"),
        (hit("repeated_retrains", "warning"), "warning"),
        (hit("replay_physics_limit", "warning"), "watch"),
        (hit("snapshot_total", "critical"), "watch"),
    ],
)
def test_some_errors_are_enough_without_effect(rule: Any, severity: str) -> None:
    assert finding(case_of(spike(LINK, hits=[rule]))).severity == severity


def test_without_timing_the_effect_is_unknown_not_absent() -> None:
    found = finding(case_of(spike(LINK)), has_timing=False)
    assert (found.kind, found.severity) == ("physical_link_degradation", "warning")
    assert "an effect on jobs is not shown" in found.reason
    assert "without_effect" not in found.kind


def test_a_snapshot_beside_timing_has_an_unknown_effect_too() -> None:
    total = spike(LINK, at_s=None, hits=[hit("snapshot_total", "critical")])
    found = finding(case_of(total))
    assert (found.kind, found.severity) == ("physical_link_degradation", "critical")
    assert found.numbers["is_snapshot"]
    assert "as totals without a time span" in found.reason
    assert "per hour" not in found.reason


def test_too_little_is_said_to_be_little() -> None:
    found = finding(case_of(spike(LINK, hits=[hit("unusual_count", "watch")])), has_timing=False)
    assert (found.kind, found.severity, found.accuses) == ("link_errors", "watch", False)


def test_lower_bounds_are_said() -> None:
    found = finding(case_of(spike(LINK, events=123, is_lower_bound=True)))
    assert "at least 123" in found.reason
    assert "ceiling" not in found.reason
    full = finding(case_of(spike(LINK, "symbol_error", 65535, is_lower_bound=True)))
    assert "at its ceiling" in full.reason


def test_counts_of_two_ends_are_never_added_up() -> None:
    far = "n1:nvswitch-2/port-17"
    found = finding(
        case_of(spike(LINK, events=40), spike(LINK, events=60, spike=2), spike(far, events=90))
    )
    assert found.numbers["counts"] == {"crc_flit": 100}


def test_a_position_that_stays_bad_after_an_exchange_is_told() -> None:
    swapped = [spike(LINK, gpu_uuid="GPU-a", events=40), spike(LINK, gpu_uuid="GPU-b", events=60)]
    found = finding(case_of(*swapped))
    assert "no further GPU should be ordered" in found.reason
    assert "40 with GPU-a, 60 with GPU-b" in found.reason
    assert found.numbers["counts"] == {"crc_flit": 60}
    assert "no further GPU" not in finding(case_of(swapped[0])).reason


def test_a_sum_over_a_gpu_does_not_pretend_to_know_the_link() -> None:
    found = finding(case_of(spike("n1:gpu3", "crc", scope="gpu_sum"), guilty=True), [straggler()])
    assert found.kind == "gpu_link_errors"
    assert "which link it is, is not known" in found.reason


def test_flapping_names_the_kind() -> None:
    flaps = spike(LINK, "recovery_failed", hits=[hit("link_flapping", "critical")])
    for has_timing, severity in ((False, "critical"), (True, "warning")):
        found = finding(case_of(flaps), has_timing=has_timing)
        assert (found.kind, found.severity) == ("link_flapping", severity)


def test_the_worst_class_speaks_for_the_link() -> None:
    spikes = [spike(LINK, "crc_flit", 10**6), spike(LINK, "plr_uncorrectable", 1)]
    assert finding(case_of(*spikes)).error_class == "uncorrected"


def test_evidence_is_bounded_and_led_by_the_largest() -> None:
    many = [spike(LINK, events=float(n), line=n, last_line=n, spike=n) for n in range(1, 60)]
    found = finding(case_of(*many))
    assert len(found.evidence) == 24
    assert found.evidence[0].line == 59
    assert found.evidence[0].last_line is None
    assert (
        "counted 59 flits received with a bad CRC (crc_flit) from 2031-05-06 07:10:00 to 07:20:00 UTC"
        in found.evidence[0].excerpt
    )


@pytest.mark.parametrize(
    ("counter", "count", "words"),
    [
        ("link_downed", 1, "1 link-down event"),
        ("link_downed", 5, "5 link-down events"),
        ("link_error_recovery", 1, "1 successful link error recovery"),
        ("crc_multi_bit", 1, "1 CRC error with several wrong bits"),
        ("fec_bin_3", 1, "1 code word with 3 symbols repaired by FEC"),
        ("crc_multi_bit", 2, "2 CRC errors with several wrong bits"),
        ("crc_data", 1, "1 data packet received with a bad CRC"),
    ],
)
def test_counts_are_said_as_a_person_would(counter: str, count: float, words: str) -> None:
    made = finding(case_of(spike(LINK, counter, count), guilty=True))
    assert made.summary == f"{LINK} counted {words}"
    assert f"counted {words} ({counter})" in made.evidence[0].excerpt


def test_evidence_of_the_named_end_comes_first_and_the_other_end_keeps_a_place() -> None:
    far = [spike("n1:nvswitch-2/port-17", events=900.0 - n, line=n) for n in range(1, 41)]
    near = [spike(LINK, events=5.0, line=100 + n) for n in range(40)]
    shown = [ref.excerpt.partition(" ")[0] for ref in finding(case_of(*far, *near)).evidence]
    assert len(shown) == 24
    assert shown == [LINK] * 16 + ["n1:nvswitch-2/port-17"] * 8


def test_a_rule_that_counts_over_hours_states_the_last_count() -> None:
    told = [
        RuleHit("link_flapping", "critical", "down", f"{n} times within 12 h", "3 in 12 h", "x")
        for n in (3, 4, 5)
    ]
    spikes = [
        spike(LINK, "link_downed", 1.0, hits=[one], at_s=600.0 * n)
        for n, one in enumerate(told, start=1)
    ]
    assert [rule.value for rule in case_of(*spikes).hits] == ["5 times within 12 h"]
