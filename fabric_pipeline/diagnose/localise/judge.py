"""The verdict on every erring link and on slow places, by name: the front of localisation.

Pure: latency series, erring links, topology and side evidence in; verdicts out, in a fixed order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import e, exp, log10

import numpy as np

from fabric_pipeline.detect.stragglers.series import LatencySeries
from fabric_pipeline.diagnose.localise.alignment import edges, shift_chance
from fabric_pipeline.diagnose.localise.build import Built, ErringLink, SideEvidence, build_window
from fabric_pipeline.diagnose.localise.dose import dose_response
from fabric_pipeline.diagnose.localise.groups import timed_group
from fabric_pipeline.diagnose.localise.localise import Localised, Scored, SlowPlace, localise
from fabric_pipeline.diagnose.localise.scorecard import ScoreCard, shipped_card
from fabric_pipeline.diagnose.localise.window import Flags, Floats, Ints
from fabric_pipeline.model.topology import Topology

MIN_BINS = 8
# From here on a link is named as the cause; between EXPLAIN_FROM and this it is a suspect for a person.
ACCUSE_FROM = 0.7
EXPLAIN_FROM = 0.5
CERTAIN = 0.99  # nothing measured here is surer than this
RESPONSIBLE, SUSPECT, MASKED, NOT_RESPONSIBLE = (
    "responsible",
    "suspect",
    "masked",
    "not_responsible",
)


@dataclass(slots=True)
class RunShare:
    """What one link has to do with one run, in bins of the run's collectives that cross it.

    `communicator` is the group that shows it best; `covered_bins` are counted from the run's first bin.
    """

    run: str
    communicator: str
    bins: int
    slow_bins: int
    error_bins: int
    overlap_bins: int
    covered_bins: list[int]
    effect_pct: float | None


@dataclass(slots=True)
class LinkVerdict:
    """One erring link: how sure it is that it slows the runs that cross it, and why.

    `effect_pct`: how much slower they are while it errs. `log_odds`: evidence against chance in powers of
    ten. `edges_visible` starts and ends of errors at which timing was measured, `edges_fitting` those at
    which latency moved along. `dose`: rank correlation of error count and slowness, None when unknown.
    `because`: log odds that each fact adds to the confidence, largest first.
    """

    component: str
    far_end: str
    link_type: str
    confidence: float
    verdict: str
    has_state: bool
    effect_pct: float
    log_odds: float
    lag_bins: int
    share_slow: float
    coverage: float
    slow_anyway: float
    chance: float
    edges_fitting: int
    edges_visible: int
    dose: float | None
    because: dict[str, float]
    runs: list[RunShare] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)


@dataclass(slots=True)
class PlaceVerdict:
    """A place that was slow without an erring link that explains it; `or_else` fits nearly as well."""

    kind: int
    name: str
    node: str
    start: datetime
    end: datetime
    effect_pct: float
    log_odds: float
    runs: list[str]
    or_else: list[str]
    is_congested: bool
    is_throttled: bool
    late_share: float | None


@dataclass(slots=True)
class Verdicts:
    """All verdicts of one window, links by confidence, places by strength."""

    links: list[LinkVerdict] = field(default_factory=list)
    places: list[PlaceVerdict] = field(default_factory=list)


def judge_links(
    series: Sequence[LatencySeries],
    links: Iterable[ErringLink],
    topology: Topology,
    step_s: float,
    side: SideEvidence | None = None,
    card: ScoreCard | None = None,
) -> Verdicts:
    """Weigh every erring link against all timed collectives; nothing when too little is timed."""
    known = _named_alike(links, topology)
    with_collectives = {one.run for one in series if one.unit_kind == "collective"}
    groups = [
        timed_group(one)
        for one in series
        if one.unit_kind == "collective" or one.run not in with_collectives
    ]
    built = build_window(groups, known, topology, step_s, side)
    if built is None or built.window.bins < MIN_BINS:
        return Verdicts()
    found = localise(built.window, card or shipped_card(), EXPLAIN_FROM)
    return name_verdicts(built, found, known, card or shipped_card())


def _named_alike(links: Iterable[ErringLink], topology: Topology) -> list[ErringLink]:
    """Errors and a lost width of one link under one name, that of the end that counts: they are no rivals."""
    known = sorted(links, key=lambda one: one.has_state)
    names: dict[str, tuple[str, str]] = {}
    for one in known:
        names.setdefault(topology.link_key(one.component), (one.component, one.far_end))
    ends = [names[topology.link_key(one.component)] for one in known]
    return [
        replace(one, component=component, far_end=far_end)
        for one, (component, far_end) in zip(known, ends, strict=True)
    ]


def name_verdicts(
    built: Built, found: Localised, links: Sequence[ErringLink], card: ScoreCard
) -> Verdicts:
    """Give the numbers of a localisation back their names."""
    by_name = {(one.component, one.has_state): one for one in links}
    verdicts = Verdicts()
    accepted_of: dict[int, list[int]] = {}  # group -> accepted links that it crosses
    for number, scored in enumerate(found.accepted):
        for group in scored.groups.tolist():
            accepted_of.setdefault(group, []).append(number)
    for scored in (*found.accepted, *found.others):
        link = by_name[scored.candidate.link, scored.candidate.has_state]
        behind = _better(scored, found, accepted_of)
        verdicts.links.append(_link_verdict(built, scored, link, card, found.sigma, behind))
    verdicts.places = [_place_verdict(built, place) for place in found.places]
    return verdicts


def _link_verdict(
    built: Built,
    scored: Scored,
    link: ErringLink,
    card: ScoreCard,
    sigma: Floats,
    behind: list[str],
) -> LinkVerdict:
    series, active = built.window.series, scored.support.active
    deviation = _mean(series.deviation[scored.groups])
    step = edges(active, deviation, max(0.05, 0.5 * scored.facts.contrast))
    runs = [
        share
        for run in np.unique(series.run[scored.groups])
        if (
            share := _run_share(
                built, scored.groups[series.run[scored.groups] == run], active, sigma
            )
        )
        is not None
    ]
    effect = scored.effect if scored.accepted else scored.facts.contrast
    return LinkVerdict(
        component=link.component, far_end=link.far_end, link_type=link.link_type, confidence=round(min(scored.confidence, CERTAIN), 3),
        verdict=_verdict(scored, behind), has_state=scored.candidate.has_state, effect_pct=(exp(effect) - 1) * 100,
        log_odds=scored.support.signed_odds * log10(e), lag_bins=scored.support.lag, share_slow=scored.support.share_slow,
        coverage=min(scored.support.coverage, 1.0), slow_anyway=scored.support.slow_anyway, chance=shift_chance(active, deviation),
        edges_fitting=step.fitting, edges_visible=step.number, dose=dose_response(scored.candidate.counts, active, deviation),
        because=card.contributions(scored.facts), runs=runs, behind=behind,
    )  # fmt: skip


def _better(
    scored: Scored, found: Localised, accepted_of: Mapping[int, Sequence[int]]
) -> list[str]:
    """Accepted links over the same collectives, or links with the very same pattern: not to be told apart."""
    if scored.accepted:
        return []
    if scored.twins:
        return scored.twins
    over = {number for group in scored.groups.tolist() for number in accepted_of.get(group, ())}
    links = [found.accepted[number].candidate.link for number in sorted(over)]
    return [link for link in links if link != scored.candidate.link]


def _verdict(scored: Scored, behind: Sequence[str]) -> str:
    if scored.accepted:
        return RESPONSIBLE if scored.confidence >= ACCUSE_FROM else SUSPECT
    if scored.twins and scored.confidence * (1 + len(scored.twins)) >= ACCUSE_FROM:
        return SUSPECT
    return MASKED if behind and scored.support.share_slow >= 0.5 else NOT_RESPONSIBLE


def _run_share(built: Built, groups: Ints, active: Flags, sigma: Floats) -> RunShare | None:
    """Bins of the group of one run that shows the link's errors best; None when it has none of both."""
    best: RunShare | None = None
    for group in groups:
        row = built.window.series.deviation[int(group)]
        measured = np.flatnonzero(~np.isnan(row))
        if not len(measured):
            continue
        limit = float(np.clip(3.2 * sigma[int(group)], 0.05, 0.15))
        slow, erring = row[measured] > limit, active[measured]
        both = slow & erring
        if not erring.any():
            continue
        effect = None
        if erring.any() and not erring.all():
            effect = (
                float(
                    np.exp(np.median(row[measured][erring]) - np.median(row[measured][~erring])) - 1
                )
                * 100
            )
        timed = built.fleet.groups[int(group)]
        share = RunShare(
            timed.run, timed.communicator, len(measured), int(slow.sum()), int(erring.sum()), int(both.sum()),
            [int(n) for n in np.flatnonzero(both)], effect,
        )  # fmt: skip
        if best is None or (share.overlap_bins, share.communicator) > (
            best.overlap_bins,
            best.communicator,
        ):
            best = share
    return best


def _place_verdict(built: Built, slow: SlowPlace) -> PlaceVerdict:
    place = built.window.places[slow.place]
    at = np.flatnonzero(slow.active)
    block = built.window.series.deviation[place.groups][:, slow.active]
    effect = float(np.nanmedian(block)) if (~np.isnan(block)).any() else 0.0
    congested = built.window.congested.get(slow.place)
    throttled = built.window.throttled.get(place.node)
    return PlaceVerdict(
        kind=place.kind, name=place.name, node=built.fleet.nodes[place.node] if place.node >= 0 else "",
        start=built.fleet.clock.moment(int(at[0])), end=built.fleet.clock.moment(int(at[-1]) + 1), effect_pct=(exp(effect) - 1) * 100,
        log_odds=slow.odds * log10(e), runs=sorted({built.fleet.groups[int(g)].run for g in place.groups}),
        or_else=[built.window.places[p].name for p in slow.alike], is_congested=_mostly(congested, slow.active),
        is_throttled=_mostly(throttled, slow.active), late_share=_late_share(built, slow),
    )  # fmt: skip


def _late_share(built: Built, slow: SlowPlace) -> float | None:
    """How often ranks of the place's node came last while it was slow; None where nobody timed ranks."""
    place = built.window.places[slow.place]
    late = built.window.series.late_node[place.groups][:, slow.active]
    known = late[late >= 0]
    if place.node < 0 or not len(known):
        return None
    return float((known == place.node).mean())


def _mostly(flags: Flags | None, active: Flags) -> bool:
    return flags is not None and bool(flags[active].mean() > 0.5)


def _mean(rows: Floats) -> Floats:
    known = ~np.isnan(rows)
    number = known.sum(axis=0)
    return np.where(
        number > 0, np.where(known, rows, 0.0).sum(axis=0) / np.maximum(number, 1), np.nan
    )
