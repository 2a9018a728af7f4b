"""What every map of a fabric needs and is counted over all its links, counted once per view.

A fabric of 1,000 nodes has some 170,000 links; the portal keeps views, and this keeps what was counted of
them as long as they live.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from fabric_pipeline.workflows.fabric_units import Unit, units_of
from fabric_pipeline.workflows.fabric_view_model import FabricView, Link


@dataclass(frozen=True, slots=True)
class Summary:
    """Links with trouble, the worst first; all links by state; by node its largest share of an error limit;
    the scalable units, and the one of each node. Nodes without any data have no share.
    """

    degraded: list[Link]
    counts: Counter[str]
    worst_shares: dict[str, float]
    units: list[Unit]
    unit_of: dict[str, Unit]


_kept: WeakKeyDictionary[FabricView, Summary] = WeakKeyDictionary()
_lock = threading.Lock()


def summary_of(view: FabricView) -> Summary:
    """The summary of this very view, which must be complete."""
    with _lock:
        known = _kept.get(view)
        if known is None:
            counts: Counter[str] = sum(view.links.counts().values(), Counter())
            units = units_of(view)
            unit_of = {node: unit for unit in units for node in unit.nodes}
            known = Summary(view.degraded(), counts, view.links.worst_shares(), units, unit_of)
            _kept[view] = known
        return known
