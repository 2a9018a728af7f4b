"""Verdicts by name: from latency series and erring links to who is responsible for which run."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from fabric_pipeline.detect.stragglers.series import LatencySeries
from fabric_pipeline.diagnose.localise.build import ErringLink, SideEvidence
from fabric_pipeline.diagnose.localise.judge import (
    ACCUSE_FROM,
    NOT_RESPONSIBLE,
    RESPONSIBLE,
    SUSPECT,
    LinkVerdict,
    Verdicts,
    judge_links,
)
from fabric_pipeline.diagnose.localise.scorecard import TERMS, ScoreCard
from fabric_pipeline.diagnose.localise.window import HOST, NODE_RAIL
from fabric_pipeline.model.topology import Topology
from fabric_pipeline_tests.diagnose.evidence import at, components, series, topology
from fabric_pipeline_tests.diagnose.localise.windows import (
    BINS,
    BURST,
    CABLE,
    NVLINK,
    OTHER_CABLE,
    RAILS,
    RUNS,
    STEP_S,
    erring,
    noisy,
)

DP2 = ("a", "dp2")
TWIN = "n2:mlx5_2/1"
Slow = Mapping[tuple[str, str], Iterable[int]]


def latencies(slow: Slow, rows: int = BINS) -> list[LatencySeries]:
    """The handmade fleet as the straggler stage leaves it: one rail and one NVLink group as in `windows`."""
    made = []
    for number, (run, nodes) in enumerate(RUNS.items()):
        names = [(f"tp-{node}", [node], []) for node in nodes]
        names += [(f"dp{rail}", list(nodes), [rail]) for rail in range(RAILS)]
        noise = noisy(len(names), rows, seed=11 + number)
        for extra, (name, used, gpus) in zip(noise, names, strict=True):
            one = series(slow.get((run, name), ()), rows=rows)
            deviation = one.deviation + extra
            changes = {"run": run, "communicator": name, "nodes": used, "gpus": gpus}
            made.append(replace(one, deviation=deviation, **changes))
    return made


def judge(slow: Slow, links: Iterable[ErringLink], **given: object) -> Verdicts:
    known = given.pop("topology", Topology())
    return judge_links(latencies(slow), links, known, STEP_S, **given)  # type: ignore[arg-type]


def by_name(found: Verdicts) -> dict[str, LinkVerdict]:
    return {one.component: one for one in found.links}


def test_the_guilty_link_is_responsible_for_its_run() -> None:
    found = judge({DP2: BURST}, [erring(CABLE, BURST, far_end="unknown:leaf-0/port-2")])
    (one,) = found.links
    assert (one.component, one.far_end, one.link_type) == (
        CABLE,
        "unknown:leaf-0/port-2",
        "infiniband",
    )
    assert one.verdict == RESPONSIBLE
    assert one.confidence >= ACCUSE_FROM
    assert one.effect_pct == pytest.approx(100, abs=8)
    assert (one.edges_fitting, one.edges_visible) == (2, 2)
    assert one.share_slow > 0.9
    assert one.coverage > 0.9
    assert one.slow_anyway < 0.1
    assert one.chance == pytest.approx(1 / BINS)
    assert one.lag_bins == 0
    assert one.log_odds > 5
    assert one.behind == []
    (run,) = one.runs
    assert (run.run, run.communicator, run.bins) == ("a", "dp2", BINS)
    assert (run.slow_bins, run.error_bins, run.overlap_bins) == (15, 15, 15)
    assert run.covered_bins == list(BURST)
    assert run.effect_pct == pytest.approx(100, abs=8)
    assert found.places == []


def test_the_reasons_are_told_largest_first() -> None:
    (one,) = judge({DP2: BURST}, [erring(CABLE, BURST)]).links
    sizes = [abs(part) for part in one.because.values()]
    assert sizes == sorted(sizes, reverse=True)
    assert one.because["contrast"] > 0


def test_a_clock_difference_is_told_in_seconds() -> None:
    (one,) = judge({DP2: BURST}, [erring(CABLE, [n - 2 for n in BURST])]).links
    assert one.lag_bins == 2


def test_of_two_links_with_the_same_pattern_neither_is_accused() -> None:
    """Nothing here tells them apart, so each has half of the confidence."""
    found = by_name(judge({DP2: BURST}, [erring(TWIN, BURST), erring(CABLE, BURST)]))
    alone = by_name(judge({DP2: BURST}, [erring(CABLE, BURST)]))
    assert alone[CABLE].verdict == RESPONSIBLE
    assert {found[CABLE].verdict, found[TWIN].verdict} == {SUSPECT}
    assert (found[CABLE].behind, found[TWIN].behind) == ([TWIN], [CABLE])
    assert found[CABLE].confidence == found[TWIN].confidence <= 0.5


def test_errors_beside_the_slow_time_are_not_responsible() -> None:
    found = by_name(judge({DP2: BURST}, [erring(TWIN, [*range(8), 22, 23]), erring(CABLE, BURST)]))
    assert found[CABLE].verdict == RESPONSIBLE
    assert found.get(TWIN) is None or found[TWIN].verdict == NOT_RESPONSIBLE


def constant_card(confidence: float) -> ScoreCard:
    return ScoreCard(np.zeros(len(TERMS)), float(np.log(confidence / (1 - confidence))), "constant")


@pytest.mark.parametrize(
    ("confidence", "verdict"),
    [
        (0.9, RESPONSIBLE),
        (0.71, RESPONSIBLE),
        (0.69, SUSPECT),
        (0.51, SUSPECT),
        (0.4, NOT_RESPONSIBLE),
    ],
)
def test_verdicts_by_confidence(confidence: float, verdict: str) -> None:
    found = judge({DP2: BURST}, [erring(CABLE, BURST)], card=constant_card(confidence))
    assert [one.verdict for one in found.links] == [verdict]
    assert found.links[0].confidence == pytest.approx(confidence)


def test_a_link_lists_every_run_it_slows() -> None:
    """Two runs share node n1: the second has a rail of its own over n1 and n3."""
    shared = replace(latencies({DP2: BURST})[4], run="c", nodes=["n1", "n3"])
    found = judge_links(
        [*latencies({DP2: BURST}), shared], [erring(CABLE, BURST)], Topology(), STEP_S
    )
    (one,) = found.links
    assert [share.run for share in one.runs] == ["a", "c"]
    assert all(share.overlap_bins == 15 for share in one.runs)


def test_a_run_that_never_met_the_errors_is_not_listed() -> None:
    calm = replace(latencies({})[4], run="c", nodes=["n1", "n3"])
    gone = replace(calm, rows=calm.rows[:15], deviation=calm.deviation[:15])
    found = judge_links(
        [*latencies({DP2: BURST}), gone], [erring(CABLE, BURST)], Topology(), STEP_S
    )
    assert [share.run for share in found.links[0].runs] == ["a"]


def test_a_clock_too_short_says_nothing() -> None:
    for rows, number in ((7, 0), (8, 1)):
        short = latencies({DP2: range(3, 6)}, rows=rows)
        found = judge_links(short, [erring(CABLE, range(3, 6))], Topology(), STEP_S)
        assert len(found.links) == number
    assert judge_links([], [erring(CABLE, BURST)], Topology(), STEP_S) == Verdicts()


def test_collectives_outrank_steps() -> None:
    """Durations of whole steps hold computation too, so they are used only where nothing else is timed."""
    steps = [replace(one, unit_kind="step") for one in latencies({DP2: BURST})]
    mixed = judge_links([*steps, *latencies({})], [erring(CABLE, BURST)], Topology(), STEP_S)
    assert all(one.verdict == NOT_RESPONSIBLE for one in mixed.links)
    (one,) = judge_links(steps, [erring(CABLE, BURST)], Topology(), STEP_S).links
    assert one.verdict == RESPONSIBLE


def test_a_slow_place_has_a_name_and_a_time() -> None:
    found = judge({DP2: BURST}, [])
    (one,) = found.places
    assert (one.kind, one.node) == (NODE_RAIL, "n1")
    assert one.name == "n1: rail 2"
    assert "n2: rail 2" in one.or_else
    assert one.runs == ["a"]
    assert abs((one.start - at(20 * STEP_S)).total_seconds()) < 1
    assert abs((one.end - at(35 * STEP_S)).total_seconds()) < 1
    assert one.effect_pct == pytest.approx(100, abs=8)
    assert one.log_odds > 5
    assert not one.is_congested
    assert not one.is_throttled


def test_a_slow_place_says_what_else_was_measured_there() -> None:
    span = [(at(20 * STEP_S), at(35 * STEP_S), 1.0)]
    side = SideEvidence(congested={(CABLE, ""): span}, throttled={"n1": span})
    (one,) = judge({DP2: BURST}, [], side=side).places
    assert one.is_congested
    assert one.is_throttled


def test_a_slow_host_is_a_place() -> None:
    slow = {("a", f"dp{rail}"): BURST for rail in range(RAILS)} | {("a", "tp-n1"): BURST}
    found = judge(slow, [erring(OTHER_CABLE, BURST)])
    assert (found.places[0].kind, found.places[0].name) == (HOST, "n1: host")
    assert all(one.verdict != RESPONSIBLE for one in found.links)


def test_verdicts_come_in_a_fixed_order() -> None:
    slow = {DP2: BURST, ("a", "tp-n1"): range(42, 54)}
    links = [erring(CABLE, BURST), erring(NVLINK, range(42, 54)), erring(TWIN, BURST)]
    expected = judge(slow, links)
    assert components(expected.links)[2] == TWIN
    for seed in range(3):
        order = links.copy()
        random.Random(seed).shuffle(order)  # noqa: S311
        assert judge(slow, order) == expected


def test_errors_and_a_lost_width_of_one_link_are_no_rivals() -> None:
    """The width is read at the network card, the errors at the switch: still one cable."""
    port = "unknown:leaf-0/port-2"
    known = topology((CABLE, port))
    links = [
        erring(port, BURST, far_end=CABLE, link_type="infiniband"),
        erring(CABLE, BURST, far_end=port, has_state=True),
    ]
    found = judge({DP2: BURST}, links, topology=known)
    assert [one.verdict for one in found.links] == [RESPONSIBLE]
    assert found.links[0].behind == []
