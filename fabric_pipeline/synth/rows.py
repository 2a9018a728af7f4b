"""Turns counter series into rows of `counters.csv` or `counters.jsonl`, in order of time.

Series that change are written at every sample, constant ones only now and then: values are
cumulative, so the observed time stays right and a drop stays small. Samples that a scenario lost
and nodes that sent nothing leave no row behind.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fabric_pipeline.synth.cluster import LinkEnd
from fabric_pipeline.synth.counters import (
    BACKGROUND,
    IB_ERRORS,
    LEVELS,
    NIC_LOSSES,
    NVLINK_ERRORS,
    PCIE_ERRORS,
    EndSeries,
)
from fabric_pipeline.synth.effects import Effects
from fabric_pipeline.synth.timegrid import TimeGrid, iso_utc

Cell = str | int | float | None
Row = dict[str, Cell]

PLACE_COLUMNS = ("ts", "node", "socket", "gpu", "link_type", "link", "lane")
LONG_COLUMNS = (*PLACE_COLUMNS, "counter", "value")
COUNTER_COLUMNS = tuple(
    dict.fromkeys((*NVLINK_ERRORS, *IB_ERRORS, *NIC_LOSSES, *PCIE_ERRORS, *BACKGROUND))
)
STATE_COLUMNS = ("state", "width", "speed_gbps")
WIDE_COLUMNS = (*PLACE_COLUMNS, *COUNTER_COLUMNS, *STATE_COLUMNS)


@dataclass(frozen=True, slots=True)
class Layout:
    """How the counters of a drop are written.

    `shape` is one row per counter (`long`) or one column per counter (`wide`), `file` the kind of
    file. `quiet_every`: samples between two rows of a constant series; the first and the last
    sample always stand. `lean` leaves out traffic and constant states of NVLinks, and NVSwitch
    ports that never counted an error, as tools do that list only ports with errors. `gpu_uuid`
    adds that column.
    """

    shape: Literal["long", "wide"] = "long"
    file: Literal["csv", "jsonl"] = "csv"
    quiet_every: int = 60
    lean: bool = True
    gpu_uuid: bool = False

    @property
    def file_name(self) -> str:
        """Name of the counter file."""
        return f"counters.{self.file}"

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the file, in order."""
        columns = WIDE_COLUMNS if self.shape == "wide" else LONG_COLUMNS
        return (*columns[:4], "gpu_uuid", *columns[4:]) if self.gpu_uuid else columns


def counter_rows(
    series: Iterable[EndSeries],
    effects: list[Effects],
    grid: TimeGrid,
    layout: Layout,
    rng: np.random.Generator,
) -> list[Row]:
    """All rows of the counter file, sorted by time, then in the order of the topology."""
    silent = {node for effect in effects for node in effect.silent_nodes}
    times = [iso_utc(grid.time_of(sample)) for sample in range(grid.samples)]
    rows: list[tuple[int, Row]] = []
    for one in series:
        arrived = _arrived(one.end, effects, grid, rng)
        if one.end.node in silent or not _is_listed(one, layout):
            continue
        if layout.lean and one.end.link_type == "nvlink":
            one = EndSeries(one.end, one.lane, _lean(one))
        rows += _rows_of(one, arrived, times, layout)
    rows.sort(key=lambda row: row[0])
    return [row for _, row in rows]


def _is_listed(one: EndSeries, layout: Layout) -> bool:
    is_switch_side = one.end.link_type == "nvlink" and one.end.gpu is None
    return not (layout.lean and is_switch_side) or one.counted_anything


def _lean(one: EndSeries) -> dict[str, NDArray[np.float64] | NDArray[np.int64]]:
    return {
        name: values
        for name, values in one.values.items()
        if name in one.changing or (name not in BACKGROUND and name not in LEVELS)
    }


def _arrived(
    end: LinkEnd, effects: list[Effects], grid: TimeGrid, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Which samples of this end were not lost; the first and the last never are."""
    arrived = np.ones(grid.samples, dtype=np.bool_)
    for loss in (loss for effect in effects for loss in effect.lost):
        drawn = rng.random(grid.samples) < loss.share
        drawn[: loss.first] = False
        drawn[loss.last :] = False
        if loss.node in ("", end.node):
            arrived &= ~drawn
    arrived[[0, -1]] = True
    return arrived


def _rows_of(
    one: EndSeries, arrived: NDArray[np.bool_], times: list[str], layout: Layout
) -> list[tuple[int, Row]]:
    quiet = np.zeros(arrived.size, dtype=np.bool_)
    quiet[:: layout.quiet_every] = True
    quiet[-1] = True
    place = _place(one, layout)
    if layout.shape == "wide":
        written = np.flatnonzero(arrived & (quiet | bool(one.changing))).tolist()
        return [(s, {"ts": times[s], **place, **_wide_cells(one, s)}) for s in written]
    rows: list[tuple[int, Row]] = []
    for name, values in one.values.items():
        full_rate = name in one.changing or (name in BACKGROUND and bool(one.changing))
        for sample in np.flatnonzero(arrived & (quiet | full_rate)).tolist():
            cell = {"counter": name, "value": _number(values[sample].item())}
            rows.append((sample, {"ts": times[sample], **place, **cell}))
    return rows


def _place(one: EndSeries, layout: Layout) -> Row:
    place: Row = {
        "node": one.end.node,
        "socket": one.end.socket,
        "gpu": one.end.gpu,
        "link_type": one.end.link_type,
        "link": one.end.interface,
        "lane": one.lane,
    }
    if layout.gpu_uuid:
        place["gpu_uuid"] = one.end.gpu_uuid or None
    return place


def _wide_cells(one: EndSeries, sample: int) -> Row:
    cells: Row = {name: _number(values[sample].item()) for name, values in one.values.items()}
    up = cells.pop("link_up", None)
    if up is not None:
        cells["state"] = "active" if up else "down"
    return cells


def _number(value: float) -> int | float:
    return int(value) if value == int(value) else value
