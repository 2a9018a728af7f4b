"""The measured facts about one link that the score card weighs, each between bounds that make sense by themselves.

Nothing here looks at how large the error counts are, how long a burst lasts or which counter it was: those
differ between sites and generators, while coincidence does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fabric_pipeline.diagnose.localise.alignment import (
    contrast,
    edges,
    local_contrast,
    misfit,
    shift_chance,
)
from fabric_pipeline.diagnose.localise.cells import closed
from fabric_pipeline.diagnose.localise.elsewhere import PlaceIndex, Scan
from fabric_pipeline.diagnose.localise.support import Cells, PathView, Support
from fabric_pipeline.diagnose.localise.window import FABRIC, HOST, RUN, Candidate, Flags, Window

_STRONG_PLACE = 4.0  # nats from which an interval of a place is worth comparing
_PLACES_COMPARED = 6


@dataclass(slots=True)
class Facts:
    """Facts about one candidate. All are numbers; the names are those of the score card."""

    log_odds: float  # ln(1 + nats): how far from chance
    share_slow: float  # slow while erring
    coverage: float  # erring while slow
    contrast: float  # ln units, 0..1
    shift_tens: float  # -log10 of the chance under circular shifts, up to 2.5
    edge: float  # -1..1
    edge_count: float  # ln(1 + visible edges)
    lead: float  # -1..1: ahead of the best rival link
    own_fit: float  # 0..1.5: odds against those of the best free interval of its own place
    state: float  # width or speed lost
    siblings_slow: float  # collectives of the same runs that do not cross it
    slow_anyway: float  # what other runs did at the same time
    place_better: float  # another place of links explains more
    cause_better: float  # a host, run or fabric-wide event explains more
    throttled: float
    congested: float
    rivals: float  # ln(1 + other links that erred while these collectives were slow)
    tried: float  # ln(1 + erring links that an average one of these collectives crosses)
    lag: float  # bins of clock difference that had to be assumed
    edge_worst: float  # the edge that fits worst, -1..1
    near_contrast: (
        float  # contrast with the bins close by, as a share of the whole contrast, -0.5..1.5
    )
    steadiness: float  # share of the erring bins near their own median deviation
    edge_near: (
        float  # as edge, but of the two bins next to it: a step a few bins away does not count
    )
    misfit: float  # ln(1 + nats per edge by which free edges fit better)
    known_cause: float  # 0..1: a throttled GPU or congested port covers it and fits the edges
    hidden: float  # 1: which groups cross the link is not known, and those that fit were picked
    picked: float  # 0..1: part of the odds that the picking costs
    step_noise: float  # contrast in units of the noise of the mean, 0..3


FACT_NAMES = tuple(Facts.__dataclass_fields__)


def facts(
    window: Window,
    cells: Cells,
    candidate: Candidate,
    path: PathView,
    support: Support,
    lead: float,
    rivals: int,
    tried: float,
    index: PlaceIndex,
    scanned: Scan,
    threshold: float,
    price: float = 0.0,
) -> Facts:
    """Weigh one candidate. `lead` is its odds minus those of its best rival; `threshold` ln units of a visible step;
    `price` nats that picking the groups cost where routing is not known.
    """
    active, used = support.active, support.active & (path.cells > 0)
    difference = contrast(active, path.deviation)
    step = edges(active, path.deviation, max(threshold, 0.5 * difference))
    chance = shift_chance(active, path.deviation)
    own = float(scanned.odds[candidate.place]) if candidate.place >= 0 else 0.0
    place_better, cause_better = _better_places(
        window, cells, candidate, path, support, index, scanned
    )
    return Facts(
        log_odds=float(np.log1p(max(support.llr, 0.0))),
        share_slow=support.share_slow,
        coverage=support.coverage,
        contrast=float(np.clip(difference, 0.0, 1.0)),
        shift_tens=min(2.5, -float(np.log10(max(chance, 1e-3)))),
        edge=step.score,
        edge_count=float(np.log1p(min(step.number, 12))),
        lead=float(np.tanh(lead / 10)),
        own_fit=float(np.clip(support.llr / max(own, 4.0), 0.0, 1.5)),
        state=float(candidate.has_state),
        siblings_slow=_siblings(cells, candidate, path, active),
        slow_anyway=support.slow_anyway,
        place_better=place_better,
        cause_better=cause_better,
        throttled=_share(_throttled(window, path, index), used),
        congested=_share(window.congested.get(candidate.place) if not candidate.is_nvlink else None, used),
        rivals=float(np.log1p(rivals)),
        tried=float(np.log1p(tried)),
        lag=float(abs(support.lag)),
        edge_worst=step.worst,
        near_contrast=_near(active, path, difference, threshold),
        steadiness=_steady(active, path),
        edge_near=edges(active, path.deviation, max(threshold, 0.5 * difference), 2).score,
        misfit=float(np.log1p(min(misfit(active, path.odds()), 40.0))),
        known_cause=_known_cause(window, candidate, path, active, max(threshold, 0.5 * difference), index),
        hidden=float(price > 0),
        picked=float(np.clip(price / max(support.llr + price, 1.0), 0.0, 1.0)),
        step_noise=_step_noise(path, active, difference),
    )  # fmt: skip


def _near(active: Flags, path: PathView, difference: float, threshold: float) -> float:
    return float(
        np.clip(local_contrast(active, path.deviation) / max(difference, threshold), -0.5, 1.5)
    )


def _steady(active: Flags, path: PathView) -> float:
    during = path.deviation[active & ~np.isnan(path.deviation)]
    if not len(during):
        return 0.0
    middle = float(np.median(during))
    return float((np.abs(during - middle) < max(0.35 * abs(middle), 0.05)).mean())


def _step_noise(path: PathView, active: Flags, difference: float) -> float:
    known = ~np.isnan(path.deviation)
    steps = np.abs(np.diff(path.deviation[known]))
    noise = 1.4826 * float(np.median(steps)) / np.sqrt(2) if len(steps) else 0.05
    number = min(int((active & known).sum()), int((~active & known).sum()), 10)
    return float(np.clip(difference * np.sqrt(max(number, 1)) / max(noise, 0.01) / 10, 0.0, 3.0))


def _share(flags: Flags | None, used: Flags) -> float:
    return float(flags[used].mean()) if flags is not None and used.any() else 0.0


def _throttled(window: Window, path: PathView, index: PlaceIndex) -> Flags | None:
    if not window.throttled:
        return None
    flags = np.zeros(window.bins, dtype=bool)
    for node in _throttled_nodes(path, index):
        flags |= window.throttled[node]
    return flags


def _throttled_nodes(path: PathView, index: PlaceIndex) -> set[int]:
    return {node for group in path.groups.tolist() for node in index.throttled_of.get(group, ())}


def _known_cause(
    window: Window,
    candidate: Candidate,
    path: PathView,
    active: Flags,
    unit: float,
    index: PlaceIndex,
) -> float:
    """How well a cause that was measured itself covers the erring time and moves the latency at its own edges."""
    spans = [window.throttled[node] for node in _throttled_nodes(path, index)]
    if not candidate.is_nvlink and candidate.place in window.congested:
        spans.append(window.congested[candidate.place])
    best = 0.0
    for seen in spans:
        covered = float(seen[active].mean()) if active.any() else 0.0
        if covered > 0.2:
            best = max(best, covered * max(edges(closed(seen), path.deviation, unit).score, 0.0))
    return best


def _siblings(cells: Cells, candidate: Candidate, path: PathView, active: Flags) -> float:
    """Slow share of the groups of the same runs and class that do not cross the link, beyond 10 %."""
    related = cells.of_runs(path.groups)
    related = related[cells.is_local[related] == candidate.is_nvlink]
    related = related[~np.isin(related, path.groups)]
    number = cells.valid[related][:, active].sum()
    return max(0.0, float(cells.slow[related][:, active].sum()) / number - 0.1) if number else 0.0


def _better_places(
    window: Window,
    cells: Cells,
    candidate: Candidate,
    path: PathView,
    support: Support,
    index: PlaceIndex,
    scanned: Scan,
) -> tuple[float, float]:
    """How much better another place explains the link's own slow cells: places of links, other causes."""
    mine = cells.slow[path.groups][:, support.active]
    total = float(mine.sum())
    if total <= 0:
        return 0.0, 0.0
    near = index.near(path.groups.tolist())
    strongest = near[np.argsort(-scanned.odds[near], kind="stable")]
    better = {False: 0.0, True: 0.0}
    for number in strongest[:_PLACES_COMPARED].tolist():
        odds = float(scanned.odds[number])
        if odds <= _STRONG_PLACE or number == candidate.place:
            continue
        shared = np.isin(path.groups, window.places[number].groups)
        inside = scanned.mask(number, window.bins)[support.active]
        part = float(mine[shared][:, inside].sum()) / total
        gain = part * max(0.0, float(np.log(odds / max(support.llr, 1.0))))
        is_cause = window.places[number].kind in (HOST, RUN, FABRIC)
        better[is_cause] = max(better[is_cause], gain)
    return min(better[False], 3.0), min(better[True], 3.0)
