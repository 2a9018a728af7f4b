"""The list of incidents: one row for each fault, narrowed by what a reader asks for, the worst first.

An incident that several drops show is one row, with the record of the drop that was read last.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric_pipeline.incidents.life_history import SEVERITY_ORDER
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.store.ledger import Ledger, TicketRow
from fabric_pipeline.workflows.lifecycle import states

STATES = {"CRITICAL": "critical", "WARNING": "warning", "WATCH": "watch", "INFO": "info"}
LIVES = ("new", "ongoing", "worse", "quiet", "repaired", "verified", "reopened", "withdrawn")
NO_LIFE = "not accused"
# What the confidence of a record rests on (`incidents.confidence`), by grade of its evidence.
GRADES = {
    "A": "errors and slow collectives were tested against chance",
    "B": "errors counted over a known time; no collective timing tested",
    "C": "totals since an unknown moment",
}
ROWS_ON_PAGE = 100


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a reader asks for; "" asks for everything."""

    severity: str = ""
    fault: str = ""
    drop: str = ""
    life: str = ""
    text: str = ""

    @property
    def is_narrowed(self) -> bool:
        """True when anything is asked for."""
        return any((self.severity, self.fault, self.drop, self.life, self.text))


@dataclass(frozen=True, slots=True)
class Row:
    """One incident in the list. `life` is "" for what was never accused; `ticket` None without one."""

    record: IncidentRecord
    drops: tuple[str, ...]
    life: str
    life_reason: str
    ticket: TicketRow | None

    @property
    def state(self) -> str:
        """The name of the state for shape and colour."""
        if self.record.fault_type == "no_data":
            return "no_data"
        return STATES[self.record.severity]


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows that fit, and what the filters can offer: faults and drops that there are."""

    rows: list[Row]
    faults: list[str]
    drops: list[str]


def listing(ledger: Ledger, wanted: Wanted) -> Listing:
    """Rows worst first: by severity, then accusations, then confidence, then time lost."""
    seen = [one for one in ledger.incidents() if one.found]
    drops: dict[str, list[str]] = {}
    records: dict[str, IncidentRecord] = {}
    for one in seen:
        if wanted.drop in ("", one.drop):
            drops.setdefault(one.incident_id, []).append(one.drop)
            records[one.incident_id] = one.record
    lives = states(ledger)
    tickets = {row.incident_id: row for row in ledger.tickets()}
    rows = [
        Row(
            record,
            tuple(drops[name]),
            lives[name].state if name in lives else "",
            lives[name].reason if name in lives else "",
            tickets.get(name),
        )
        for name, record in records.items()
    ]
    return Listing(
        rows=sorted((row for row in rows if _fits(row, wanted)), key=_weight),
        faults=sorted({one.record.fault_type for one in seen}),
        drops=sorted({one.drop for one in seen}),
    )


def _fits(row: Row, wanted: Wanted) -> bool:
    record = row.record
    if wanted.severity and record.severity != wanted.severity:
        return False
    if wanted.fault and record.fault_type != wanted.fault:
        return False
    if wanted.life and (row.life or NO_LIFE) != wanted.life:
        return False
    return not wanted.text or wanted.text.casefold() in _searched(row)


def _searched(row: Row) -> str:
    record = row.record
    ticket = row.ticket.ticket_id if row.ticket else ""
    parts = (
        record.incident_id, record.isolated_component, record.far_end, record.summary, record.cable_id,
        record.place.node_serial, record.place.gpu_serial, record.place.gpu_uuid, record.cable.serial, ticket,
    )  # fmt: skip
    return "\n".join(parts).casefold()


def _weight(row: Row) -> tuple[int, bool, float, float, str]:
    record = row.record
    rank = -SEVERITY_ORDER.index(record.severity)
    lost = record.gpu_hours_lost or 0.0
    return rank, not record.needs_ticket, -record.confidence, -lost, record.isolated_component
