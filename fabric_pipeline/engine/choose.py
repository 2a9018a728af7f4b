"""Which engine the settings ask for. What engines do is decided in their modules."""

from __future__ import annotations

from dataclasses import replace

from fabric_pipeline.engine.base import Engine
from fabric_pipeline.engine.local import LocalEngine
from fabric_pipeline.errors import UsageError
from fabric_pipeline.settings import Settings

ENGINES = ("local", "dask")


def open_engine(settings: Settings) -> Engine:
    """The engine for the shards of a run; use it as a context. Nothing is started or connected yet.

    Raises UsageError for an engine that there is not, one that is not installed, or an impossible address.
    """
    if settings.engine not in ("", *ENGINES):
        raise UsageError(
            f"there is no engine {settings.engine!r}",
            f"set FABRIC_ENGINE (or ENGINE) to one of {', '.join(ENGINES)}, or unset it",
        )
    if settings.engine != "dask":
        return LocalEngine()
    from fabric_pipeline.engine.dask_engine import DaskEngine

    return DaskEngine(settings.dask_address, settings.dask_workers, settings.dask_wait_s)


def with_engine(settings: Settings, engine: str, address: str, workers: int) -> Settings:
    """Settings for what was asked for by hand ("" and 0: not said), which stands above all else.

    An address or a number of workers is asking for `dask`. Raises UsageError when things do not go
    together, and as `open_engine`.
    """
    asked = engine.lower() or ("dask" if address or workers else "")
    if asked == "local" and (address or workers):
        raise UsageError(
            "the engine `local` has no Dask cluster", "leave out --engine, or say --engine dask"
        )
    if address and workers:
        raise UsageError(
            "workers are started on this machine or found at an address, not both",
            "leave out --dask-workers or --dask-address",
        )
    if workers:  # those of a cluster that the environment names are not meant
        settings = replace(settings, dask_address="")
    settings = replace(
        settings,
        engine=asked or settings.engine,
        dask_address=address or settings.dask_address,
        dask_workers=workers or settings.dask_workers,
    )
    open_engine(settings)
    return settings
