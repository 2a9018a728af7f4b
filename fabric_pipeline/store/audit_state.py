"""What an audit file was made from, kept in a file beside it, so that the next one is made from the difference.

Whatever does not fit (another version, another lake, a file that somebody wrote to, a ledger that lost rows)
means that nothing is known and the audit file is made anew. Applying the difference is `audit_update`'s.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import duckdb

from fabric_pipeline import __version__
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.audit_life import INCIDENT_LIFE, REPAIR_OUTCOMES
from fabric_pipeline.store.audit_tables import AUDIT_INFO, LEDGER_TABLES
from fabric_pipeline.store.audit_write import (
    ROWS_IN_GROUP,
    STORAGE_VERSION,
    is_viewed,
    temporary_of,
)
from fabric_pipeline.store.lake import has_parts, scan_all, scan_plain, tables_of

# A folder that was written to this shortly before it was looked at may be written to again within the
# same tick of the file system's clock: it counts as unknown and is read once more next time.
_UNSURE_NS = 2 * 10**9

Stamps = dict[str, int]  # drop -> when its folder was last written to, 0 when that is not sure


@dataclass(frozen=True, slots=True)
class LakeState:
    """Folders of the copied tables, and the SELECTs of those that are views."""

    copied: Mapping[str, Stamps]
    viewed: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LedgerState:
    """The newest row of each append-only table, and a hash over it."""

    last: Mapping[str, int]
    rows: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class AuditState:
    """Everything that an audit file was made from. `file` is its inode, size and time of writing."""

    fits: str
    file: tuple[int, int, int]
    built_at: str
    left_out: Mapping[str, str]
    lake: LakeState
    ledger: LedgerState


def lake_now(lake: Path, before: LakeState | None = None) -> LakeState:
    """The lake as it is, without opening a table.

    A run writes all tables of its drop: of views only those drops are looked at whose copied tables were
    written since `before`, unless a view names the files of some drop.
    """
    copied: dict[str, Stamps] = {}
    views = []
    for name in tables_of(lake):
        if is_viewed(name):
            views.append(name)
        else:
            copied[name] = dict(_stamps(lake / name))
    if before is None or before.copied.keys() != copied.keys():
        return LakeState(copied, {name: scan_all(lake, name) for name in views})
    written = {drop for name, now in copied.items() for drop in renewed(before.copied[name], now)}
    viewed = {}
    for name in views:
        known = before.viewed.get(name)
        is_plain = known == scan_plain(lake, name)
        is_same = is_plain and not any(has_parts(lake, name, drop) for drop in written)
        viewed[name] = known if known is not None and is_same else scan_all(lake, name)
    return LakeState(copied, viewed)


def renewed(before: Stamps, now: Stamps) -> list[str]:
    """Drops whose folder was written to since, or may have been."""
    return [drop for drop, at in now.items() if not at or before.get(drop) != at]


def ledger_now(con: sqlite3.Connection) -> LedgerState:
    """The ledger as this snapshot has it."""
    sources = [entry.source for entry in LEDGER_TABLES if entry.grown]
    last = {
        source: int(con.execute(f"SELECT coalesce(max(seq), 0) FROM {source}").fetchone()[0])
        for source in sources
    }
    return LedgerState(last, {source: _row_hash(con, source, seq) for source, seq in last.items()})


def continues(con: sqlite3.Connection, before: LedgerState, now: LedgerState) -> bool:
    """True when this ledger only grew since then."""
    return before.last.keys() == now.last.keys() and all(
        _row_hash(con, source, seq) == before.rows.get(source)
        for source, seq in before.last.items()
    )


def load_state(settings: Settings) -> AuditState | None:
    """What the audit file that is there was made from; None when that is not known for certain."""
    try:
        raw = json.loads(state_path(settings.audit).read_bytes())
        state = AuditState(
            fits=str(raw["fits"]),
            file=(int(raw["file"][0]), int(raw["file"][1]), int(raw["file"][2])),
            built_at=str(raw["built_at"]),
            left_out=dict(raw["left_out"]),
            lake=LakeState(**raw["lake"]),
            ledger=LedgerState(**raw["ledger"]),
        )
        is_same = state.fits == fingerprint(settings) and state.file == identity(settings.audit)
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None
    return state if is_same else None


def save_state(settings: Settings, state: AuditState) -> None:
    """Keep it for the next time."""
    path = state_path(settings.audit)
    temporary = temporary_of(path)
    lake = {"copied": state.lake.copied, "viewed": state.lake.viewed}
    ledger = {"last": state.ledger.last, "rows": state.ledger.rows}
    body = {
        "fits": state.fits, "file": state.file, "built_at": state.built_at, "left_out": state.left_out, "lake": lake, "ledger": ledger,
    }  # fmt: skip
    temporary.write_text(json.dumps(body), encoding="utf-8")
    temporary.replace(path)


def forget_state(settings: Settings) -> None:
    """The next audit file is made anew, whatever happens to this one."""
    state_path(settings.audit).unlink(missing_ok=True)


def state_path(audit: Path) -> Path:
    """The file beside the audit file."""
    return audit.with_name(f".{audit.stem}.state.json")


def identity(path: Path) -> tuple[int, int, int]:
    """What changes when somebody writes to a file or puts another in its place."""
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def fingerprint(settings: Settings) -> str:
    """A hash over everything that decides what an audit file looks like, beside its rows."""
    views = files("fabric_pipeline.store") / "views"
    said = [
        __version__, duckdb.__version__, STORAGE_VERSION, str(ROWS_IN_GROUP), str(settings.lake.resolve()),
        repr(list(TABLES.values())), repr(LEDGER_TABLES), repr((INCIDENT_LIFE, REPAIR_OUTCOMES, AUDIT_INFO)),
        *sorted(entry.read_text(encoding="utf-8") for entry in views.iterdir() if entry.name.endswith(".sql")),
    ]  # fmt: skip
    return hashlib.sha256("\n".join(said).encode()).hexdigest()


def _stamps(folder: Path) -> Iterator[tuple[str, int]]:
    sure_until = time.time_ns() - _UNSURE_NS
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("drop="):
                written = entry.stat().st_mtime_ns
                yield entry.name.removeprefix("drop="), written if written < sure_until else 0


def _row_hash(con: sqlite3.Connection, source: str, seq: int) -> str:
    row = con.execute(f"SELECT * FROM {source} WHERE seq = ?", [seq]).fetchone()
    return hashlib.sha256(repr(tuple(row) if row else None).encode()).hexdigest()
