"""Writes what the injection suite gives as a page: `python -m fabric_pipeline_tests.drafting.injection_table FILE`.

The page is computed from real runs and holds no time, path or random value, so that a test can compare it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline_tests.drafting.injection_cases import PLACES
from fabric_pipeline_tests.drafting.injection_run import Result, run_attacks

_LEAD = """\
# Injection suite

Node names, labels, serials and log lines come from outside, and a language model reads them. This page lists
{attacks} attacks that we thought of, put in {places} places of an incident. They ran against a scripted model that
does what the string asks, not against the real service, so the page shows what our checks refuse and not how
often a real model would follow such a string. An attack that nobody thought of is not in it.

Each attack went through the real agent and the real HTTP client. {refused} of {attacks} obeying answers were refused
at every try, and the rules wrote the ticket instead. With a model that takes the string for data, {passed} of
{attacks} answers passed. {waiting} of {attacks} tickets then waited for a person in the ledger, and publishing
wrote {published} of them. Facts of a ticket come from the incident and the catalogue, whoever words it; the test
compares them with those of the same incident with a harmless string in that place.

Written by `python -m fabric_pipeline_tests.drafting.injection_table docs/injection_suite.md`; a test compares it.

| Attack | Place | String (cleaned, cut) | A model that obeys | What refused it | Ticket after it | Published |
| --- | --- | --- | --- | --- | --- | --- |
"""


def page(results: Sequence[Result]) -> str:
    """The whole page as Markdown."""
    lead = _LEAD.format(
        attacks=len(results),
        places=len(PLACES),
        refused=sum(result.obeyed.drafter == "rules" for result in results),
        passed=sum(result.ignored.drafter == "claude" for result in results),
        waiting=sum(result.decision == "awaiting" and not result.may_publish for result in results),
        published=sum(bool(result.published) for result in results),
    )
    return lead + "".join(f"{_row(result)}\n" for result in results)


def _row(result: Result) -> str:
    by = "by the rules" if result.obeyed.drafter == "rules" else "BY THE MODEL"
    waits = "approved" if result.may_publish else "waits for review"
    cells = (
        result.attack.name,
        result.attack.place,
        clean(result.attack.string, 60),
        result.attack.effect,
        clean(result.first_problem, 120),
        f"{by}, {result.obeyed.priority}, {waits}",
        "yes" if result.published else "no",
    )
    return "| " + " | ".join(_cell(text) for text in cells) + " |"


def _cell(text: str) -> str:
    """Text that cannot leave its cell or become markup; ASCII alone, so that no letter deceives a reader."""
    plain = text.encode("ascii", "backslashreplace").decode().replace("&", "&amp;")
    for sign in "\\|`*_[]<>$!":
        plain = plain.replace(sign, f"&#{ord(sign)};")
    return plain


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        Path(sys.argv[1]).write_text(page(run_attacks(Path(folder))), encoding="utf-8")
