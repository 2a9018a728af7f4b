"""Verifications of dossiers that a page has asked for: run beside the server, one at a time, kept until asked again.

A dossier that was built anew since is told apart by the hash of its manifest. What is checked is decided in
`workflows.dossier_verify`.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fabric_pipeline.errors import FabricError
from fabric_pipeline.settings import Settings
from fabric_pipeline.sources.drop import sha256_of
from fabric_pipeline.workflows.dossier_bag import TAG_MANIFEST

if TYPE_CHECKING:
    from fabric_pipeline.workflows.dossier_check import DossierCheck

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StartedCheck:
    """One verification; `check` is there once it has ended, `error` when it could not be made."""

    asked_at: datetime
    ended_at: datetime | None = None
    check: DossierCheck | None = None
    error: str = ""
    manifest: str = ""

    @property
    def is_over(self) -> bool:
        """True when nothing more will happen."""
        return self.ended_at is not None

    @property
    def holds(self) -> bool:
        """True when the dossier was checked and nothing was found."""
        return self.check is not None and not self.check.problems


class Checks:
    """The verifications of one home."""

    def __init__(self, settings: Settings) -> None:
        """Nothing runs before it is asked for."""
        self._settings = settings
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._checks: dict[str, StartedCheck] = {}

    def of(self, name: str) -> StartedCheck | None:
        """The last verification of a dossier, None when there was none since it was built."""
        with self._lock:
            found = self._checks.get(name)
        if found is None or not found.is_over:
            return found
        return found if found.manifest == _manifest(self._settings.dossiers / name) else None

    def ask(self, name: str, path: Path) -> None:
        """Start to verify a dossier unless that is under way."""
        with self._lock:
            known = self._checks.get(name)
            if known is not None and not known.is_over:
                return
            self._checks[name] = StartedCheck(datetime.now(UTC))
        threading.Thread(target=self._work, args=(name, path), name=f"verify {name}").start()

    def _work(self, name: str, path: Path) -> None:
        from fabric_pipeline.workflows.dossier_verify import (
            verify_dossier,
        )  # loads the whole diagnosis

        check, error, manifest = None, "", ""
        with self._turn:
            try:
                manifest = _manifest(path)
                check = verify_dossier(path, ledger=self._settings.ledger)
            except FabricError as problem:
                error = str(problem)
            except Exception:  # a thread has nobody above it who could tell the reader
                _LOG.exception("verifying %r failed", name)
                error = "the check failed; its cause is in the log of the portal"
        with self._lock:
            self._checks[name] = replace(
                self._checks[name],
                ended_at=datetime.now(UTC),
                check=check,
                error=error,
                manifest=manifest,
            )


def checks_of(settings: Settings) -> Checks:
    """The verifications of a home; the same object for every request of this process."""
    with _LOCK:
        return _HOMES.setdefault(settings.home, Checks(settings))


def _manifest(path: Path) -> str:
    try:
        return sha256_of(path / TAG_MANIFEST)
    except OSError:
        return ""


_HOMES: dict[Path, Checks] = {}
_LOCK = threading.Lock()
