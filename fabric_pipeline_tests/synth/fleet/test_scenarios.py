"""Properties that every random fleet has: reproducible, consistent with its truth, and in range."""

from __future__ import annotations

import hashlib
import pickle
import time
from dataclasses import replace

import numpy as np
import pytest

from fabric_pipeline.errors import NotFoundError, UsageError
from fabric_pipeline.synth.fleet import (
    CLASSES,
    LAWS,
    SUITES,
    FleetScenario,
    FleetSpec,
    generate_fleet,
    suite,
)
from fabric_pipeline.synth.fleet.confounders import add_harmless_errors
from fabric_pipeline.synth.fleet.plan import Plan
from fabric_pipeline.synth.fleet.topology_arrays import shape_of
from fabric_pipeline.synth.fleet.workload import draw_workload

SMALL = FleetSpec(nodes=4, bins=60)
SPECS = [
    FleetSpec(),
    FleetSpec(fault="two_links", hard=True, per_rank=True),
    FleetSpec(fault="leaf_spine", burst_law="pareto", latency_law="student", effect_law="ramp"),
    FleetSpec(fault="nic_leaf", dirty=True, burst_law="markov", latency_law="ar1"),
    FleetSpec(fault="silent_state", gpu_totals=True, dirty=True, effect_law="share"),
    FleetSpec(fault="pcie", platform="a100", latency_law="sawtooth", burst_law="poisson"),
    FleetSpec(fault="both_ends", platform="nvl72", nodes=20, bins=60, miswired=True),
    FleetSpec(fault="drift", wrong_baseline=True),
    FleetSpec(fault="idle_errors"),
    FleetSpec(fault="flap", one_job=True),
    FleetSpec(nodes=70, bins=60, step_s=60.0, confounder_scale=4.0, fault="silent_nostate"),
]


def digest(scenario: FleetScenario) -> str:
    return hashlib.sha256(pickle.dumps(scenario)).hexdigest()


@pytest.fixture(scope="module", params=range(len(SPECS)), ids=lambda n: f"spec{n}")
def scenario(request: pytest.FixtureRequest) -> FleetScenario:
    return generate_fleet(SPECS[request.param], 90 + int(request.param))


def test_the_same_seed_gives_the_same_bytes(scenario: FleetScenario) -> None:
    again = generate_fleet(scenario.spec, scenario.seed)
    assert digest(again) == digest(scenario)
    assert digest(generate_fleet(scenario.spec, scenario.seed + 1)) != digest(scenario)


def test_increments_are_sorted_positive_and_inside_the_window(scenario: FleetScenario) -> None:
    inc, spec = scenario.increments, scenario.spec
    key = (inc.end * len(scenario.counters) + inc.counter) * spec.bins + inc.bin
    assert (np.diff(key) > 0).all()
    assert (inc.delta > 0).all()
    assert (inc.delta == np.rint(inc.delta)).all()
    assert ((inc.bin >= 0) & (inc.bin < spec.bins)).all()
    assert (inc.elapsed_s >= spec.step_s).all()
    assert (inc.elapsed_s <= (inc.bin + 1) * spec.step_s).all()


def test_increments_cover_disjoint_times_within_the_exposure(scenario: FleetScenario) -> None:
    inc, spec = scenario.increments, scenario.spec
    series = inc.end * len(scenario.counters) + inc.counter
    began = (inc.bin + 1) * spec.step_s - inc.elapsed_s
    same = series[1:] == series[:-1]
    assert (began[1:][same] >= ((inc.bin + 1) * spec.step_s)[:-1][same]).all()
    assert ((inc.bin + 1) * spec.step_s <= scenario.exposure_s[inc.end]).all()
    assert (scenario.exposure_s <= spec.bins * spec.step_s).all()
    assert (scenario.samples * spec.step_s <= scenario.exposure_s + 1e-3).mean() > 0.98
    if not any(one["kind"] == "lost_samples" for one in scenario.confounders):
        named = scenario.samples > 0
        assert (scenario.samples[named] == spec.bins).all()


def test_counters_belong_to_their_link_type(scenario: FleetScenario) -> None:
    inc = scenario.increments
    names = np.array(scenario.counters)[inc.counter]
    link_type = scenario.links.link_type[inc.end // 2]
    allowed = {
        "nvlink": {"crc_single_bit", "crc_multi_bit", "replay"},
        "pcie": {"pcie_replay", "aer_correctable"},
        "infiniband": {"symbol_error", "rx_errors", "plr_retry"},
    }
    for kind, counters in allowed.items():
        assert set(names[link_type == kind]) <= counters


def test_the_truth_is_consistent(scenario: FleetScenario) -> None:
    spec = scenario.spec
    expected = {"two_links": 2, "none": 0, "idle_errors": 0}.get(spec.fault, 1)
    assert len(scenario.truth) == expected
    assert len({one.link for one in scenario.truth}) == expected
    for one in scenario.truth:
        assert one.active.shape == (spec.bins,)
        assert one.active.any()
        assert not one.active[: one.first_bin].any()
        assert not one.active[one.last_bin :].any()
        assert 1.0 < one.effect <= 3.5
        assert bool(one.silent) == spec.fault.startswith("silent")
    states = {span.link for span in scenario.states}
    assert states == {one.link for one in scenario.truth if one.silent == "state"}
    assert all(span.value < span.normal for span in scenario.states)
    assert not {one.link for one in scenario.truth} & {
        one.get("link") for one in scenario.confounders
    }


def test_groups_are_made_of_known_nodes_that_do_not_run_two_jobs_at_once(
    scenario: FleetScenario,
) -> None:
    spec = scenario.spec
    busy = np.zeros((spec.nodes, spec.bins), int)
    runs: dict[str, tuple[set[int], int, int]] = {}
    for group in scenario.groups:
        assert 0 <= group.first_bin < group.last_bin <= spec.bins
        assert (np.diff(group.nodes) > 0).all()
        assert (group.rail >= 0) == (group.kind == "dp")
        nodes, _, _ = runs.setdefault(group.run, (set(), group.first_bin, group.last_bin))
        nodes |= set(group.nodes.tolist())
    for nodes, first, last in runs.values():
        busy[sorted(nodes), first:last] += 1
    assert busy.max() == 1


def test_records_exist_only_while_a_group_runs(scenario: FleetScenario) -> None:
    bins = np.arange(scenario.spec.bins)
    for number, group in enumerate(scenario.groups):
        runs = (bins >= group.first_bin) & (bins < group.last_bin)
        assert np.isnan(scenario.whole_us[number, ~runs]).all()
        assert (scenario.late_node[number, ~runs] == -1).all()
        known = scenario.late_node[number] >= 0
        assert np.isin(scenario.late_node[number, known], group.nodes).all()
    if scenario.pure_us is not None:
        seen = ~np.isnan(scenario.whole_us)
        assert (np.isnan(scenario.pure_us) == ~seen).all()
        assert (scenario.pure_us[seen] <= scenario.whole_us[seen]).all()


def test_a_topology_states_both_ends_of_every_link(scenario: FleetScenario) -> None:
    topology = scenario.topology()
    ends = [(tuple(link["a"].items()), tuple(link["b"].items())) for link in topology["links"]]
    assert len({end for pair in ends for end in pair}) == 2 * len(ends)
    assert all(link["b"]["port"] for link in topology["links"])
    if not scenario.spec.gpu_totals:
        stated = [link["b"]["port"] for link in topology["links"]]
        differ = np.flatnonzero(np.array(stated, object) != scenario.links.far_interface)
        assert set(differ) <= set(scenario.miswired or ())


@pytest.mark.parametrize("fault", [name for name in CLASSES if name != "none"])
def test_faults_are_felt_and_their_errors_seen(fault: str) -> None:
    felt = 0
    for seed in range(8):
        fleet = generate_fleet(replace(SMALL, fault=fault, nodes=8), seed)
        felt += all(one.felt for one in fleet.truth) and bool(fleet.truth)
        for one in fleet.truth:
            counted = np.isin(fleet.increments.end // 2, [one.link])
            assert one.silent or fleet.increments.delta[counted].sum() > 10
    assert felt >= 7


def test_a_guilty_link_makes_its_collectives_slower() -> None:
    spec = FleetSpec(fault="nic_leaf", one_job=True, per_rank=True, confounder_scale=0.0)
    slower = []
    for seed in range(20):
        fleet = generate_fleet(spec, seed)
        (one,) = fleet.truth
        assert fleet.pure_us is not None
        if 40 < one.active.sum() < 200 and not any(
            c["kind"] == "congestion" for c in fleet.confounders
        ):
            pure = fleet.pure_us[0]
            ratio = np.nanmedian(pure[one.active]) / np.nanmedian(pure[~one.active])
            slower.append((ratio - 1) / (one.effect - 1))
    assert len(slower) >= 4
    assert min(slower) > 0.3
    assert max(slower) < 1.6


def test_idle_errors_never_meet_a_collective() -> None:
    spec, shape = FleetSpec(fault="idle_errors", nodes=4), shape_of("h100", 4, False)
    found = 0
    for seed in range(8):
        work = draw_workload(spec, shape, seed)
        plan = Plan()
        add_harmless_errors(spec, shape, work, plan, seed)
        if not plan.bursts or plan.confounders[0]["kind"] != "idle_errors":
            continue
        found += 1
        idle = plan.bursts[0]
        node, rail = shape.links.node_index[idle.link], shape.links.rail[idle.link]
        is_rail = shape.links.link_type[idle.link] == "infiniband"
        for group in work.groups:
            crosses = node in group.nodes and group.kind != ("tp" if is_rail else "dp")
            if is_rail:
                crosses = crosses and len(group.nodes) > 1 and group.rail in (-1, rail)
            assert not (crosses and idle.active[group.first_bin : group.last_bin].any())
        assert generate_fleet(spec, seed).truth == []
    assert found >= 6


def test_gpu_totals_name_gpus_and_leave_far_ends_unread() -> None:
    fleet = generate_fleet(FleetSpec(gpu_totals=True, fault="nvlink"), 3)
    (one,) = fleet.truth
    assert fleet.links.near_interface[one.link] == f"gpu{fleet.links.gpu[one.link]}"
    nvlinks = np.flatnonzero(fleet.links.link_type == "nvlink")
    assert len(nvlinks) == 64
    assert (fleet.samples[2 * nvlinks + 1] == 0).all()
    assert not np.isin(fleet.increments.end, 2 * nvlinks + 1).any()


def test_suites_rotate_through_the_classes_and_draw_their_laws() -> None:
    for laws, choices in LAWS.items():
        specs = [suite("hard", laws)(index) for index in range(60)]
        assert [spec.fault for spec in specs] == list(CLASSES) * 6
        for kind, values in choices.items():
            assert {getattr(spec, kind) for spec in specs} == set(values)
    assert {suite("quiet")(index).fault for index in range(8)} == {"none"}
    assert {suite("flaps_days")(index).fault for index in range(3)} == {"flap"}
    assert suite("base")(7) == suite("base")(7)


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_gives_specifications(name: str) -> None:
    assert all(isinstance(suite(name, "judge")(index), FleetSpec) for index in range(12))


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(NotFoundError):
        suite("nope")
    with pytest.raises(UsageError):
        suite("base", "nope")
    with pytest.raises(UsageError):
        FleetSpec(fault="nope")


def test_a_small_fleet_is_drawn_fast() -> None:
    generate_fleet(FleetSpec(), 0)
    times = []
    for seed in range(5):
        began = time.perf_counter()
        generate_fleet(FleetSpec(), seed)
        times.append(time.perf_counter() - began)
    assert min(times) < 0.4  # a guard against hangs; measured 0.015 s
