"""The jobs: diagnose a drop, publish what was approved, and throw away what is old by policy."""

from datetime import UTC, datetime, timedelta

import dagster as dg

from fabric_pipeline.orchestration.resources import FabricResource
from fabric_pipeline.workflows.retention import KEEP_READINGS_DAYS, retain

KEEP_RUNS_DAYS = 30
_DELETE_AT_ONCE = 500

REVIEW_CHECK = dg.AssetCheckKey(dg.AssetKey("ticket_drafts"), "human_review")

diagnose_drop = dg.define_asset_job(
    "diagnose_drop",
    selection=dg.AssetSelection.all()
    - dg.AssetSelection.assets("published_tickets", "telemetry_drop"),
    description="Read a drop, find and isolate faults, draft tickets, build dossiers. Publishes nothing.",
)

publish = dg.define_asset_job(
    "publish",
    selection=dg.AssetSelection.checks(REVIEW_CHECK)
    | dg.AssetSelection.assets("published_tickets", "audit_database")
    | dg.AssetSelection.checks_for_assets("published_tickets"),
    description="Publish the approved tickets of a drop to the outbox; stops when nothing is approved.",
)


@dg.op(description=f"Delete finished runs older than {KEEP_RUNS_DAYS} days from the instance.")
def delete_old_runs(context: dg.OpExecutionContext) -> None:
    """Dagster's own retention covers sensor and schedule ticks only; each run leaves about 0.3 MiB."""
    old = context.instance.get_run_records(
        filters=dg.RunsFilter(
            statuses=[
                dg.DagsterRunStatus.SUCCESS,
                dg.DagsterRunStatus.FAILURE,
                dg.DagsterRunStatus.CANCELED,
            ],
            updated_before=datetime.now(UTC) - timedelta(days=KEEP_RUNS_DAYS),
        ),
        limit=_DELETE_AT_ONCE,
    )
    for record in old:
        context.instance.delete_run(record.dagster_run.run_id)
    context.log.info(f"{len(old)} runs older than {KEEP_RUNS_DAYS} days deleted")


@dg.op(
    description=f"Throw away readings of drops older than {KEEP_READINGS_DAYS} days that nothing open needs; "
    "the ledger says so first. Then verify the whole ledger and bring the audit file up to it."
)
def expire_old_readings(context: dg.OpExecutionContext, fabric: FabricResource) -> None:
    """What was found, decided, published and proven stays for ever."""
    done = retain(fabric.settings(), fabric.now())
    for one in done.kept:
        context.log.info(f"{one.drop} is kept: {one.kept_for}")
    drops = len({one.drop for one in done.expired})
    context.log.info(f"readings of {drops} drops expired, {done.bytes / 1e6:,.1f} MB")
    context.add_output_metadata(
        {
            "drops_expired": drops,
            "tables_expired": len(done.expired),
            "bytes_freed": done.bytes,
            "drops_kept": len(done.kept),
            "archives_packed_again": len(done.unpacked),
            "half_written_files_removed": done.leftovers,
            "shard_files_removed": done.shards.files,
            "audit_seconds": round(done.audit.seconds, 3) if done.audit else 0.0,
        }
    )


@dg.job(
    description="Housekeeping: old run history, and readings of old drops; what was found is kept."
)
def retention() -> None:
    """Delete old runs, expire old readings."""
    delete_old_runs()
    expire_old_readings()
