"""The graph of a drop from its rows: made once for all who hold it, and never an old one for new rows."""

from __future__ import annotations

import gc
import json
import weakref

from fabric_pipeline.workflows.topology_rows import topology_from_rows


def rows(port: int) -> list[tuple[str, str]]:
    link = {"type": "infiniband", "a": {"node": "n1", "port": "mlx5_0/1"}, "b": {"switch": "leaf-1", "port": port}}  # fmt: skip
    return [("link", json.dumps(link)), ("node", json.dumps({"node": "n1"}))]


def test_the_same_rows_are_one_graph_as_long_as_it_is_held() -> None:
    first = topology_from_rows(rows(1))
    assert topology_from_rows(iter(rows(1))) is first
    other = topology_from_rows(rows(2))
    assert other is not first
    assert other.far_end("n1:mlx5_0/1") == "unknown:leaf-1/port-2"
    seen = weakref.ref(first)
    del first
    gc.collect()
    assert seen() is None, "a long-lived process keeps no graph that nobody uses"
    assert topology_from_rows(rows(1)).far_end("n1:mlx5_0/1") == "unknown:leaf-1/port-1"


def test_garbage_is_collected_again_afterwards() -> None:
    assert gc.isenabled()
    topology_from_rows(rows(3))
    assert gc.isenabled()
