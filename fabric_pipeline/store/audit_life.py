"""The life of incidents and the outcomes of repairs as tables of the audit file.

Their rows follow from the ledger by `incidents.lifecycle` at the time the file is built, so an auditor
reads the same states as the command line; success rates and repeat offenders are views over them.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from fabric_pipeline.incidents.lifecycle import RepairOutcome
from fabric_pipeline.schemas.table import Table, number, text, time, whole
from fabric_pipeline.store.incident_life import IncidentLife, lives
from fabric_pipeline.store.ledger import Ledger, RepairRow

INCIDENT_LIFE = Table(
    "incident_life",
    "audit",
    "one incident that was ever accused",
    "Where each incident stands when this file was built, and why.",
    ("incident_id",),
    (
        text("incident_id", "Id of the incident"),
        text("component", "Component that was last blamed"),
        text("state", "new, ongoing, worse, quiet, repaired, verified, reopened or withdrawn"),
        text("reason", "Why, in words with figures"),
        time("since", "Since when it is so (UTC); empty when no time is known"),
        time("first_seen", "First error (UTC)"),
        time("last_seen", "Last error (UTC)"),
        whole("drops", "Drops whose standing diagnosis accuses it"),
        number("clean_min", "Minutes measured clean since the last error or repair"),
        whole("unmeasured_drops", "Drops since then that could not tell; they count for nothing"),
        whole("repairs", "Reported repairs"),
        whole("next_step", "Step of the repair order after those that did not help"),
    ),
)
REPAIR_OUTCOMES = Table(
    "repair_outcomes",
    "audit",
    "one reported repair",
    "What was done, and what the drops after it showed.",
    ("seq",),
    (
        whole("seq", "Number of the repair in the ledger"),
        text("incident_id", "Incident that was repaired"),
        text("ticket_id", "Its ticket"),
        text("component", "Component that was blamed"),
        text("part", "Part that was worked on"),
        text("action", "Action of the ticket's repair order, or other"),
        whole("step", "Step of the repair order; empty for other"),
        text("old_serial", "Serial taken out, empty when not stated"),
        text("new_serial", "Serial put in, empty when not stated"),
        text("repaired_by", "Who did it"),
        time("repaired_at", "When it was finished (UTC)"),
        time("first_seen", "First error of the incident (UTC)"),
        text("outcome", "waiting, verified, came_back, or unknown (another repair followed first)"),
        number("clean_min", "Minutes measured clean after it"),
        time("verified_at", "When enough had been measured clean (UTC)"),
        time("returned_at", "First error after it (UTC)"),
        text("returned_in", "Drop that shows that error"),
        number("time_to_repair_h", "Hours from the incident's first error to the repair"),
        number("time_to_verify_h", "Hours from the repair to its verification"),
    ),
)


def life_tables(
    ledger: Ledger, incident_ids: Collection[str] | None = None
) -> list[tuple[Table, list[tuple[Any, ...]]]]:
    """Both tables with their rows, of all incidents or of those that are named."""
    found = lives(ledger, incident_ids)
    rows = {row.seq: row for row in ledger.repairs()}
    states = [_state_row(name, life) for name, life in found.items()]
    outcomes = [
        _outcome_row(rows[one.repair.seq], one, life.state.first_seen)
        for life in found.values()
        for one in life.state.repairs
    ]
    return [(INCIDENT_LIFE, states), (REPAIR_OUTCOMES, sorted(outcomes))]


def _state_row(name: str, life: IncidentLife) -> tuple[Any, ...]:
    state = life.state
    return (
        name, life.component, state.state, state.reason, state.since, state.first_seen, state.last_seen, len(state.drops),
        state.clean_s / 60, len(state.unmeasured), len(state.repairs), state.next_step,
    )  # fmt: skip


def _outcome_row(
    row: RepairRow, outcome: RepairOutcome, first_seen: datetime | None
) -> tuple[Any, ...]:
    report = row.report
    return (
        row.seq, report.incident_id, report.ticket_id, report.component, report.part, report.action, report.step,
        report.old_serial, report.new_serial, report.repaired_by, report.repaired_at, first_seen, outcome.outcome,
        outcome.clean_s / 60, outcome.verified_at, outcome.returned_at, outcome.returned_in,
        _hours(first_seen, report.repaired_at), _hours(report.repaired_at, outcome.verified_at),
    )  # fmt: skip


def _hours(start: datetime | None, end: datetime | None) -> float | None:
    return (end - start).total_seconds() / 3600 if start and end else None
