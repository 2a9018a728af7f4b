"""The asset of the group audit: the DuckDB file that auditors open, rebuilt and swapped."""

import dagster as dg

from fabric_pipeline.orchestration.partitions import drops
from fabric_pipeline.orchestration.resources import FabricResource
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.store.audit import rebuild_audit
from fabric_pipeline.store.ledger import Ledger


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
    """Rebuild the audit file; the drop counts as processed once this is done."""
    settings, ledger = fabric.settings(), Ledger(fabric.settings().ledger)
    drop = ledger.drop(context.partition_key)
    ledger.mark_processed(drop.drop_id, drop.content_sha256, fabric.now())
    built = rebuild_audit(settings, at=fabric.now())
    return dg.MaterializeResult(
        metadata={
            "path": dg.MetadataValue.path(str(built.path)),
            "tables": len(built.tables),
            "seconds": round(built.seconds, 3),
            "left_out": dict(built.left_out),
        }
    )
