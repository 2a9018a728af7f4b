"""Schedules: an hourly sweep for drops that no sensor run finished, a daily clean-up of run history."""

from collections.abc import Iterator

import dagster as dg

from fabric_pipeline.orchestration.jobs import diagnose_drop, retention
from fabric_pipeline.orchestration.resources import FabricResource
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.inbox import unread

_RUNNING = dg.DefaultScheduleStatus.RUNNING


@dg.schedule(
    job=diagnose_drop,
    cron_schedule="7 * * * *",
    default_status=_RUNNING,
    description="Every hour: drops (shipped, delivered or pulled) whose content has not gone through the pipeline yet.",
)
def hourly_drops(
    context: dg.ScheduleEvaluationContext, fabric: FabricResource
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """A net under the sensor: a run that was cut short or a sensor that was off loses nothing."""
    settings, now = fabric.settings(), fabric.now()
    waiting = {
        found.drop_id: found
        for _, found, _ in unread(Ledger(settings.ledger), settings, now)
        if found is not None and found.state != "duplicate_of" and not found.processed
    }
    if not waiting:
        yield dg.SkipReason("every drop has been read")
        return
    context.instance.add_dynamic_partitions("drops", sorted(waiting))
    for drop_id, found in sorted(waiting.items()):
        yield dg.RunRequest(
            run_key=f"{drop_id}:{found.content_sha256[:16]}:{now:%Y%m%d%H}", partition_key=drop_id
        )


daily_retention = dg.ScheduleDefinition(
    name="daily_retention", job=retention, cron_schedule="41 3 * * *", default_status=_RUNNING
)
