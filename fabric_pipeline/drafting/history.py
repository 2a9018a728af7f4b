"""What happened to a link and its parts before this ticket, as drafters get it.

The workflows gather it from the ledger; `drafting.assemble` writes it into the ticket. Plain values only.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric_pipeline.incidents.ticket import EarlierRepair, EarlierTicket


@dataclass(frozen=True, slots=True)
class TicketHistory:
    """Earlier repairs of this incident (oldest first) and earlier tickets of its serials (newest first).

    `begin_at_step` is the step of the catalogue's repair order that comes next: 1 when nothing was tried.
    """

    repairs: tuple[EarlierRepair, ...] = ()
    tickets: tuple[EarlierTicket, ...] = ()
    begin_at_step: int = 1


NO_HISTORY = TicketHistory()
