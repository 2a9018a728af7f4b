"""Every rule on both sides of its limit, with value, limit and source stated."""

from __future__ import annotations

from typing import Any

import pytest

from fabric_pipeline.detect.spikes.rules import Counted, RuleHit, judge_interval, judge_snapshot
from fabric_pipeline.detect.spikes.thresholds import SpikeLimits, pcie_replay_allowance_per_hour

LIMITS = SpikeLimits()
HOUR = 3600.0


def interval(counter: str, events: float, exposure_s: float = HOUR, **more: Any) -> Counted:
    usual: dict[str, Any] = {
        "samples": 2,
        "in_12h": events,
        "in_24h": events,
    }
    facts = usual | more
    return Counted(counter, "detected_retransmitted", "nvlink", events, exposure_s, **facts)


def snapshot(counter: str, events: float, **more: Any) -> Counted:
    return Counted(counter, "detected_retransmitted", "nvlink", events, **more)


def by_rule(hits: list[RuleHit]) -> dict[str, str]:
    assert all(hit.value and hit.limit and hit.source and hit.says for hit in hits)
    return {hit.rule_id: hit.severity for hit in hits}


def of(counted: Counted) -> dict[str, str]:
    return by_rule(judge_interval(counted, LIMITS))


@pytest.mark.parametrize("counter", ["replay", "pcie_replay"])
@pytest.mark.parametrize(
    ("events", "hits"), [(999, {}), (1000, {}), (1001, {"replay_plain_limit": "warning"})]
)
def test_plain_replay_limit(counter: str, events: float, hits: dict[str, str]) -> None:
    assert of(interval(counter, events)) == hits


def test_plain_replay_limit_is_a_rate() -> None:
    assert of(interval("replay", 7, 7)) == {}, "a handful of replays is no rate"
    assert of(interval("replay", 8, 7)) == {"replay_plain_limit": "warning"}
    assert of(interval("replay", 500, HOUR / 2)) == {}
    assert of(interval("replay", 501, HOUR / 2)) == {"replay_plain_limit": "warning"}
    assert of(interval("replay", 1_000_000, 1001 * HOUR)) == {}
    assert of(interval("crc", 10_000)) == {}, "no rule for replays judges other counters"


@pytest.mark.parametrize(
    ("samples", "exposure_s", "severity"),
    [(1, 599.0, "watch"), (1, 600.0, "warning"), (2, 30.0, "warning")],
)
def test_replays_must_last_to_accuse(samples: int, exposure_s: float, severity: str) -> None:
    counted = interval("replay", exposure_s, exposure_s, samples=samples)
    assert of(counted) == {"replay_plain_limit": severity}


@pytest.mark.parametrize(
    ("generation", "lanes", "per_hour"),
    [(1, 16, 180), (3, 16, 480), (4, 16, 960), (5, 16, 1860), (5, 8, 960), (6, 16, 3720)],
)
def test_allowance_of_the_specification(generation: int, lanes: int, per_hour: float) -> None:
    """DCGM rounds the rate per minute up; Gen4 x16 at 1e-12 would be 921.6 per hour without that."""
    assert pcie_replay_allowance_per_hour(generation, lanes) == per_hour


def test_an_unknown_generation_has_no_allowance() -> None:
    assert pcie_replay_allowance_per_hour(7, 16) is None
    assert of(interval("pcie_replay", 5000, pcie_generation=7, pcie_lanes=16)) == {
        "replay_plain_limit": "warning"
    }


@pytest.mark.parametrize(
    ("events", "hits"),
    [
        (1860, {"replay_plain_limit": "watch"}),
        (1861, {"replay_plain_limit": "warning", "replay_physics_limit": "warning"}),
    ],
)
def test_within_the_specification_the_plain_limit_accuses_nobody(
    events: float, hits: dict[str, str]
) -> None:
    counted = interval("pcie_replay", events, pcie_generation=5, pcie_lanes=16)
    assert of(counted) == hits
    plain = judge_interval(counted, LIMITS)[0]
    assert ("stricter than the specification" in plain.says) == (events == 1860)


def test_a_narrow_link_may_repeat_less_than_the_plain_limit() -> None:
    assert of(interval("pcie_replay", 60, pcie_generation=1, pcie_lanes=1)) == {}
    assert of(interval("pcie_replay", 61, pcie_generation=1, pcie_lanes=1)) == {
        "replay_physics_limit": "warning"
    }


@pytest.mark.parametrize(
    ("events", "exposure_s", "samples", "hits"),
    [
        (
            16,
            15,
            2,
            {"replay_plain_limit": "warning"},
        ),  # 3840/h, but no more than a minute may have
        (17, 15, 2, {"replay_plain_limit": "warning", "replay_physics_limit": "warning"}),
        (17, 15, 1, {"replay_plain_limit": "watch", "replay_physics_limit": "watch"}),
    ],
)
def test_the_allowance_is_one_of_whole_minutes(
    events: float, exposure_s: float, samples: int, hits: dict[str, str]
) -> None:
    counted = interval(
        "pcie_replay", events, exposure_s, samples=samples, pcie_generation=4, pcie_lanes=16
    )
    assert of(counted) == hits


@pytest.mark.parametrize(
    ("events", "exposure_s", "fires"),
    [(32, 60, False), (33, 60, True), (32, 10, False), (64, 120, False), (65, 120, True)],
)
def test_correctable_pcie_errors_per_minute(events: float, exposure_s: float, fires: bool) -> None:
    counted = interval("aer_correctable", events, exposure_s)
    assert of(counted) == ({"aer_per_minute": "watch"} if fires else {})


@pytest.mark.parametrize(
    "counter", ["crc", "crc_flit", "crc_data", "crc_single_bit", "crc_multi_bit"]
)
def test_crc_that_costs_bandwidth(counter: str) -> None:
    assert of(interval(counter, 99.9 * 60, 60)) == {}
    assert of(interval(counter, 100 * 60, 60)) == {"crc_per_second": "critical"}


@pytest.mark.parametrize(("windows", "fires"), [(0, False), (15, False), (16, True), (30, True)])
def test_errors_in_most_minutes_of_half_an_hour(windows: int, fires: bool) -> None:
    counted = interval("crc_flit", 20, persistent_windows=windows)
    assert of(counted) == ({"persistent_errors": "watch"} if fires else {})


@pytest.mark.parametrize("counter", ["corrected_bits", "fec_bin_1", "fec_bin_7"])
def test_repairs_by_fec_are_normal_work(counter: str) -> None:
    assert of(interval(counter, 10**9, samples=100, persistent_windows=30)) == {}
    for events in (1000, 10**9):
        assert judge_snapshot(snapshot(counter, events), LIMITS) == []
        assert judge_snapshot(snapshot(counter, events, siblings=7), LIMITS) == []
    far_above = snapshot(counter, 10**9, siblings=7, sibling_log10_p=-900.0)
    assert by_rule(judge_snapshot(far_above, LIMITS)) == {"sibling_outlier": "watch"}


@pytest.mark.parametrize("counter", ["recovery", "link_error_recovery", "pcie_replay_rollover"])
def test_retrains_are_counted_over_a_day(counter: str) -> None:
    assert of(interval(counter, 1, in_24h=2)) == {}
    assert of(interval(counter, 1, in_24h=3)) == {"repeated_retrains": "warning"}
    assert of(interval("replay", 1, in_24h=3)) == {}


@pytest.mark.parametrize(
    ("in_12h", "hits"),
    [(1, {"link_down": "watch"}), (2, {"link_down": "watch"}), (3, {"link_flapping": "critical"})],
)
def test_link_downs_are_counted_over_half_a_day(in_12h: float, hits: dict[str, str]) -> None:
    counted = Counted("link_downed", "link_down", "infiniband", 1, 30, in_12h=in_12h, in_24h=4)
    assert of(counted) == hits


@pytest.mark.parametrize(("in_24h", "rule"), [(4, "link_down"), (5, "link_flapping")])
def test_link_downs_are_counted_over_a_day_too(in_24h: float, rule: str) -> None:
    counted = Counted("link_downed", "link_down", "infiniband", 1, 30, in_12h=2, in_24h=in_24h)
    assert set(of(counted)) == {rule}


@pytest.mark.parametrize(
    ("ber", "hits"),
    [
        (1e-15, {}),
        (1.01e-15, {"bit_error_rate": "watch"}),
        (1e-12, {"bit_error_rate": "watch"}),
        (1.01e-12, {"bit_error_rate": "warning"}),
    ],
)
@pytest.mark.parametrize("link_type", ["infiniband", "roce", "ethernet"])
def test_errors_per_bit_moved(ber: float, hits: dict[str, str], link_type: str) -> None:
    bytes_moved = 4 / (ber * 8)
    counted = Counted("symbol_error", "uncorrected", link_type, 4, HOUR, bytes_moved=bytes_moved)
    assert of(counted) == hits


def test_a_bit_error_rate_needs_bits_and_errors_that_stayed() -> None:
    for counted in (
        Counted("symbol_error", "uncorrected", "infiniband", 4, HOUR),
        Counted("symbol_error", "uncorrected", "infiniband", 4, HOUR, bytes_moved=0.0),
        Counted("plr_uncorrectable", "uncorrected", "nvlink", 1, HOUR, bytes_moved=1.0),
    ):
        assert of(counted) == {"uncorrected_errors": "watch"}
    counted = Counted("plr_retry", "detected_retransmitted", "infiniband", 4, HOUR, bytes_moved=1.0)
    assert of(counted) == {}


@pytest.mark.parametrize(
    ("events", "exposure_s", "expected", "q_value", "fires"),
    [
        (8, 144.0, 1.6, 0.01, True),
        (7, 100.0, 0.1, 1e-9, False),  # too few events
        (8, 145.0, 0.1, 1e-9, False),  # fewer than 200 an hour
        (8, 144.0, 1.61, 1e-9, False),  # less than five times the expectation
        (8, 144.0, 1.6, 0.0101, False),  # chance not excluded
    ],
)
def test_unusual_counts_need_effect_and_improbability(
    events: float, exposure_s: float, expected: float, q_value: float, fires: bool
) -> None:
    window = {"window_events": events, "window_s": exposure_s}
    counted = interval("crc_flit", events, HOUR, expected=expected, q_value=q_value, **window)
    assert of(counted) == ({"unusual_count": "watch"} if fires else {})


@pytest.mark.parametrize(
    ("error_class", "link_type", "events", "severity"),
    [
        ("detected_retransmitted", "nvlink", 999, "watch"),
        ("detected_retransmitted", "nvlink", 1000, "warning"),
        ("corrected_multi", "infiniband", 1000, "warning"),
        ("corrected_single", "infiniband", 50_000, "watch"),
        ("detected_retransmitted", "pcie", 1000, "watch"),
    ],
)
def test_an_unusual_count_is_as_severe_as_the_bare_total_would_be(
    error_class: str, link_type: str, events: float, severity: str
) -> None:
    counted = Counted(
        "crc_flit",
        error_class,
        link_type,
        events,
        HOUR,
        samples=2,
        window_events=events,
        window_s=360.0,
        expected=0.1,
        q_value=1e-9,
    )
    assert of(counted)["unusual_count"] == severity


@pytest.mark.parametrize(("per_hour", "fires"), [(24.0, False), (24.1, True)])
def test_rates_beside_siblings_are_watched_only(per_hour: float, fires: bool) -> None:
    counted = interval(
        "replay", 10, siblings=17, sibling_per_hour=per_hour, sibling_limit_per_hour=24.0
    )
    assert of(counted) == ({"sibling_outlier_rate": "watch"} if fires else {})


@pytest.mark.parametrize(
    ("events", "hits"),
    [
        (100, {}),
        (101, {"snapshot_total": "watch"}),
        (999, {"snapshot_total": "watch"}),
        (1000, {"snapshot_total": "critical"}),
    ],
)
def test_totals_without_a_time_span(events: float, hits: dict[str, str]) -> None:
    assert by_rule(judge_snapshot(snapshot("crc", events), LIMITS)) == hits


@pytest.mark.parametrize(
    ("events", "chance", "siblings", "hits"),
    [
        (101, -6.0, 2, {"snapshot_total": "warning", "sibling_outlier": "warning"}),
        (101, -5.9, 2, {"snapshot_total": "watch"}),
        (101, -6.0, 1, {"snapshot_total": "watch"}),  # two links tell nothing of each other
        (5000, -5.9, 17, {"snapshot_total": "watch"}),  # all links count alike: no link stands out
        (5000, -9.0, 17, {"snapshot_total": "critical", "sibling_outlier": "critical"}),
        (100, -99.0, 17, {}),  # an outlier among few errors is still few errors
    ],
)
def test_totals_beside_their_siblings(
    events: float, chance: float, siblings: int, hits: dict[str, str]
) -> None:
    counted = snapshot("crc", events, siblings=siblings, sibling_log10_p=chance)
    assert by_rule(judge_snapshot(counted, LIMITS)) == hits


def test_a_lone_replay_total_accuses_nobody() -> None:
    """PCIe replays of years add up; without siblings or time nothing can be said."""
    assert by_rule(judge_snapshot(snapshot("pcie_replay", 50_000), LIMITS)) == {
        "snapshot_total": "watch"
    }


@pytest.mark.parametrize(("events", "hits"), [(2, {}), (3, {"snapshot_total": "watch"})])
def test_a_few_retrains_in_total_are_watched(events: float, hits: dict[str, str]) -> None:
    found = judge_snapshot(snapshot("recovery", events), LIMITS)
    assert by_rule(found) == hits
    assert [hit.limit for hit in found] == ["3"] * len(hits)


def test_a_link_that_was_down_once_is_watched_only() -> None:
    for events in (1, 1000):
        counted = Counted("link_downed", "link_down", "infiniband", events)
        assert by_rule(judge_snapshot(counted, LIMITS)) == {"snapshot_total": "watch"}


def test_a_total_is_never_called_a_rate() -> None:
    hits = judge_snapshot(snapshot("replay", 10**6, siblings=5, sibling_log10_p=-99.0), LIMITS)
    assert hits
    for hit in hits:
        assert "/h" not in hit.value + hit.limit
        assert "per hour" not in hit.says
    assert snapshot("replay", 10**6).per_hour is None


def test_limits_are_arguments() -> None:
    strict = SpikeLimits(replay_per_hour=10, snapshot_transient=1, snapshot_severe=5)
    assert by_rule(judge_interval(interval("replay", 11), strict)) == {
        "replay_plain_limit": "warning"
    }
    assert by_rule(judge_snapshot(snapshot("crc", 5), strict)) == {"snapshot_total": "critical"}


def test_every_source_can_be_looked_up() -> None:
    """A limit comes from a public source, or the page of our own rules says why it is as it is."""
    counted = [
        Counted("link_downed", "link_down", "infiniband", 1, 30, in_12h=n, in_24h=n) for n in (1, 3)
    ]
    counted.append(Counted("link_downed", "link_down", "infiniband", 1, 30, in_12h=2, in_24h=9))
    counted += [
        interval("recovery", 9),
        interval("crc_flit", 4e6, persistent_windows=29, expected=1.0, window_events=4e6, window_s=60.0, q_value=0.0),
        interval("pcie_replay", 9e5, pcie_generation=4, pcie_lanes=16),
        interval("aer_correctable", 9e5),
        Counted("symbol_error", "uncorrected", "infiniband", 4, HOUR, bytes_moved=1.0),
        Counted("symbol_error", "uncorrected", "infiniband", 4, HOUR),
    ]  # fmt: skip
    hits = [hit for one in counted for hit in judge_interval(one, LIMITS)]
    hits += judge_snapshot(snapshot("crc", 9e5, siblings=17, sibling_log10_p=-99.0), LIMITS)
    assert len({hit.rule_id for hit in hits}) >= 12
    public = ("NVIDIA DCGM", "NVIDIA ibdiagnet", "gpud", "Azure node health checks")
    for hit in hits:
        assert hit.source.startswith(public) or hit.source.endswith("see docs/diagnosis.md"), hit
        assert "field guide" not in hit.source
        assert "1 times" not in hit.value
