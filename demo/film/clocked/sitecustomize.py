"""Lets the product's own clock stand at the minute that the film has reached, in the processes of the film.

Python imports this file at its start when this folder is on PYTHONPATH. It wraps `datetime` in those
modules of the product that ask it for the time; Dagster's clock and all measured durations stay real.
"""

from __future__ import annotations

import os
import sys
from datetime import datetime, tzinfo
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

CLOCK = "FABRIC_FILM_CLOCK"
PRODUCT = "fabric_pipeline."
ASKS = "datetime.now("


class _Kind(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, datetime)


class FilmTime(datetime, metaclass=_Kind):
    """Behaves as `datetime` and makes plain ones; only `now` reads the clock of the film."""

    def __new__(cls, *given: Any, **named: Any) -> datetime:  # type: ignore[misc]
        """A plain datetime."""
        return datetime(*given, **named)  # noqa: DTZ001 - the caller says the zone

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        """What the film's clock says, an ISO moment with its offset in a file."""
        stands = datetime.fromisoformat(Path(os.environ[CLOCK]).read_text(encoding="ascii").strip())
        return stands.astimezone(tz)


class _Wrapping(Loader):
    """Loads a module as always, then gives it the film's time."""

    def __init__(self, real: Loader) -> None:
        self._real = real

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._real.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._real.exec_module(module)
        _wrap(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class _Finder(MetaPathFinder):
    """Finds the product's modules where they are."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name.startswith(PRODUCT) else None
        if spec is not None and spec.loader is not None and spec.origin is not None:
            if ASKS in Path(spec.origin).read_text(encoding="utf-8"):
                spec.loader = _Wrapping(spec.loader)
            return spec
        return None


def _wrap(module: ModuleType) -> None:
    """Only what a module imports at its top can be wrapped; the film looks out for the real date."""
    if getattr(module, "datetime", None) is datetime:
        module.datetime = FilmTime  # type: ignore[attr-defined]


if os.environ.get(CLOCK):
    sys.meta_path.insert(0, _Finder())
