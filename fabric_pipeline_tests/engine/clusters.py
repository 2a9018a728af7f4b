"""A Dask cluster on loopback that is not started by the engine."""

from __future__ import annotations

from typing import Any


def cluster_in_this_process() -> Any:
    """A scheduler and a worker of two threads, on TCP; a context."""
    from distributed import LocalCluster

    return LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=1,
        threads_per_worker=2,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        dashboard_address=None,
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
    )
