"""The asset of the group audit: the DuckDB file that auditors open, rebuilt and swapped."""

from datetime import datetime

import dagster as dg

from fabric_pipeline.orchestration.partitions import drops
from fabric_pipeline.orchestration.resources import FabricResource
from fabric_pipeline.orchestration.selection import selected_assets
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.audit import AuditBuilt, rebuild_audit
from fabric_pipeline.workflows.run_drops import end_diagnosis

DIAGNOSIS = {"raw_telemetry", "incident_records"}


@dg.asset(
    name="audit_database",
    group_name="audit",
    deps=list(TABLES),
    partitions_def=drops,
    kinds={"duckdb"},
    owners=["team:fabric-diagnosis"],
    description="`audit.duckdb`: all tables, comments and ready-made views; readers keep their snapshot while it is swapped.",
)
def audit_database(
    context: dg.AssetExecutionContext, fabric: FabricResource
) -> dg.MaterializeResult[None]:
    """Rebuild the audit file; at the end of a diagnosis the content it read counts as processed."""
    settings, drop_id = fabric.settings(), context.partition_key
    rebuild = end_diagnosis if is_diagnosing(context) else _only_rebuild
    built = rebuild(settings, drop_id, fabric.now())
    return dg.MaterializeResult(
        metadata={
            "path": dg.MetadataValue.path(str(built.path)),
            "tables": len(built.tables),
            "seconds": round(built.seconds, 3),
            "left_out": dict(built.left_out),
        }
    )


def _only_rebuild(settings: Settings, _: str, at: datetime) -> AuditBuilt:
    return rebuild_audit(settings, at=at)


def is_diagnosing(context: dg.AssetExecutionContext) -> bool:
    """True when this run also reads and judges the drop; a publish run must not vouch for that.

    When Dagster does not tell, the answer is no: the drop is then read once more.
    """
    selected = selected_assets(context.job_def)
    return selected is not None and selected >= DIAGNOSIS
