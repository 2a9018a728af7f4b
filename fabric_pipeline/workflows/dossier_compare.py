"""Comparing what is computed again from the rows of a dossier with what was recorded, part by part.

Each function notes its outcome in a `Rerun`. Loading the rows is done in `dossier_verify`, the verdict
in `dossier_rerun`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fabric_pipeline.detect.spikes.evaluate import Spike
from fabric_pipeline.diagnose.diagnose import judged_here
from fabric_pipeline.diagnose.link_findings import end_totals
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.store.duck import scalar
from fabric_pipeline.workflows.dossier_rows import ROW_TABLES
from fabric_pipeline.workflows.dossier_scope import Scope, scope_in
from fabric_pipeline.workflows.ingest import count_links

# Rules that compare a link with all its peers or siblings in the drop.
PEER_RULES = frozenset({"unusual_count", "sibling_outlier", "sibling_outlier_rate"})


@dataclass(frozen=True, slots=True)
class Kept:
    """What `lineage.json` says was kept: the scope, counts by table, and the tables not cut."""

    scope: Scope
    rows: Mapping[str, Any]
    complete: frozenset[str]

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Kept:
        """From the parsed file; raises KeyError, TypeError or ValueError for another shape."""
        rows = facts["rows"]
        complete = {
            name for name in ROW_TABLES
            if rows[name]["in_lake"] and rows[name]["matched"] == rows[name]["written"]
        }  # fmt: skip
        return cls(scope_in(facts["scope"]), rows, frozenset(complete))

    @property
    def bound(self) -> int:
        """The bound under which the rows were picked."""
        return max(int(one["bound"]) for one in self.rows.values())

    @property
    def in_lake(self) -> set[str]:
        """Tables that the drop had."""
        return {name for name in ROW_TABLES if self.rows[name]["in_lake"]}


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


def differing_rows(connection: Any, one: str, other: str) -> int:
    """How many rows either relation (in brackets) has more than the other, columns by name."""
    sql = f"""
    select coalesce(sum(abs(surplus)), 0)::bigint from (
        select * exclude (side), sum(side) as surplus
        from (select *, 1 as side from {one} union all by name select *, -1 as side from {other}) group by all)
    """
    return int(scalar(connection, sql))


def recount(connection: Any, kept: Kept, done: Rerun) -> None:
    """Readings to increments once more: resets, wraps, ceilings, duplicates.

    Leaves raw_telemetry and link_counters of the link ends in the connection.
    """
    if not {"raw_telemetry", "link_counters"} <= kept.complete:
        done.not_rerun.append("increments from readings: their rows were cut or missing")
        return
    connection.execute(
        "create or replace temp table raw_telemetry as "
        "from recorded_raw_telemetry semi join kept_ends using (node, interface)"
    )
    count_links(connection)
    recorded = "from recorded_link_counters semi join kept_ends using (node, interface)"
    differing = differing_rows(connection, f"({recorded})", "(from link_counters)")
    differs = [f"{differing} rows are on one side only"] if differing else []
    done.compare("increments of the link ends from their readings", differs)


def compare_spikes(
    connection: Any, spikes: Sequence[Spike], record: IncidentRecord, kept: Kept, done: Rerun
) -> None:
    """Error intervals with their rules, then counts and rules as the incident states them."""
    if not {"link_counters", "spike_detections"} <= kept.complete:
        done.not_rerun.append("error intervals: their rows were cut or missing")
        return
    differing = _differing_intervals(connection, spikes)
    differs = [f"{differing} intervals are on one side only"] if differing else []
    done.compare(f"{len(spikes)} error intervals of the link ends with their rules", differs)
    if not record.numbers.get("counts"):
        done.not_rerun.append("counts of the incident: it does not rest on counted errors")
        return
    done.compare("counts of the incident", _count_differences(spikes, record))
    done.compare("rules of the incident", _rule_differences(spikes, record))
    peer = sorted(PEER_RULES & {rule.rule_id for rule in record.rules})
    if peer:
        done.not_rerun.append(f"rules {', '.join(peer)}: they compare with all links of the drop")


def is_recorded(connection: Any) -> Callable[[Spike], bool]:
    """A test for spikes to compare: recorded ones, and those that a rule flags by their own rows.

    In an excerpt the other links are missing, so a recorded interval that only the comparison with them
    flags is counted again but not flagged, and one that only this lack makes stand out is no finding.
    """
    cursor = connection.execute(
        "select node, interface, lane, counter, gpu_uuid, scope, start_ts, end_ts from recorded_spike_detections"
    )
    recorded = set(cursor.fetchall())
    return lambda s: (
        (s.node, s.interface, s.lane, s.counter, s.gpu_uuid, s.scope, s.start_ts, s.end_ts) in recorded
        or bool(_own_rules(hit.rule_id for hit in s.hits))
    )  # fmt: skip


def _differing_intervals(connection: Any, spikes: Sequence[Spike]) -> int:
    cursor = connection.execute(
        "select node, interface, lane, counter, gpu_uuid, start_ts, end_ts, events, rules "
        "from recorded_spike_detections"
    )
    recorded = Counter(
        (*row[:8], _own_rules(hit["rule_id"] for hit in json.loads(row[8])))
        for row in cursor.fetchall()
    )
    found = Counter(
        (s.node, s.interface, s.lane, s.counter, s.gpu_uuid, s.start_ts, s.end_ts, s.events, _own_rules(h.rule_id for h in s.hits))
        for s in spikes
    )  # fmt: skip
    return int(sum(((recorded - found) + (found - recorded)).values()))


def _count_differences(spikes: Sequence[Spike], record: IncidentRecord) -> Iterable[str]:
    """Per counter the end (and GPU, if one was exchanged) that counted more, as incidents state it."""
    counts = {counter: count for counter, (count, _) in end_totals(judged_here(spikes)).items()}
    stated = record.numbers["counts"]
    for counter in sorted(counts.keys() | stated.keys()):
        if counts.get(counter) != stated.get(counter):
            yield f"{counter} is {stated.get(counter)} in the incident, {counts.get(counter)} in the rows"


def _rule_differences(spikes: Sequence[Spike], record: IncidentRecord) -> Iterable[str]:
    stated = set(_own_rules(rule.rule_id for rule in record.rules))
    fired = set(_own_rules(hit.rule_id for spike in judged_here(spikes) for hit in spike.hits))
    yield from (f"{rule} is stated but does not fire" for rule in sorted(stated - fired))
    yield from (f"{rule} fires but is not stated" for rule in sorted(fired - stated))


def _own_rules(rule_ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({rule for rule in rule_ids if rule not in PEER_RULES}))


def compare_stragglers(connection: Any, record: IncidentRecord, kept: Kept, done: Rerun) -> None:
    """Slow intervals of the affected runs with latency and baseline."""
    if not record.affected_runs:
        done.not_rerun.append("slow intervals: no run is affected by this incident")
        return
    if not {"collective_timings", "stragglers"} <= kept.complete:
        done.not_rerun.append("slow intervals: their rows were cut or missing")
        return
    # A baseline taken from sister runs, or learnt beside other runs, needs runs that are not here.
    own = "baseline_source = 'given'" + (
        " or baseline_source = 'learnt'" if len(record.affected_runs) == 1 else ""
    )
    columns = "run, communicator, op, bytes, interval, start_ts, end_ts, collectives, "
    columns += "round(latency_us, 3), round(baseline_us, 3)"
    sides = [
        f"(select {columns} from {t} where {own})" for t in ("recorded_stragglers", "stragglers")
    ]
    differing = differing_rows(connection, *sides)
    differs = [f"{differing} intervals are on one side only"] if differing else []
    number = scalar(connection, f"select count(*) from {sides[0]}")
    done.compare(f"{number} slow intervals of the affected runs", differs)
    done.compare("latency and baseline of the incident", _latency_differences(connection, record))
    others = scalar(connection, f"select count(*) from recorded_stragglers where not ({own})")
    if others:
        done.not_rerun.append(f"{others} slow intervals whose baseline needs other runs")


def _latency_differences(connection: Any, record: IncidentRecord) -> Iterable[str]:
    if record.latency_us is None or record.baseline_us is None:
        return
    sql = (
        "select count(*) from recorded_stragglers "
        "where abs(latency_us - ?) < 0.001 and abs(baseline_us - ?) < 0.001"
    )
    if not scalar(connection, sql, [record.latency_us, record.baseline_us]):
        yield f"{record.latency_us} us against {record.baseline_us} us is none of these intervals"
