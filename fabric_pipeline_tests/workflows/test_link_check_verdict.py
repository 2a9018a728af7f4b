"""Clean, dirty or unmeasured: one link in one drop against its past, its siblings and its state."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from fabric_pipeline.workflows.link_check_verdict import Count, LinkEnd, Verdict, judge

T0, T1 = datetime(2031, 5, 6, 8, tzinfo=UTC), datetime(2031, 5, 6, 9, tzinfo=UTC)
END = LinkEnd(
    "n1:gpu0/nvlink-1", "nvlink", T0, T1, None, None, None, None, None, None, None, None, 0.0
)
COUNT = Count(END.component, "replay", "detected_retransmitted", 0.0, 3600.0, None, 5, "device", 0.0, 0.0)  # fmt: skip


def verdict(*counts: Count, ends: list[LinkEnd] | None = None, **more: Any) -> Verdict:
    known: dict[str, Any] = {
        "erred": ["replay"], "fault_type": "physical_link_degradation", "is_accused": False,
    }  # fmt: skip
    return judge([END] if ends is None else ends, counts, **known | more)


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (COUNT, "clean"),
        (replace(COUNT, events=2), "clean"),
        (replace(COUNT, events=3), "dirty"),
        (replace(COUNT, events=50, siblings_median=60.0), "clean"),
        (replace(COUNT, events=50, siblings_median=10.0, siblings_mad=5.0), "clean"),
        (replace(COUNT, events=90, siblings_median=10.0, siblings_mad=5.0), "dirty"),
        (replace(COUNT, events=50, past_per_hour=40.0), "clean"),
        (replace(COUNT, events=80, past_per_hour=40.0), "dirty"),
        (replace(COUNT, events=50, siblings=0, siblings_median=None, siblings_mad=None), "dirty"),
        (replace(COUNT, counter="link_downed", error_class="link_down", events=1), "clean"),
        (replace(COUNT, counter="link_downed", error_class="link_down", events=2), "dirty"),
    ],
)
def test_errors_against_siblings_and_past(count: Count, expected: str) -> None:
    assert verdict(count, erred=[count.counter]).verdict == expected


def test_nothing_is_known_without_the_counters_that_erred() -> None:
    found = verdict(COUNT, erred=["crc_multi_bit"])
    assert (found.verdict, found.measured_s) == ("unmeasured", 0.0)
    assert "crc_multi_bit" in found.facts["why"]
    assert verdict().verdict == "unmeasured"
    assert verdict(ends=[]).facts["why"] == "the drop has no counters of this link"
    assert verdict(replace(COUNT, seconds=0.0)).verdict == "unmeasured"


def test_an_idle_link_proves_nothing_and_traffic_bounds_the_time() -> None:
    idle = replace(END, traffic_s=0.0, bytes=0.0)
    assert verdict(COUNT, ends=[idle]).facts["why"] == "the link carried no traffic"
    busy = replace(END, traffic_s=600.0, bytes=1e9)
    found = verdict(COUNT, ends=[busy])
    assert (found.verdict, found.measured_s, found.facts["bytes"]) == ("clean", 600.0, 1e9)
    assert verdict(replace(COUNT, events=9), ends=[idle]).verdict == "dirty"


def test_a_link_that_stays_down_or_narrow_is_dirty_without_any_error() -> None:
    assert verdict(COUNT, ends=[replace(END, last_up=0.0)]).verdict == "dirty"
    narrow = replace(END, width=8.0, width_max=16.0)
    assert "width 8 of 16" in verdict(COUNT, ends=[narrow]).facts["why"]


def test_a_fault_of_width_needs_the_width_to_be_read() -> None:
    fault: dict[str, Any] = {"fault_type": "width_or_speed_downgrade", "erred": []}
    assert verdict(COUNT, **fault).verdict == "unmeasured"
    wide = replace(END, width=16.0, width_max=16.0, state_s=1800.0)
    found = verdict(COUNT, ends=[wide], **fault)
    assert (found.verdict, found.measured_s) == ("clean", 1800.0)


def test_replays_that_the_specification_allows_are_no_errors_of_a_pcie_link() -> None:
    end = replace(END, component="n1:gpu0/pcie", link_type="pcie")
    replays = replace(COUNT, component=end.component, counter="pcie_replay", events=500)
    assert verdict(replays, ends=[end], erred=["pcie_replay"]).verdict == "dirty"
    gen4 = replace(end, pcie_gen=4.0, width=16.0, width_max=16.0)
    assert verdict(replays, ends=[gen4], erred=["pcie_replay"]).verdict == "clean"


def test_what_the_diagnosis_accuses_is_never_clean() -> None:
    found = verdict(COUNT, is_accused=True)
    assert (found.verdict, found.facts["why"]) == ("dirty", "the diagnosis of this drop accuses it")
