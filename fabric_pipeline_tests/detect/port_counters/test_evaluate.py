"""Snapshot counters through the one door: pictures, context, lanes, sums, growth, error rates."""

from __future__ import annotations

from typing import Any

import pytest

from fabric_pipeline.detect.port_counters.evaluate import (
    SnapshotVerdict,
    evaluate_port_snapshots,
)
from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.model.records import Reading


def count(counter: str, value: float, interface: str = "alder-1/port-5", **more: Any) -> Reading:
    more.setdefault("link_type", "infiniband")
    more.setdefault("kind", COUNTERS[counter].kind)
    return Reading(
        4, more.pop("counter_text", counter), f"{value:g}", interface=interface, counter=counter,
        value=value, file=more.pop("file", "now.txt"), **more,
    )  # fmt: skip


def port(interface: str = "alder-1/port-5", **counters: float) -> list[Reading]:
    return [count(name, value, interface) for name, value in counters.items()]


def accused(verdict: SnapshotVerdict) -> list[str]:
    return [finding.component for finding in verdict.findings if finding.accuses]


def test_bad_cable_picture_with_numbers_and_evidence() -> None:
    links = [
        {
            "a": {"switch": "alder-1", "port": "alder-1/port-5"},
            "b": {"node": "oak-1", "port": "mlx5_0/1"},
        }
    ]
    readings = port(symbol_error=900, link_error_recovery=4, link_downed=2, rx_errors=30)
    (finding,) = evaluate_port_snapshots(readings, links).findings
    assert (finding.component, finding.far_end) == ("unknown:alder-1/port-5", "oak-1:mlx5_0/1")
    assert finding.numbers["symbol_error"] == 900
    assert (finding.error_class, finding.class_basis) == ("link_down", "snapshot")
    assert {(e.file, e.line) for e in finding.evidence} == {("now.txt", 4)}


@pytest.mark.parametrize(
    "counters",
    [
        {"link_downed": 1},
        {"link_downed": 9, "symbol_error": 8},
        {"symbol_error": 11},
        {"symbol_error": 500, "link_downed": 1},
        {"rx_remote_physical": 5000},
        {"tx_discards": 90000, "tx_wait": 4e9},
        {"rx_relay_errors": 400, "vl15_dropped": 900},
        {"corrected_bits": 9e12, "raw_ber": 1e-6},
        {"link_downed": 40},
    ],
)
def test_these_alone_accuse_nobody(counters: dict[str, float]) -> None:
    assert accused(evaluate_port_snapshots(port(**counters), [])) == []


def test_context_is_told_without_accusing() -> None:
    readings = port(tx_discards=500, tx_wait=90000, rx_remote_physical=7)
    kinds = {(f.kind, f.role) for f in evaluate_port_snapshots(readings, []).findings}
    assert kinds == {("congestion", "context"), ("errors_marked_upstream", "symptom")}


def test_counter_at_its_ceiling_says_at_least() -> None:
    readings = [count("symbol_error", 65535, quality="saturated"), *port(rx_errors=40)]
    (finding,) = evaluate_port_snapshots(readings, []).findings
    assert finding.severity == "critical"
    assert "at least 65535 symbol_error" in finding.reason


def test_single_counter_needs_to_stand_far_above_its_siblings() -> None:
    quiet = [r for n in range(1, 5) for r in port(f"alder-1/port-{n}", symbol_error=3)]
    noisy = [r for n in range(1, 5) for r in port(f"alder-1/port-{n}", symbol_error=2500)]
    loud = port("alder-1/port-9", symbol_error=5000)
    assert accused(evaluate_port_snapshots(quiet + loud, [])) == ["unknown:alder-1/port-9"]
    assert accused(evaluate_port_snapshots(noisy + loud, [])) == []


def test_link_downs_alone_are_compared_with_siblings() -> None:
    rebooted = [r for n in range(1, 5) for r in port(f"alder-1/port-{n}", link_downed=14)]
    calm = [r for n in range(1, 5) for r in port(f"alder-1/port-{n}", link_downed=1)]
    flapping = port("alder-1/port-9", link_downed=60)
    assert accused(evaluate_port_snapshots(rebooted + flapping, [])) == []
    assert accused(evaluate_port_snapshots(calm + flapping, [])) == ["unknown:alder-1/port-9"]


def test_growth_between_captures_is_judged_not_the_old_total() -> None:
    before = [
        *port(symbol_error=9000, rx_errors=800),
        *port("alder-1/port-6", symbol_error=0, rx_errors=0),
    ]
    after = [
        *port(symbol_error=9000, rx_errors=800),
        *port("alder-1/port-6", symbol_error=70, rx_errors=4),
    ]
    verdict = evaluate_port_snapshots(before + after, [])
    assert accused(verdict) == ["unknown:alder-1/port-6"]
    old = next(f for f in verdict.findings if f.component.endswith("port-5"))
    assert (old.severity, old.role) == ("watch", "context")


def test_a_reset_counts_from_zero() -> None:
    readings = [*port(symbol_error=60000, rx_errors=100), *port(symbol_error=3, rx_errors=0)]
    assert accused(evaluate_port_snapshots(readings, [])) == []


def test_two_spellings_are_no_two_captures() -> None:
    readings = [
        count("rx_errors", 4000, counter_text="a"),
        count("rx_errors", 3900, counter_text="b"),
    ]
    verdict = evaluate_port_snapshots(readings, [])
    assert verdict.findings[0].numbers["rx_errors"] == 4000


def test_increase_during_the_run_is_accused_at_once() -> None:
    readings = [count("link_downed", 1, kind="delta"), count("rx_remote_physical", 9, kind="delta")]
    verdict = evaluate_port_snapshots(readings, [])
    assert accused(verdict) == ["unknown:alder-1/port-5"]
    assert verdict.findings[0].numbers == {"link_downed": 1}


def eth(counter: str, value: float, lane: int | None = None) -> Reading:
    scope = "lane" if lane is not None else "link"
    return count(counter, value, "ens3", link_type="ethernet", lane=lane, scope=scope)


def test_one_lane_far_above_with_errors_past_the_correction() -> None:
    lanes = [eth("corrected_bits", value, lane) for lane, value in enumerate((3000, 9, 8e6, 0))]
    bad = [*lanes, eth("crc_phy", 200), eth("symbol_error", 200)]
    (finding,) = evaluate_port_snapshots(bad, []).findings
    assert finding.component == "unknown:ens3/lane-2"
    assert finding.numbers["lane_errors"] == 8000000
    (watch,) = evaluate_port_snapshots(lanes, []).findings
    assert (watch.component, watch.severity) == ("unknown:ens3/lane-2", "watch")


def test_equal_lanes_mean_the_whole_port_and_few_errors_mean_nothing() -> None:
    lanes = [eth("corrected_bits", 7e6 + lane, lane) for lane in range(4)]
    bad = [*lanes, eth("crc_phy", 200), eth("symbol_error", 200)]
    assert accused(evaluate_port_snapshots(bad, [])) == ["unknown:ens3"]
    few = [eth("corrected_bits", value, lane) for lane, value in enumerate((6, 2, 190, 0))]
    assert evaluate_port_snapshots(few, []).findings == []


def test_error_rate_decides_over_the_count() -> None:
    good = [*port(effective_error=900, link_downed=3), count("effective_ber", 3e-17)]
    bad = [*port(effective_error=900, link_downed=3), count("effective_ber", 3e-11)]
    grey = [count("symbol_ber", 4e-14)]
    assert accused(evaluate_port_snapshots(good, [])) == []
    assert accused(evaluate_port_snapshots(bad, [])) == ["unknown:alder-1/port-5"]
    assert [f.severity for f in evaluate_port_snapshots(grey, []).findings] == ["watch"]


def test_sum_over_a_switch_accuses_the_device_and_leaves_the_port_unknown() -> None:
    total = [
        count("rx_errors", 44, "alder-1", scope="switch_sum"),
        count("link_downed", 20, "alder-1", scope="switch_sum"),
    ]
    verdict = evaluate_port_snapshots(total, [])
    assert accused(verdict) == ["unknown:alder-1"]
    assert [(u.interface, u.what) for u in verdict.unknown] == [("alder-1", "port")]
    # with ports listed the sum adds nothing
    both = evaluate_port_snapshots(total + port(rx_errors=44, link_downed=20), [])
    assert accused(both) == ["unknown:alder-1/port-5"]
    assert both.unknown == []


def test_many_ports_of_one_switch_are_the_switch() -> None:
    readings = [
        r for n in range(1, 13) for r in port(f"alder-1/port-{n}", symbol_error=700, rx_errors=60)
    ]
    verdict = evaluate_port_snapshots(readings, [])
    assert accused(verdict) == ["unknown:alder-1"]
    assert verdict.findings[0].kind == "shared_component"


def roce(**counters: float) -> list[Reading]:
    return [count(n, v, "mlx5_1/1", node="oak-2", link_type="roce") for n, v in counters.items()]


def test_packet_loss_on_roce_is_a_warning_and_no_cable() -> None:
    verdict = evaluate_port_snapshots(
        roce(out_of_sequence=3e6, packet_seq_err=2e5, ack_timeout=4e4, cnp=9e6), []
    )
    loss = next(f for f in verdict.findings if f.kind == "packet_loss")
    assert (loss.component, loss.accuses, loss.is_link) == ("oak-2:mlx5_1/1", True, False)
    assert loss.numbers["out_of_sequence"] == 3000000


def test_reordering_alone_and_infiniband_loss_are_watched() -> None:
    for readings in (
        roce(out_of_sequence=9e6),
        [count(n, 9e6, "mlx5_1/1") for n in ("out_of_sequence", "packet_seq_err")],
    ):
        verdict = evaluate_port_snapshots(readings, [])
        assert accused(verdict) == []
        assert [f.severity for f in verdict.findings] == ["watch"]


def test_blank_other_and_traffic_readings_are_passed_over() -> None:
    blank = count("symbol_error", 9e9, quality="not_supported")
    nvlink = count("crc", 9e9, "gpu0/nvlink-1", link_type="nvlink")
    assert evaluate_port_snapshots([blank, nvlink, *port(tx_bytes=9e15)], []).findings == []
