"""Dagster's history in SQLite for the length of one process: one engine and one open connection a file.

Dagster makes a new SQLAlchemy engine for every question, so that each statement is compiled anew, and
closes the file after each, which makes SQLite copy its log back and wait for the disk. A run of a small
drop asks some six hundred times. What is stored stays as Dagster stores it. Only a power cut can cost the
last events of a run, a crash cannot; tables and ledger do not lie here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

_STORAGES = (
    "dagster._core.storage.runs.sqlite.sqlite_run_storage",
    "dagster._core.storage.event_log.sqlite.sqlite_event_log",
    "dagster._core.storage.schedules.sqlite.sqlite_schedule_storage",
)
_MAKER = "create_engine"


@contextmanager
def kept_open() -> Iterator[dict[str, Any]]:
    """Storages used inside keep their engines until the end; yields them by address of the file.

    A Dagster whose storages make their engines in another way is left as it is.
    """
    engines: dict[str, Any] = {}
    changed = [module for name in _STORAGES if hasattr(module := import_module(name), _MAKER)]
    makers: list[tuple[ModuleType, Callable[..., Any]]] = [
        (module, getattr(module, _MAKER)) for module in changed
    ]
    for module, maker in makers:
        setattr(module, _MAKER, _keeping(engines, maker))
    try:
        yield engines
    finally:
        for module, maker in makers:
            setattr(module, _MAKER, maker)
        for engine in engines.values():
            del engine.dispose
            engine.dispose()


def _keeping(engines: dict[str, Any], maker: Callable[..., Any]) -> Callable[..., Any]:
    """The maker of engines with a memory. Its engines pool connections, and outlive their `dispose`."""

    def make(address: str, **options: Any) -> Any:
        if address not in engines:
            from sqlalchemy import event

            options.pop("poolclass", None)  # Dagster's choice is a pool that keeps nothing
            engine = engines[address] = maker(address, **options)
            event.listen(engine, "connect", _trust_the_system)
            engine.dispose = lambda *_, **__: None
        return engines[address]

    return make


def _trust_the_system(connection: Any, _: Any) -> None:
    """Wait for the disk when the log is copied back, not at every event."""
    connection.execute("pragma synchronous = normal")
