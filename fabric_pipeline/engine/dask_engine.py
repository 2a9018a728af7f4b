"""Shards on the workers of a Dask cluster: one that is given by its address, or one on this machine.

Dask is imported here and in `dask_map` alone, and only when this engine is used. What becomes of items is
decided in `dask_map`; which engine is used, in `choose`.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from typing import Any

from fabric_pipeline.engine.base import Done, Item, Result
from fabric_pipeline.errors import EngineError, UsageError
from fabric_pipeline.model.progress import Moment, Tell, silent
from fabric_pipeline.settings import DASK_WAIT_S

LOOPBACK = "127.0.0.1"
_ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_.-]+):[0-9]{1,5}", re.ASCII)
_CONNECT_S = 15.0
_CLOSE_S = 5.0
# A worker is given up for lost after so many deaths beyond the first; see `dask_map` for what follows.
_MORE_DEATHS = 1
# Python with the libraries of a shard takes some 200 MB, and DuckDB wants more than that to be quick.
_LEAST_PER_WORKER = 500 * 10**6
_MOST_OF_MACHINE = 0.6
_READ_BEFORE = ["distributed", "distributed.nanny", "duckdb", "fabric_pipeline.engine.dask_worker"]
# Dask's settings for as long as a cluster of ours is up.
_OF_OURS: dict[str, Any] = {
    "distributed.worker.multiprocessing-method": "forkserver",
    "distributed.nanny.pre-spawn-environ": {},  # it would change the environment of this process
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # So long after a death Dask would take the worker away for good if it happens to be starting again.
    "distributed.deploy.lost-worker-timeout": "1000 days",
}


class DaskEngine:
    """Connects or starts at the first `map` that has an item, and lets go at the end of the context."""

    name = "dask"

    def __init__(self, address: str = "", workers: int = 0, wait_s: float = DASK_WAIT_S) -> None:
        """Without `address` a cluster of `workers` (0: as many as fit) is started on loopback.

        Raises UsageError when Dask is not installed or the address cannot be one.
        """
        need_dask()
        if address and not _ADDRESS.fullmatch(address):
            raise UsageError(
                f"{address!r} is no address of a Dask scheduler",
                "give one such as tcp://127.0.0.1:8786 or tls://scheduler.example:8786",
            )
        self._address, self._workers, self._wait_s = address, workers, wait_s
        self._client: Any = None
        self._open = ExitStack()

    @property
    def place(self) -> str:
        """The cluster in words."""
        return f"the Dask cluster at {self._address}" if self._address else "Dask on this machine"

    def map(
        self,
        work: Callable[[Item], Result],
        items: Sequence[Item],
        *,
        words: str = "",
        tell: Tell = silent,
    ) -> list[Done[Result]]:
        """See `Engine.map`. Raises EngineError when the cluster cannot be reached or used."""
        if not items:
            return []
        from fabric_pipeline.engine.dask_map import DaskMap

        if self._client is None:
            tell(Moment(f"{words}, asking {self.place} for workers", words, 0, len(items)))
            self._client = self._connected()
        return DaskMap(
            self._client, self.place, work, items, words=words, tell=tell, wait_s=self._wait_s
        ).run()

    def __enter__(self) -> DaskEngine:
        """Nothing is started before there is something to do."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the cluster; one that was started here ends at once, whatever it has in hand."""
        self._client = None
        self._open.close()

    def _connected(self) -> Any:
        from distributed import Client

        target = self._address or self._cluster()
        try:
            client: Any = Client(target, timeout=_CONNECT_S, set_as_default=False)  # type: ignore[no-untyped-call]
        except (OSError, TypeError, ValueError, RuntimeError) as problem:
            raise _unreachable(self._address, problem) from None
        self._open.callback(_close, client)
        return client

    def _cluster(self) -> Any:
        """Processes of one thread each: DuckDB's threads and Python's lock would only be in each other's way."""
        import dask
        from dask.system import CPU_COUNT
        from distributed import LocalCluster
        from distributed.system import MEMORY_LIMIT

        _start_quickly()
        room = int(_MOST_OF_MACHINE * MEMORY_LIMIT // _LEAST_PER_WORKER)
        # Rows that workers lay aside go with this folder, also those of a worker that was killed.
        folder = self._open.enter_context(
            tempfile.TemporaryDirectory(prefix="fabric-pipeline-dask-", ignore_cleanup_errors=True)
        )
        # Dask puts a folder of its scheduler there.
        self._open.callback(sys.path.__setitem__, slice(None), list(sys.path))
        self._open.enter_context(dask.config.set({**_OF_OURS, "temporary-directory": folder}))
        cluster = LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=self._workers or max(1, min(CPU_COUNT, room)),
            threads_per_worker=1,
            processes=True,
            host=LOOPBACK,
            security=_security(),
            silence_logs=logging.WARNING,
            env={"TMPDIR": folder, "OMP_NUM_THREADS": "1"},
            scheduler_kwargs={
                "allowed_failures": _MORE_DEATHS,
                "dashboard": False,
                "dashboard_address": f"{LOOPBACK}:0",
            },
            worker_dashboard_address=None,
        )
        self._open.callback(_close, cluster)
        self._open.callback(_end_workers, cluster)
        return cluster


def need_dask() -> None:
    """Raises UsageError when the extra `cluster` is not installed; imports nothing."""
    try:
        found = find_spec("distributed") is not None
    except (ImportError, ValueError):
        found = False
    if not found:
        raise UsageError(
            "the engine `dask` needs Dask, which is not installed",
            "install it: make setup-cluster (or pip install 'fabric-pipeline[cluster]')",
        )


def _start_quickly() -> None:
    """Workers are copies of one process that has read the libraries, which halves the cost of their start.

    Dask would have that process, and this one, read pandas as well.
    """
    from distributed import utils

    if hasattr(utils, "_forkserver_preload_set"):
        utils._forkserver_preload_set = True
        multiprocessing.get_context("forkserver").set_forkserver_preload(_READ_BEFORE)


def _security() -> Any:
    """Keys for this cluster alone, in memory: loopback is open to every user of the machine."""
    from distributed import Security

    if find_spec("cryptography") is None:
        return None
    return Security.temporary()  # type: ignore[no-untyped-call]


def _end_workers(cluster: Any) -> None:
    """Dask would wait for those at work or just starting; what they write counts only when it is whole."""
    for nanny in list(cluster.workers.values()):
        nanny.close_gracefully()  # or it would start the next one
        if nanny.pid:
            with suppress(ProcessLookupError):
                os.kill(nanny.pid, signal.SIGKILL)


def _close(what: Any) -> None:
    with suppress(TimeoutError, OSError):
        what.close(timeout=_CLOSE_S)


def _unreachable(address: str, problem: Exception) -> EngineError:
    if isinstance(problem, OSError):
        return EngineError(
            f"no Dask scheduler answers at {address}",
            "start one there (dask scheduler), correct the address, or use --engine local",
        )
    return EngineError(
        f"the Dask scheduler at {address} cannot be used: {problem}",
        "for tls:// name authority, certificate and key in Dask's settings, see docs/how_to/run_on_a_cluster.md",
    )
