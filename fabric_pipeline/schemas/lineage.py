"""Which upstream columns each column is computed from.

A column of the same name upstream is its source; what is derived from other columns stands here.
"""

from __future__ import annotations

from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.schemas.table import Table

Source = tuple[str, str]

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
    },
    "straggler_correlations": {
        "overlap_bins": (("link_counters", "delta"), ("collective_timings", "duration_us")),
        "p_value": (("link_counters", "delta"), ("collective_timings", "duration_us")),
        "effect_pct": (("collective_timings", "duration_us"),),
        "far_end": (("fabric_topology", "far_interface"), ("fabric_topology", "far_node")),
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
        "degradation_pct": (("stragglers", "deviation_pct"),),
        "confidence": (
            ("straggler_correlations", "overlap_share"),
            ("straggler_correlations", "covered_share"),
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
