"""Totals of network ports without times are gathered beside fleets of ports that have times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fabric_pipeline.model.records import Reading
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.workflows.diagnose import gather_evidence
from fabric_pipeline_tests.detect.telemetry import Row, count, new_connection, reading, series

_STAGES = (
    "spike_detections", "stragglers", "straggler_correlations", "fabric_events", "collective_timings",
)  # fmt: skip
PORT: Row = {"interface": "mlx5_0/1", "link_type": "infiniband"}
OTHER: Row = {"interface": "mlx5_1/1", "link_type": "infiniband"}


@pytest.fixture
def connection() -> Iterator[Any]:
    made = new_connection()
    for name in _STAGES:
        made.execute(f"create temp table {name} as {TABLES[name].empty_sql()}")
    yield made
    made.close()


def totals(connection: Any, rows: list[Row]) -> list[Reading]:
    count(connection, rows)
    return list(gather_evidence(connection, Topology()).port_snapshots)


def test_ports_with_times_have_no_totals(connection: Any) -> None:
    assert totals(connection, series("symbol_error", [0, 3, 9], **PORT)) == []
    assert totals(connection, series("crc_flit", [0, 3, 9])) == [], "there are no ports at all"


@pytest.mark.parametrize("lane", [None, 2])
def test_a_port_without_times_is_told_beside_one_with_times(
    connection: Any, lane: int | None
) -> None:
    rows = series("symbol_error", [0, 3, 9], **PORT)
    rows += series("symbol_error", [5, 5], **OTHER | {"lane": 1})
    rows.append(reading("symbol_error", 40, line=7, **OTHER | {"lane": lane}))
    (found,) = totals(connection, rows)
    assert (found.interface, found.lane, found.value, found.line) == ("mlx5_1/1", lane, 40.0, 7)


def test_a_bit_error_rate_is_told_of_every_kind_of_link(connection: Any) -> None:
    (found,) = totals(connection, [reading("effective_ber", 1e-9, kind="gauge")])
    assert (found.counter, found.link_type) == ("effective_ber", "nvlink")


def test_a_port_that_waits_unlike_the_others_is_told_with_its_first_and_last_reading(
    connection: Any,
) -> None:
    rows: list[Row] = []
    for number, growth in enumerate((1, 2, 3, 10**12)):
        port: Row = {"interface": f"mlx5_{number}/1", "link_type": "infiniband"}
        rows += series("tx_wait", [0, growth, 2 * growth], line=10 * number, **port)
    found = totals(connection, rows)
    assert [(one.interface, one.line) for one in found] == [("mlx5_3/1", 30), ("mlx5_3/1", 32)]
