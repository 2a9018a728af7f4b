"""What drafts cost: tokens times the list price of the model, or None for a model not listed here.

A small table on purpose: an unknown price is shown as unknown, never guessed. Only the budget of a run
reckons with a stated high price then, because counting nothing would let such a model run for ever.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

_DATED = re.compile(r"-\d{8}$")


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """US dollars for a million tokens: put in, written by the model, read from the prompt cache."""

    put_in: str
    put_out: str
    cache_read: str


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of one draft as the service reported them, and how many requests it answered.

    `input_tokens` counts all of the prompt; what was read from and written to the cache is part of it.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: Spent) -> Spent:
        """Both together."""
        return Spent(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )


NOTHING_SPENT = Spent()

# Source: https://www.anthropic.com/pricing#api as bundled by the genai-prices package, November 2026; list
# prices for prompts below 100,000 tokens, not checked against any invoice.
PRICES_USD: dict[str, ModelPrice] = {
    "claude-haiku-4-5": ModelPrice("1", "5", "0.1"),
    "claude-haiku-5-5": ModelPrice("0.1", "0.5", "0.01"),
    "claude-sonnet-4-5": ModelPrice("3", "15", "0.3"),
    "claude-sonnet-4-6": ModelPrice("3", "15", "0.3"),
    "claude-sonnet-5": ModelPrice("2", "10", "0.2"),
    "claude-sonnet-5-5": ModelPrice("2", "10", "0.1"),
    "claude-opus-4-5": ModelPrice("5", "25", "0.5"),
    "claude-opus-4-6": ModelPrice("5", "25", "0.5"),
    "claude-opus-4-7": ModelPrice("5", "25", "0.5"),
    "claude-opus-4-8": ModelPrice("5", "25", "0.5"),
    "claude-opus-5": ModelPrice("5", "25", "0.5"),
    "claude-opus-5-5": ModelPrice("4", "20", "0.2"),
}
# A cache entry that lives five minutes costs a quarter more than plain input; same source, all models above.
CACHE_WRITE_FACTOR = Decimal("1.25")
# The Message Batches API costs half, cache tokens included.
# Source: https://platform.claude.com/docs/en/build-with-claude/batch-processing#pricing as quoted by the
# genai-prices package, November 2026.
BATCH_FACTOR = Decimal("0.5")
# For the budget alone: the dearest prices that the genai-prices package lists for any Claude model
# (claude-opus-4-1), so that a model without an entry above stops early rather than late.
UNLISTED = ModelPrice("15", "75", "15")


def cost_usd(model: str, spent: Spent, *, batch: bool = False) -> float | None:
    """List price of these tokens in US dollars; a dated model name counts as its undated one."""
    price = PRICES_USD.get(_DATED.sub("", model))
    return None if price is None else _dollars(price, spent, batch)


def reckoned_usd(model: str, spent: Spent, *, batch: bool = False) -> float:
    """What the budget counts for these tokens: the list price, or that of `UNLISTED`."""
    return _dollars(PRICES_USD.get(_DATED.sub("", model), UNLISTED), spent, batch)


def _dollars(price: ModelPrice, spent: Spent, batch: bool) -> float:
    plain = max(0, spent.input_tokens - spent.cache_read_tokens - spent.cache_write_tokens)
    dollars = Decimal(price.put_in) * (plain + CACHE_WRITE_FACTOR * spent.cache_write_tokens)
    dollars += Decimal(price.cache_read) * spent.cache_read_tokens
    dollars += Decimal(price.put_out) * spent.output_tokens
    factor = BATCH_FACTOR if batch else Decimal(1)
    return float(round(factor * dollars / 1_000_000, 6))
