"""Checks of the repair steps as a whole: nothing is opened before the confirmations, no invented limits.

The wording of single sentences is checked in `drafting.verify`.
"""

from __future__ import annotations

import re
from typing import Any

from fabric_pipeline.drafting.catalogue import CatalogueEntry
from fabric_pipeline.drafting.known import leaves
from fabric_pipeline.drafting.measures import measures, said
from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.incidents.ticket import DraftText

# Hands on a machine: from here on a job could lose its link.
_OPENS = re.compile(
    r"\b(?:unplug|disconnect|unscrew|unlatch|loosen|detach|extract|dismount|reseat|swap|replac)\w{0,4}\b"
    r"|\bpull(?:s|ed|ing)?\b(?!-out)|\bremov(?:e|es|ing)\b|\bseat (?:it|the|again)\b|\blift (?:out|the lid)"
    r"|\bopen (?:the )?(?:chassis|cover|lid|node|server|tray|case|module)\b"
    r"|\b(?:take|slide|draw)\W{1,2}(?:\w{1,20}\W{1,2}){0,6}?out\b(?! of (?:the )?(?:job|service|production))",
    re.IGNORECASE,
)
_CONFIRMS = re.compile(
    r"\bconfirm|\bwritten word\b|\bword of\b|\b(?:team|owner)['’]s word\b|\blast job has\b"
    r"|\bsafety asks\b|\bport isolation\b|\bdrain\b",
    re.IGNORECASE,
)


def problems(text: DraftText, entry: CatalogueEntry, catalogue: dict[str, Any]) -> list[str]:
    """What is wrong with order and figures of the steps; `catalogue` holds its texts, filled in."""
    return [*_too_early(text, entry), *_invented(text, catalogue)]


def _too_early(text: DraftText, entry: CatalogueEntry) -> list[str]:
    """A step that opens or unplugs something although nobody has confirmed drain and isolation yet."""
    if entry.drain_scope == "none":
        return []
    for number, step in enumerate(text.repair_steps, start=1):
        opens, confirms = _OPENS.search(step.do), _CONFIRMS.search(step.do)
        if confirms and (not opens or confirms.start() < opens.start()):
            return []
        if opens:
            what = clean(opens.group(), 40)
            why = "comes before anyone has confirmed what Drain and Port isolation ask for"
            return [f"repair step {number} (do): {what!r} {why}"]
    return []


def _invented(text: DraftText, catalogue: dict[str, Any]) -> list[str]:
    allowed = {measure for line in leaves(catalogue) for measure in measures(line)}
    asked = [
        *((f"repair step {n} (do)", step.do) for n, step in enumerate(text.repair_steps, start=1)),
        *(
            (f"repair step {n} (proves)", s.proves)
            for n, s in enumerate(text.repair_steps, start=1)
        ),
        ("rollback", text.rollback),
    ]
    return [
        f"{field}: the catalogue states no {said(measure)}"
        for field, words in asked
        for measure in sorted(measures(words) - allowed)
    ]
