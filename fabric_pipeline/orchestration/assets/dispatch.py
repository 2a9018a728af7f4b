"""Assets of the group dispatch: drafts, dossiers, and publishing behind the human gate."""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from fabric_pipeline.model.progress import Moment
from fabric_pipeline.orchestration.portal_links import portal_page
from fabric_pipeline.orchestration.resources import FabricResource
from fabric_pipeline.orchestration.table_metadata import (
    result_of,
    schema_check_spec,
    speed,
    table_spec,
    timed,
)
from fabric_pipeline.orchestration.told import teller
from fabric_pipeline.workflows.dispatch_stages import dossier_stage, gate_state, publish_stage
from fabric_pipeline.workflows.draft_drop import draft_stage

Results = Iterator[dg.MaterializeResult[Any]]


@dg.multi_asset(
    specs=[table_spec("ticket_drafts")], check_specs=[schema_check_spec("ticket_drafts")]
)
def ticket_drafts(context: dg.AssetExecutionContext, fabric: FabricResource) -> Results:
    """One draft for each incident that needs a ticket: by Claude with a key, by the rules without."""
    settings, drop_id = fabric.settings(), context.partition_key
    tell = teller(context)
    with timed() as clock:
        result = draft_stage(
            settings, drop_id, fabric.now(), lambda words: tell(Moment(words, "draft"))
        )
    yield result_of(result, {**portal_page(settings, "ticket_drafts", drop_id), **speed(clock)})


@dg.multi_asset(
    specs=[table_spec("evidence_dossiers")], check_specs=[schema_check_spec("evidence_dossiers")]
)
def evidence_dossiers(context: dg.AssetExecutionContext, fabric: FabricResource) -> Results:
    """A BagIt folder for each incident that opens a ticket, verifiable without our code."""
    settings, drop_id = fabric.settings(), context.partition_key
    with timed() as clock:
        result = dossier_stage(settings, drop_id, fabric.now(), context.run.run_id)
    yield result_of(result, {**portal_page(settings, "evidence_dossiers", drop_id), **speed(clock)})


@dg.multi_asset(
    specs=[table_spec("published_tickets")], check_specs=[schema_check_spec("published_tickets")]
)
def published_tickets(context: dg.AssetExecutionContext, fabric: FabricResource) -> Results:
    """Writes approved drafts to the outbox. Asks the gate by itself, whatever checks ran before."""
    settings, drop_id = fabric.settings(), context.partition_key
    state = gate_state(settings, drop_id)
    if state.must_block_publishing:
        raise dg.Failure(
            f"not published: {', '.join(state.awaiting)} wait for a person; review with: fabric-pipeline review TICKET",
            allow_retries=False,
        )
    with timed() as clock:
        result, outcome = publish_stage(settings, drop_id, fabric.now())
    for ticket, why in outcome.refused:
        context.log.warning(f"{ticket} not published: {why}")
    yield result_of(result, {**portal_page(settings, "published_tickets", drop_id), **speed(clock)})
    held = [f"{ticket} ({why})" for ticket, why in outcome.refused if ticket in state.approved]
    if held:
        raise dg.Failure(f"approved but not published: {'; '.join(held)}", allow_retries=False)
