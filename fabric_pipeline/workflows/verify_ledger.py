"""Verifying the ledger against itself and against the heads that dossiers kept of its chain.

A dossier that left the building cannot be rewritten together with the ledger: the chain must still
contain the head that it names. Checking a dossier itself is done in `dossier_verify`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from fabric_pipeline.errors import NotFoundError, UsageError
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger

HEAD_FILE = "data/ledger.json"  # in a dossier
_HEAD = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class LedgerCheck:
    """Outcome: `problems` name rows, `missing_rules` triggers, `unread` dossiers without a usable head.

    `heads` counts the known heads that were looked for, `links` the links of the chain.
    """

    ledger: str
    head: str
    links: int
    heads: int
    problems: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """True when nothing was found; a dossier that cannot be read proves nothing either way."""
        return not self.problems


def existing_ledger(settings: Settings) -> Ledger:
    """The ledger of this home; `NotFoundError` instead of a new, empty one that would verify."""
    if not settings.ledger.is_file():
        raise NotFoundError(
            f"{settings.ledger}: there is no ledger yet", "run a drop first: fabric-pipeline run"
        )
    return Ledger(settings.ledger)


def verify_ledger(settings: Settings, known_heads: Sequence[str] = ()) -> LedgerCheck:
    """Check every link and row, the file's own rules, and all heads that are known outside."""
    wrong = [head for head in known_heads if not _HEAD.fullmatch(head)]
    if wrong:
        raise UsageError(
            f"{wrong[0][:80]!r} is not the head of a chain", "give 64 digits from 0 to 9 and a to f"
        )
    ledger = existing_ledger(settings)
    kept, unread = dossier_heads(settings)
    heads = dict.fromkeys([*known_heads, *kept])
    problems = ledger.verify_chain(heads) + ledger.expired_problems()
    problems += [
        f"the file's own rule {name} is missing or changed" for name in ledger.missing_rules()
    ]
    return LedgerCheck(
        ledger=str(settings.ledger),
        head=ledger.chain_head(),
        links=ledger.chain_length(),
        heads=len(heads),
        problems=[_with_dossier(problem, kept) for problem in problems],
        unread=unread,
    )


def dossier_heads(settings: Settings) -> tuple[dict[str, str], list[str]]:
    """Heads that the dossiers of this home kept, each with one dossier's name; and unreadable ones."""
    heads: dict[str, str] = {}
    unread: list[str] = []
    for path in sorted(settings.dossiers.glob(f"*/{HEAD_FILE}")):
        name = path.parent.parent.name
        try:
            head = json.loads(path.read_text(encoding="utf-8"))["chain_head"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            head = ""
        if isinstance(head, str) and _HEAD.fullmatch(head):
            heads.setdefault(head, name)
        else:
            unread.append(f"dossier {name} names no head of the chain")
    return heads, unread


def _with_dossier(problem: str, kept: dict[str, str]) -> str:
    named = next((name for head, name in kept.items() if problem.endswith(head)), "")
    return f"{problem} (dossier {named})" if named else problem
