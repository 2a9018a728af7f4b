"""The judging once more, from the rows of a dossier alone, compared with what its incident says.

What depends on the other links of the drop (peers, the common time step) is not in a dossier: such
parts are named as not rerun, never guessed. Loading and hashing are done in `dossier_verify`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from fabric_pipeline.detect.spikes.evaluate import Spike
from fabric_pipeline.diagnose.diagnose import PORT_LINKS, diagnose
from fabric_pipeline.incidents.build import Context, build_incidents
from fabric_pipeline.incidents.record import IncidentRecord, Place
from fabric_pipeline.model.components import device_of, parse_component
from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.store.duck import scalar
from fabric_pipeline.workflows.diagnose import (
    correlation_stage,
    gather_evidence,
    spike_stage,
    straggler_stage,
)
from fabric_pipeline.workflows.dossier_rows import ROW_TABLES
from fabric_pipeline.workflows.ingest import count_links

# Rules that compare a link with all its peers or siblings in the drop.
PEER_RULES = frozenset({"unusual_count", "sibling_outlier"})


@dataclass(frozen=True, slots=True)
class Kept:
    """What `lineage.json` says was kept: the link ends, and the tables that were not cut."""

    ends: tuple[tuple[str, str], ...]
    complete: frozenset[str]

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Kept:
        """From the parsed file; raises KeyError, TypeError or ValueError for another shape."""
        ends = tuple((str(node), str(interface)) for node, interface in facts["scope"]["ends"])
        rows = facts["rows"]
        complete = {
            name for name in ROW_TABLES
            if rows[name]["in_lake"] and rows[name]["matched"] == rows[name]["written"]
        }  # fmt: skip
        return cls(ends, frozenset(complete))


@dataclass(slots=True)
class Rerun:
    """What came out the same, what differs (problems), and what could not be run again."""

    problems: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    not_rerun: list[str] = field(default_factory=list)

    def compare(self, what: str, differences: Iterable[str]) -> None:
        """Note one comparison under the heading `what`."""
        found = [f"{what}: {difference}" for difference in differences]
        self.problems += found
        if not found:
            self.same.append(what)


def rerun(connection: Any, record: IncidentRecord, kept: Kept, done: Rerun) -> None:
    """Run counting, spikes, stragglers and verdict on the relations `recorded_<table>`.

    Notes the outcome in `done`. Raises ValueError, KeyError or a database error for rows that no
    pipeline has written.
    """
    topology = _topology(record)
    _prepare(connection, kept)
    _recount(connection, kept, done)
    _take_recorded(connection)
    spikes = spike_stage(connection, record.drop)
    stragglers = straggler_stage(connection, record.drop)
    correlation_stage(connection, record.drop, topology)
    if "link_counters" in kept.complete:
        _compare_spikes(connection, spikes, record, done)
    else:
        done.not_rerun.append("error spikes: the rows of link_counters were cut or missing")
    _compare_stragglers(connection, record, kept, done)
    answer = diagnose(gather_evidence(connection, topology))
    again = build_incidents(answer.findings, Context(record.drop, topology=topology))
    reasons = _reasons_for_difference(connection, record, kept, bool(stragglers))
    _compare_verdict(record, again, reasons, done)


def _prepare(connection: Any, kept: Kept) -> None:
    columns = (("node", "VARCHAR"), ("interface", "VARCHAR"))
    connection.execute("create or replace temp table kept_ends (node varchar, interface varchar)")
    insert_columns(connection, "kept_ends", columns, kept.ends)
    sql = " union ".join(
        f"select file from recorded_{name}" for name in ROW_TABLES if _has_file(name)
    )
    files = sorted((row[0] for row in connection.execute(sql).fetchall()), key=PurePosixPath)
    connection.execute("create or replace temp table drop_files (file varchar, file_no integer)")
    insert_columns(
        connection,
        "drop_files",
        (("file", "VARCHAR"), ("file_no", "INTEGER")),
        [(file, number) for number, file in enumerate(files)],
    )


def _has_file(table: str) -> bool:
    return "file" in TABLES[table].column_names


def _recount(connection: Any, kept: Kept, done: Rerun) -> None:
    """Readings to increments once more: resets, wraps, ceilings, duplicates."""
    if not {"raw_telemetry", "link_counters"} <= kept.complete:
        done.not_rerun.append("increments from readings: their rows were cut or missing")
        return
    connection.execute(
        "create or replace temp table raw_telemetry as "
        "from recorded_raw_telemetry semi join kept_ends using (node, interface)"
    )
    count_links(connection)
    recorded = "from recorded_link_counters semi join kept_ends using (node, interface)"
    sql = "select count(*) from ({} except all {})"
    missing = scalar(connection, sql.format(f"({recorded})", "(from link_counters)"))
    extra = scalar(connection, sql.format("(from link_counters)", f"({recorded})"))
    differs = [f"{max(missing, extra)} rows come out differently"] if missing or extra else []
    done.compare("increments of the link ends from their readings", differs)


def _take_recorded(connection: Any) -> None:
    """The detectors read these names; counters are those of the link ends alone."""
    connection.execute(
        "create or replace temp table link_counters as "
        "from recorded_link_counters semi join kept_ends using (node, interface)"
    )
    for name in ("collective_timings", "fabric_events"):
        connection.execute(f"create or replace temp table {name} as from recorded_{name}")


def _compare_spikes(
    connection: Any, spikes: Sequence[Spike], record: IncidentRecord, done: Rerun
) -> None:
    cursor = connection.execute(
        "select node, interface, lane, counter, start_ts, end_ts, events, rules "
        "from recorded_spike_detections"
    )
    recorded = Counter(
        (*row[:7], _own_rules(hit["rule_id"] for hit in json.loads(row[7])))
        for row in cursor.fetchall()
    )
    found = Counter(
        (s.node, s.interface, s.lane, s.counter, s.start_ts, s.end_ts, s.events, _own_rules(h.rule_id for h in s.hits))
        for s in spikes
    )  # fmt: skip
    differing = sum(((recorded - found) + (found - recorded)).values())
    differs = [f"{differing} intervals come out differently"] if differing else []
    done.compare(f"{len(spikes)} error intervals of the link ends with their rules", differs)
    if not record.numbers.get("counts"):
        done.not_rerun.append("counts of the incident: it does not rest on counted errors")
        return
    done.compare("counts of the incident", _count_differences(spikes, record))
    done.compare("rules of the incident", _rule_differences(spikes, record))
    peer = sorted(PEER_RULES & {rule.rule_id for rule in record.rules})
    if peer:
        done.not_rerun.append(f"rules {', '.join(peer)}: they compare with all links of the drop")


def _count_differences(spikes: Sequence[Spike], record: IncidentRecord) -> Iterable[str]:
    """Counts of the end that counted more, as the incident gives them."""
    per_end: Counter[tuple[str, str, str]] = Counter()
    for spike in _judged(spikes):
        per_end[spike.counter, spike.node, spike.interface] += spike.events  # type: ignore[assignment]
    counts: dict[str, float] = {}
    for (counter, _, _), events in per_end.items():
        counts[counter] = max(counts.get(counter, 0.0), events)
    stated = record.numbers["counts"]
    for counter in sorted(counts.keys() | stated.keys()):
        if counts.get(counter) != stated.get(counter):
            yield f"{counter} is {stated.get(counter)} in the incident, {counts.get(counter)} in the rows"


def _rule_differences(spikes: Sequence[Spike], record: IncidentRecord) -> Iterable[str]:
    stated = set(_own_rules(rule.rule_id for rule in record.rules))
    fired = set(_own_rules(hit.rule_id for spike in _judged(spikes) for hit in spike.hits))
    yield from (f"{rule} is stated but does not fire" for rule in sorted(stated - fired))
    yield from (f"{rule} fires but is not stated" for rule in sorted(fired - stated))


def _judged(spikes: Sequence[Spike]) -> list[Spike]:
    """Totals of network ports without a time span are judged by rules of their own, not as spikes."""
    return [s for s in spikes if s.start_ts is not None or s.link_type not in PORT_LINKS]


def _own_rules(rule_ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({rule for rule in rule_ids if rule not in PEER_RULES}))


def _compare_stragglers(connection: Any, record: IncidentRecord, kept: Kept, done: Rerun) -> None:
    if not record.affected_runs:
        done.not_rerun.append("slow intervals: no run is affected by this incident")
        return
    if "collective_timings" not in kept.complete:
        done.not_rerun.append("slow intervals: the rows of collective_timings were cut or missing")
        return
    # A baseline taken from sister runs, or learnt beside other runs, needs runs that are not here.
    own = "baseline_source = 'given'" + (
        " or baseline_source = 'learnt'" if len(record.affected_runs) == 1 else ""
    )
    columns = "run, communicator, op, bytes, interval, start_ts, end_ts, collectives, round(latency_us, 3), round(baseline_us, 3)"
    sides = [
        f"(select {columns} from {t} where {own})" for t in ("recorded_stragglers", "stragglers")
    ]
    counts = [
        scalar(connection, f"select count(*) from ({a} except all {b})")
        for a, b in (sides, sides[::-1])
    ]
    differs = [f"{max(counts)} intervals come out differently"] if any(counts) else []
    number = scalar(connection, f"select count(*) from {sides[0]}")
    done.compare(f"{number} slow intervals of the affected runs", differs)
    others = scalar(connection, f"select count(*) from recorded_stragglers where not ({own})")
    if others:
        done.not_rerun.append(f"{others} slow intervals whose baseline needs other runs")


def _reasons_for_difference(
    connection: Any, record: IncidentRecord, kept: Kept, has_stragglers: bool
) -> list[str]:
    """Why the verdict on the link may depend on more than this dossier holds; [] when it does not."""
    uncut = {"link_counters", "collective_timings", "fabric_events"} <= kept.complete
    differing = "select count(*) from (select run, node, interface, bins, slow_bins, error_bins, overlap_bins from {} semi join kept_ends using (node, interface) except select run, node, interface, bins, slow_bins, error_bins, overlap_bins from {})"
    coincidence = scalar(connection, differing.format("recorded_straggler_correlations", "straggler_correlations"))  # fmt: skip
    checks = (
        (not uncut, "rows were cut or missing"),
        (not record.needs_ticket, "what is not an accusation rests on the comparison with all links"),
        (not record.numbers.get("counts"), "it does not rest on counted errors"),
        (bool(record.numbers.get("is_snapshot")), "totals without a time span are judged beside their siblings"),
        (not record.affected_runs, "the timings of runs that are not affected are not kept"),
        (bool(record.affected_runs) and not has_stragglers, "the baseline needs other runs"),
        (bool(PEER_RULES & {r.rule_id for r in record.rules if len(record.rules) == 1}), "its one rule compares with all links"),
        (bool(coincidence), "the time step of the comparison comes from all links"),
    )  # fmt: skip
    return [reason for holds, reason in checks if holds]


def _compare_verdict(
    record: IncidentRecord, again: Sequence[IncidentRecord], reasons: Sequence[str], done: Rerun
) -> None:
    what = f"verdict {record.fault_type}, {record.severity} on the named link end"
    same = [one for one in again if one.isolated_component == record.isolated_component]
    if any((o.fault_type, o.severity) == (record.fault_type, record.severity) for o in same):
        done.same.append(what)
    elif reasons:
        done.not_rerun.append(f"{what}: {'; '.join(reasons)}")
    else:
        found = ", ".join(f"{one.fault_type} {one.severity}" for one in same) or "no incident"
        done.problems.append(f"{what}: the rows alone give {found}")


def _topology(record: IncidentRecord) -> Topology:
    """The two ends of the link as the record states them."""
    ends = (record.isolated_component, record.far_end)
    part = TopologyPart(nodes=_gpus(record.place) + _gpus(record.far_place))
    if record.far_end:
        near, far = (_topology_end(component) for component in ends)
        part.links.append({"type": record.link_type, "a": near, "b": far})
    return Topology([part])


def _topology_end(component: str) -> dict[str, str]:
    parsed = parse_component(component)
    owner = {"node": parsed.node} if parsed.node else {"switch": device_of(parsed.interface)}
    return {**owner, "port": parsed.interface}


def _gpus(place: Place) -> list[dict[str, Any]]:
    """A GPU by index and PCI address, so that both names of it mean one device."""
    if not place.node or place.gpu is None or not place.pci or not place.gpu_uuid:
        return []
    return [{"node": place.node, "gpus": [{"gpu": place.gpu, "pci": place.pci}]}]
