"""From error series to spike detections: set-wise scans in SQL, rules on the few rows that may fire one.

A series with times is judged by intervals, a series without by its total. Silence and background noise
make no row: their exposure stands behind the expectation of the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from fabric_pipeline.detect.spikes import bursts_sql, intervals_sql, peers_sql
from fabric_pipeline.detect.spikes.rules import Counted, RuleHit, judge_interval, judge_snapshot
from fabric_pipeline.detect.spikes.series import summarise
from fabric_pipeline.detect.spikes.surprise import sibling_log10_p
from fabric_pipeline.detect.spikes.thresholds import SpikeLimits

_ORDER = {"info": 0, "watch": 1, "warning": 2, "critical": 3}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Burst = tuple[datetime, datetime, float]


@dataclass(slots=True)
class Spike:
    """One row of spike_detections; see the table for the meaning and units of each field.

    `bursts` are (start, end, events) of the stretches within the interval that are no chance.
    """

    node: str
    interface: str
    lane: int | None
    link_type: str
    counter: str
    gpu_uuid: str
    scope: str
    error_class: str
    class_basis: str
    spike: int
    start_ts: datetime | None
    end_ts: datetime | None
    events: float
    exposure_s: float | None
    series_events: float
    series_exposure_s: float | None
    expected_events: float | None
    surprise: float | None
    peers: int
    peer_median_events: float | None
    burstiness: str
    is_lower_bound: bool
    hits: list[RuleHit]
    file: str
    line: int | None
    last_line: int | None
    bursts: list[Burst] = field(default_factory=list)

    @property
    def severity(self) -> str:
        """The worst severity of the rules that fired; info when none did."""
        return max((hit.severity for hit in self.hits), key=_ORDER.__getitem__, default="info")

    @property
    def is_growth(self) -> bool:
        """True for what a counter grew by between captures whose times are not known."""
        return self.start_ts is None and self.events == self.series_events > 0

    @property
    def rate_per_hour(self) -> float | None:
        """Errors per observed hour, None for a snapshot."""
        return self.events * 3600 / self.exposure_s if self.exposure_s else None

    def row(self, drop: str) -> tuple[Any, ...]:
        """Values in the column order of spike_detections."""
        return (
            drop, self.node, self.interface, self.lane, self.link_type, self.counter, self.gpu_uuid, self.scope, self.error_class, self.class_basis, self.spike,
            self.start_ts, self.end_ts, self.events, self.exposure_s, self.rate_per_hour, self.series_events, self.series_exposure_s,
            self.expected_events, self.surprise, self.peers, self.peer_median_events, self.burstiness,
            "yes" if self.is_lower_bound else "no", json.dumps([hit.as_dict() for hit in self.hits]), self.severity,
            self.file, self.line, self.last_line, json.dumps([[start.isoformat(), end.isoformat(), events] for start, end, events in self.bursts]),
        )  # fmt: skip


def bursts_from_json(text: str) -> list[Burst]:
    """The bursts as stored in spike_detections."""
    return [
        (datetime.fromisoformat(start), datetime.fromisoformat(end), float(events))
        for start, end, events in json.loads(text)
    ]


def detect_spikes(
    connection: Any, limits: SpikeLimits | None = None, keep_all: bool = False
) -> list[Spike]:
    """Judge every error series of `link_counters` in the connection."""
    summarise(connection)
    return detect_from_series(connection, limits, keep_all)


def detect_from_series(
    connection: Any, limits: SpikeLimits | None = None, keep_all: bool = False
) -> list[Spike]:
    """Judge the series of `error_series` and `error_increments` (see `series`), and nothing else.

    Returns intervals of series with times and totals of series without, those that a rule flags, in a
    fixed order. `keep_all` is for few rows that are compared with recorded ones: it returns also what no
    rule flags.
    """
    if connection.execute("select 1 where not exists (from error_series)").fetchall():
        return []  # planning the statements below takes longer than reading a small capture
    limits = limits or SpikeLimits()
    for statement in (
        peers_sql.peers_sql(limits),
        peers_sql.baselines_sql(limits),
        peers_sql.siblings_sql(limits),
        intervals_sql.worthy_sql(limits, keep_all),
        bursts_sql.SAMPLES_SQL,
        intervals_sql.GROUPED_SQL,
        bursts_sql.windows_sql(limits),
        bursts_sql.significance_sql(),
        bursts_sql.bursts_sql(limits),
        intervals_sql.rare_sql(),
        intervals_sql.persistence_sql(limits),
    ):
        connection.execute(statement)
    intervals = _rows(connection, intervals_sql.intervals_sql(limits, keep_all))
    totals = _rows(connection, intervals_sql.totals_sql(limits, keep_all))
    spikes = [_interval_spike(row, limits) for row in intervals]
    spikes += [_snapshot_spike(row, limits) for row in totals]
    return [spike for spike in spikes if spike.hits or keep_all]


def _interval_spike(row: dict[str, Any], limits: SpikeLimits) -> Spike:
    window = row["best"] or {}
    moved = None if row["bytes_per_s"] is None else row["bytes_per_s"] * row["exposure_s"]
    counted = Counted(
        row["counter"], row["error_class"], row["link_type"], row["events"], row["exposure_s"], row["samples"], row["is_largest"], row["persistent_windows"],
        window.get("events", 0.0), window.get("seconds", 0.0), window.get("expected", 0.0), 1.0 if row["q_value"] is None else row["q_value"],
        moved, row["pcie_generation"], row["pcie_lanes"], siblings=row["siblings"] or 0, sibling_per_hour=row["sibling_per_hour"] or 0.0,
        sibling_limit_per_hour=row["sibling_limit"], sibling_median_per_hour=row["sibling_median"] or 0.0, in_12h=row["in_12h"], in_24h=row["in_24h"],
    )  # fmt: skip
    bursts = [
        (_moment(start), _moment(end), float(events))
        for (start, end), events in zip(row["bursts"], row["burst_events"], strict=True)
    ]
    return Spike(
        **_identity(row), class_basis=row["class_basis"], spike=int(row["spike"]), start_ts=_moment(row["start_us"]), end_ts=_moment(row["end_us"]),
        events=float(row["events"]), exposure_s=row["exposure_s"], series_exposure_s=row["series_exposure_s"], series_events=float(row["series_events"]),
        expected_events=window.get("expected"), surprise=window.get("surprise"),
        burstiness="isolated" if row["largest"] <= 1 else "burst", is_lower_bound=bool(row["is_lower_bound"]),
        hits=judge_interval(counted, limits), file=row["file"], line=row["line"], last_line=row["end_line"], bursts=bursts,
    )  # fmt: skip


def _snapshot_spike(row: dict[str, Any], limits: SpikeLimits) -> Spike:
    events, ends = row["total"], int(row["ends"])
    chance = sibling_log10_p(int(events), int(max(row["all_ends_total"] or 0, events)), ends)
    counted = Counted(
        row["counter"], row["error_class"], row["link_type"], float(events), sibling_log10_p=chance, siblings=ends - 1,
        whole_total=float(row["last_value"] or 0) if row["is_growth"] else None,
    )  # fmt: skip
    return Spike(
        **_identity(row), class_basis="snapshot", spike=1, start_ts=None, end_ts=None,
        events=float(events), exposure_s=None, series_exposure_s=None, series_events=float(row["events"]),
        expected_events=None, surprise=-chance or None,
        burstiness="", is_lower_bound=bool(row["is_saturated"] or row["had_reset"]),
        hits=judge_snapshot(counted, limits), file=row["last_file"], line=row["last_line"], last_line=row["last_line"],
    )  # fmt: skip


def _identity(row: dict[str, Any]) -> dict[str, Any]:
    names: Iterable[str] = (
        "node", "interface", "lane", "link_type", "counter", "gpu_uuid", "scope", "error_class",
    )  # fmt: skip
    return {name: row[name] for name in names} | {
        "peers": int(row["peers"] or 0),
        "peer_median_events": row["median_events"],
    }


def _moment(epoch_us: int) -> datetime:
    return _EPOCH + timedelta(microseconds=epoch_us)


def _rows(connection: Any, query: str) -> list[dict[str, Any]]:
    cursor = connection.execute(query)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
