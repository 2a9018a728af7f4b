"""What the drafts of some drops took from the Claude service, as one line and as figures.

The accounts stand in the drafts themselves; a draft that was used again counts with what it once cost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.store.ledger import Ledger


@dataclass(frozen=True, slots=True)
class DraftCosts:
    """Sums over current drafts. `cost_usd` holds the known costs, `unpriced` counts drafts without one."""

    by_claude: int = 0
    by_rules_after_claude: int = 0
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0

    @property
    def line(self) -> str:
        """One sentence for the terminal; "" when Claude was never asked."""
        if not (self.by_claude or self.requests):
            return ""
        made = f"{self.by_claude or 'no'} draft{'' if self.by_claude == 1 else 's'} by Claude"
        failed = self.by_rules_after_claude
        rules = f" and {failed} by the rules after Claude gave none" if failed else ""
        tokens = f"{self.input_tokens:,} tokens in, {self.output_tokens:,} out"
        return f"{made}{rules}: {tokens}, {self._cost}"

    @property
    def _cost(self) -> str:
        if self.unpriced and not self.cost_usd:
            return "cost not known (the model is not in our price list)"
        more = f" and {self.unpriced} of unknown cost" if self.unpriced else ""
        return f"{_dollars(self.cost_usd)} US dollars{more}"


def draft_costs(ledger: Ledger, drop_ids: Iterable[str]) -> DraftCosts:
    """Sums over the current drafts of these drops."""
    stored = (one for drop in dict.fromkeys(drop_ids) for one in ledger.drafts_of_drop(drop))
    drafts = [one.draft for one in stored if one.draft is not None]
    return DraftCosts(
        by_claude=sum(draft.drafter == "claude" for draft in drafts),
        by_rules_after_claude=sum(_is_stand_in(draft) for draft in drafts),
        requests=sum(draft.requests for draft in drafts),
        input_tokens=sum(draft.input_tokens for draft in drafts),
        output_tokens=sum(draft.output_tokens for draft in drafts),
        cache_read_tokens=sum(draft.cache_read_tokens for draft in drafts),
        cost_usd=round(sum(draft.cost_usd or 0 for draft in drafts), 6),
        unpriced=sum(draft.requests > 0 and draft.cost_usd is None for draft in drafts),
    )


def _is_stand_in(draft: TicketDraft) -> bool:
    """True for a draft that the rules wrote because Claude gave none."""
    return draft.drafter == "rules" and bool(draft.drafter_note)


def _dollars(amount: float) -> str:
    return f"{amount:.2f}" if amount >= 0.01 or not amount else "less than 0.01"
