"""Running jobs in process and reading their outcome."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import dagster as dg

from fabric_pipeline.orchestration.build import build_definitions
from fabric_pipeline.orchestration.resources import FabricResource
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.accounting import table_sha256
from fabric_pipeline.workflows.drop_stages import drop_tables
from fabric_pipeline_tests.pipeline_runs import ROOT

EVERYTHING = "__ASSET_JOB"  # Dagster's own job behind `--select '*'`
DROP = "small"
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


class Elsewhere(FabricResource):
    """Inbox and home under one folder of a test, and a clock that stands at `at` (Unix seconds)."""

    place: str
    at: float

    def settings(self) -> Settings:
        return Settings(root=Path(self.place), home=Path(self.place) / "warehouse")

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.at, UTC)


@cache
def definitions() -> dg.Definitions:
    """The real definitions; their home is what FABRIC_HOME says when a job runs."""
    return build_definitions()


def run(
    job: str, instance: dg.DagsterInstance, drop: str = DROP, **options: Any
) -> dg.ExecuteInProcessResult:
    """Run a job for one drop; a failure is in the outcome, not raised."""
    return (
        definitions()
        .resolve_job_def(job)
        .execute_in_process(
            instance=instance,
            partition_key=drop,
            raise_on_error=False,
            run_config=QUIET,
            **options,
        )
    )


def verdicts(outcome: dg.ExecuteInProcessResult) -> dict[str, tuple[bool, str]]:
    """Check -> (passed, severity) of every check that was evaluated."""
    return {
        f"{one.asset_key.to_user_string()}:{one.check_name}": (one.passed, one.severity.value)
        for one in outcome.get_asset_check_evaluations()
    }


def failures(outcome: dg.ExecuteInProcessResult) -> dict[str, str]:
    """Failed step -> the message of its innermost error."""
    found = {}
    for event in outcome.all_events:
        if event.is_step_failure:
            error = event.step_failure_data.error
            while error is not None and error.cause is not None:
                error = error.cause
            reason = event.step_failure_data.user_failure_data
            said = reason.description if reason is not None else None
            found[str(event.step_key)] = said or (error.message if error is not None else "")
    return found


def materialised(outcome: dg.ExecuteInProcessResult) -> set[str]:
    """Names of the assets that the run made."""
    events = outcome.get_asset_materialization_events()
    return {event.asset_key.to_user_string() for event in events if event.asset_key}


def settings_of(home: Path) -> Settings:
    """The settings that the real resource uses when FABRIC_HOME is this folder."""
    return Settings(root=ROOT, home=home)


def tickets_of(settings: Settings) -> list[str]:
    """Ids of the drafts that were made; a gate that stops everything would leave none."""
    drafts = Ledger(settings.ledger).drafts_of_drop(DROP)
    assert all(draft.intact for draft in drafts)
    return [draft.ticket_id for draft in drafts]


def outbox_of(settings: Settings) -> list[str]:
    """Ticket folders in the outbox."""
    if not settings.outbox.is_dir():
        return []
    return sorted(path.name for path in settings.outbox.iterdir() if path.name[0] != ".")


def assert_nothing_went_out(settings: Settings, drafts: int = 2) -> None:
    """Drafts were made, and none of them is in ledger, table or outbox."""
    assert len(tickets_of(settings)) == drafts
    assert Ledger(settings.ledger).publications() == []
    assert outbox_of(settings) == []
    assert rows_of_published(settings) == 0


def rows_of_published(settings: Settings) -> int:
    if not table_sha256(settings, "published_tickets", DROP):
        return 0
    with drop_tables(settings, DROP, ["published_tickets"]) as connection:
        return int(connection.execute("select count(*) from published_tickets").fetchall()[0][0])
