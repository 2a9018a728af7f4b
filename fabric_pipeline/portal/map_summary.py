"""What every map of a fabric needs and takes a while to gather from its links, gathered once per view.

A fabric of 1,000 nodes has some 170,000 links; the portal keeps views, and this keeps what was counted of
them.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from dataclasses import dataclass
from functools import cached_property

from fabric_pipeline.workflows.fabric_view_model import FabricView, Link

_KEPT = 3
_kept: OrderedDict[int, Summary] = OrderedDict()
_lock = threading.Lock()


@dataclass
class Summary:
    """Counted once; the view must be complete."""

    view: FabricView

    @cached_property
    def degraded(self) -> list[Link]:
        """Links with trouble, the worst first."""
        return self.view.degraded()

    @cached_property
    def counts(self) -> Counter[str]:
        """Links by state."""
        return Counter(link.state for link in self.view.links)

    @cached_property
    def worst_shares(self) -> dict[str, float]:
        """By node the largest share of an error limit; nodes without any data are left out."""
        found: dict[str, float] = {}
        for link in self.view.links:
            for end in link.ends:
                reading = end.reading
                if reading.state != "no_data":
                    share = reading.share or 0.0
                    if share >= found.get(end.node, 0.0):
                        found[end.node] = share
        return found


def summary_of(view: FabricView) -> Summary:
    """The summary of this very view, kept for the views asked for last."""
    with _lock:
        known = _kept.get(id(view))
        if known is None or known.view is not view:
            known = _kept[id(view)] = Summary(view)
        _kept.move_to_end(id(view))
        while len(_kept) > _KEPT:
            _kept.popitem(last=False)
        return known
