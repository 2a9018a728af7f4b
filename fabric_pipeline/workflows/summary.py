"""What a run came to, in figures a person can act on: drops, readings, incidents, tickets, files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.incident_life import lives
from fabric_pipeline.store.ledger import Ledger, TicketRow
from fabric_pipeline.workflows.accounting import ReadingAccount, reading_account
from fabric_pipeline.workflows.draft_costs import DraftCosts, draft_costs
from fabric_pipeline.workflows.drop_stages import load_incidents
from fabric_pipeline.workflows.ingest_report import load_report
from fabric_pipeline.workflows.shards import failed_shards


@dataclass(slots=True)
class DropSummary:
    """One drop: its readings, its file problems, its records."""

    drop: str
    account: ReadingAccount
    files: int
    problems: list[str]
    records: list[IncidentRecord] = field(default_factory=list)

    @property
    def accusing(self) -> list[IncidentRecord]:
        """Records that open a ticket."""
        return [record for record in self.records if record.needs_ticket]

    @property
    def other_causes(self) -> list[IncidentRecord]:
        """Real trouble that is no link's."""
        return [
            r
            for r in self.records
            if r.role == "cause" and not r.needs_ticket and r.severity in ("WARNING", "CRITICAL")
        ]


@dataclass(frozen=True, slots=True)
class LifeNote:
    """What the drops of a run say of a fault that was known before."""

    incident_id: str
    component: str
    state: str
    reason: str


# States that are news after a run; `new` and `ongoing` stand among the incidents already.
_NEWS = ("reopened", "worse", "verified", "quiet")


@dataclass(slots=True)
class Summary:
    """All of it, for the terminal and as JSON."""

    drops: list[DropSummary]
    waiting: list[TicketRow]
    audit: str
    costs: DraftCosts = field(default_factory=DraftCosts)
    lives: list[LifeNote] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Plain values only."""
        return {
            "drops": [
                {
                    "drop": one.drop,
                    "read": one.account.read,
                    "accepted": one.account.accepted,
                    "quarantined": one.account.quarantined,
                    "uncounted": one.account.uncounted,
                    "files": one.files,
                    "problems": one.problems,
                    "incidents": [_short(record) for record in one.records],
                }
                for one in self.drops
            ],
            "tickets_waiting": [
                asdict(row) | {"drafted_at": str(row.drafted_at)} for row in self.waiting
            ],
            "drafting": asdict(self.costs),
            "lives": [asdict(note) for note in self.lives],
            "audit_database": self.audit,
        }


def summarise(settings: Settings, drop_ids: Sequence[str]) -> Summary:
    """Gather the figures of these drops; a drop without tables is left out."""
    found = []
    for drop_id in dict.fromkeys(drop_ids):
        try:
            found.append(_drop(settings, drop_id))
        except NotFoundError:
            continue  # its run failed before the tables were there; the run said why
    ledger = Ledger(settings.ledger)
    waiting = ledger.awaiting()
    costs = draft_costs(ledger, [one.drop for one in found])
    notes = _lives(ledger, {one.drop for one in found})
    return Summary(found, waiting, str(settings.audit), costs, notes)


def _lives(ledger: Ledger, drops: set[str]) -> list[LifeNote]:
    """Known faults that these drops saw again or measured, the ones to act on first."""
    told = {check.incident_id for drop in drops for check in ledger.link_checks(drop=drop)}
    told |= {seen.incident_id for drop in drops for seen in ledger.incidents(drop)}
    notes = [
        LifeNote(incident_id, life.component, life.state.state, life.state.reason)
        for incident_id, life in lives(ledger, told).items()
        if life.state.state in _NEWS
    ]
    return sorted(notes, key=lambda note: (_NEWS.index(note.state), note.component))


def _drop(settings: Settings, drop_id: str) -> DropSummary:
    report = load_report(settings, drop_id)
    failed = [f"{one}; run the drop again" for one in failed_shards(settings, drop_id)]
    problems = failed + report.problems
    problems += [f"{file.name}: {file.problem}" for file in report.files if file.problem]
    refused = [
        f"{file.name}: {file.rejected} lines refused"
        for file in report.files
        if file.rejected and not file.problem
    ]
    return DropSummary(
        drop_id,
        reading_account(settings, drop_id),
        len(report.files),
        problems + refused + report.conflicts,
        load_incidents(settings, drop_id),
    )


def _short(record: IncidentRecord) -> dict[str, Any]:
    keys = {
        "incident_id",
        "isolated_component",
        "far_end",
        "fault_type",
        "severity",
        "degradation_pct",
        "confidence",
        "summary",
    }
    return record.model_dump(mode="json", include=keys)
