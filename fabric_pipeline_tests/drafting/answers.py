"""Answers that a model could give for `incidents.nvlink_incident`, good and bad ones."""

from __future__ import annotations

import copy
from typing import Any

GOOD: dict[str, Any] = {
    "text": {
        "title": "CRITICAL: NVLink 13 of GPU 6 degraded on trn-b07-n03, rack B07",
        "summary": (
            "The link trn-b07-n03:gpu6/nvlink-13 logged 31,407 CRC errors in 7.4 hours while its 17 siblings "
            "stayed at 0. All-reduce of run-442 takes 1,342.5 µs instead of 832 µs. Reseat the module of GPU 6 "
            "in slot SXM7 first. No part number is known."
        ),
        "evidence_statements": [
            {
                "claim": "CRC errors rise from 0 to 31,407 on this link alone.",
                "evidence_ids": ["E1"],
            },
            {
                "claim": "The collective takes 1,342.5 µs against 832 µs.",
                "evidence_ids": ["E2", "E1"],
            },
        ],
        "alternatives": ["A bad NVSwitch port: port 26 and port 28 are clean, so it is unlikely."],
        "repair_steps": [
            {
                "do": "Find trn-b07-n03 in rack B07, unit 21, and wait for the confirmations under Drain.",
                "proves": "That this is the right machine.",
            },
            {
                "do": "Take out the module of GPU 6, inspect and seat it again, then run the test.",
                "proves": "A pass shows bad contact; no part is needed.",
            },
        ],
        "rollback": "Put the original module back and send the ticket back with the readings.",
    },
    "finding": {
        "component": "trn-b07-n03:gpu6/nvlink-13",
        "level": "link",
        "why": "Only this link counts errors, and its siblings stay at 0.",
        "would_refute_it": "Errors on port 27 with another module in the slot.",
        "evidence_ids": ["E1"],
    },
}


def answer(**changes: Any) -> dict[str, Any]:
    """The good answer with some fields of its text replaced."""
    changed = copy.deepcopy(GOOD)
    changed["text"].update(changes)
    return changed


def with_summary_also(sentence: str) -> dict[str, Any]:
    """The good answer with one more sentence in its summary."""
    return answer(summary=f"{GOOD['text']['summary']} {sentence}")


def with_finding(**changes: Any) -> dict[str, Any]:
    """The good answer with another view of what fails."""
    changed = copy.deepcopy(GOOD)
    changed["finding"].update(changes)
    return changed
