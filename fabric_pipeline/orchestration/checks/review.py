"""The human gate as an asset check: yellow while a draft waits, red when someone tries to publish it.

The rule is `incidents.review.verdict`; the publishing asset and the ledger's trigger ask it again.
"""

import warnings

import dagster as dg

from fabric_pipeline.orchestration.partitions import drops
from fabric_pipeline.orchestration.portal_links import portal_page
from fabric_pipeline.orchestration.resources import FabricResource
from fabric_pipeline.orchestration.selection import selected_assets
from fabric_pipeline.workflows.dispatch_stages import gate_state

PUBLISH_ASSET = "published_tickets"

with warnings.catch_warnings():
    # Partitions on checks are a preview feature of Dagster (dagster-io/dagster#17005).
    warnings.simplefilter("ignore", dg.PreviewWarning)

    @dg.asset_check(
        asset="ticket_drafts",
        name="human_review",
        blocking=True,
        partitions_def=drops,
        description="Every current draft of the drop has been approved or rejected by a named person.",
    )
    def human_review(
        context: dg.AssetCheckExecutionContext, fabric: FabricResource
    ) -> dg.AssetCheckResult:
        """WARN while drafts wait; ERROR, which stops the run, when it would publish with nothing approved."""
        settings, drop_id = fabric.settings(), context.partition_key
        state = gate_state(settings, drop_id)
        block = is_publishing(context) and state.must_block_publishing
        return dg.AssetCheckResult(
            passed=state.is_reviewed,
            severity=dg.AssetCheckSeverity.ERROR if block else dg.AssetCheckSeverity.WARN,
            description=f"{len(state.awaiting)} waiting, {len(state.approved)} approved, {len(state.rejected)} rejected",
            metadata={
                "awaiting": state.awaiting,
                "approved": state.approved,
                "rejected": state.rejected,
                **portal_page(settings, "ticket_drafts", drop_id),
            },
        )


def is_publishing(context: dg.AssetCheckExecutionContext) -> bool:
    """True when this run also publishes; when Dagster does not tell, the answer is yes (fail closed)."""
    selected = selected_assets(context.job_def)
    return True if selected is None else PUBLISH_ASSET in selected
