"""Verdicts as rows of straggler_correlations: one row per run and candidate, link or place.

The figures of each run come from `correlate`, the verdict and its confidence from `localise.judge`,
which weighs all runs together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fabric_pipeline.diagnose.correlate import Correlation
from fabric_pipeline.diagnose.localise.judge import (
    LinkVerdict,
    PlaceVerdict,
    RunShare,
    Verdicts,
)
from fabric_pipeline.diagnose.localise.window import (
    FABRIC,
    HOST,
    LEAF,
    NODE_NETWORK,
    NODE_RAIL,
    NVLINK_DOMAIN,
    RUN,
)
from fabric_pipeline.model.components import component_id
from fabric_pipeline.model.topology import Topology

SLOW_PLACE = "slow_place"
PLACE_WORDS = {
    NVLINK_DOMAIN: "nvlinks",
    NODE_RAIL: "rail",
    NODE_NETWORK: "network",
    LEAF: "switch",
    HOST: "host",
    RUN: "run",
    FABRIC: "fabric",
}


def with_verdicts(
    rows: Sequence[Correlation], verdicts: Verdicts, topology: Topology
) -> list[Correlation]:
    """The rows with their verdicts, rows of links without counted errors, and rows of slow places."""
    by_row = {(one.run, topology.link_key(topology.resolve(one.component))): one for one in rows}
    every = list(rows)
    for link in verdicts.links:
        for share in link.runs:
            key = (share.run, topology.link_key(topology.resolve(link.component)))
            row = by_row.get(key)
            if row is None:
                row = by_row[key] = _row(link, share)
                every.append(row)
            _apply(row, link)
    every += _place_rows(verdicts.places)
    every.sort(key=_order)
    place: dict[str, int] = {}
    for one in every:
        place[one.run] = one.candidate_rank = place.get(one.run, 0) + 1
    return every


def _order(one: Correlation) -> tuple[object, ...]:
    weight = -1.0 if one.confidence is None else one.confidence
    return (
        one.run,
        one.verdict == SLOW_PLACE,
        -weight,
        -one.score,
        one.component,
        one.communicator,
    )


def _row(link: LinkVerdict, share: RunShare) -> Correlation:
    """A run in which the link has no row yet: it erred by state, or the run alone showed too little."""
    return Correlation(
        run=share.run, communicator=share.communicator, component=link.component, far_end=link.far_end, in_path="yes", bins=share.bins,
        slow_bins=share.slow_bins, error_bins=share.error_bins, overlap_bins=share.overlap_bins, lag_bins=0,
        overlap_share=share.overlap_bins / max(share.error_bins, 1), covered_share=share.overlap_bins / max(share.slow_bins, 1),
        effect_pct=share.effect_pct, p_value=link.chance, covered_bins=share.covered_bins,
    )  # fmt: skip


def _apply(row: Correlation, link: LinkVerdict) -> None:
    # A link may be weighed twice, by its errors and by its state: the surer verdict stands.
    if row.confidence is not None and row.confidence >= link.confidence:
        return
    row.verdict, row.confidence, row.log_odds = link.verdict, link.confidence, link.log_odds
    row.lag_bins = link.lag_bins
    row.share_slow, row.slow_anyway = min(link.share_slow, 1.0), link.slow_anyway
    row.edges_fitting, row.edges_visible, row.dose = (
        link.edges_fitting,
        link.edges_visible,
        link.dose,
    )
    row.because = {name: round(part, 3) for name, part in link.because.items() if abs(part) >= 0.05}
    row.behind = link.behind


def _place_rows(places: Iterable[PlaceVerdict]) -> list[Correlation]:
    found: dict[tuple[str, str], Correlation] = {}
    for place in places:
        for run in place.runs:
            component = component_id(place.node, _place_interface(place))
            row = Correlation(
                run=run, communicator="", component=component, far_end="", in_path="yes", bins=0, slow_bins=0, error_bins=0, overlap_bins=0,
                lag_bins=0, overlap_share=0.0, covered_share=0.0, effect_pct=place.effect_pct, p_value=None, verdict=SLOW_PLACE,
                log_odds=place.log_odds, behind=place.or_else,
                because=_seen(place),
            )  # fmt: skip
            known = found.get((run, component))
            if known is None or (known.log_odds or 0.0) < place.log_odds:
                found[run, component] = row
    return list(found.values())


def _seen(place: PlaceVerdict) -> dict[str, float]:
    """What was measured there beside the slow time."""
    seen = {"congested": float(place.is_congested), "throttled": float(place.is_throttled)}
    return seen if place.late_share is None else {**seen, "late": place.late_share}


def _place_interface(place: PlaceVerdict) -> str:
    """`host`, `rail-3`, `nvlinks`, `network`; a switch by its name; `run` and `fabric` as they are."""
    word = PLACE_WORDS[place.kind]
    if place.kind == NODE_RAIL:
        return f"rail-{place.name.rsplit(' ', 1)[1]}"
    return place.name.removeprefix("switch ") if place.kind == LEAF else word
