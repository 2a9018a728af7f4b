"""Everything that the page of one incident shows: the record of a drop, its history, ticket and dossier.

Read from the ledger; the value of a figure is asked from the audit file when a reader wants it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.incidents.lifecycle import LifeState
from fabric_pipeline.incidents.record import Evidence, Figure, IncidentRecord
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.audit_query import query
from fabric_pipeline.store.ledger import Ledger, TicketRow
from fabric_pipeline.workflows.audit_browse import ask
from fabric_pipeline.workflows.dossier_vendor import has_request
from fabric_pipeline.workflows.lifecycle import OUTCOME_WORDS, states

# A figure is one number; a query that takes longer or gives more rows is not a figure.
FIGURE_SECONDS = 10.0
_FIGURE_ROWS = 2
# What fits under a piece of evidence; the auditor's page shows all rows.
EVIDENCE_ROWS, EVIDENCE_CELL = 12, 300
# What the page states of every row beside the table.
_STATED = ("drop", "file", "file_sha256", "format", "parser_version")
_SUMMED = """
select count(*), count(distinct file_sha256), min(file_sha256), min(line), max(line) from ({query}) as behind
"""
_SAME = 1e-9  # relative; the sums of one table in another order differ by less


@dataclass(frozen=True, slots=True)
class Happening:
    """One line of the history of an incident: `at` is UTC, None for what carries no time."""

    at: datetime | None
    kind: str
    drop: str
    says: str


@dataclass(frozen=True, slots=True)
class IncidentView:
    """One incident in one drop, and what is known of it over all drops."""

    record: IncidentRecord
    is_found: bool
    drops: tuple[str, ...]
    life: LifeState | None
    history: tuple[Happening, ...]
    ticket: TicketRow | None
    has_dossier: bool
    has_vendor_request: bool = False


@dataclass(frozen=True, slots=True)
class Ran:
    """A figure beside what its query gives now: `verdict` is same, differs or no answer."""

    figure: Figure
    value: float | None
    verdict: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class RanEvidence:
    """Rows behind a piece of evidence as they stand now; `total` counts all, `rows` are the first of them.

    `verdict` is same, differs or no answer: whether they were read from the file with the recorded hash.
    """

    item: Evidence
    columns: list[str]
    rows: list[tuple[object, ...]]
    total: int | None
    verdict: str
    why: str


def incident_view(settings: Settings, ledger: Ledger, name: str, drop: str | None) -> IncidentView:
    """An incident as the drop shows it, for None as the drop that was read last does.

    `NotFoundError` when no drop, or not this one, has ever shown it.
    """
    observations = ledger.incident_history(name)
    latest = {one.drop: one for one in observations}
    if not latest:
        raise NotFoundError(f"there is no incident {name!r}", "the list of incidents has those")
    found = [one for one in observations if one.found and latest[one.drop] is one]
    chosen = (found or observations)[-1] if drop is None else latest.get(drop)
    if chosen is None:
        raise NotFoundError(
            f"drop {drop!r} does not show incident {name!r}", f"it is in: {', '.join(latest)}"
        )
    record = chosen.record
    tickets = ledger.tickets(incident_ids=[name])
    return IncidentView(
        record=record,
        is_found=latest[record.drop].found,
        drops=tuple(latest),
        life=states(ledger, [name]).get(name),
        history=_history(ledger, name),
        ticket=tickets[-1] if tickets else None,
        has_dossier=dossier_of(settings, record).is_dir(),
        has_vendor_request=has_request(dossier_of(settings, record)),
    )


def dossier_of(settings: Settings, record: IncidentRecord) -> Path:
    """The folder of the dossier of an incident in its drop, whether or not it is there."""
    return settings.dossiers / f"{record.incident_id}--{record.drop}"


def run_figure(settings: Settings, record: IncidentRecord, name: str) -> Ran:
    """Ask the audit file for one recorded figure; `NotFoundError` when the record has no such one."""
    figure = next((one for one in record.figures if one.name == name), None)
    if figure is None:
        raise NotFoundError(f"{record.incident_id} has no figure {name!r}", "its page lists them")
    answer = query(settings, figure.query, limit=_FIGURE_ROWS, timeout_s=FIGURE_SECONDS)
    if len(answer.rows) != 1 or len(answer.columns) != 1:
        return Ran(figure, None, "no answer", "the query gives another shape than one number")
    value = answer.rows[0][0]
    if value is None:
        return Ran(figure, None, "no answer", "the tables hold no such row any more")
    number = float(value)
    same = math.isclose(number, figure.value, rel_tol=_SAME, abs_tol=1e-12)
    return Ran(figure, number, "same" if same else "differs")


def run_evidence(settings: Settings, record: IncidentRecord, name: str) -> RanEvidence:
    """Read the rows behind one piece of evidence again; `NotFoundError` when the record has no such one."""
    item = next((one for one in record.evidence if one.evidence_id == name and one.query), None)
    if item is None:
        raise NotFoundError(
            f"{record.incident_id} has no rows behind evidence {name!r}", "its page lists them"
        )
    found = ask(settings, item.query, limit=EVIDENCE_ROWS, timeout_s=FIGURE_SECONDS, cell_chars=EVIDENCE_CELL)  # fmt: skip
    # Columns that hold nothing in these rows would only push the others away.
    kept = [
        n
        for n, name in enumerate(found.columns)
        if name not in _STATED and any(row[n] is not None for row in found.rows)
    ]
    columns = [found.columns[n] for n in kept]
    rows = [tuple(row[n] for n in kept) for row in found.rows]
    if not {"file_sha256", "line"} <= set(found.columns):
        return RanEvidence(item, columns, rows, None, "no answer", "these rows name no file")
    summed = ask(settings, _SUMMED.format(query=item.query), limit=1, timeout_s=FIGURE_SECONDS)
    total, hashes, sha256, first, last = summed.rows[0]
    if not total:
        return RanEvidence(item, columns, rows, 0, "no answer", "the tables hold no such row any more")  # fmt: skip
    lines = f"lines {first} to {last}" if last != first else f"line {first}"
    if int(hashes) == 1 and sha256 == item.sha256:
        return RanEvidence(item, columns, rows, int(total), "same", f"{lines} of the file with the recorded hash")  # fmt: skip
    return RanEvidence(item, columns, rows, int(total), "differs", f"{lines}, read from a file with another hash")  # fmt: skip


def _history(ledger: Ledger, name: str) -> tuple[Happening, ...]:
    """Sightings, checks of the link and repairs, by the time at which they were, the newest first."""
    found = [
        Happening(
            one.record.last_seen or one.at,
            "seen" if one.found else "gone",
            one.drop,
            one.record.summary
            if one.found
            else "a later diagnosis of this drop no longer finds it",
        )
        for one in ledger.incident_history(name)
    ]
    for check in ledger.link_checks(incident_id=name):
        measured = f"{check.measured_s / 60:.0f} min of counters under traffic"
        found.append(
            Happening(
                check.window_end,
                f"link {check.verdict}",
                check.drop,
                f"{check.component}: {measured}",
            )
        )
    life = states(ledger, [name]).get(name)
    outcomes = {one.repair.seq: one.outcome for one in life.repairs} if life else {}
    for row in ledger.repairs(name):
        done = row.report
        serials = [
            f"{text} {way}"
            for text, way in ((done.old_serial, "out"), (done.new_serial, "in"))
            if text
        ]
        parts = [
            f"{done.action} by {done.repaired_by}",
            *serials,
            *([done.note] if done.note else []),
        ]
        outcome = OUTCOME_WORDS.get(outcomes.get(row.seq, ""), "not yet known")
        found.append(Happening(done.repaired_at, "repair", "", f"{', '.join(parts)}; {outcome}"))
    return tuple(sorted(found, key=_newest_first))


def _newest_first(one: Happening) -> tuple[bool, float]:
    return one.at is None, -one.at.timestamp() if one.at is not None else 0.0
