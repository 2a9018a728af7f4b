"""The head of the ledger's chain up to which everything was verified, kept in a file beside the ledger.

It spares the end of every run the reading of all history. It is no proof: who may write the ledger may
write this file too, so auditors verify the whole chain (`fabric-pipeline ledger verify`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from fabric_pipeline.store.ledger_chain import ChainCheck, LedgerChain, VerifiedChain


@dataclass(frozen=True, slots=True)
class KeptHead:
    """A verified state, and when and how far all of the chain was last read from its beginning."""

    state: VerifiedChain
    whole_links: int
    whole_at: str


@dataclass(frozen=True, slots=True)
class Verified:
    """What one verification did: its outcome, and in words which links it read."""

    check: ChainCheck
    words: str


def verify(ledger: LedgerChain, at: datetime, *, whole: bool = False) -> Verified:
    """Verify what is new since the kept head, or all of it; keeps the new head when everything holds.

    After a problem no head is kept, so that the next verification reads everything.
    """
    path = head_path(ledger.path)
    kept = None if whole else _kept(path)
    check = ledger.verify_since(kept.state if kept else None)
    if kept is None or check.trusted_links == 0:
        kept = KeptHead(check.state, check.state.seq, _text(at))
    if check.problems:
        path.unlink(missing_ok=True)
    else:
        _keep(path, KeptHead(check.state, kept.whole_links, kept.whole_at))
    return Verified(check, _words(check, kept))


def head_path(ledger: Path) -> Path:
    """The file beside the ledger."""
    return ledger.with_name(f"{ledger.stem}.verified.json")


def _words(check: ChainCheck, kept: KeptHead) -> str:
    links = check.state.seq
    if not check.trusted_links:
        return f"all {links} links and their rows"
    new = links - check.trusted_links
    told = f"the {new} links after link {check.trusted_links} and their rows"
    return (
        f"{told}; all links up to {kept.whole_links} on {kept.whole_at}, "
        "those between when they were new"
    )


def _kept(path: Path) -> KeptHead | None:
    """None for a file that is missing or not what this program wrote: then everything is verified."""
    try:
        raw = json.loads(path.read_bytes())
        rows = {str(table): int(seq) for table, seq in raw["rows"].items()}
        state = VerifiedChain(int(raw["seq"]), str(raw["head"]), rows)
        return KeptHead(state, int(raw["whole_links"]), str(raw["whole_at"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _keep(path: Path, kept: KeptHead) -> None:
    state = kept.state
    body = {
        "seq": state.seq, "head": state.head, "rows": dict(state.rows), "whole_links": kept.whole_links, "whole_at": kept.whole_at,
    }  # fmt: skip
    temporary = path.with_name(f".{path.name}.{uuid4().hex}.tmp")
    temporary.write_text(json.dumps(body, indent=1), encoding="utf-8")
    temporary.replace(path)


def _text(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds")
