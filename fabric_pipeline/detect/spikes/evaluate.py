"""From link_counters to spike detections: set-wise sums in SQL, rules on the few active series.

A series with times is judged by intervals, a series without by its total. Silence makes no row: the
exposure of silent links stands behind the expectation of the others.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fabric_pipeline.detect.spikes import sql
from fabric_pipeline.detect.spikes.rules import Counted, RuleHit, judge_interval, judge_snapshot
from fabric_pipeline.detect.spikes.surprise import (
    benjamini_hochberg,
    sibling_log10_p,
    surprise,
)
from fabric_pipeline.detect.spikes.thresholds import SpikeLimits

_ORDER = {"info": 0, "watch": 1, "warning": 2, "critical": 3}


@dataclass(slots=True)
class Spike:
    """One row of spike_detections; see the table for the meaning and units of each field."""

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

    @property
    def severity(self) -> str:
        """The worst severity of the rules that fired; info when none did."""
        return max((hit.severity for hit in self.hits), key=_ORDER.__getitem__, default="info")

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
            self.file, self.line, self.last_line,
        )  # fmt: skip


def detect_spikes(connection: Any, limits: SpikeLimits | None = None) -> list[Spike]:
    """Judge every error series of `link_counters` in the connection.

    Returns intervals of series with times and totals of series without, in a fixed order.
    """
    limits = limits or SpikeLimits()
    connection.execute(sql.SERIES_SQL)
    connection.execute(sql.PEERS_SQL)
    series = {_key(row): row for row in _rows(connection, sql.SERIES_ROWS_SQL)}
    bytes_per_s = {
        (r["node"], r["interface"]): r["bytes_per_s"] for r in _rows(connection, sql.BYTES_SQL)
    }
    pcie = {(r["node"], r["interface"]): r for r in _rows(connection, sql.PCIE_SQL)}
    tests = connection.execute(
        "select coalesce(sum(greatest(timed_samples, 1)), 1)::bigint from error_series"
    ).fetchall()[0][0]
    intervals = _rows(connection, sql.INTERVALS_SQL)
    spikes = _interval_spikes(intervals, series, bytes_per_s, pcie, int(tests), limits)
    timed = {_key(row) for row in intervals}
    spikes += [
        spike
        for key, row in series.items()
        if key not in timed and (spike := _snapshot_spike(row, limits)) is not None
    ]
    return spikes


def _interval_spikes(
    intervals: list[dict[str, Any]],
    series: dict[tuple[Any, ...], dict[str, Any]],
    bytes_per_s: dict[tuple[str, str], float],
    pcie: dict[tuple[str, str], dict[str, Any]],
    tests: int,
    limits: SpikeLimits,
) -> list[Spike]:
    expected = [_expected(row, series[_key(row)]) for row in intervals]
    surprises = [
        surprise(row["events"], mean) for row, mean in zip(intervals, expected, strict=True)
    ]
    q_values = benjamini_hochberg([-value for value in surprises], tests)
    spikes = []
    for row, mean, surprising, q in zip(intervals, expected, surprises, q_values, strict=True):
        whole = series[_key(row)]
        end = (row["node"], row["interface"])
        generation, lanes = _pcie_shape(pcie.get(end))
        counted = Counted(
            row["counter"], whole["error_class"], whole["link_type"], row["events"], row["exposure_s"], row["samples"],
            whole["timed_samples"], surprising, q, mean, _bytes_moved(bytes_per_s.get(end), row), generation, lanes, in_12h=row["in_12h"], in_24h=row["in_24h"],
        )  # fmt: skip
        burst = "isolated" if row["largest"] <= 1 else "burst"
        spikes.append(_spike(row, whole, mean, surprising, burst, judge_interval(counted, limits)))
    return spikes


def _bytes_moved(bytes_per_s: float | None, row: dict[str, Any]) -> float | None:
    """Bytes that the link end received in the interval, at its usual rate; None when not measured."""
    return None if bytes_per_s is None else bytes_per_s * row["exposure_s"]


def _expected(row: dict[str, Any], series: dict[str, Any]) -> float:
    """Errors to expect in the interval: the series' own rate outside it or the peers' median rate."""
    outside_s = series["exposure_s"] - row["exposure_s"]
    own = max(series["events"] - row["events"], 0) / outside_s if outside_s > 0 else 0.0
    # A series that is bad all along must still stand out, so its own past counts no more than a
    # generous multiple of what the peers do (detection.md S2).
    peers = series["median_per_s"] or 0.0
    return float(max(min(own, 3 * peers + 1 / 3600), peers) * row["exposure_s"] + 0.05)


def _snapshot_spike(row: dict[str, Any], limits: SpikeLimits) -> Spike | None:
    if row["timed_samples"] > 0:  # watched over time and silent: an old total is no new error
        return None
    # The counter itself and its growth between captures are both lower bounds of what happened.
    events = max(row["events"], row["last_value"] or 0)
    grown = row["measured"] <= 1 or row["events"] > 0 or row["is_saturated"]
    if not events or not grown:
        return None
    ends = int(row["ends"])
    chance = sibling_log10_p(int(events), int(max(row["total_value"] or 0, events)), ends)
    counted = Counted(
        row["counter"],
        row["error_class"],
        row["link_type"],
        float(events),
        sibling_log10_p=chance,
        siblings=ends - 1,
    )
    shaped = {**row, "spike": 1, "start_ts": None, "end_ts": None, "events": float(events), "exposure_s": None,
              "is_lower_bound": row["is_saturated"] or row["had_reset"], "file": row["last_file"], "line": row["last_line"]}  # fmt: skip
    return _spike(
        shaped,
        {**row, "exposure_s": None, "class_basis": "snapshot"},
        None,
        -chance or None,
        "",
        judge_snapshot(counted, limits),
    )


def _spike(
    row: dict[str, Any],
    series: dict[str, Any],
    expected: float | None,
    surprising: float | None,
    burst: str,
    hits: list[RuleHit],
) -> Spike:
    return Spike(
        node=row["node"], interface=row["interface"], lane=row["lane"], link_type=series["link_type"], counter=row["counter"],
        gpu_uuid=row["gpu_uuid"], scope=row["scope"],
        error_class=series["error_class"], class_basis=series["class_basis"], spike=int(row["spike"]), start_ts=row["start_ts"],
        end_ts=row["end_ts"], events=float(row["events"]), exposure_s=row["exposure_s"], series_events=float(series["events"]),
        series_exposure_s=series["exposure_s"], expected_events=expected, surprise=surprising, peers=int(series["peers"]),
        peer_median_events=series["median_events"], burstiness=burst, is_lower_bound=bool(row["is_lower_bound"]), hits=hits,
        file=row["file"], line=row["line"], last_line=row["last_line"],
    )  # fmt: skip


def _pcie_shape(row: dict[str, Any] | None) -> tuple[int | None, int | None]:
    """Generation and width that set the replay allowance: what the link can do, else what it does."""
    if row is None:
        return None, None
    generation = row["generation_max"] or row["generation"]
    width = row["width_max"] or row["width"]
    return (int(generation) if generation else None, int(width) if width else None)


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(
        row[name] for name in ("node", "interface", "lane", "counter", "gpu_uuid", "scope")
    )


def _rows(connection: Any, query: str) -> list[dict[str, Any]]:
    cursor = connection.execute(query)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
