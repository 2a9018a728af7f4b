"""Recording a repair that a person reports: checked against the ticket's repair order, times and serials.

A report is history and cannot be taken back; what it leads to is decided by the drops that follow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime

from fabric_pipeline.drafting.assemble import ticket_id as ticket_of
from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.errors import BadInputError, NotFoundError, UsageError
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.ticket import RepairOrderStep
from fabric_pipeline.store.ledger import Ledger, RepairReport, RepairRow
from fabric_pipeline.workflows.ticket_history import serials_of

OTHER = "other"
MOST_NOTE = 400
MOST_NAME = 120
# Serials as vendors print them; anything else is a mistyped field or not a serial.
_SERIAL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._:/+-]{0,62}[A-Za-z0-9])?")
_ACTION = re.compile(r"[a-z][a-z0-9_]{1,59}")
# The same part goes back in when it is only taken out, looked at or cleaned.
_SAME_PART = ("reseat", "clean", "inspect")
_EXCHANGE = ("replace", "swap", "exchange")
# Steps that look and write down but change nothing: after them a clean link proves no repair.
_LOOKING = ("collect", "note", "read", "compare", "identify", "check", "record", "look", "observe")


@dataclass(frozen=True, slots=True)
class RepairWords:
    """What a person typed. Empty texts are not stated; `repaired_at` is None for now."""

    action: str
    by: str
    step: int | None = None
    part: str = ""
    old_serial: str = ""
    new_serial: str = ""
    repaired_at: datetime | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class RepairRecorded:
    """The recorded repair, and remarks that a person should read; they change nothing."""

    row: RepairRow
    remarks: tuple[str, ...]


def report_repair(ledger: Ledger, target: str, words: RepairWords, now: datetime) -> RepairRecorded:
    """Record a repair on a ticket or an incident.

    Errors: `NotFoundError` (no such ticket or incident), `UsageError` (action or step not in the ticket's
    repair order, times or serials that cannot be), `BadInputError` (text that is no serial).
    """
    incident_id, ticket_id = _target(ledger, target)
    records = [
        one.record for one in ledger.incident_history(incident_id) if one.record.needs_ticket
    ]
    if not records:
        raise UsageError(
            f"{incident_id} was never accused, so there is nothing to repair",
            "list what was found: fabric-pipeline incidents",
        )
    newest = records[-1]
    words = replace(words, action=words.action.strip().lower().replace(" ", "_"))
    order, state = _order(ledger, ticket_id)
    step = _checked_step(ticket_id, order, words)
    report = RepairReport(
        incident_id=incident_id,
        ticket_id=ticket_id,
        component=newest.isolated_component,
        action=words.action,
        step=step.step if step else None,
        part=clean(words.part, 200) or (step.part if step else ""),
        old_serial=_serial("--old-serial", words.old_serial),
        new_serial=_serial("--new-serial", words.new_serial),
        repaired_by=_person(words.by),
        repaired_at=_time(words.repaired_at or now, records, now),
        note=clean(words.note, MOST_NOTE),
    )
    _check_serials(report)
    _check_new(ledger, report)
    row = ledger.record_repair(report, now)
    return RepairRecorded(row, tuple(_remarks(ledger, report, newest, state)))


def parse_time(text: str) -> datetime:
    """An ISO time with its offset, as `--at` takes it."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            f"{clean(text, 60)!r} is not an ISO time",
            "write it as 2026-11-20T14:30+01:00 or with Z",
        ) from None
    if moment.tzinfo is None:
        raise UsageError(
            f"{clean(text, 60)!r} does not say its time zone",
            "add Z for UTC, or an offset as +01:00",
        )
    return moment


def _target(ledger: Ledger, target: str) -> tuple[str, str]:
    """Incident and ticket id of what was named, which may be either."""
    history = ledger.incident_history(target)
    if history:
        return target, ticket_of(history[-1].record)
    try:
        return ledger.current_draft(target).incident_id, target
    except NotFoundError:
        raise NotFoundError(
            f"there is no ticket or incident {clean(target, 60)!r}",
            "list them: fabric-pipeline tickets, fabric-pipeline incidents",
        ) from None


def _order(ledger: Ledger, ticket_id: str) -> tuple[list[RepairOrderStep], str]:
    """The repair order of the current draft and how far its ticket has come; empty without a draft."""
    try:
        stored = ledger.current_draft(ticket_id)
    except NotFoundError:
        return [], ""
    states = [row.state for row in ledger.tickets(ticket_ids=[ticket_id])]
    order = list(stored.draft.repair_order) if stored.draft is not None and stored.intact else []
    return order, states[0] if states else ""


def _checked_step(
    ticket_id: str, order: list[RepairOrderStep], words: RepairWords
) -> RepairOrderStep | None:
    """The step of the repair order that this is, None for an action of its own."""
    listed = "; ".join(f"step {one.step} {one.action}" for one in order) or "none"
    remedy = f"its repair order: {listed}; anything else: --action {OTHER} --note WHAT"
    if words.action == OTHER:
        if not clean(words.note, MOST_NOTE):
            raise UsageError("an action of its own needs --note", "say what was done")
        if words.step is not None:
            raise UsageError(f"--action {OTHER} is no step of the repair order", remedy)
        return None
    named = [one for one in order if one.action == words.action]
    if not _ACTION.fullmatch(words.action) or not named:
        raise UsageError(f"{ticket_id} has no action {clean(words.action, 60)!r}", remedy)
    chosen = [one for one in named if words.step in (None, one.step)]
    if not chosen:
        raise UsageError(f"step {words.step} of {ticket_id} is not {words.action}", remedy)
    if words.action.split("_")[0] in _LOOKING:
        raise UsageError(f"{words.action} changes nothing on the link, so it is no repair", remedy)
    if len(chosen) > 1:
        raise UsageError(
            f"{words.action} is more than one step of {ticket_id}", f"add --step; {remedy}"
        )
    return chosen[0]


def _serial(option: str, text: str) -> str:
    serial = text.strip()
    if serial and not _SERIAL.fullmatch(serial):
        raise BadInputError(
            f"{option} {clean(serial, 60)!r} is not a serial",
            "letters, digits, blanks and . _ : / + - as printed on the part, 64 characters at most",
        )
    return serial


def _person(name: str) -> str:
    """The name as typed; a name that had to be changed to be shown is refused."""
    person = name.strip()
    if not person or person != clean(person, MOST_NAME):
        raise UsageError(
            "--by has to name the person who did it", "one line, 120 characters at most"
        )
    return person


def _time(moment: datetime, records: list[IncidentRecord], now: datetime) -> datetime:
    if moment > now:
        raise UsageError(
            f"{moment.isoformat()} lies in the future", "report a repair after it was done"
        )
    first = min((one.first_seen for one in records if one.first_seen is not None), default=None)
    if first is not None and moment < first:
        raise UsageError(
            f"{moment.isoformat()} lies before the fault was first seen ({first.isoformat()})",
            "give the time at which the repair was finished, with its time zone",
        )
    return moment


def _check_serials(report: RepairReport) -> None:
    words = report.action.split("_")
    is_same_part = any(word.startswith(_SAME_PART) for word in words)
    is_exchange = any(word.startswith(_EXCHANGE) for word in words)
    same = report.old_serial and report.old_serial.lower() == report.new_serial.lower()
    if same and (is_exchange or not is_same_part):
        raise UsageError(
            f"{report.action}: the part taken out and the part put in have the same serial "
            f"{report.old_serial}",
            "read both labels again; a part that went back in is a reseat, a cleaning or an inspection",
        )


def _check_new(ledger: Ledger, report: RepairReport) -> None:
    for row in ledger.repairs(report.incident_id):
        known = row.report
        if (known.action, known.step, known.repaired_at, known.old_serial, known.new_serial) == (
            report.action, report.step, report.repaired_at, report.old_serial, report.new_serial,
        ):  # fmt: skip
            raise UsageError(
                f"this repair of {report.incident_id} is recorded already (number {row.seq})",
                "nothing was recorded",
            )


def _remarks(ledger: Ledger, report: RepairReport, record: IncidentRecord, state: str) -> list[str]:
    """What does not fit together, for the person at the rack."""
    found = []
    if state and state != "published":
        found.append(f"ticket {report.ticket_id} was not published before this repair ({state})")
    known = serials_of(record)
    if report.old_serial and known and report.old_serial not in known:
        found.append(
            f"the topology of drop {record.drop} names {', '.join(known)} at this link, "
            f"not {report.old_serial}"
        )
    others = [
        f"{ticket_of(one)} ({one.isolated_component})"
        for one in ledger.accused_with_serial(report.new_serial)
        if one.incident_id != report.incident_id
    ]
    taken_out = [
        f"{row.report.ticket_id} (taken out)"
        for row in ledger.repairs(serial=report.new_serial)
        if report.new_serial
        and row.report.old_serial == report.new_serial
        and row.report.incident_id != report.incident_id
    ]
    trouble = list(dict.fromkeys([*others, *taken_out]))
    if trouble:
        found.append(
            f"the part put in, {report.new_serial}, has given trouble before: {', '.join(trouble)}"
        )
    return found
