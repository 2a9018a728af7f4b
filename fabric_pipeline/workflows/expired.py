"""What front doors say of a drop whose readings were thrown away by policy: when, by which rule, what stays.

Only asked when a table is missing. What expires is decided in `retention`.
"""

from __future__ import annotations

from collections.abc import Collection

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger


def expired_words(settings: Settings, drop: str, tables: Collection[str]) -> str:
    """That these tables of a drop expired, when and by which rule; "" when none of them did."""
    if not settings.ledger.is_file():
        return ""
    found = [one for one in Ledger(settings.ledger).expired(drop) if one.table in tables]
    if not found:
        return ""
    newest = found[-1]
    return (
        f"the readings of drop {drop} expired on {newest.at:%Y-%m-%d} by policy ({newest.policy}); "
        "its incidents, tickets and dossiers are kept"
    )


def refuse_expired(settings: Settings, drop: str, table: str) -> None:
    """Raise NotFoundError with these words for a missing table that expired."""
    words = expired_words(settings, drop, [table])
    if words:
        raise NotFoundError(
            words,
            "look at its incidents and dossiers, or read the delivered files again: fabric-pipeline run --force",
        )
