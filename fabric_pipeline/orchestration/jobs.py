"""The jobs: diagnose a drop, publish what was approved, and throw away old run history."""

from datetime import UTC, datetime, timedelta

import dagster as dg

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


@dg.job(description="Housekeeping of the run history; tables and ledger are not touched.")
def retention() -> None:
    """Delete old runs."""
    delete_old_runs()
