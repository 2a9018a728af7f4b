"""The `counters.csv` of a scenario: cumulative values of every end at every sample that arrived.

Wide form, sorted by time. Values start at an old count and fall at a reset. In large fleets ends
that never count anything are left out but for a sample of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fabric_pipeline.synth.fleet.bursts import COUNTED, COUNTERS, REPEATS
from fabric_pipeline.synth.fleet.platforms import IB_LANES, PCIE_LANES
from fabric_pipeline.synth.fleet.scenario import FleetScenario
from fabric_pipeline.synth.fleet.schedule import SMALL_FLEET
from fabric_pipeline.synth.fleet.streams import Purpose, stream
from fabric_pipeline.synth.fleet.topology_arrays import Shape, shape_of

SILENT_KEPT = 0.02  # share of ends without any count that a large drop still lists
OLD_COUNT_SHARE, OLD_COUNT_MEDIAN = 0.3, 60.0
WAIT_TICKS_PER_S = 900.0  # of a healthy busy port

Mask = NDArray[np.bool_]


def write_counters(scenario: FleetScenario, path: Path) -> None:
    """Write the file bin by bin, so that a large fleet needs no more memory than a small one."""
    rng = stream(scenario.seed, Purpose.DROP).spawn(1)[0]
    spec = scenario.spec
    shape = shape_of(spec.platform, spec.nodes, spec.gpu_totals)
    ends = _listed_ends(scenario, shape, rng)
    arrived = arrived_samples(scenario, ends, rng)
    places = _places(scenario, shape, ends)
    readings = _readings(scenario, shape, ends, rng)
    with path.open("w", encoding="utf-8", newline="") as handle:
        for sample, columns in enumerate(readings):
            there = np.ones(len(ends), bool) if sample == 0 else arrived[:, sample - 1]
            time = scenario.start + timedelta(seconds=sample * spec.step_s)
            text = time.isoformat(timespec="seconds").replace("+00:00", "Z")
            frame = pd.concat([places, pd.DataFrame(columns)], axis=1)[there]
            frame.insert(0, "ts", text)
            frame.to_csv(handle, index=False, header=sample == 0, lineterminator="\n")


def arrived_samples(
    scenario: FleetScenario, ends: NDArray[np.int64], rng: np.random.Generator
) -> Mask:
    """Which samples (ends x bins) arrived, in keeping with increments, exposure and their number.

    Between two samples that a growth tells of nothing arrived; where nothing grew it does not
    matter which samples were lost, only how many.
    """
    bins, step = scenario.spec.bins, scenario.spec.step_s
    row_of = np.full(2 * len(scenario.links.gpu), -1)
    row_of[ends] = np.arange(len(ends))
    inc = scenario.increments
    known = np.zeros((len(ends), bins), np.int8)  # 1 arrived, -1 lost, 0 not known
    gap = np.rint(inc.elapsed_s / step).astype(int)
    for back in range(1, int(gap.max(initial=1))):
        wide = gap > back
        known[row_of[inc.end[wide]], inc.bin[wide] - back] = -1
    known[row_of[inc.end], inc.bin] = 1
    before = inc.bin - gap
    known[row_of[inc.end[before >= 0]], before[before >= 0]] = 1
    last = np.rint(scenario.exposure_s[ends] / step).astype(int)
    known[np.arange(bins) >= last[:, None]] = -1
    covered = np.flatnonzero(last > 0)
    known[covered, last[covered] - 1] = 1
    # The free bins with the smallest draws arrive, as many as the end has samples.
    score = np.where(known == 0, rng.random(known.shape), np.where(known == 1, -1.0, 2.0))
    rank = np.argsort(np.argsort(score, axis=1), axis=1)
    return np.asarray((rank < scenario.samples[ends][:, None]) & (known >= 0))


def _listed_ends(
    scenario: FleetScenario, shape: Shape, rng: np.random.Generator
) -> NDArray[np.int64]:
    listed = np.ones(2 * shape.size, bool)
    if scenario.spec.nodes > SMALL_FLEET:
        listed = rng.random(len(listed)) < SILENT_KEPT
        listed[scenario.increments.end] = True
        for span in scenario.states:
            listed[2 * span.link + span.side] = True
        for end, _, _ in scenario.wait_ticks:
            listed[end] = True
    listed[1::2] &= shape.weight == 1
    return np.flatnonzero(listed)


def _places(scenario: FleetScenario, shape: Shape, ends: NDArray[np.int64]) -> pd.DataFrame:
    """Columns that say where an end is, the same at every sample."""
    links, (link, side) = scenario.links, np.divmod(ends, 2)
    node = np.where(side == 0, links.near_node[link], links.far_node[link])
    gpu = np.where(side == 0, links.gpu[link], -1)
    place = np.maximum(gpu, links.rail[link])
    socket = np.where(node == "", -1, place // max(1, shape.platform.gpus // 2))
    interface = np.where(side == 0, links.near_interface[link], links.far_interface[link])
    columns = {
        "node": node,
        "socket": _optional(np.where(place < 0, -1, socket)),
        "gpu": _optional(gpu),
        "link_type": links.link_type[link],
        "link": interface,
    }
    return pd.DataFrame(columns)


def _optional(values: NDArray[np.int32]) -> pd.Series:
    """Whole numbers, blank where negative."""
    return pd.Series(values, dtype="Int64").mask(values < 0)


def _readings(
    scenario: FleetScenario, shape: Shape, ends: NDArray[np.int64], rng: np.random.Generator
) -> Iterator[dict[str, pd.Series]]:
    """Values of all listed ends at the start of the window and at the end of every bin."""
    row_of = np.full(2 * shape.size, -1)
    row_of[ends] = np.arange(len(ends))
    has = _has_counter(scenario, ends)
    old = rng.lognormal(np.log(OLD_COUNT_MEDIAN), 1.5, has.shape)
    values = np.rint(np.where(has & (rng.random(has.shape) < OLD_COUNT_SHARE), old, 0.0))
    waited = np.rint(rng.uniform(1e6, 1e8, len(ends)))
    is_port = scenario.links.link_type[ends // 2] == "infiniband"
    resets = _resets(scenario, shape, ends)
    order = np.argsort(scenario.increments.bin, kind="stable")
    starts = np.searchsorted(scenario.increments.bin[order], np.arange(scenario.spec.bins + 1))
    ticks = _ticks_by_bin(scenario, row_of)
    for sample in range(scenario.spec.bins + 1):
        if sample:
            inc, bin_ = scenario.increments, sample - 1
            for rows in resets.get(bin_, ()):
                values[:, rows], waited[rows] = 0.0, 0.0
            now = order[starts[bin_] : starts[bin_ + 1]]
            values[inc.counter[now], row_of[inc.end[now]]] += inc.delta[now]
            waited += rng.poisson(WAIT_TICKS_PER_S * scenario.spec.step_s, len(ends))
            waited[ticks[bin_][0]] += ticks[bin_][1]
        columns = {name: _counts(values[n], has[n]) for n, name in enumerate(COUNTERS)}
        columns["tx_wait"] = _counts(waited, is_port)
        yield columns | _states(scenario, shape, ends, row_of, max(0, sample - 1))


def _counts(values: NDArray[np.float64], has: Mask) -> pd.Series:
    return pd.Series(values.astype(np.int64), dtype="Int64").mask(~has)


def _has_counter(scenario: FleetScenario, ends: NDArray[np.int64]) -> Mask:
    """Counters x ends; the far end of a PCIe link counts no repeats."""
    link_type = scenario.links.link_type[ends // 2]
    has = np.zeros((len(COUNTERS), len(ends)), bool)
    for name, columns in COUNTED.items():
        for counter in columns:
            if counter >= 0:
                has[counter] |= link_type == name
    has[COUNTED["pcie"][REPEATS]] &= ends % 2 == 0
    return has


def _resets(
    scenario: FleetScenario, shape: Shape, ends: NDArray[np.int64]
) -> dict[int, list[NDArray[np.int64]]]:
    """Bin -> rows whose counters start again in it."""
    found: dict[int, list[NDArray[np.int64]]] = {}
    for one in scenario.confounders:
        if one["kind"] == "counter_reset":
            rows = np.flatnonzero(shape.end_node[ends] == one["node"])
            found.setdefault(one["bin"], []).append(rows)
    return found


def _ticks_by_bin(
    scenario: FleetScenario, row_of: NDArray[np.int64]
) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    rows: list[list[int]] = [[] for _ in range(scenario.spec.bins)]
    amounts: list[list[float]] = [[] for _ in range(scenario.spec.bins)]
    for end, bins, ticks in scenario.wait_ticks:
        for bin_, amount in zip(bins, ticks, strict=True):
            rows[bin_].append(int(row_of[end]))
            amounts[bin_].append(float(amount))
    return [(np.array(r, np.int64), np.array(a)) for r, a in zip(rows, amounts, strict=True)]


def _states(
    scenario: FleetScenario,
    shape: Shape,
    ends: NDArray[np.int64],
    row_of: NDArray[np.int64],
    bin_: int,
) -> dict[str, pd.Series]:
    """Width and speed of every end; blank for GPU totals, which are no link."""
    facts, link_type = shape.platform, scenario.links.link_type[ends // 2]
    kinds = [link_type == "nvlink", link_type == "pcie"]
    levels = {
        "width": np.select(kinds, [facts.nvlink_lanes, PCIE_LANES], IB_LANES).astype(float),
        "speed_gbps": np.select(kinds, [facts.nvlink_gbps, facts.pcie_gbps], facts.ib_gbps),
    }
    for level in levels.values():
        level[shape.weight[ends // 2] > 1] = np.nan
    for span in scenario.states:
        if span.first_bin <= bin_ < span.last_bin:
            levels[span.counter][row_of[2 * span.link + span.side]] = span.value
    return {name: pd.Series(level) for name, level in levels.items()}
