"""How a draft speaks of what was tried before and of parts that were in trouble before.

Serials stand in it when they look like names; when things happened is in the ticket's own fields.
"""

from __future__ import annotations

from fabric_pipeline.drafting import places
from fabric_pipeline.drafting.catalogue_entry import CatalogueEntry
from fabric_pipeline.drafting.forbidden import forbidden
from fabric_pipeline.drafting.history import TicketHistory
from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.incidents.ticket import EarlierRepair, EarlierTicket

# The summary and one step hold this many; the ticket's own fields hold all.
_MOST_NAMED = 3
_OUTCOMES = {
    "waiting": "outcome not known yet",
    "verified": "it helped then",
    "came_back": "the fault came back",
}
_HOW = {
    "accused": "accused in ticket",
    "taken_out": "taken out under ticket",
    "put_in": "put in under ticket",
}


def tried_before(history: TicketHistory) -> str:
    """`Tried before: ...` with serials and outcomes, the latest last; "" when nothing was tried."""
    if not history.repairs:
        return ""
    told = [_repair(one) for one in history.repairs[-_MOST_NAMED:]]
    more = (
        "; what was tried earlier stands in its own field"
        if len(history.repairs) > _MOST_NAMED
        else ""
    )
    return _without_orders(f"Tried before: {'; '.join(told)}{more}.")


def offenders(history: TicketHistory, repeat_count: int) -> str:
    """Which serials were in trouble before, else how often this link was; "" when never."""
    named = [said for one in history.tickets if (said := _ticket(one))]
    if named:
        told = list(dict.fromkeys(named))[:_MOST_NAMED]
        return _without_orders(f"Repeat offender: {'; '.join(told)}.")
    if not repeat_count:
        return ""
    count = f"{repeat_count} earlier ticket" + ("" if repeat_count == 1 else "s")
    return f"This part had {count}."


def next_step(history: TicketHistory, entry: CatalogueEntry) -> str:
    """What comes next in the repair order, or that all of it was tried."""
    if history.begin_at_step > len(entry.repair_steps):
        return "Every step of the repair order was tried, so send the readings to the vendor."
    action = entry.repair_steps[history.begin_at_step - 1].action
    return f"Steps before it were done: begin with [{action}]."


def _repair(one: EarlierRepair) -> str:
    action = clean(one.action, 60)
    serials = (("old", one.old_serial), ("new", one.new_serial))
    named = [
        f"{what} serial {known}" for what, text in serials if (known := places.name(text, "serial"))
    ]
    return f"{', '.join([action, *named])} ({_OUTCOMES[one.outcome]})"


def _ticket(one: EarlierTicket) -> str:
    serial = places.name(one.serial, "serial")
    known = places.name(one.ticket_id, "ticket")
    return f"serial {serial} {_HOW[one.how]} {known}" if serial and known else ""


def _without_orders(sentence: str) -> str:
    told = "Earlier repairs and tickets stand in their own fields of this ticket."
    return told if forbidden(sentence, own_words=True) else sentence
