"""The prompt is pinned to its version, and costs come from the table or are unknown."""

from __future__ import annotations

import pytest

from fabric_pipeline.drafting.prices import cost_usd
from fabric_pipeline.drafting.prompt import PROMPT, PROMPT_ID, PROMPT_SHA256, PROMPT_VERSION
from fabric_pipeline.settings import DEFAULT_MODEL

PINNED = {"2026-11-30.1": "99fc200831439f3859e7ef4541eeecd75abbeb275a3e8beefe2d1e175f058c0b"}


def test_a_changed_prompt_has_a_new_version() -> None:
    assert PINNED[PROMPT_VERSION] == PROMPT_SHA256
    assert f"{PROMPT_VERSION}+{PROMPT_SHA256[:12]}" == PROMPT_ID


def test_prompt_names_no_incident() -> None:
    assert "<incident_data>" in PROMPT
    assert not any(char in PROMPT for char in "{}")


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
    assert cost_usd(model, 1_000_000, 500_000) == dollars


def test_the_default_model_has_a_price() -> None:
    assert cost_usd(DEFAULT_MODEL, 0, 0) == 0
