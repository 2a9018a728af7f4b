"""A generated fleet as the diagnosis sees it: the same spike scan, groups and window as for a real drop.

Skips only reading and counting: increments and collectives are handed over as the generator made them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from fabric_pipeline.detect.spikes.evaluate import Spike, detect_from_series
from fabric_pipeline.detect.spikes.series import create_empty
from fabric_pipeline.detect.stragglers.series import learnt_baseline
from fabric_pipeline.detect.stragglers.thresholds import StragglerLimits
from fabric_pipeline.diagnose.localise.build import (
    Built,
    ErringLink,
    SideEvidence,
    Span,
    build_window,
)
from fabric_pipeline.diagnose.localise.evidence import erring_links
from fabric_pipeline.diagnose.localise.groups import TimedGroup
from fabric_pipeline.model.components import component_id
from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.store.duck import connect
from fabric_pipeline.synth.fleet import FleetScenario, Increments

_MIN_ROWS = 8
THREADS = 1  # scenarios are small and run side by side
_RANKS_PER_NODE = {"h100": 8, "a100": 8, "nvl72": 4}


@dataclass(slots=True)
class Observed:
    """What detection made of a scenario: spikes, erring links (with states) and the window; None without timing.

    The increments of `scenario` end with what was observed. `names` maps component ids to its links.
    """

    scenario: FleetScenario
    topology: Topology
    spikes: list[Spike]
    links: list[ErringLink]
    groups: list[TimedGroup]
    built: Built | None
    names: dict[str, int]
    spikes_s: float
    window_s: float


def observe(
    scenario: FleetScenario, until_bin: int | None = None, use_ranks: bool = True
) -> Observed:
    """Spikes, groups and window of a scenario, of its first `until_bin` bins when given."""
    until = until_bin or scenario.spec.bins
    scenario = _seen_until(scenario, until)
    topology = topology_of(scenario)
    started = time.perf_counter()
    spikes = find_spikes(scenario, until)
    scanned = time.perf_counter()
    links = erring_links(spikes, topology) + _states(scenario, topology, until)
    groups = timed_groups(scenario, until, use_ranks)
    built = build_window(groups, links, topology, scenario.spec.step_s, _side(scenario, until))
    done = time.perf_counter()
    names = link_names(scenario)
    return Observed(
        scenario, topology, spikes, links, groups, built, names, scanned - started, done - scanned
    )


def _seen_until(scenario: FleetScenario, until: int) -> FleetScenario:
    """The scenario without later increments, so that no method looks ahead."""
    inc = scenario.increments
    kept = inc.bin < until
    seen = Increments(
        inc.end[kept], inc.counter[kept], inc.bin[kept], inc.elapsed_s[kept], inc.delta[kept], inc.is_reset[kept]
    )  # fmt: skip
    return replace(scenario, increments=seen)


def topology_of(scenario: FleetScenario) -> Topology:
    """The fleet's topology as the product reads it; kept between scenarios of one shape."""
    if scenario.miswired is not None:
        return _read(scenario)
    return _shared(scenario.spec.platform, scenario.spec.nodes, _Held(scenario))


class _Held:
    """A scenario as an argument that no cache looks at."""

    def __init__(self, scenario: FleetScenario) -> None:
        self.scenario = scenario

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held)


@lru_cache(maxsize=4)
def _shared(platform: str, nodes: int, held: _Held) -> Topology:
    del platform, nodes
    return _read(held.scenario)


def _read(scenario: FleetScenario) -> Topology:
    raw = scenario.topology()
    part = TopologyPart(
        site=raw["site"], nodes=raw["nodes"], switches=raw["switches"], links=raw["links"]
    )
    return Topology([part])


def link_names(scenario: FleetScenario) -> dict[str, int]:
    """Both component ids of every truly guilty or erring link -> its number in the scenario."""
    links = scenario.links
    wanted = {int(end) // 2 for end in np.unique(scenario.increments.end)}
    wanted |= {one.link for one in scenario.truth} | {state.link for state in scenario.states}
    names: dict[str, int] = {}
    for link in wanted:
        names[component_id(links.near_node[link], links.near_interface[link])] = link
        if links.far_interface[link]:
            names[component_id(links.far_node[link], links.far_interface[link])] = link
    return names


def find_spikes(scenario: FleetScenario, until: int) -> list[Spike]:
    """The product's spike scan over the scenario's increments."""
    connection = connect()
    connection.execute(f"set threads to {THREADS}")
    try:
        create_empty(connection)
        series, increments = _frames(scenario, until)
        for name, frame in (("error_series", series), ("error_increments", increments)):
            connection.register("given", frame)
            columns = ", ".join(frame.columns)
            connection.execute(f"insert into {name} ({columns}) select {columns} from given")
            connection.unregister("given")
        return detect_from_series(connection)
    finally:
        connection.close()


def _frames(scenario: FleetScenario, until: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    links, inc = scenario.links, scenario.increments
    end, counter, at = inc.end, inc.counter, inc.bin
    delta, elapsed, was_reset = inc.delta, inc.elapsed_s, inc.is_reset
    number = len(scenario.counters)
    types = np.repeat(links.link_type, 2)
    ends, counters = _all_series(types, scenario.counters)
    key = ends * number + counters
    order = np.argsort(key, kind="stable")
    ends, counters, key = ends[order], counters[order], key[order]
    place = np.searchsorted(key, end * number + counter)
    share = until / scenario.spec.bins
    names = np.array(scenario.counters, dtype=object)
    node = np.stack([links.near_node, links.far_node], axis=1).ravel()
    interface = np.stack([links.near_interface, links.far_interface], axis=1).ravel()
    is_sum = np.char.find(interface.astype(str), "/") < 0
    size = len(key)
    sums = np.bincount(place, weights=delta, minlength=size)
    measured = np.maximum((scenario.samples[ends] * share).astype(np.int64), 0)
    keep = measured > 0
    start = pd.Timestamp(scenario.start)
    step = scenario.spec.step_s
    series = pd.DataFrame({
        "series": np.arange(size), "node": pd.Categorical(node[ends]), "interface": interface[ends],
        "counter": pd.Categorical(names[counters]), "scope": pd.Categorical(np.where(is_sum[ends], "gpu_sum", "link")),
        "link_type": pd.Categorical(types[ends]),
        "error_class": pd.Categorical(np.array([COUNTERS[n].error_class for n in scenario.counters], dtype=object)[counters]),
        "samples": measured, "timed_samples": measured, "exposure_s": scenario.exposure_s[ends].astype(float) * share,
        "step_s": step, "events": sums, "reset_events": np.bincount(place, weights=delta * was_reset, minlength=size),
        "active_samples": np.bincount(place, minlength=size), "measured": measured,
        "first_ts": start, "last_ts": start + pd.Timedelta(seconds=step * until),
    })  # fmt: skip
    rows = pd.DataFrame({
        "series": place, "node": node[end], "interface": interface[end], "counter": names[counter],
        "scope": np.where(is_sum[end], "gpu_sum", "link"), "link_type": types[end], "sample": at.astype(np.int64) + 1,
        "error_class": np.array([COUNTERS[n].error_class for n in scenario.counters], dtype=object)[counter],
        "ts": start + pd.to_timedelta((at + 1) * step, unit="s"), "elapsed_s": elapsed.astype(float), "delta": delta.astype(float),
        "quality": np.where(was_reset, "reset", "ok"),
    })  # fmt: skip
    return series[keep], rows


def _all_series(types: np.ndarray, counters: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Ends and counter numbers of every series that a link of its type has."""
    of_type = {
        "nvlink": ("crc_single_bit", "crc_multi_bit", "replay"),
        "pcie": ("pcie_replay", "aer_correctable"),
        "infiniband": ("symbol_error", "rx_errors", "plr_retry"),
    }
    ends, numbers = [], []
    for name, members in of_type.items():
        mine = np.flatnonzero(types == name)
        for counter in members:
            ends.append(mine)
            numbers.append(np.full(len(mine), counters.index(counter)))
    return np.concatenate(ends), np.concatenate(numbers)


def timed_groups(scenario: FleetScenario, until: int, use_ranks: bool) -> list[TimedGroup]:
    """The groups with baselines as the product learns them."""
    limits = StragglerLimits()
    pure = scenario.pure_us if use_ranks else None
    durations = (scenario.whole_us if pure is None else pure)[:, :until]
    with np.errstate(all="ignore"):
        own = [
            float(np.nanquantile(row, 0.2)) if (~np.isnan(row)).sum() >= _MIN_ROWS else np.nan
            for row in durations
        ]
    ranks = [
        len(g.nodes) * (1 if g.kind == "dp" else _RANKS_PER_NODE[scenario.spec.platform])
        for g in scenario.groups
    ]
    alike: dict[tuple[Any, ...], list[int]] = {}
    for number, group in enumerate(scenario.groups):
        if not np.isnan(own[number]):
            alike.setdefault((group.kind, group.bytes, ranks[number], len(group.nodes)), []).append(
                number
            )
    start_s = scenario.start.timestamp()
    groups = []
    for number, group in enumerate(scenario.groups):
        row = durations[number]
        at = np.flatnonzero(~np.isnan(row))
        if len(at) < _MIN_ROWS:
            continue
        sisters = [
            own[n]
            for n in alike[group.kind, group.bytes, ranks[number], len(group.nodes)]
            if n != number
        ]
        base = (
            group.base_us
            if group.baseline_given
            else learnt_baseline(own[number], sisters, limits)[0]
        )
        late = (
            [scenario.node_names[n] if n >= 0 else "" for n in scenario.late_node[number, at]]
            if pure is not None
            else ()
        )
        nodes = [scenario.node_names[n] for n in group.nodes]
        gpus = [group.rail] if group.kind == "dp" else []
        times_s = np.asarray(start_s + (at + 0.5) * scenario.spec.step_s, dtype=np.float64)
        deviation = np.log(row[at] / base)
        has_ranks = pure is not None
        groups.append(
            TimedGroup(
                group.run, group.name, nodes, gpus, ranks[number], times_s, deviation, has_ranks, late
            )
        )  # fmt: skip
    return groups


def _states(scenario: FleetScenario, topology: Topology, until: int) -> list[ErringLink]:
    found: dict[str, ErringLink] = {}
    for state in scenario.states:
        if state.first_bin >= until:
            continue
        links = scenario.links
        near = component_id(links.near_node[state.link], links.near_interface[state.link])
        span = _span(scenario, state.first_bin, min(state.last_bin, until))
        known = found.setdefault(
            near, ErringLink(near, topology.far_end(near), links.link_type[state.link], [], True)
        )
        if span not in known.spans:
            known.spans.append(span)
    return list(found.values())


def _side(scenario: FleetScenario, until: int) -> SideEvidence:
    congested: dict[tuple[str, str], list[Span]] = {}
    links = scenario.links
    for end, bins, _ in scenario.wait_ticks:
        link, side = divmod(int(end), 2)
        ends = (
            (links.near_node, links.near_interface)
            if side == 0
            else (links.far_node, links.far_interface)
        )
        congested[component_id(ends[0][link], ends[1][link]), ""] = [
            _span(scenario, int(b), int(b) + 1) for b in bins if b < until
        ]
    throttled: dict[str, list[Span]] = {}
    for node, _, first, last in scenario.throttled:
        if first < until:
            throttled.setdefault(scenario.node_names[node], []).append(
                _span(scenario, first, min(last, until))
            )
    return SideEvidence(congested, throttled)


def _span(scenario: FleetScenario, first: int, last: int) -> Span:
    step = scenario.spec.step_s
    return (
        scenario.start + timedelta(seconds=first * step),
        scenario.start + timedelta(seconds=last * step),
        1.0,
    )
