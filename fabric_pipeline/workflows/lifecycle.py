"""The life of incidents as front doors ask for it: all states, one state, and the lines that people read.

Read from the ledger each time; nothing is stored, because the state follows from what is recorded.
"""

from __future__ import annotations

from collections.abc import Collection

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.incidents.lifecycle import LifeState, RepairOutcome
from fabric_pipeline.store.incident_life import lives
from fabric_pipeline.store.ledger import Ledger, RepairRow

OUTCOME_WORDS = {
    "waiting": "not yet known",
    "verified": "verified",
    "came_back": "the fault came back",
    "unknown": "not known: the next repair followed before anything was measured",
}


def states(ledger: Ledger, incident_ids: Collection[str] | None = None) -> dict[str, LifeState]:
    """Incident id -> where it stands, for every incident that was ever accused, or those named."""
    return {name: life.state for name, life in lives(ledger, incident_ids).items()}


def life_of(ledger: Ledger, incident_id: str) -> LifeState:
    """Where one incident stands; `NotFoundError` when it was never accused."""
    found = lives(ledger, [incident_id]).get(incident_id)
    if found is None:
        raise NotFoundError(
            f"incident {incident_id!r} was never accused", "list them: fabric-pipeline incidents"
        )
    return found.state


def life_lines(ledger: Ledger, incident_id: str) -> list[str]:
    """State with its reason, then one line for each repair; [] for what was never accused.

    Not made safe for a terminal: names come from telemetry and people.
    """
    found = lives(ledger, [incident_id]).get(incident_id)
    if found is None:
        return []
    state = found.state
    since = f" since {state.since:%Y-%m-%d %H:%M} UTC" if state.since else ""
    lines = [f"{state.state}{since}: {state.reason}"]
    rows = {row.seq: row for row in ledger.repairs(incident_id)}
    return lines + [_repair_line(rows[one.repair.seq], one) for one in state.repairs]


def _repair_line(row: RepairRow, outcome: RepairOutcome) -> str:
    report = row.report
    step = f"step {report.step} " if report.step is not None else ""
    part = f" ({report.part})" if report.part else ""
    serials = ", ".join(
        f"{word} {serial}"
        for word, serial in (("out", report.old_serial), ("in", report.new_serial))
        if serial
    )
    return (
        f"{report.repaired_at:%Y-%m-%d %H:%M} UTC {step}{report.action}{part} by {report.repaired_by}"
        f"{': ' + serials if serials else ''}; {OUTCOME_WORDS[outcome.outcome]}"
    )
