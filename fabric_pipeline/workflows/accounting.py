"""Counting that proves completeness: readings in against readings out, publications against the ledger."""

from __future__ import annotations

from dataclasses import dataclass

from fabric_pipeline.settings import Settings
from fabric_pipeline.sources.drop import sha256_of
from fabric_pipeline.store.duck import scalar
from fabric_pipeline.store.lake import head_path
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.drop_stages import drop_tables
from fabric_pipeline.workflows.shards import failed_shards, raw_parts


@dataclass(frozen=True, slots=True)
class ReadingAccount:
    """Rows read, accepted and quarantined of one drop, and those in shards that could not be counted."""

    read: int
    accepted: int
    quarantined: int
    uncounted: int = 0

    @property
    def balances(self) -> bool:
        """True when nothing is missing and nothing was invented."""
        return self.read == self.accepted + self.quarantined + self.uncounted


def reading_account(settings: Settings, drop_id: str) -> ReadingAccount:
    """Count the three tables independently of how they were made."""
    failed = {one.part for one in failed_shards(settings, drop_id)}
    if failed:
        return _account_with_failures(settings, drop_id, failed)
    names = ["raw_telemetry", "link_counters", "quarantined_telemetry"]
    with drop_tables(settings, drop_id, names) as connection:
        read, accepted, quarantined = (
            int(scalar(connection, f"select count(*) from {name}") or 0) for name in names
        )
    return ReadingAccount(read, accepted, quarantined)


def _account_with_failures(settings: Settings, drop_id: str, failed: set[int]) -> ReadingAccount:
    """Rows of failed shards are those that were written, because the file may be what failed."""
    parts = raw_parts(settings, drop_id)
    names = ["link_counters", "quarantined_telemetry"]
    with drop_tables(settings, drop_id, names) as connection:
        accepted, quarantined = (
            int(scalar(connection, f"select count(*) from {name}") or 0) for name in names
        )
    uncounted = sum(part.rows - part.refused for part in parts if part.number in failed)
    return ReadingAccount(sum(part.rows for part in parts), accepted, quarantined, uncounted)


def publication_problems(settings: Settings, drop_id: str) -> list[str]:
    """Differences between published_tickets, the ledger and the files in the outbox."""
    recorded = {
        (p.ticket_id, p.draft_sha256): p.outbox_file
        for p in Ledger(settings.ledger).publications(drop=drop_id)
    }
    shown = _shown_as_published(settings, drop_id)
    problems = [
        f"{ticket}: in the ledger but not in the table" for ticket, _ in recorded.keys() - shown
    ]
    problems += [
        f"{ticket}: in the table but not in the ledger" for ticket, _ in shown - recorded.keys()
    ]
    problems += [
        f"{ticket}: {file} is missing from the outbox"
        for (ticket, _), file in recorded.items()
        if not (settings.outbox / file).exists()
    ]
    return sorted(problems)


def table_sha256(settings: Settings, name: str, drop_id: str) -> str:
    """SHA-256 of a table's file (or list of files) of one drop; empty when there is none."""
    path = head_path(settings.lake, name, drop_id)
    return sha256_of(path) if path.is_file() else ""


def _shown_as_published(settings: Settings, drop_id: str) -> set[tuple[str, str]]:
    if not head_path(settings.lake, "published_tickets", drop_id).is_file():
        return set()
    with drop_tables(settings, drop_id, ["published_tickets"]) as connection:
        sql = "select ticket_id, draft_sha256 from published_tickets"
        return {(ticket, sha256) for ticket, sha256 in connection.execute(sql).fetchall()}
