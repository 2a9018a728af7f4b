"""Checks that prove what the tables claim: nothing read is lost, nothing is published unrecorded."""

import warnings

import dagster as dg

from fabric_pipeline.orchestration.partitions import drops
from fabric_pipeline.orchestration.resources import FabricResource
from fabric_pipeline.orchestration.table_metadata import data_version
from fabric_pipeline.workflows.accounting import (
    publication_problems,
    reading_account,
    table_sha256,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore", dg.PreviewWarning)  # partitions on checks, see checks.review

    @dg.asset_check(
        asset="link_counters",
        name="nothing_lost",
        blocking=True,
        partitions_def=drops,
        description="accepted + quarantined = read, counted from the three tables themselves",
    )
    def nothing_lost(
        context: dg.AssetCheckExecutionContext, fabric: FabricResource
    ) -> dg.AssetCheckResult:
        """Counts the rows of raw_telemetry, link_counters and quarantined_telemetry."""
        account = reading_account(fabric.settings(), context.partition_key)
        said = (
            f"{account.accepted} accepted + {account.quarantined} quarantined, {account.read} read"
        )
        if account.uncounted:
            said += f"; {account.uncounted} in shards that could not be counted"
        # Failed shards are known and told: the rest is judged. Anything else that is missing stops the run.
        severity = dg.AssetCheckSeverity.WARN if account.balances else dg.AssetCheckSeverity.ERROR
        return dg.AssetCheckResult(
            passed=account.balances and not account.uncounted,
            severity=severity,
            description=said,
            metadata={
                "read": account.read,
                "accepted": account.accepted,
                "quarantined": account.quarantined,
                "uncounted": account.uncounted,
            },
        )

    @dg.asset_check(
        asset="published_tickets",
        name="ledger_agrees",
        partitions_def=drops,
        description="The published table equals the ledger, and every outbox file exists; a materialisation reported by hand does not.",
    )
    def ledger_agrees(
        context: dg.AssetCheckExecutionContext, fabric: FabricResource
    ) -> dg.AssetCheckResult:
        """Compares the table with the ledger, the outbox and what Dagster shows."""
        settings, drop_id = fabric.settings(), context.partition_key
        problems = publication_problems(settings, drop_id)
        problems += _claims_without_table(
            context.instance, drop_id, table_sha256(settings, "published_tickets", drop_id)
        )
        return dg.AssetCheckResult(
            passed=not problems,
            severity=dg.AssetCheckSeverity.ERROR,
            metadata={"problems": problems},
        )


def _claims_without_table(instance: dg.DagsterInstance, drop_id: str, sha256: str) -> list[str]:
    """A newest materialisation that is not of this table: anybody can report one in the Dagster UI."""
    newest = instance.fetch_materializations(
        dg.AssetRecordsFilter(dg.AssetKey("published_tickets"), asset_partitions=[drop_id]), limit=1
    ).records
    if not newest or newest[0].asset_materialization is None:
        return []
    tags = newest[0].asset_materialization.tags or {}
    if tags.get("dagster/data_version") == data_version(sha256).value:
        return []
    return ["Dagster shows a materialisation that no publishing step made"]
