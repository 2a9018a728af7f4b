"""From series, spikes, states and topology to one window of arrays.

Pure: what the detection stages found is handed in. Which link is to blame is decided in `localise`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from fabric_pipeline.diagnose.localise.groups import Clock, Fleet, TimedGroup, centred, on_one_clock
from fabric_pipeline.diagnose.localise.paths import Router
from fabric_pipeline.diagnose.localise.window import Candidate, Flags, Floats, Window
from fabric_pipeline.model.topology import Topology

Span = tuple[datetime, datetime, float]


@dataclass(slots=True)
class ErringLink:
    """One link with evidence in time: bursts of errors (start, end, events), or a lost width or speed.

    `component` is the louder end; times are aware datetimes.
    """

    component: str
    far_end: str
    link_type: str
    spans: list[Span]
    has_state: bool = False


@dataclass(slots=True)
class SideEvidence:
    """What speaks for other causes: spans of congested ports and of throttled GPUs, by component and node."""

    congested: Mapping[tuple[str, str], Sequence[Span]] = field(default_factory=dict)
    throttled: Mapping[str, Sequence[Span]] = field(default_factory=dict)


@dataclass(slots=True)
class Built:
    """A window with the names behind its numbers."""

    window: Window
    fleet: Fleet
    router: Router


def build_window(
    groups: Sequence[TimedGroup],
    links: Iterable[ErringLink],
    topology: Topology,
    step_s: float,
    side: SideEvidence | None = None,
) -> Built | None:
    """One window over all timed groups; None when nothing is timed."""
    if not groups:
        return None
    fleet = on_one_clock(groups, step_s)
    fleet.series.deviation = np.stack([centred(row) for row in fleet.series.deviation])
    router = Router(fleet, topology)
    candidates = []
    for link in sorted(links, key=lambda one: (one.component, one.has_state)):
        route = router.route(link.component, link.far_end, link.link_type)
        if route is None or not len(router.paths[route.path]):
            continue
        active, counts = _on_clock(link.spans, fleet.clock)
        if active.any():
            candidates.append(
                Candidate(
                    link.component,
                    active.astype(float),
                    route.path,
                    route.place,
                    route.node,
                    route.is_nvlink,
                    link.has_state,
                    counts,
                )
            )
    side = side or SideEvidence()
    window = Window(
        step_s=fleet.clock.step_s,
        series=fleet.series,
        candidates=candidates,
        paths=router.paths,
        places=router.places,
        node_groups=dict(enumerate(fleet.of_node)),
        congested=_congested(side, router, fleet),
        throttled={
            fleet.node_index[node]: _on_clock(spans, fleet.clock)[0]
            for node, spans in side.throttled.items()
            if node in fleet.node_index
        },
        path_share=router.path_share,
    )
    return Built(window, fleet, router)


def _congested(side: SideEvidence, router: Router, fleet: Fleet) -> dict[int, Flags]:
    found: dict[int, Flags] = {}
    for (component, far_end), spans in side.congested.items():
        flags = _on_clock(spans, fleet.clock)[0]
        for place in router.congestion_places(component, far_end):
            found[place] = found.get(place, np.zeros(fleet.clock.bins, dtype=bool)) | flags
    return found


def _on_clock(spans: Iterable[Span], clock: Clock) -> tuple[Flags, Floats]:
    """Flags of the bins that spans cover by at least half a bin, and the events per bin."""
    active, counts = np.zeros(clock.bins, dtype=bool), np.zeros(clock.bins)
    for start, end, events in spans:
        low = (start.timestamp() - clock.start_s) / clock.step_s
        high = (end.timestamp() - clock.start_s) / clock.step_s
        first, last = max(int(np.floor(low + 0.5)), 0), min(int(np.ceil(high - 0.5)), clock.bins)
        if last <= first:  # shorter than a bin: the bin that holds most of it
            first = int(np.floor((low + high) / 2))
            last = first + 1
        if last <= 0 or first >= clock.bins:
            continue
        active[first:last] = True
        counts[first:last] += events / max(high - low, 1.0)
    return active, counts
