"""What a draft cost: tokens times the list price of the model, or None for a model not listed here.

A small table on purpose: an unknown price is shown as unknown, never guessed.
"""

from __future__ import annotations

import re
from decimal import Decimal

# US dollars for a million tokens, (input, output), prompts below 100,000 tokens, no caching.
# Source: https://www.anthropic.com/pricing#api as bundled by the genai-prices package, November 2026.
PRICES_USD: dict[str, tuple[str, str]] = {
    "claude-haiku-4-5": ("1", "5"),
    "claude-haiku-5-5": ("0.1", "0.5"),
    "claude-sonnet-4-5": ("3", "15"),
    "claude-sonnet-4-6": ("3", "15"),
    "claude-sonnet-5": ("2", "10"),
    "claude-sonnet-5-5": ("2", "10"),
    "claude-opus-4-5": ("5", "25"),
    "claude-opus-4-6": ("5", "25"),
    "claude-opus-4-7": ("5", "25"),
    "claude-opus-4-8": ("5", "25"),
    "claude-opus-5": ("5", "25"),
    "claude-opus-5-5": ("4", "20"),
}
_DATED = re.compile(r"-\d{8}$")


def cost_usd(model: str, input_tokens: int, output_tokens: int) -> float | None:
    """List price of these tokens in US dollars; a dated model name counts as its undated one."""
    prices = PRICES_USD.get(_DATED.sub("", model))
    if prices is None:
        return None
    dollars = Decimal(prices[0]) * input_tokens + Decimal(prices[1]) * output_tokens
    return float(round(dollars / 1_000_000, 6))
