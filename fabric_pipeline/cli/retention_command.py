"""Command `retention`: throw away readings of old drops by policy, or say what would go.

The daily Dagster job does the same. What may go is decided in `workflows.retention`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabric_pipeline.cli.output import put, put_json, put_table, say

if TYPE_CHECKING:
    from fabric_pipeline.workflows.retention import Retained

_SHOWN = 20


def retention(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    keep_days: Annotated[
        int | None, typer.Option("--keep-days", help="Days for which readings are kept.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Throw away readings of old drops that nothing open needs. Incidents, tickets and dossiers stay."""
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.workflows.retention import KEEP_READINGS_DAYS, retain

    days = KEEP_READINGS_DAYS if keep_days is None else keep_days
    done = retain(load_settings(), datetime.now(UTC), keep_days=days, dry_run=dry_run)
    if json:
        put_json(_body(done, dry_run))
        return
    drops = sorted({one.drop for one in done.expired})
    word = "would expire" if dry_run else "expired"
    megabytes = f"{done.bytes / 1e6:,.1f} MB"
    put(f"{len(drops)} drop(s) older than {days} days: readings {word}, {megabytes}")
    rows = [(one.drop, one.table, f"{one.rows:,}", f"{one.bytes:,}") for one in done.expired]
    if rows:
        put_table(("drop", "table", "rows", "bytes"), rows[:_SHOWN])
    if len(rows) > _SHOWN:
        say(f"{len(rows) - _SHOWN} more tables: --json")
    for kept in done.kept[:_SHOWN]:
        say(f"kept: {kept.drop}, {kept.kept_for}")
    if len(done.kept) > _SHOWN:
        say(f"{len(done.kept) - _SHOWN} more drops are kept: --json")
    if done.unpacked or done.leftovers:
        cleared = "would be cleared away" if dry_run else "cleared away"
        unpacked, left = len(done.unpacked), done.leftovers
        say(f"{unpacked} unpacked archive(s) and {left} half-written file(s) {cleared}")
    if done.shards.files:
        megabytes = f"{done.shards.size_bytes / 1e6:,.1f} MB"
        say(f"{done.shards.files} file(s) of old shards cleared away, {megabytes}")


def _body(done: Retained, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "bytes": done.bytes,
        "expired": [
            {"drop": one.drop, "table": one.table, "rows": one.rows, "bytes": one.bytes, "sha256": one.sha256}
            for one in done.expired
        ],
        "kept": [{"drop": one.drop, "why": one.kept_for, "last": str(one.last)} for one in done.kept],
        "unpacked": done.unpacked,
        "half_written": done.leftovers,
        "shard_files": done.shards.files,
        "shard_bytes": done.shards.size_bytes,
    }  # fmt: skip
