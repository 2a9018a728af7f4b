"""The purse of a run: nobody passes it, what is left over comes back, and waiting drafts get their turn."""

from __future__ import annotations

import asyncio

import pytest

from fabric_pipeline.drafting.budget import (
    REQUESTS_AT_LEAST,
    REQUESTS_AT_MOST,
    Budget,
    BudgetSpentError,
    worst_usd,
)
from fabric_pipeline.drafting.prices import Spent

MODEL, LENGTH = "claude-sonnet-5-5", 40_000
ONE = worst_usd(MODEL, LENGTH)


def test_the_worst_case_counts_a_full_answer_and_a_cold_cache() -> None:
    assert pytest.approx(20_001 * 2.5e-6 + 12_000 * 10e-6, abs=1e-6) == ONE
    assert worst_usd(MODEL, LENGTH, batch=True) == pytest.approx(ONE / 2, abs=1e-6)
    assert worst_usd("claude-of-another-house", LENGTH) > 7 * ONE


def test_a_draft_that_cannot_be_corrected_once_does_not_begin() -> None:
    async def play() -> None:
        async with Budget(MODEL, REQUESTS_AT_LEAST * ONE * 0.99).grant(LENGTH) as grant:
            assert grant is None

    asyncio.run(play())


def test_a_grant_stops_its_draft_and_leaves_the_rest() -> None:
    async def play() -> None:
        budget = Budget(MODEL, 100 * ONE)
        async with budget.grant(LENGTH) as grant:
            assert grant is not None
            assert budget.rest == pytest.approx((100 - REQUESTS_AT_MOST) * ONE)
            for _ in range(REQUESTS_AT_MOST):
                grant.charge_unknown(grant.check(LENGTH))
            with pytest.raises(BudgetSpentError):
                grant.check(LENGTH)
        assert budget.spent == pytest.approx(REQUESTS_AT_MOST * ONE)
        assert budget.rest == pytest.approx(92 * ONE)

    asyncio.run(play())


def test_a_waiting_draft_gets_what_another_leaves() -> None:
    async def play() -> list[bool]:
        budget, got = Budget(MODEL, 9 * ONE), []

        async def one() -> None:
            async with budget.grant(LENGTH) as grant:
                got.append(grant is not None)
                await asyncio.sleep(0)
                if grant:
                    grant.charge(Spent(1, 10_000, 500))

        await asyncio.gather(*(one() for _ in range(5)))
        assert budget.spent < 1
        return got

    assert asyncio.run(play()) == [True] * 5


def test_the_sum_of_many_drafts_never_passes_the_budget() -> None:
    async def play() -> None:
        budget = Budget(MODEL, 20 * ONE)

        async def one() -> bool:
            async with budget.grant(LENGTH) as grant:
                if grant is None:
                    return False
                for _ in range(2):
                    worst = grant.check(LENGTH)
                    await asyncio.sleep(0)
                    grant.charge_unknown(worst)
                return True

        began = await asyncio.gather(*(one() for _ in range(30)))
        assert 0 < began.count(True) < 30
        assert budget.spent <= budget.limit_usd
        assert f"the budget of {budget.limit_usd:.1f} US dollars" in budget.reason

    asyncio.run(play())
