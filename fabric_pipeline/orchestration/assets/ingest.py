"""Assets of the group ingest: one step reads the drop once into five tables, then link_counters."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg

from fabric_pipeline.orchestration.partitions import drops
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
from fabric_pipeline.orchestration.told import teller
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.drop_stages import INGEST_TABLES, ingest_stage, link_counters_stage
from fabric_pipeline.workflows.run_drops import begin_diagnosis

telemetry_drop = dg.AssetSpec(
    "telemetry_drop",
    group_name="ingest",
    description="The folder or file a site delivers: counters, logs, topology and timings in whatever format it has.",
    kinds={"file"},
    owners=["team:fabric-diagnosis"],
    partitions_def=drops,
)


@dg.multi_asset(
    name="read_drop",
    specs=[table_spec(name, deps=["telemetry_drop"]) for name in INGEST_TABLES],
    check_specs=[schema_check_spec(name) for name in INGEST_TABLES],
    can_subset=False,
)
def read_drop(
    context: dg.AssetExecutionContext, fabric: FabricResource
) -> Iterator[dg.MaterializeResult[Any]]:
    """Read every file of the drop once, by the reader that recognises its content."""
    settings, drop_id = fabric.settings(), context.partition_key
    path = Path(Ledger(settings.ledger).drop(drop_id).path)
    begin_diagnosis(settings, drop_id, fabric.now())
    with timed() as clock:
        results, report = ingest_stage(settings, drop_id, path, fabric.now(), teller(context))
    for file in report.files:
        if file.problem:
            context.log.warning(f"{file.name}: {file.problem}")
    files = (
        {
            "file": f.name,
            "format": f.format,
            "readings": f.readings,
            "refused": f.rejected,
            "problem": f.problem,
        }
        for f in report.files
    )
    readings = sum(file.readings for file in report.files)
    size = sum(file.size for file in report.files if not file.is_archive)
    said = {
        **rows_shown("files", files),
        "drop_sha256": report.content_sha256,
        **speed(clock, readings=readings, size=size, files=len(report.files)),
    }
    for result in results:
        yield result_of(result, said if result.table == "raw_telemetry" else None)


@dg.multi_asset(
    specs=[table_spec("link_counters")], check_specs=[schema_check_spec("link_counters")]
)
def link_counters(
    context: dg.AssetExecutionContext, fabric: FabricResource
) -> Iterator[dg.MaterializeResult[Any]]:
    """Increments, exposure, quality and error class of every accepted reading."""
    settings, drop_id = fabric.settings(), context.partition_key
    with timed() as clock:
        result = link_counters_stage(settings, drop_id, teller(context))
    page = portal_page(settings, "link_counters", drop_id)
    yield result_of(result, {**page, **speed(clock, readings=int(result.figures["read"]))})
