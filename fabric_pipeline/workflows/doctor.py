"""Examining an installation: versions, folders, ledger, audit file, drafter; what to do about each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from fabric_pipeline.settings import Settings
from fabric_pipeline.sources.base import FormatNote, note_of
from fabric_pipeline.sources.registry import reader_targets, readers
from fabric_pipeline.store.audit_query import query
from fabric_pipeline.store.ledger import Ledger

_NO_NOTE = FormatNote(tool="", versions="", recognised_by="", gives="", traps=())
_NEEDED = (
    "dagster",
    "dagster-webserver",
    "duckdb",
    "pandera",
    "pydantic-ai-slim",
    "anthropic",
)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `state`: ok, note or broken."""

    state: str
    what: str
    found: str
    remedy: str = ""


def examine(settings: Settings) -> list[Check]:
    """Look at everything that a run needs; reads only."""
    return [
        _python(),
        *_packages(),
        _guarded("readers", lambda: f"{len([*readers()])} formats", "reinstall the package"),
        _folder(settings),
        _guarded(
            "ledger",
            lambda: _ledger(settings),
            "keep the file and restore a backup of ledger.sqlite",
        ),
        _audit(settings),
        _drafter(settings),
    ]


def readable_formats() -> list[dict[str, Any]]:
    """Every known format: id, what it yields, which reader, and the reader's note.

    A reader without a note (somebody else's) has "" and an empty list of traps in its place.
    """
    targets = reader_targets()
    return [
        {
            "format": one.format_id,
            "reads": ", ".join(sorted(one.yields)),
            "reader": targets[one.format_id].rpartition(":")[2],
            **asdict(note_of(one) or _NO_NOTE),
        }
        for one in sorted(readers(), key=lambda reader: reader.format_id)
    ]


def _python() -> Check:
    found = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info >= (3, 11)
    return Check(
        "ok" if good else "broken", "python", found, "" if good else "install Python 3.11 or newer"
    )


def _packages() -> list[Check]:
    checks = []
    for name in _NEEDED:
        try:
            checks.append(Check("ok", name, version(name)))
        except PackageNotFoundError:
            checks.append(Check("broken", name, "not installed", "make setup"))
    return checks


def _folder(settings: Settings) -> Check:
    existing = next(path for path in (settings.home, *settings.home.parents) if path.exists())
    import os

    if not os.access(existing, os.W_OK):
        return Check(
            "broken", "home", str(settings.home), f"make {existing} writable or set FABRIC_HOME"
        )
    return Check("ok", "home", str(settings.home))


def _ledger(settings: Settings) -> str:
    if not settings.ledger.is_file():
        return "not there yet"
    problems = Ledger(settings.ledger).verify_chain()
    if problems:
        raise ValueError(problems[0])
    return "chain holds"


def _audit(settings: Settings) -> Check:
    if not settings.audit.is_file():
        return Check("note", "audit database", "not there yet", "fabric-pipeline run")
    return _guarded(
        "audit database",
        lambda: f"{query(settings, 'select count(*) from duckdb_tables()').rows[0][0]} tables",
        "run any drop again with --force: it is rebuilt",
    )


def _drafter(settings: Settings) -> Check:
    if settings.anthropic_api_key:
        return Check("ok", "drafter", f"Claude ({settings.model})")
    return Check(
        "note",
        "drafter",
        "rules (no ANTHROPIC_API_KEY)",
        "set ANTHROPIC_API_KEY to have Claude word the drafts",
    )


def _guarded(what: str, look: Callable[[], str], remedy: str) -> Check:
    try:
        return Check("ok", what, look())
    except Exception as problem:
        return Check("broken", what, str(problem)[:200], remedy)
