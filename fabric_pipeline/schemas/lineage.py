"""Which upstream columns each column is computed from.

A column of the same name upstream is its source; what is derived from other columns stands here.
"""

from __future__ import annotations

from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.schemas.table import Table

Source = tuple[str, str]

_COINCIDENCE: tuple[Source, ...] = (
    ("link_counters", "delta"),
    ("link_counters", "ts"),
    ("collective_timings", "duration_us"),
    ("collective_timings", "ts"),
)
_WEIGHING: tuple[Source, ...] = (
    ("spike_detections", "bursts"),
    ("link_counters", "value"),
    ("collective_timings", "duration_us"),
    ("fabric_events", "kind"),
    ("fabric_topology", "far_interface"),
)
_DERIVED: dict[str, dict[str, tuple[Source, ...]]] = {
    "link_counters": {
        "sample": (("raw_telemetry", "ts"), ("raw_telemetry", "line")),
        "delta": (("raw_telemetry", "value"),),
        "elapsed_s": (("raw_telemetry", "ts"),),
        "error_class": (("raw_telemetry", "counter"),),
        "class_basis": (("raw_telemetry", "counter"),),
    },
    "spike_detections": {
        "spike": (("link_counters", "ts"), ("link_counters", "delta")),
        "start_ts": (("link_counters", "ts"), ("link_counters", "elapsed_s")),
        "end_ts": (("link_counters", "ts"),),
        "events": (("link_counters", "delta"), ("link_counters", "value")),
        "exposure_s": (("link_counters", "elapsed_s"),),
        "rate_per_hour": (("link_counters", "delta"), ("link_counters", "elapsed_s")),
        "series_events": (("link_counters", "delta"),),
        "series_exposure_s": (("link_counters", "elapsed_s"),),
        "expected_events": (("link_counters", "delta"), ("link_counters", "elapsed_s")),
        "surprise": (("link_counters", "delta"), ("link_counters", "elapsed_s")),
        "rules": (
            ("link_counters", "delta"),
            ("link_counters", "elapsed_s"),
            ("link_counters", "counter"),
        ),
        "severity": (("link_counters", "delta"), ("link_counters", "counter")),
        "peers": (("link_counters", "counter"), ("link_counters", "link_type")),
        "peer_median_events": (("link_counters", "delta"),),
        "burstiness": (("link_counters", "delta"),),
        "is_lower_bound": (("link_counters", "quality"),),
        "last_line": (("link_counters", "line"),),
        "bursts": (
            ("link_counters", "ts"),
            ("link_counters", "delta"),
            ("link_counters", "elapsed_s"),
        ),
    },
    "stragglers": {
        "start_ts": (("collective_timings", "ts"),),
        "end_ts": (("collective_timings", "ts"), ("collective_timings", "duration_us")),
        "latency_us": (("collective_timings", "duration_us"),),
        "deviation_pct": (
            ("collective_timings", "duration_us"),
            ("collective_timings", "baseline_us"),
        ),
        "late_ranks": (
            ("collective_timings", "rank"),
            ("collective_timings", "arrival_us"),
            ("collective_timings", "duration_us"),
        ),
        "nodes": (("collective_timings", "run_nodes"), ("collective_timings", "node")),
        "lost_s": (("collective_timings", "duration_us"),),
        "interval": (("collective_timings", "duration_us"), ("collective_timings", "seq")),
        "kind": (("collective_timings", "unit_kind"), ("collective_timings", "arrival_us")),
        "shape": (("collective_timings", "duration_us"),),
        "collectives": (("collective_timings", "seq"),),
        "baseline_source": (("collective_timings", "baseline_us"),),
        "late_nodes": (
            ("collective_timings", "node"),
            ("collective_timings", "arrival_us"),
            ("collective_timings", "duration_us"),
        ),
        "gpus": (("collective_timings", "ranks"),),
        "last_line": (("collective_timings", "line"),),
    },
    "straggler_correlations": {
        "in_path": (("stragglers", "nodes"), ("fabric_topology", "far_node")),
        "bins": (("collective_timings", "ts"), ("link_counters", "elapsed_s")),
        "slow_bins": (("collective_timings", "duration_us"),),
        "error_bins": (("link_counters", "delta"), ("link_counters", "ts")),
        "overlap_bins": _COINCIDENCE,
        "covered_bins": _COINCIDENCE,
        "lag_bins": _COINCIDENCE,
        "overlap_share": _COINCIDENCE,
        "covered_share": _COINCIDENCE,
        "p_value": _COINCIDENCE,
        "q_value": _COINCIDENCE,
        "score": _COINCIDENCE,
        "candidate_rank": _COINCIDENCE,
        "effect_pct": _COINCIDENCE,
        "far_end": (("fabric_topology", "far_interface"), ("fabric_topology", "far_node")),
        **dict.fromkeys(
            (
                "verdict",
                "confidence",
                "log_odds",
                "share_slow",
                "slow_anyway",
                "edges_fitting",
                "edges_visible",
                "dose",
                "because",
                "behind",
            ),
            _WEIGHING,
        ),
    },
    "incident_records": {
        "isolated_component": (
            ("straggler_correlations", "interface"),
            ("spike_detections", "interface"),
            ("fabric_events", "interface"),
        ),
        "severity": (
            ("spike_detections", "severity"),
            ("stragglers", "deviation_pct"),
            ("fabric_events", "severity"),
        ),
        "fault_type": (
            ("spike_detections", "rules"),
            ("stragglers", "kind"),
            ("fabric_events", "kind"),
            ("link_counters", "counter"),
        ),
        "first_seen": (
            ("spike_detections", "start_ts"),
            ("stragglers", "start_ts"),
            ("fabric_events", "ts"),
        ),
        "last_seen": (
            ("spike_detections", "end_ts"),
            ("stragglers", "end_ts"),
            ("fabric_events", "ts"),
        ),
        "degradation_pct": (("stragglers", "deviation_pct"),),
        "confidence": (
            ("straggler_correlations", "confidence"),
            ("spike_detections", "rules"),
        ),
        "gpu_hours_lost": (("stragglers", "lost_s"), ("stragglers", "gpus")),
    },
    "ticket_drafts": {
        "component": (("incident_records", "isolated_component"),),
        "priority": (("incident_records", "ticket_priority"),),
        "draft": (("incident_records", "record"),),
    },
}


def column_lineage(table: Table) -> dict[str, tuple[Source, ...]]:
    """Column -> its sources; columns without an upstream column are left out."""
    derived = _DERIVED.get(table.name, {})
    found: dict[str, tuple[Source, ...]] = {}
    for name in table.column_names:
        same = tuple((up, name) for up in table.upstream if name in TABLES[up].column_names)
        sources = derived.get(name, same)
        if sources:
            found[name] = sources
    return found
