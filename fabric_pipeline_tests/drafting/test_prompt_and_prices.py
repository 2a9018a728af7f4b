"""The prompt is pinned to its version, and costs come from the table or are unknown."""

from __future__ import annotations

import pytest

from fabric_pipeline.drafting.prices import Spent, cost_usd, reckoned_usd
from fabric_pipeline.drafting.prompt import (
    PROMPT,
    PROMPT_ID,
    PROMPT_SHA256,
    PROMPT_VERSION,
    WITH_TOOLS,
    WITHOUT_TOOLS,
)
from fabric_pipeline.settings import DEFAULT_MODEL

PINNED = {"2026-11-30.2": "b157d67ca34e7cf764a10bdce39cfcf54f810d30ad6c98754139f47ac988a145"}
MILLION_AND_HALF = Spent(1, 1_000_000, 500_000)


def test_a_changed_prompt_has_a_new_version() -> None:
    assert PINNED[PROMPT_VERSION] == PROMPT_SHA256
    assert f"{PROMPT_VERSION}+{PROMPT_SHA256[:12]}" == PROMPT_ID


def test_prompt_names_no_incident_and_asks_for_both_parts() -> None:
    assert "<incident_data>" in PROMPT
    assert not any(char in PROMPT + WITH_TOOLS + WITHOUT_TOOLS for char in "{}")
    assert "component:" in PROMPT
    assert "Do not say whether you agree" in PROMPT


def test_only_the_batch_is_told_that_nothing_can_be_looked_up() -> None:
    assert "nothing more can be looked up" in WITHOUT_TOOLS
    assert "shared_components" in WITH_TOOLS
    assert "shared_components," not in PROMPT + WITHOUT_TOOLS


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("claude-sonnet-4-5", 10.5),
        ("claude-sonnet-4-5-20250929", 10.5),
        ("claude-sonnet-5-5", 7.0),
        ("claude-sonnet-6", None),
        ("", None),
    ],
)
def test_cost_of_a_million_in_and_half_a_million_out(model: str, dollars: float | None) -> None:
    assert cost_usd(model, MILLION_AND_HALF) == dollars


def test_the_default_model_has_a_price() -> None:
    assert cost_usd(DEFAULT_MODEL, Spent()) == 0


def test_cache_tokens_have_their_own_prices() -> None:
    """100,000 plain at 2, 400,000 written at 2.5, 500,000 read at 0.1 dollars a million."""
    spent = Spent(2, 1_000_000, 0, cache_read_tokens=500_000, cache_write_tokens=400_000)
    assert cost_usd("claude-sonnet-5-5", spent) == pytest.approx(0.2 + 1.0 + 0.05)


def test_a_batch_costs_half_of_everything() -> None:
    spent = Spent(1, 10_000, 2_000, 5_000, 3_000)
    whole = cost_usd("claude-opus-5-5", spent)
    assert whole is not None
    assert cost_usd("claude-opus-5-5", spent, batch=True) == pytest.approx(whole / 2, abs=1e-6)


def test_the_budget_reckons_with_a_high_price_for_an_unknown_model() -> None:
    assert reckoned_usd("claude-of-another-house", MILLION_AND_HALF) == 52.5
    assert reckoned_usd("claude-sonnet-5-5", MILLION_AND_HALF) == 7.0
