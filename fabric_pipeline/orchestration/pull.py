"""The job that fetches missing hours from a Prometheus server, and its schedule, on when a server is configured.

What it writes are drops; `drop_sensor` sees them and starts their diagnosis like any other.
"""

import dagster as dg

from fabric_pipeline.errors import FabricError
from fabric_pipeline.orchestration.resources import FabricResource
from fabric_pipeline.settings import load_settings
from fabric_pipeline.workflows.pull_telemetry import pull_missing_hours


@dg.op(description="Fetch every full hour that is missing, at most a day back, each as a drop.")
def fetch_missing_hours(context: dg.OpExecutionContext, fabric: FabricResource) -> int:
    """Number of drops fetched; an interrupted fetch goes on in the next run."""
    try:
        done = pull_missing_hours(fabric.settings(), fabric.now(), context.log.info)
    except FabricError as problem:
        raise dg.Failure(str(problem)) from problem
    context.add_output_metadata(
        {
            "drops": [one.path.name for one in done],
            "samples": sum(one.samples for one in done),
            "warnings": [text for one in done for text in one.warnings[:5]],
        }
    )
    return len(done)


@dg.job(
    description="Telemetry of the configured Prometheus server (FABRIC_PROMETHEUS_URL) as drops."
)
def pull_prometheus() -> None:
    """Fetch what is missing."""
    fetch_missing_hours()


def hourly_pull() -> dg.ScheduleDefinition:
    """The schedule, on where a server is configured when the location is loaded; off, it can be switched on."""
    return dg.ScheduleDefinition(
        name="hourly_pull",
        job=pull_prometheus,
        cron_schedule="4 * * * *",
        description="Every hour, some minutes after it is full: fetch it from the monitoring server.",
        default_status=dg.DefaultScheduleStatus.RUNNING
        if load_settings().prometheus_url
        else dg.DefaultScheduleStatus.STOPPED,
    )
