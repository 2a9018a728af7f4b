"""Assets of the group diagnose: spikes, stragglers, their coincidence, and incident records."""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from fabric_pipeline.orchestration.pictures import timeline
from fabric_pipeline.orchestration.portal_links import portal_page
from fabric_pipeline.orchestration.resources import FabricResource
from fabric_pipeline.orchestration.table_metadata import (
    result_of,
    rows_shown,
    schema_check_spec,
    speed,
    table_spec,
    timed,
)
from fabric_pipeline.workflows.drop_stages import (
    correlation_stage,
    incident_stage,
    spike_stage,
    straggler_stage,
)
from fabric_pipeline.workflows.timelines import spike_timeline, straggler_timeline

Results = Iterator[dg.MaterializeResult[Any]]


@dg.multi_asset(
    specs=[table_spec("spike_detections")], check_specs=[schema_check_spec("spike_detections")]
)
def spike_detections(context: dg.AssetExecutionContext, fabric: FabricResource) -> Results:
    """Link ends that counted more errors than they should, by absolute and statistical rules."""
    settings, drop_id = fabric.settings(), context.partition_key
    with timed() as clock:
        result = spike_stage(settings, drop_id)
    picture = timeline(
        [] if result.violations else spike_timeline(settings, drop_id), "Error spikes per link end"
    )
    page = portal_page(settings, "spike_detections", drop_id)
    yield result_of(result, {"picture": dg.MetadataValue.md(picture), **page, **speed(clock)})


@dg.multi_asset(specs=[table_spec("stragglers")], check_specs=[schema_check_spec("stragglers")])
def stragglers(context: dg.AssetExecutionContext, fabric: FabricResource) -> Results:
    """Intervals in which runs were slower than their baseline."""
    settings, drop_id = fabric.settings(), context.partition_key
    with timed() as clock:
        result = straggler_stage(settings, drop_id)
    picture = timeline(
        [] if result.violations else straggler_timeline(settings, drop_id), "Slow intervals per run"
    )
    page = portal_page(settings, "stragglers", drop_id)
    yield result_of(result, {"picture": dg.MetadataValue.md(picture), **page, **speed(clock)})


@dg.multi_asset(
    specs=[table_spec("straggler_correlations")],
    check_specs=[schema_check_spec("straggler_correlations")],
)
def straggler_correlations(context: dg.AssetExecutionContext, fabric: FabricResource) -> Results:
    """Coincidence of every link's error time with every run's slow time, against chance."""
    with timed() as clock:
        result = correlation_stage(fabric.settings(), context.partition_key)
    yield result_of(result, speed(clock))


@dg.multi_asset(
    specs=[table_spec("incident_records")], check_specs=[schema_check_spec("incident_records")]
)
def incident_records(context: dg.AssetExecutionContext, fabric: FabricResource) -> Results:
    """One record per physical fault, with place, severity, evidence and alternatives."""
    settings, drop_id = fabric.settings(), context.partition_key
    with timed() as clock:
        result, records = incident_stage(settings, drop_id, fabric.now())
    heaviest = (
        {
            "component": r.isolated_component,
            "fault": r.fault_type,
            "severity": r.severity,
            "degradation_pct": r.degradation_pct if r.degradation_pct is not None else "",
            "confidence": r.confidence,
        }
        for r in records[:50]
    )
    page = portal_page(settings, "incident_records", drop_id)
    yield result_of(result, {**rows_shown("incidents", heaviest), **page, **speed(clock)})
