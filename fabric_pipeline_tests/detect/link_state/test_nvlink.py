"""Inactive NVLinks: which ones accuse a link, a GPU, a shared part, or nobody."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.detect.link_state import evaluate_link_state
from fabric_pipeline.model.records import Reading
from fabric_pipeline_tests.detect.link_state.states import (
    NO_NAME,
    PCIE,
    SXM,
    accused,
    dead,
    links,
    only,
    state,
)


def fleet(gpus: int, total: int = 18, product: str = SXM) -> list[Reading]:
    return list(chain.from_iterable(links(gpu, total, product=product) for gpu in range(gpus)))


def test_all_up_makes_no_finding() -> None:
    assert evaluate_link_state(fleet(8)) == []


def test_one_inactive_link_is_a_warning_with_its_numbers() -> None:
    readings = [*fleet(3), *links(3, 18, [7])]
    assert accused(readings) == {"n1:gpu3/nvlink-7": ("nvlink_inactive", "warning")}
    finding = only(readings)
    assert "17 of its 18 links" in finding.reason
    assert (finding.error_class, finding.class_basis) == ("link_down", "reported")
    assert (finding.evidence[0].file, finding.evidence[0].line) == ("a.txt", 7)


def test_several_inactive_links_are_critical() -> None:
    assert accused([*fleet(3), *links(3, 18, [7, 8])]) == {
        "n1:gpu3/nvlink-7": ("nvlink_inactive", "critical"),
        "n1:gpu3/nvlink-8": ("nvlink_inactive", "critical"),
    }


@pytest.mark.parametrize("product", [SXM, NO_NAME, PCIE])
def test_dead_gpu_beside_seven_with_many_links(product: str) -> None:
    readings = [*fleet(7, product=product), dead(7, product)]
    if product == PCIE:
        finding = only(readings)
        assert (finding.severity, finding.role, finding.is_link) == ("watch", "context", False)
    else:
        assert accused(readings) == {"n1:gpu7": ("nvlink_all_inactive", "critical")}


def test_gpu_outside_a_bridged_pair_is_not_accused() -> None:
    card = "NVIDIA GeForce RTX 3090"
    assert accused([dead(0, card), *links(1, 4, product=card), *links(2, 4, product=card)]) == {}
    assert (
        accused([dead(0, NO_NAME), *links(1, 4, product=NO_NAME), *links(2, 4, product=NO_NAME)])
        == {}
    )


def test_all_gpus_dead_have_one_common_cause() -> None:
    finding = only([dead(gpu, "NVIDIA B200") for gpu in range(8)])
    assert (finding.component, finding.kind) == ("n1:gpu0", "nvlink_not_initialised")
    assert finding.accuses
    assert any("fabric manager" in other for other in finding.alternatives)
    assert finding.numbers["gpus_without_active_links"] == 8


@pytest.mark.parametrize("product", [PCIE, NO_NAME])
def test_all_dead_without_known_need_of_nvlink_accuses_nobody(product: str) -> None:
    finding = only([dead(gpu, product) for gpu in range(2)])
    assert (finding.severity, finding.is_link) == ("watch", False)


def test_unnamed_gpu_without_links_is_told() -> None:
    unnamed = state("", "link_up", 0.0, "all links are inActive", node="", link_type="nvlink")
    finding = only([unnamed])
    assert (finding.component, finding.severity) == ("unknown:unknown", "watch")


def test_all_links_of_a_gpu_down_one_by_one() -> None:
    readings = [*fleet(3), *links(3, 18, range(18))]
    assert accused(readings) == {"n1:gpu3": ("nvlink_all_inactive", "critical")}


def test_same_links_inactive_everywhere() -> None:
    unused = list(chain.from_iterable(links(g, 12, range(4, 12), PCIE) for g in range(2)))
    assert accused(unused) == {}
    shared = list(chain.from_iterable(links(g, 18, [16, 17]) for g in range(8)))
    assert accused(shared) == {"n1:gpu0": ("nvlink_inactive_on_all_gpus", "warning")}


def test_pairs_with_fewer_bridges_are_watched() -> None:
    pairs = [*links(0, 12, [4], PCIE), *links(1, 12, [4], PCIE), *links(2, 12, product=PCIE)]
    assert accused(pairs) == {}
    assert {f.kind for f in evaluate_link_state(pairs)} == {"nvlink_unused_links"}


def test_link_that_was_up_before_is_down() -> None:
    before = links(0, 4, product=PCIE, file="1.txt") + links(1, 4, product=PCIE, file="1.txt")
    after = links(0, 4, [2], PCIE, file="2.txt") + links(1, 4, [2], PCIE, file="2.txt")
    assert set(accused([*before, *after])) == {"n1:gpu0/nvlink-2", "n1:gpu1/nvlink-2"}
    gone = [*before, dead(0, PCIE, file="2.txt"), *links(1, 4, product=PCIE, file="2.txt")]
    assert accused(gone) == {"n1:gpu0": ("nvlink_all_inactive", "critical")}


def test_outage_starts_with_its_first_sample() -> None:
    history = [
        state("gpu0/nvlink-1", "link_up", value, minute=minute)
        for minute, value in enumerate([1, 0, 1, 0, 0])
    ]
    finding = only([*history, *(state(f"gpu0/nvlink-{n}", "link_up", 1, minute=9) for n in (0, 2))])
    assert finding.first_seen is not None
    assert finding.first_seen.minute == 3


def test_order_of_time_wins_over_order_of_files() -> None:
    late = state("gpu0/nvlink-1", "link_up", 1.0, minute=5)
    early = state("gpu0/nvlink-1", "link_up", 0.0, minute=1)
    other = state("gpu0/nvlink-0", "link_up", 1.0, minute=1)
    assert accused([late, early, other]) == {}


def test_link_that_disappears_from_a_later_listing() -> None:
    before = links(0, 18, file="1.txt")
    skipped = [r for r in links(0, 18, file="2.txt") if not r.interface.endswith("-5")]
    assert accused([*before, *skipped]) == {"n1:gpu0/nvlink-5": ("nvlink_disappeared", "warning")}
    cut = links(0, 3, file="2.txt")
    assert accused([*before, *cut]) == {}
    assert {f.severity for f in evaluate_link_state([*before, *cut])} == {"watch"}


def test_captures_without_host_are_compared_only_for_one_gpu() -> None:
    before = links(0, 4, file="1.txt", node="", uuid="GPU-a")
    after = links(0, 4, range(4), file="2.txt", node="", uuid="GPU-b", product=PCIE)
    assert accused([*before, *after]) == {}


def test_disabled_and_unsupported_links_are_no_faults() -> None:
    readings = [
        *(state(f"gpu0/nvlink-{n}", "link_up", 1.0, "up") for n in range(4)),
        state("gpu0/nvlink-4", "link_up", 0.0, "disabled"),
        state("gpu0/nvlink-5", "link_up", None, "not supported"),
    ]
    finding = only(readings)
    assert (finding.kind, finding.severity, finding.is_link) == ("nvlink_disabled", "info", False)


def test_switch_ports_are_accused_only_when_they_were_up() -> None:
    idle = [state(f"nvswitch-1/port-{n}", "link_up", float(n < 3), "down") for n in range(6)]
    assert accused(idle) == {}
    before = state("nvswitch-1/port-5", "link_up", 1.0, "up", file="0.txt")
    assert set(accused([before, *idle])) == {"n1:nvswitch-1/port-5"}


def test_other_fabrics_and_lanes_are_passed_over() -> None:
    lane = state("gpu0/nvlink-0", "link_up", 0.0)
    lane.lane = 2
    others = [
        state("mlx5_0/1", "link_up", 0.0),
        state("leaf-1/port-3", "link_up", 0.0, link_type="infiniband"),
        state("gpu0/nvlink-1", "symbol_error", 0.0),
    ]
    assert evaluate_link_state([lane, *others]) == []


def test_nodes_are_judged_apart() -> None:
    readings = [*fleet(2), *links(0, 18, [1], node="n2"), *links(1, 18, node="n2")]
    assert set(accused(readings)) == {"n2:gpu0/nvlink-1"}


def test_slow_link_and_slow_gpu() -> None:
    speeds = [state(f"gpu0/nvlink-{n}", "speed_gbps", 212.5 if n != 3 else 100.0) for n in range(6)]
    assert accused(speeds) == {"n1:gpu0/nvlink-3": ("speed_downgrade", "warning")}
    gpus = [
        state(f"gpu{g}/nvlink-{n}", "speed_gbps", 200.0 if g != 2 else 160.0)
        for g in range(4)
        for n in range(3)
    ]
    assert accused(gpus) == {"n1:gpu2": ("speed_downgrade", "warning")}
    slower = [
        state("gpu0/nvlink-0", "speed_gbps", 212.5, file="1.txt"),
        state("gpu0/nvlink-0", "speed_gbps", 106.25, file="2.txt"),
    ]
    assert accused(slower) == {"n1:gpu0/nvlink-0": ("speed_downgrade", "warning")}


@given(st.integers(1, 8), st.integers(1, 18), st.data())
def test_accused_links_are_exactly_the_inactive_ones(
    gpus: int, total: int, data: st.DataObject
) -> None:
    bad = data.draw(
        st.sets(st.tuples(st.integers(0, gpus - 1), st.integers(0, total - 1)), max_size=3)
    )
    readings = list(
        chain.from_iterable(links(g, total, [n for gpu, n in bad if gpu == g]) for g in range(gpus))
    )
    found = accused(readings)
    for component in found:
        gpu = int(component.split(":gpu")[1].split("/")[0])
        assert gpu in {g for g, _ in bad}
    assert bool(found) == bool(bad)


def test_a_link_that_a_file_gives_as_figures_is_said_to_be_down_and_since_when() -> None:
    readings = [
        state(f"gpu5/nvlink-{n}", "link_up", float(n != 3 or minute < 10), minute=minute)
        for minute in (0, 10, 39)
        for n in range(18)
    ]
    finding = only(readings)
    assert finding.reason == (
        "NVLink 3 of gpu5 is down since 2026-11-20 06:10:00 UTC, while 17 of its 18 links are active; "
        "it was active on 2026-11-20 06:00:00 UTC."
    )
    assert finding.evidence[0].excerpt.startswith("gpu5/nvlink-3: state down on")


def test_a_gpu_without_any_link_left_says_when_the_first_one_went() -> None:
    readings = [
        state(f"gpu{gpu}/nvlink-{n}", "link_up", float(gpu == 1 or minute < 10 + n), minute=minute)
        for minute in (0, 10, 11, 30)
        for gpu in range(2)
        for n in range(2)
    ]
    dead_gpu = next(f for f in evaluate_link_state(readings) if f.kind == "nvlink_all_inactive")
    assert (dead_gpu.first_seen, dead_gpu.last_seen) == (readings[4].time, readings[-1].time)
