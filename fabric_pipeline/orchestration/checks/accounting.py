"""Checks that prove what the tables claim: nothing read is lost, nothing is published unrecorded."""

import warnings

import dagster as dg

from fabric_pipeline.orchestration.partitions import drops
from fabric_pipeline.orchestration.resources import FabricResource
from fabric_pipeline.workflows.accounting import publication_problems, reading_account

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
        return dg.AssetCheckResult(
            passed=account.balances,
            severity=dg.AssetCheckSeverity.ERROR,
            description=f"{account.accepted} accepted + {account.quarantined} quarantined, {account.read} read",
            metadata={
                "read": account.read,
                "accepted": account.accepted,
                "quarantined": account.quarantined,
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
        """Compares the table with the ledger and the outbox."""
        problems = publication_problems(fabric.settings(), context.partition_key)
        return dg.AssetCheckResult(
            passed=not problems,
            severity=dg.AssetCheckSeverity.ERROR,
            metadata={"problems": problems},
        )
