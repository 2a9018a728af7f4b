"""What the drafts of one run may cost together, and what one draft may take of it.

Each draft is granted a sum before its first request. It never asks for anything whose worst case would
pass that sum, so a run passes its budget only where a prompt has more tokens than reckoned here. What a
draft leaves unused goes back to the others; a draft waits while others may still give something back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fabric_pipeline.drafting.prices import Spent, reckoned_usd
from fabric_pipeline.drafting.sanitise import figure

# A full draft is some 4,000 tokens; the rest is room for models that think first.
MAX_OUTPUT_TOKENS = 12_000
# JSON, numbers and ids take about three characters a token; two leave room for hostile strings.
CHARACTERS_PER_TOKEN = 2
# A draft begins only when its first answer and one correction are paid for in the worst case. It gets up
# to the worst case of this many requests, far more than a draft takes (some look-ups, one answer).
REQUESTS_AT_LEAST = 2
REQUESTS_AT_MOST = 8


class BudgetSpentError(Exception):
    """The next request could cost more than this draft was granted."""


class Grant:
    """What one draft may still spend, in US dollars by the reckoning of `prices.reckoned_usd`."""

    def __init__(self, model: str, dollars: float) -> None:
        self._model = model
        self._dollars = dollars
        self.spent = 0.0

    def check(self, characters: int) -> float:
        """Worst cost of a request of this length; BudgetSpentError when it is not granted."""
        worst = worst_usd(self._model, characters)
        if self.spent + worst > self._dollars:
            raise BudgetSpentError
        return worst

    def charge(self, spent: Spent, *, batch: bool = False) -> None:
        """Count what an answer took."""
        self.spent += reckoned_usd(self._model, spent, batch=batch)

    def charge_unknown(self, dollars: float) -> None:
        """Count the worst case of a request whose answer never came: it may have been billed."""
        self.spent += dollars


class Budget:
    """The purse of one run. Belongs to one event loop."""

    def __init__(self, model: str, limit_usd: float) -> None:
        self.model = model
        self.limit_usd = limit_usd
        self.spent = 0.0
        self._held = 0.0
        self._changed = asyncio.Condition()

    @property
    def rest(self) -> float:
        """Neither spent nor granted to a draft that still runs."""
        return max(0.0, self.limit_usd - self.spent - self._held)

    @property
    def reason(self) -> str:
        """Why a draft got no grant, for its ticket."""
        return (
            f"the budget of {figure(self.limit_usd)} US dollars for the drafts of this run has no room "
            f"for another one ({self.spent:.2f} spent)"
        )

    @asynccontextmanager
    async def grant(self, characters: int) -> AsyncIterator[Grant | None]:
        """A grant for a draft whose first request has this length; None when the budget is used up."""
        one = worst_usd(self.model, characters)
        async with self._changed:
            await self._changed.wait_for(
                lambda: self.rest >= REQUESTS_AT_LEAST * one or self._held == 0
            )
            if self.rest < REQUESTS_AT_LEAST * one:
                held = None
            else:
                held = min(self.rest, REQUESTS_AT_MOST * one)
                self._held += held
        if held is None:
            yield None
            return
        given = Grant(self.model, held)
        try:
            yield given
        finally:
            await self._settle(held, given.spent)

    @asynccontextmanager
    async def hold(self, dollars: float) -> AsyncIterator[Grant]:
        """Set this much of the rest aside, as a batch does for all its requests."""
        self._held += dollars
        given = Grant(self.model, dollars)
        try:
            yield given
        finally:
            await self._settle(dollars, given.spent)

    async def _settle(self, held: float, spent: float) -> None:
        async with self._changed:
            self._held = max(0.0, self._held - held)
            if self._held < 1e-9:  # sums of cents in binary leave crumbs
                self._held = 0.0
            self.spent += spent
            self._changed.notify_all()


def worst_usd(model: str, characters: int, *, batch: bool = False) -> float:
    """Cost of a request of this length when everything goes into the cache and the answer is as long as it may be."""
    tokens = characters // CHARACTERS_PER_TOKEN + 1
    worst = Spent(input_tokens=tokens, cache_write_tokens=tokens, output_tokens=MAX_OUTPUT_TOKENS)
    return reckoned_usd(model, worst, batch=batch)
