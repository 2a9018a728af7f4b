"""Grouping of timings for the sweep judgement, and the small figures every judge needs.

Splits timings into size sweeps, per-rank collectives and the rest. No limit is applied here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fabric_pipeline.model.components import component_id
from fabric_pipeline.model.findings import EvidenceRef
from fabric_pipeline.model.records import CollectiveTiming, Run


@dataclass(slots=True)
class Sweep:
    """One run over message sizes: rows in the order of time, best variant per size.

    `nodes` is empty when the source does not list them.
    """

    file: str
    run: str
    op: str
    ranks: int | None
    group: str
    nodes: tuple[str, ...] = ()
    rows: list[CollectiveTiming] = field(default_factory=list)

    @property
    def shape(self) -> tuple[str, int | None, str, int]:
        """Runs are compared only within one shape: operation, ranks, hardware, number of nodes."""
        return (self.op, self.ranks, self.group, len(self.nodes))

    @property
    def component(self) -> str:
        """`<node>:unknown`, the node being known only for a run on a single one."""
        return component_id(self.nodes[0] if len(self.nodes) == 1 else "", "")

    def best_by_size(self) -> dict[int, CollectiveTiming]:
        """The row with the best bus bandwidth of every size, in the order of first appearance."""
        best: dict[int, CollectiveTiming] = {}
        for row in self.rows:
            known = best.get(row.bytes or 0)
            if known is None or busbw(row) > busbw(known):
                best[row.bytes or 0] = row
        return best

    def variants_at(self, size: int) -> list[float]:
        """Bus bandwidths of all variants at one size."""
        return [busbw(row) for row in self.rows if row.bytes == size]


def busbw(timing: CollectiveTiming) -> float:
    """Bus bandwidth in GB/s; rows without one are never compared."""
    return timing.busbw_gbs or 0.0


def is_node_figure(timing: CollectiveTiming) -> bool:
    """True for figures of a fleet test, which belong to one node and have no run of their own."""
    return bool(timing.node) and timing.communicator == timing.node


def sweeps(timings: Iterable[CollectiveTiming], runs: Sequence[Run]) -> list[Sweep]:
    """Size sweeps: whole collectives with a size and a bus bandwidth, by file and run."""
    nodes = {run.run: tuple(run.nodes) for run in runs}
    found: dict[tuple[str, str], Sweep] = {}
    for timing in timings:
        whole = timing.rank is None and timing.unit_kind == "collective"
        measured = timing.bytes is not None and timing.busbw_gbs is not None
        if not whole or not measured or is_node_figure(timing):
            continue
        key = (timing.file, timing.run)
        if key not in found:
            found[key] = Sweep(
                timing.file,
                timing.run,
                timing.op,
                timing.ranks,
                timing.communicator,
                nodes.get(timing.run) or ((timing.node,) if timing.node else ()),
            )
        found[key].rows.append(timing)
    return list(found.values())


def by_rank(timings: Iterable[CollectiveTiming]) -> list[CollectiveTiming]:
    """Collectives as single ranks saw them."""
    return [t for t in timings if t.rank is not None and t.unit_kind == "collective"]


def evidence(timing: CollectiveTiming, excerpt: str = "") -> EvidenceRef:
    """Where a timing stands."""
    return EvidenceRef(timing.file, timing.line, excerpt=excerpt)


def size_text(size: int | None) -> str:
    """`64 MiB`, `4 GiB` or plain bytes."""
    if not size:
        return "unstated size"
    for unit, name in ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB")):
        if size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} bytes"


def op_text(op: str) -> str:
    """The operation's name, or the word collective when the source does not state it."""
    return op or "collective"
