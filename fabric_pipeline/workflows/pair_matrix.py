"""Latency between pairs of GPUs (or nodes) in one drop, each against the median of its own class.

A pair is a collective with exactly two ranks whose places are stated, or a row of a table of node pairs.
Distances differ by nature, so that a pair is compared within its class alone: same node, same rail
(equal GPU index), cross rail, or between nodes where no GPU is stated.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from fabric_pipeline.model.components import natural_key
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.duck import session
from fabric_pipeline.store.lake import attach

CLASSES = {
    "node": "same node",
    "rail": "same rail",
    "cross": "cross rail",
    "pair": "between nodes",
}
# Multiples of the class median from which a pair gets the next colour; twice the median is red.
STEPS = (1.1, 1.25, 1.5, 1.75, 2.0)
MAX_ENDS = 512
_NOT_MEASURED = 7
_MOST_RATIO = 655.35

End = tuple[str, int | None]

# Latency is read at the size that most pairs were measured at, of these the smallest.
_PAIRS_SQL = """
with placed as (
    select file, run, communicator, seq, op, coalesce(bytes, 0) as bytes,
        min({'node': node, 'gpu': gpu}) as one, max({'node': node, 'gpu': gpu}) as other, max(duration_us) as us
    from collective_timings
    where unit_kind = 'collective' and rank is not null and node <> '' and gpu is not null and duration_us > 0
        and (ranks is null or ranks = 2)
    group by all having count(*) = 2 and one <> other
), groups as (
    select file, run, communicator from collective_timings where rank is not null
    group by all having count(distinct rank) = 2
), pairs as (
    select p.op, p.bytes, p.one, p.other, median(p.us) as us from placed p
    join groups g on g.file = p.file and g.run = p.run and g.communicator = p.communicator group by all
), size as (
    select op, bytes from pairs group by all order by count(*) desc, bytes, op limit 1
)
select one.node, one.gpu, other.node, other.gpu, us, op, bytes from pairs semi join size using (op, bytes)
"""
_TABLE_SQL = """
select split_part(communicator, ',', 1), null, split_part(communicator, ',', 2), null, median(busbw_gbs), op, null
from collective_timings
where op = 'pair_bandwidth' and busbw_gbs > 0 and length(communicator) - length(replace(communicator, ',', '')) = 1
group by communicator, op
"""


@dataclass(frozen=True, slots=True)
class Pair:
    """One measured pair: `value` in `unit`, and how many times slower than the median of its class."""

    one: str
    other: str
    kind: str
    value: float
    unit: str
    ratio: float


@dataclass(frozen=True)
class PairMatrix:
    """Square grid over `names`. A cell is a level (0 to 5, 7 not measured) with the class above it.

    `ratios` are unsigned 16-bit little-endian hundredths, 0 where nothing was measured. `source` says
    what was measured.
    """

    noun: str
    names: list[str]
    groups: list[tuple[str, list[str]]]
    pairs: list[Pair]
    cells: bytes
    ratios: bytes
    source: str
    medians: dict[str, str]
    left_out: int = 0

    def worst(self, most: int) -> list[Pair]:
        """Pairs above the first step, the slowest first."""
        found = [pair for pair in self.pairs if pair.ratio >= STEPS[0]]
        return sorted(found, key=lambda pair: -pair.ratio)[:most]


def pair_matrix(settings: Settings, drop: str) -> PairMatrix | None:
    """The pairs of a drop, None when it has none. GPU pairs are preferred to pairs of nodes."""
    connection = session()
    try:
        if not attach(connection, settings.lake, "collective_timings", drop):
            return None
        rows = connection.execute(_PAIRS_SQL).fetchall()
        is_latency = bool(rows)
        rows = rows or connection.execute(_TABLE_SQL).fetchall()
    finally:
        connection.close()
    return _matrix(rows, is_latency) if rows else None


def _matrix(rows: Sequence[Sequence[Any]], is_latency: bool) -> PairMatrix:
    measured = [((row[0], row[1]), (row[2], row[3]), float(row[4])) for row in rows]
    everyone = {end for one, other, _ in measured for end in (one, other)}
    ends = sorted(everyone, key=_end_order)[:MAX_ENDS]
    pairs, medians = _compared(measured, is_latency)
    op, size = rows[0][5], rows[0][6]
    source = f"{op} of {size:,} bytes, duration" if is_latency else "bus bandwidth of node pairs"
    return PairMatrix(
        noun="GPU" if is_latency else "node",
        names=[_name(end) for end in ends],
        groups=_groups(ends),
        pairs=pairs,
        **_cells(ends, pairs),
        source=source,
        medians=medians,
        left_out=len(everyone) - len(ends),
    )


def _compared(
    measured: Iterable[tuple[End, End, float]], is_latency: bool
) -> tuple[list[Pair], dict[str, str]]:
    classes: dict[str, list[float]] = defaultdict(list)
    known = [(one, other, _class(one, other), value) for one, other, value in measured]
    for _, _, kind, value in known:
        classes[kind].append(value)
    usual = {kind: median(values) for kind, values in classes.items()}
    unit = "µs" if is_latency else "GB/s"
    pairs = []
    for one, other, kind, value in known:
        ratio = value / usual[kind] if is_latency else usual[kind] / value
        pairs.append(Pair(_name(one), _name(other), kind, value, unit, ratio))
    said = {
        kind: f"{usual[kind]:,.4g} {unit} ({len(classes[kind]):,} pairs)"
        for kind in CLASSES
        if kind in usual
    }
    return pairs, said


def _class(one: End, other: End) -> str:
    if one[1] is None or other[1] is None:
        return "pair"
    if one[0] == other[0]:
        return "node"
    return "rail" if one[1] == other[1] else "cross"


def _cells(ends: Sequence[End], pairs: Iterable[Pair]) -> dict[str, bytes]:
    places = {_name(end): place for place, end in enumerate(ends)}
    size = len(ends)
    cells, ratios = bytearray([_NOT_MEASURED]) * size**2, array("H", [0]) * size**2
    kinds = list(CLASSES)
    for pair in pairs:
        one, other = places.get(pair.one), places.get(pair.other)
        if one is None or other is None:
            continue
        level = sum(pair.ratio >= step for step in STEPS)
        for at in (one * size + other, other * size + one):
            if ratios[at] == 0 or at == one * size + other:
                cells[at] = level | kinds.index(pair.kind) << 4
                ratios[at] = max(1, round(min(pair.ratio, _MOST_RATIO) * 100))
    return {"cells": bytes(cells), "ratios": _little_endian(ratios)}


def _little_endian(values: array[int]) -> bytes:
    return b"".join(value.to_bytes(2, "little") for value in values)


def _groups(ends: Sequence[End]) -> list[tuple[str, list[str]]]:
    groups: dict[str, list[str]] = {}
    for end in ends:
        groups.setdefault("" if end[1] is None else end[0], []).append(_name(end))
    return list(groups.items())


def _name(end: End) -> str:
    return end[0] if end[1] is None else f"{end[0]}:gpu{end[1]}"


def _end_order(end: End) -> tuple[tuple[tuple[int, int, str], ...], int]:
    return natural_key(end[0]), -1 if end[1] is None else end[1]
