"""What was put into a shipped drop, from its answer key, beside what the pipeline says of each of it.

The key is never seen by the pipeline. Every sentence here is counted from the key, the incident records and
the audit file; what the pipeline is silent about is said too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.audit_query import query
from fabric_pipeline.store.duck import literal

FAULT_WORDS = {
    "multi_bit_crc_lane": "Multi-bit CRC errors on an NVLink lane",
    "marginal_ib_cable": "A marginal InfiniBand cable",
}


class Told(NamedTuple):
    """One thing in a drop: what it is, what the pipeline says, and whether that is right."""

    planted: str
    said: str
    judgement: str


class Drop(NamedTuple):
    """One drop with its key and its records."""

    settings: Settings
    name: str
    key: dict[str, Any]
    records: list[IncidentRecord]


def told_of(drop: Drop) -> list[Told]:
    """One row for each thing in the key, then one for whatever was said beyond it."""
    rows = [_fault(drop, fault) for fault in drop.key["faults"]] or [_no_fault(drop)]
    rows += [_CONFOUNDERS[one["kind"]](drop, one) for one in drop.key["confounders"]]
    return [*rows, *_beyond(drop)]


def read_key(settings: Settings, name: str) -> dict[str, Any]:
    """The answer key of a shipped drop."""
    path: Path = settings.root / "data" / "answers" / f"{name}.json"
    return dict(json.loads(path.read_text(encoding="utf-8")))


def _fault(drop: Drop, fault: dict[str, Any]) -> Told:
    link, lane = fault["link_id"], fault["lane"]
    wanted = link if lane is None else f"{link}/lane-{lane}"
    minutes = ", ".join(f"{start[11:16]} to {end[11:16]}" for start, end in fault["periods"])
    planted = (
        f"{FAULT_WORDS.get(fault['kind'], fault['kind'])}: `{wanted}`, at {minutes}; slows "
        f"{' and '.join(f'`{run}`' for run in fault['slowed'])} {fault['slowdown']:g} times"
    )
    accused = [one for one in drop.records if one.needs_ticket]
    hit = next((one for one in accused if _is_at(one.isolated_component, link)), None)
    if hit is None:
        return Told(planted, "Nothing.", "**missed**")
    slower = "" if hit.degradation_pct is None else f", {hit.degradation_pct:g} % slower"
    said = (
        f"{hit.severity}: `{hit.isolated_component}`{slower}, confidence {hit.confidence:g}, "
        f"{hit.first_seen:%H:%M} to {hit.last_seen:%H:%M}"
    )
    is_exact = hit.isolated_component == wanted and len(accused) == len(drop.key["faults"])
    return Told(planted, said, "found exactly, nobody else accused" if is_exact else "**inexact**")


def _no_fault(drop: Drop) -> Told:
    accused = [one.isolated_component for one in drop.records if one.needs_ticket]
    said = "Nobody is accused." if not accused else f"Accuses {', '.join(accused)}."
    return Told("No fault", said, "right" if not accused else "**wrong**")


def _bursts(drop: Drop, planted: dict[str, Any]) -> Told:
    links = [one["link_id"] for one in planted["links"]]
    watched = [link for link in links if _records_at(drop, link, "WATCH")]
    accused = [link for link in links if any(one.needs_ticket for one in _records_at(drop, link))]
    said = f"{len(watched)} of them to watch, {len(accused)} accused"
    return Told(
        f"{len(links)} links with corrected errors that slow nothing",
        said,
        "right" if len(watched) == len(links) and not accused else "**not all told**",
    )


def _reset(drop: Drop, planted: dict[str, Any]) -> Told:
    ends = [end.partition(":")[2] for end in planted["ends"]]
    node = planted["node"]
    found = _rows(
        drop,
        "select count(distinct interface), sum(delta) from link_counters "
        f"where quality = 'reset' and node = {literal(node)} and interface in ({_list(ends)})",
    )[0]
    records = [one for end in ends for one in _records_at(drop, f"{node}:{end}")]
    return Told(
        f"Counters of `{node}` GPU {planted['gpu']} ({len(ends)} links) start again at "
        f"{planted['first_sample_after'][11:16]}",
        f"{found[0]} links marked `reset`, {float(found[1]):g} errors made of it, "
        f"{len(records)} records",
        "right: a reset is no error" if float(found[1]) == 0 and not records else "**wrong**",
    )


def _silent_node(drop: Drop, planted: dict[str, Any]) -> Told:
    node = planted["node"]
    records = [one for one in drop.records if one.place.node == node or node in one.summary]
    said = "; ".join(f"{one.severity} `{one.fault_type}`" for one in records) or "Nothing."
    is_said = [one.fault_type for one in records] == ["no_data"]
    return Told(
        f"Node `{node}` is silent",
        said,
        "right: unknown is not healthy" if is_said else "**missed**",
    )


def _lost(drop: Drop, planted: dict[str, Any]) -> Told:
    gaps = "; ".join(
        f"`{gap['node']}` is silent from {start[11:16]} to {end[11:16]}"
        for gap in planted["gaps"]
        for start, end in gap["periods"]
    )
    nodes = [gap["node"] for gap in planted["gaps"]]
    told = [one for one in drop.records if one.fault_type == "no_data" and one.place.node in nodes]
    return Told(
        f"{planted['share']:.0%} of the samples are missing; {gaps}",
        "; ".join(one.summary for one in told) or "Nothing: no record names the gap.",
        "told" if told else "**not told**; nobody is accused because of it",
    )


_CONFOUNDERS: dict[str, Callable[[Drop, dict[str, Any]], Told]] = {
    "benign_bursts": _bursts,
    "counter_reset": _reset,
    "missing_node": _silent_node,
    "lost_samples": _lost,
}


def _beyond(drop: Drop) -> Iterator[Told]:
    """Records about places where nothing was put in."""
    known = [fault["link_id"] for fault in drop.key["faults"]]
    silent = []
    for one in drop.key["confounders"]:
        known += [link["link_id"] for link in one.get("links", ())]
        silent += [one["node"]] if one["kind"] == "missing_node" else []
    for record in drop.records:
        place = record.isolated_component
        if not any(_is_at(place, link) for link in known) and place.split(":")[0] not in silent:
            yield Told("Nothing", f"{record.severity}: {record.summary}", "**invented**")


def _records_at(drop: Drop, link: str, severity: str = "") -> list[IncidentRecord]:
    return [
        one
        for one in drop.records
        if _is_at(one.isolated_component, link) and severity in ("", one.severity)
    ]


def _is_at(component: str, link: str) -> bool:
    return component == link or component.startswith(f"{link}/lane-")


def _rows(drop: Drop, sql: str) -> list[tuple[Any, ...]]:
    where = "and" if " where " in sql else "where"
    return query(drop.settings, f'{sql} {where} "drop" = {literal(drop.name)}').rows


def _list(texts: Sequence[str]) -> str:
    return ", ".join(literal(one) for one in texts)
