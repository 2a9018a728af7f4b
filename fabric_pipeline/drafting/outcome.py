"""What goes into one draft and what comes back from Claude, as plain values.

Asking is the business of `drafting.agent` and `drafting.batch`, turning an outcome into a ticket that of
`drafting.finish`.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric_pipeline.drafting.answer import DrafterAnswer
from fabric_pipeline.drafting.history import NO_HISTORY, TicketHistory
from fabric_pipeline.drafting.lookup import FabricLookup
from fabric_pipeline.drafting.prices import NOTHING_SPENT, Spent
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.ticket import FailedAttempt

# As many as a ticket holds.
MAX_ATTEMPTS = 6


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """One incident that needs a ticket, what happened before, and whom to ask about the fabric.

    Without `lookup` the drafter's tools answer from the incident alone.
    """

    incident: IncidentRecord
    history: TicketHistory = NO_HISTORY
    lookup: FabricLookup | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answer that passed all checks, or the reason why there is none; accounts either way.

    `cost_usd` is None when the model has no list price. `attempts` are answers that were refused.
    `was_asked` is False when no request was made on purpose.
    """

    answer: DrafterAnswer | None
    reason: str = ""
    spent: Spent = NOTHING_SPENT
    cost_usd: float | None = None
    attempts: tuple[FailedAttempt, ...] = ()
    was_asked: bool = True

    def after(self, earlier: Outcome | None) -> Outcome:
        """Adds the accounts and attempts of an earlier try of the same draft."""
        if earlier is None:
            return self
        costs = [one.cost_usd for one in (earlier, self) if one.spent.requests]
        known = [cost for cost in costs if cost is not None]
        return Outcome(
            self.answer,
            self.reason,
            earlier.spent + self.spent,
            round(sum(known), 6) if len(known) == len(costs) else None,
            (*earlier.attempts, *self.attempts)[-MAX_ATTEMPTS:],
            earlier.was_asked or self.was_asked,
        )
