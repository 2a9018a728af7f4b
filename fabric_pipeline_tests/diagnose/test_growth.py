"""The diagnosis of a fleet costs in proportion to the fleet: four times the nodes, about four times the steps.

Steps are calls and items handed out by lists, counted, not timed, so that a busy machine changes nothing.
With the square of the fleet they would be sixteen times as many.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from fabric_pipeline.detect.spikes.evaluate import Spike
from fabric_pipeline.detect.stragglers.evaluate import Straggler
from fabric_pipeline.detect.stragglers.series import LatencySeries
from fabric_pipeline.diagnose.correlate import Correlation, correlate
from fabric_pipeline.diagnose.diagnose import Diagnosis, diagnose
from fabric_pipeline.diagnose.evidence import Evidence
from fabric_pipeline.diagnose.localise.build import ErringLink
from fabric_pipeline.diagnose.localise.judge import judge_links
from fabric_pipeline.incidents.build import Context, build_incidents
from fabric_pipeline.model.topology import Topology
from fabric_pipeline_tests.diagnose.evidence import (
    at,
    correlation,
    increments,
    series,
    spike,
    straggler,
    topology,
)

SMALL, MOST = 24, 4.6
BURST = range(40, 60)
Fleet = tuple[list[Spike], list[Straggler], list[Correlation], Topology]


class Handed(list[Any]):
    """A list that counts what it hands out."""

    total = 0

    def __iter__(self) -> Iterator[Any]:
        for one in super().__iter__():
            Handed.total += 1
            yield one


def steps(work: Callable[[], Any]) -> int:
    """Calls made and items handed out."""
    calls = 0

    def told(frame: FrameType, event: str, arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    Handed.total = 0
    before = sys.getprofile()
    sys.setprofile(told)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls + Handed.total


def growth(work: Callable[[int], Callable[[], Any]]) -> float:
    """How many times the steps when the fleet is four times as large; the first call warms up."""
    work(SMALL)()
    return steps(work(4 * SMALL)) / steps(work(SMALL))


def ends(node: int) -> tuple[str, str]:
    return f"n{node}:gpu3/nvlink-4", f"n{node}:nvswitch-2/port-17"


def fleet(nodes: int) -> Fleet:
    """Every node has one bad link that slows a run of its own."""
    known = topology(*(ends(node) for node in range(nodes)))
    known.links = Handed(known.links)
    return (
        [spike(ends(node)[0]) for node in range(nodes)],
        Handed(straggler(f"r{node}", nodes=[f"n{node}"]) for node in range(nodes)),
        [correlation(ends(node)[0], f"r{node}") for node in range(nodes)],
        known,
    )


def answer(made: Fleet) -> Diagnosis:
    spikes, stragglers, correlations, known = made
    return diagnose(Evidence(spikes, stragglers, correlations, topology=known, has_timing=True))


def test_findings() -> None:
    assert len(answer(fleet(SMALL)).findings) == SMALL

    def judged(nodes: int) -> Callable[[], Any]:
        made = fleet(nodes)
        return lambda: answer(made)

    assert growth(judged) < MOST


def test_ends_that_only_repeat_are_looked_for_on_their_own_node() -> None:
    def unmapped(nodes: int) -> Callable[[], Any]:
        """Without a map a replaying GPU is folded into the one of its node that counts CRC errors."""
        pairs = [(f"n{n}:gpu1/nvlink-1", f"n{n}:gpu2/nvlink-1") for n in range(nodes)]
        spikes = [spike(end, name) for pair in pairs for end, name in zip(pair, ("replay", "crc_flit"), strict=True)]  # fmt: skip
        return lambda: diagnose(Evidence(spikes))

    assert len(unmapped(SMALL)().findings) == 2 * SMALL, "each link and its far end as a symptom"
    assert growth(unmapped) < MOST


def test_slow_runs_that_a_state_may_explain() -> None:
    """Accused links without weighed errors are compared with the unexplained runs of their nodes alone."""

    def alone(nodes: int) -> Callable[[], Any]:
        spikes, stragglers, _, known = fleet(nodes)
        return lambda: diagnose(Evidence(spikes, stragglers, topology=known))

    assert growth(alone) < MOST


def test_records() -> None:
    def records(nodes: int) -> Callable[[], Any]:
        made = fleet(nodes)
        findings = answer(made).findings
        return lambda: build_incidents(findings, Context("d1", "larch", made[-1]))

    assert len(records(SMALL)()) == SMALL
    assert growth(records) < MOST


def bursts(node: int) -> range:
    """Each run is slow at a time of its own, else the whole fabric would be to blame."""
    first = 10 + 7 * node % 80
    return range(first, first + 20)


def slow_runs(nodes: int) -> list[LatencySeries]:
    return [series(bursts(n), run=f"r{n}", nodes=[f"n{n}", f"m{n}"]) for n in range(nodes)]


def known_links(nodes: int) -> Topology:
    return topology(*(ends(node) for node in range(nodes)))


def test_comparing_links_with_runs() -> None:
    def compared(nodes: int) -> Callable[[], Any]:
        rows = [row for node in range(nodes) for row in increments(ends(node)[0], bursts(node))]
        runs, known = slow_runs(nodes), known_links(nodes)
        return lambda: correlate(runs, rows, known, 30)

    assert len(compared(SMALL)()) == SMALL
    assert growth(compared) < MOST


def test_weighing_links_against_each_other() -> None:
    def weighed(nodes: int) -> Callable[[], Any]:
        spans = [(at(bursts(n).start * 30.0), at(bursts(n).stop * 30.0), 9.0) for n in range(nodes)]
        links = [ErringLink(*ends(n), "nvlink", [spans[n]]) for n in range(nodes)]
        runs, known = slow_runs(nodes), known_links(nodes)
        return lambda: judge_links(runs, links, known, 30)

    assert len(weighed(SMALL)().links) == SMALL
    assert growth(weighed) < MOST
