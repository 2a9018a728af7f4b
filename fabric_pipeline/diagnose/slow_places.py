"""Places that were slow without an erring link, in words: what it may be, and what capture would tell.

The rows come from the weighing (`verdict_rows`); a place is a hint for a person, never an accused link.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fabric_pipeline.diagnose.correlate import Correlation
from fabric_pipeline.diagnose.verdict_rows import SLOW_PLACE
from fabric_pipeline.model.components import parse_component

_SHOWN = 3
_OFTEN_LATE = 0.5
_PER_RANK = "Per-rank timing would tell whether a host is late or the communication itself is slow."
# Interface word of a place -> what is slow there, what it may be, what capture settles it.
_KINDS: dict[str, tuple[str, str, str]] = {
    "nvlinks": (
        "the NVLinks of {node}", "a silent NVLink or NVSwitch, or slow compute there",
        "Error counters and states of all NVLinks of the node would tell which.",
    ),
    "rail": (
        "rail {number} of {node}", "its NIC, cable, PCIe path or leaf port without counted errors",
        "PCIe width and generation, NIC and leaf-port counters of this rail would tell which.",
    ),
    "network": (
        "the network side of {node}", "its NICs, cables or PCIe paths without counted errors",
        "Counters and states of all NICs of the node would tell which.",
    ),
    "host": ("the host {node}", "slow compute, a throttled GPU or a busy host", _PER_RANK),
    "run": ("the whole run", "the input pipeline, a changed message size, or compute everywhere", _PER_RANK),
    "fabric": ("the whole fabric", "congestion or a fabric-wide event", "Waiting time (tx_wait) and congestion marks of leaf and spine ports would tell."),
}  # fmt: skip
_SWITCH = ("switch {number}", "the switch, its uplinks, or congestion there", "Waiting time and errors of its uplinks would tell.")  # fmt: skip


def slow_places(correlations: Iterable[Correlation]) -> Mapping[str, list[Correlation]]:
    """Run -> rows of slow places, the strongest first."""
    by_run: dict[str, list[Correlation]] = {}
    for one in correlations:
        if one.verdict == SLOW_PLACE:
            by_run.setdefault(one.run, []).append(one)
    for rows in by_run.values():
        rows.sort(key=lambda one: (-(one.log_odds or 0.0), one.component))
    return by_run


def place_text(rows: Sequence[Correlation]) -> str:
    """Where it was slow and what would tell more, in sentences."""
    if not rows:
        return "Per-rank timing or counters of the silent links would tell more."
    best = rows[0]
    where, may_be, capture = place_words(best)
    evidence = ""
    if best.because.get("throttled"):
        evidence = " A GPU there was throttled at that time."
    elif best.because.get("congested"):
        evidence = " Ports there waited for credits at that time: congestion, no fault of a cable."
    elif best.because.get("late", 0.0) >= _OFTEN_LATE:
        evidence = f" Its ranks came last in {best.because['late']:.0%} of the collectives then: they are late, no link is slow."
    alike = f" {' and '.join(best.behind[:2])} would fit nearly as well." if best.behind else ""
    return f"What was slow fits {where} best ({may_be}).{evidence}{alike} {capture}"


def place_alternatives(rows: Sequence[Correlation]) -> list[str]:
    """Other places that fit, by name, with their evidence."""
    texts = []
    for one in rows[1 : 1 + _SHOWN]:
        where, may_be, _ = place_words(one)
        texts.append(f"{where}: {may_be}; {one.effect_pct or 0.0:.0f} % slower there for a while")
    return texts


def place_words(one: Correlation) -> tuple[str, str, str]:
    """Where it was slow, what may be the reason there, and what capture would tell."""
    parsed = parse_component(one.component)
    word, _, number = parsed.interface.partition("-")
    kind = _KINDS.get(word if parsed.node or word in ("run", "fabric") else "", _SWITCH)
    where, may_be, capture = kind
    shown = number if kind is not _SWITCH else parsed.interface
    return where.format(node=parsed.node, number=shown), may_be, capture
