"""Command: python -m benchmarks.drafter [--drafter rules|claude] [--out FILE.md] [--limit N].

Exit codes: 0 done, 2 asked for what cannot be done (no key, a bad number).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.diagnosis import revision
from benchmarks.drafter.measure import evaluate, prepared, with_controls
from benchmarks.drafter.report import render
from benchmarks.drafter.scenes import SCENES, Scene
from fabric_pipeline.errors import FabricError, UsageError
from fabric_pipeline.settings import Settings, load_settings


def main(arguments: Sequence[str] | None = None, scenes: Sequence[Scene] = SCENES) -> int:
    """Evaluate one drafter on the incidents of the scenes and write or print the page."""
    given = _parser().parse_args(arguments)
    try:
        settings = settings_for(given.drafter, load_settings())
        if given.limit is not None and given.limit < 1:
            raise UsageError(f"--limit {given.limit} asks for nothing", "give 1 or more")
        with prepared(settings, scenes, given.limit, _say) as (cases, requests):
            _say(announcement(given.drafter, settings, len(requests)))
            found = evaluate(settings, given.drafter, cases, requests, _say)
    except FabricError as error:
        _say(str(error))
        return 2
    page = render(with_controls(found), f"{datetime.now(UTC):%Y-%m-%d}", revision())
    if given.out:
        given.out.write_text(page, encoding="utf-8")
        _say(f"{given.out} is written")
    else:
        sys.stdout.write(page)
    return 0


def settings_for(drafter: str, settings: Settings) -> Settings:
    """Without a key for the rules; UsageError when Claude is wanted and there is no key."""
    if drafter == "rules":
        return replace(settings, anthropic_api_key="")
    if not settings.anthropic_api_key:
        raise UsageError(
            "asking Claude needs a key, and ANTHROPIC_API_KEY is not set",
            "set it, or evaluate the rules drafter: python -m benchmarks.drafter --drafter rules",
        )
    return settings


def announcement(drafter: str, settings: Settings, drafts: int) -> str:
    """How many drafts come and what they may cost at most, for the moment before the first is asked for."""
    if drafter == "rules":
        return f"{drafts} drafts by the rules; nothing is asked and nothing costs"
    return (
        f"{drafts} drafts by {settings.model}; they may cost at most {settings.draft_budget_usd:g} US dollars together "
        "(FABRIC_DRAFT_BUDGET_USD), after that the rules write the rest"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drafter", description=__doc__)
    parser.add_argument("--drafter", choices=("rules", "claude"), default="rules")
    parser.add_argument("--out", type=Path, help="write the page here instead of printing it")
    parser.add_argument("--limit", type=int, help="the first N incidents only")
    return parser


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
