"""Checking the ledger rows of a dossier against their chain links, and the links against a known head.

Needs nothing but the dossier. A chain that was made anew as a whole is consistent in itself: only a
head that is known from elsewhere, the ledger or a signature tells it from the true one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from itertools import pairwise

from fabric_pipeline.incidents.ticket import content_sha256
from fabric_pipeline.incidents.ticket_versions import body_of
from fabric_pipeline.store.ledger_chain import GENESIS
from fabric_pipeline.workflows.dossier_bag import shown
from fabric_pipeline.workflows.dossier_ledger import LedgerFacts, Link, Row


def chain_problems(facts: LedgerFacts) -> Iterator[str]:
    """What does not hold between rows, links and head, in words."""
    yield from _link_problems(facts)
    yield from _row_problems(facts)
    yield from _gate_problems(facts)


def head_problems(facts: LedgerFacts, known: str) -> tuple[list[str], str]:
    """Whether the links lead to a head that is known from elsewhere: problems, and what is proven.

    `known` may be older or newer than the dossier; of rows after an older head nothing is proven.
    """
    places = {link.hash: place for place, link in enumerate(facts.links)}
    if known == facts.head:
        return [], "the known head is the head of this dossier: all rows of the ledger are proven"
    if known in places and facts.is_gap_free:
        later = len(facts.links) - 1 - places[known]
        return [], f"the known head is in the chain; {later} later links are not proven by it"
    if not facts.links and known != facts.head:
        return [], "the ledger holds no row of this incident, so the known head proves nothing here"
    said = (
        "the chain of this dossier does not contain the known head: it was made anew, or the head "
    )
    return [f"{said}is of another ledger or newer than the dossier (then use --ledger)"], ""


def row_payload(row: Row) -> str:
    """Hash of one row as the ledger chains it: JSON with sorted keys, ASCII, no spaces."""
    text = json.dumps(row, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _link_problems(facts: LedgerFacts) -> Iterator[str]:
    for link in facts.links:
        text = f"{link.seq}\n{link.kind}\n{link.row_seq}\n{link.payload_sha256}\n{link.prev_hash}"
        if hashlib.sha256(text.encode()).hexdigest() != link.hash:
            yield f"chain link {link.seq}: its hash does not follow from its content"
    if not facts.is_gap_free or not facts.links:
        return
    for one, other in pairwise(facts.links):
        if other.seq != one.seq + 1 or other.prev_hash != one.hash:
            yield f"chain link {other.seq}: does not follow the one before it"
    if facts.links[-1].hash != facts.head:
        yield "the chain does not end in the head that ledger.json states"
    if facts.links[0].seq == 1 and facts.links[0].prev_hash != GENESIS:
        yield "chain link 1: does not begin the chain"


def _row_problems(facts: LedgerFacts) -> Iterator[str]:
    links = {(link.kind, link.row_seq): link for link in facts.links}
    for kind, rows in facts.rows.items():
        for row in rows:
            link: Link | None = links.get((kind, row["seq"]))
            about = f"{kind} {row['seq']}"
            if link is None:
                yield f"{about}: has no link in the chain"
            elif row_payload(row) != link.payload_sha256:
                yield f"{about}: is not the row that was chained"


def _gate_problems(facts: LedgerFacts) -> Iterator[str]:
    """Every decision must be about a draft that is here, and every publication about an approval."""
    drafts = {(row["ticket_id"], row["revision"]): row for row in facts.rows["draft"]}
    for (ticket, revision), row in drafts.items():
        body = body_of(str(row["json"]))
        if body is None or content_sha256(body) != row["draft_sha256"]:
            yield f"draft {shown(str(ticket))} revision {revision}: its text does not have its hash"
    for kind in ("review", "publication", "edit"):
        for row in facts.rows[kind]:
            draft = drafts.get((row["ticket_id"], row["revision"]))
            if draft is None or draft["draft_sha256"] != row["draft_sha256"]:
                yield f"{kind} {row['seq']}: is about a draft that is not here"
    yield from _unapproved(facts.rows["publication"], facts.rows["review"])


def _unapproved(publications: Sequence[Row], reviews: Sequence[Row]) -> Iterator[str]:
    by_seq = {row["seq"]: row for row in reviews}
    for row in publications:
        review = by_seq.get(row["review_seq"], {})
        named = ("ticket_id", "revision", "draft_sha256", "reviewer")
        if review.get("decision") != "approved" or any(review[n] != row[n] for n in named):
            yield f"publication {row['seq']}: no review here approved exactly this draft"
