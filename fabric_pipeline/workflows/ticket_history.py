"""What happened to a link and its parts before a ticket: earlier repairs, and repeat offenders by serial.

Only what lies before the record's own last error is history to it, so a drop that is read again gives
the same ticket however much has happened since.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from fabric_pipeline.drafting.assemble import ticket_id
from fabric_pipeline.drafting.history import TicketHistory
from fabric_pipeline.incidents.lifecycle import RepairOutcome, next_step, outcomes_of
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.ticket import EarlierRepair, EarlierTicket
from fabric_pipeline.store.incident_life import lives, sighting_of
from fabric_pipeline.store.ledger import Ledger, RepairRow

MOST_TICKETS = 20
_ALWAYS = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Repeats:
    """How often this has happened before, and by what that was counted, in words."""

    count: int
    basis: str


def history_of(
    ledger: Ledger, record: IncidentRecord, entry_steps: int | None = None
) -> TicketHistory:
    """Earlier repairs of this incident and earlier tickets of its serials, for a drafter.

    `entry_steps` is the length of the catalogue's repair order: the last step stays the next one when all
    were tried.
    """
    outcomes = _earlier_outcomes(ledger, record)
    rows = {row.seq: row for row in ledger.repairs(record.incident_id)}
    step = next_step(outcomes)
    return TicketHistory(
        repairs=tuple(_earlier_repair(rows[one.repair.seq], one) for one in outcomes),
        tickets=tuple(_earlier_tickets(ledger, record, rows.values())),
        begin_at_step=step if entry_steps is None else max(1, min(step, entry_steps)),
    )


def repeats_of(ledger: Ledger, record: IncidentRecord) -> Repeats:
    """Returns of this fault after a repair, and earlier faults of the same part, or else of the place.

    A part is known by its serial. Another serial in the same slot is no repeat of the part; that the fault
    came back at the place after a repair is one all the same, and the words say which.
    """
    returns = sum(one.outcome == "came_back" for one in _earlier_outcomes(ledger, record))
    serials = serials_of(record)
    if serials:
        others = _accused_with(ledger, record, serials)
        what = f"other link(s) accused with the same part (serial {', '.join(serials)})"
    else:
        others = _accused_at(ledger, record)
        what = "other fault(s) at the same component; no serial is known"
    basis = f"{len(others)} {what}; {returns} return(s) of this fault after a repair at this place"
    return Repeats(len(others) + returns, basis)


def with_repeats(ledger: Ledger, records: Sequence[IncidentRecord]) -> list[IncidentRecord]:
    """The records with `repeat_count` filled in; it is no part of the evidence hash."""
    with ledger.held() as same:
        return [
            record.model_copy(update={"repeat_count": repeats_of(same, record).count})
            if record.needs_ticket
            else record
            for record in records
        ]


def serials_of(record: IncidentRecord) -> list[str]:
    """Serials of the parts that this record accuses: GPUs and adapters at both ends, and the cable.

    The serial of a node is none of them: many parts fail in one chassis.
    """
    found = (
        record.place.gpu_serial,
        record.far_place.gpu_serial,
        record.place.nic_serial,
        record.far_place.nic_serial,
        record.cable.serial,
    )
    return list(dict.fromkeys(serial for serial in found if serial))


def _earlier_outcomes(ledger: Ledger, record: IncidentRecord) -> list[RepairOutcome]:
    """Repairs made before the record's last error, with what followed them, the record included.

    The record may not be in the ledger yet: it is what shows that an earlier repair did not help.
    """
    life = lives(ledger, [record.incident_id]).get(record.incident_id)
    if life is None:
        return []
    sightings = (*life.history.sightings, sighting_of(record))
    until = record.last_seen or _ALWAYS
    outcomes = outcomes_of(replace(life.history, sightings=sightings))
    return [one for one in outcomes if one.repair.repaired_at < until]


def _earlier_repair(row: RepairRow, outcome: RepairOutcome) -> EarlierRepair:
    report = row.report
    return EarlierRepair(
        action=report.action,
        step=report.step,
        part=report.part,
        old_serial=report.old_serial,
        new_serial=report.new_serial,
        repaired_at=report.repaired_at,
        outcome="waiting" if outcome.outcome == "unknown" else outcome.outcome,
    )


def _earlier_tickets(
    ledger: Ledger, record: IncidentRecord, own_repairs: Iterable[RepairRow]
) -> list[EarlierTicket]:
    """Tickets of other links that accused, took out or put in one of the serials; newest first."""
    until = record.last_seen or _ALWAYS
    serials = serials_of(record)
    for row in own_repairs:
        if row.report.repaired_at < until:
            serials += [row.report.old_serial, row.report.new_serial]
    serials = [serial for serial in dict.fromkeys(serials) if serial]
    found = [
        EarlierTicket(
            ticket_id=ticket_id(other),
            serial=serial,
            link=other.isolated_component,
            at=at,
            how="accused",
        )
        for serial in serials
        for other in _accused_with(ledger, record, [serial])
        if (at := other.first_seen or other.last_seen) is not None
    ]
    found += [
        one
        for serial in serials
        for row in ledger.repairs(serial=serial)
        if row.report.incident_id != record.incident_id and row.report.repaired_at < until
        for one in _handled(row, serial)
    ]
    found.sort(key=lambda one: (-one.at.timestamp(), one.ticket_id, one.serial, one.how))
    return found[:MOST_TICKETS]


def _handled(row: RepairRow, serial: str) -> list[EarlierTicket]:
    """How this repair handled the part; one that was only reseated was neither taken out nor put in."""
    report = row.report
    if report.old_serial == report.new_serial:
        return []
    hows = []
    if report.old_serial == serial:
        hows.append("taken_out")
    if report.new_serial == serial:
        hows.append("put_in")
    return [
        EarlierTicket.model_validate(
            {
                "ticket_id": report.ticket_id,
                "serial": serial,
                "link": report.component,
                "at": report.repaired_at,
                "how": how,
            }
        )
        for how in hows
    ]


def _accused_with(
    ledger: Ledger, record: IncidentRecord, serials: Sequence[str]
) -> list[IncidentRecord]:
    """First record of every other incident that accuses one of these serials and began earlier."""
    records = [other for serial in serials for other in ledger.accused_with_serial(serial)]
    return _others(record, records)


def _accused_at(ledger: Ledger, record: IncidentRecord) -> list[IncidentRecord]:
    seen = ledger.incidents(component=record.isolated_component)
    return _others(record, [one.record for one in seen])


def _others(record: IncidentRecord, records: Iterable[IncidentRecord]) -> list[IncidentRecord]:
    until = record.last_seen or _ALWAYS
    kept: dict[str, IncidentRecord] = {}
    for other in sorted(records, key=lambda one: (one.first_seen or _ALWAYS, one.drop)):
        began = other.first_seen or other.last_seen
        is_earlier = began is None or began < until
        if other.needs_ticket and other.incident_id != record.incident_id and is_earlier:
            kept.setdefault(other.incident_id, other)
    return list(kept.values())
