"""Lost width and speed, waiting ports and throttled GPUs in time, out of the tables of one drop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fabric_pipeline.diagnose.localise.build import SideEvidence
from fabric_pipeline.diagnose.localise.side_sql import side_evidence, states_in_time
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline_tests.detect.telemetry import Row, at, count, growing, new_connection, reading
from fabric_pipeline_tests.detect.telemetry import series as readings
from fabric_pipeline_tests.diagnose.evidence import components, topology

PORT = {"node": "n1", "interface": "mlx5_2/1", "link_type": "infiniband"}
PCIE = {"node": "n1", "interface": "mlx5_2/pcie", "link_type": "pcie"}
CABLE = "n1:mlx5_2/1"


@pytest.fixture
def connection() -> Iterator[Any]:
    made = new_connection()
    made.execute(f"create temp table fabric_events as {TABLES['fabric_events'].empty_sql()}")
    yield made
    made.close()


def spans(connection: Any, rows: list[Row], known: Topology | None = None) -> dict[str, list[Any]]:
    """Component -> spans in seconds from the fixed start."""
    count(connection, rows)
    found = states_in_time(connection, known or Topology())
    assert all(one.has_state for one in found)
    zero = at(0)
    return {
        one.component: [
            ((a - zero).total_seconds(), (b - zero).total_seconds()) for a, b, _ in one.spans
        ]
        for one in found
    }


def test_a_width_lost_in_the_middle_changes_half_way(connection: Any) -> None:
    rows = readings("width", [16, 16, 8, 8, 16, 16], **PCIE)
    assert spans(connection, rows) == {"n1:mlx5_2/pcie": [(45.0, 105.0)]}


def test_a_width_lost_until_the_end_lasts_until_the_last_reading(connection: Any) -> None:
    assert spans(connection, readings("width", [16, 16, 8, 4], **PCIE)) == {
        "n1:mlx5_2/pcie": [(45.0, 90.0)]
    }
    assert spans(connection, readings("width", [8, 16, 16], **PCIE)) == {
        "n1:mlx5_2/pcie": [(0.0, 15.0)]
    }


@pytest.mark.parametrize("values", [[8, 8, 8, 8], [16, 16], [8]])
def test_a_width_that_never_changes_shows_nothing(connection: Any, values: list[float]) -> None:
    assert spans(connection, readings("width", values, **PCIE)) == {}


def test_an_idle_pcie_link_slows_down_by_design(connection: Any) -> None:
    speeds = [32.0, 2.5, 2.5, 32.0]
    assert spans(connection, readings("speed_gbps", speeds, **PCIE)) == {}
    assert list(spans(connection, readings("speed_gbps", speeds, **PORT))) == [CABLE]


def test_a_link_that_was_down_for_a_while(connection: Any) -> None:
    rows = readings("link_up", [1, 1, 0, 1, 1, 0, 1], **PORT)
    assert spans(connection, rows) == {CABLE: [(45.0, 75.0), (135.0, 165.0)]}


def test_readings_of_a_clock_that_runs_ahead_are_left_out(connection: Any) -> None:
    rows = readings("width", [16, 16, 16, 16], **PCIE)
    rows.append(reading("width", 8, 45, line=9, quality="clock_skew", **PCIE))
    assert spans(connection, rows) == {}


def test_width_and_speed_of_both_ends_are_one_link(connection: Any) -> None:
    port = {"node": "", "interface": "leaf-1/port-2", "link_type": "infiniband"}
    rows = readings("width", [4, 1, 1, 4, 4, 4], **PORT)
    rows += readings("speed_gbps", [100, 100, 100, 25, 100, 100], line=20, **port)
    known = topology((CABLE, "unknown:leaf-1/port-2"))
    ((_, found),) = spans(connection, rows, known).items()
    assert found == [(15.0, 105.0)]
    (one,) = states_in_time(connection, known)
    assert {one.component, one.far_end} == {CABLE, "unknown:leaf-1/port-2"}
    assert one.link_type == "infiniband"


def test_lanes_are_judged_each_for_itself(connection: Any) -> None:
    rows = readings("speed_gbps", [50, 50, 25, 50], lane=0, **PORT)
    rows += readings("speed_gbps", [100, 100, 100, 100], line=20, lane=1, **PORT)
    assert spans(connection, rows) == {CABLE: [(45.0, 75.0)]}


def test_a_port_that_waits_unusually(connection: Any) -> None:
    usual = dict.fromkeys(range(1, 12), 3e5)
    waits = growing(usual | {5: 9e6, 6: 9e6}, 12)
    count(connection, readings("tx_wait", waits, **PORT))
    far = "unknown:leaf-1/port-2"
    side = side_evidence(connection, topology((CABLE, far)))
    ((key, found),) = side.congested.items()
    assert key == (CABLE, far)
    assert [(start, end) for start, end, _ in found] == [(at(120), at(150)), (at(150), at(180))]
    assert found[0][2] == pytest.approx(3e5)
    assert side.throttled == {}


@pytest.mark.parametrize(
    "steps",
    [
        dict.fromkeys(range(1, 12), 9e6),  # it always waits like that
        {5: 3e5},  # a hundredth of the time at most
        {},
    ],
)
def test_a_port_that_waits_as_usual(connection: Any, steps: dict[int, float]) -> None:
    count(connection, readings("tx_wait", growing(steps, 12), **PORT))
    assert side_evidence(connection, Topology()) == SideEvidence({}, {})


def event(connection: Any, kind: str, at_s: float | None, node: str = "n1") -> None:
    connection.execute(
        "insert into fabric_events by name select ? as kind, ?::timestamptz as ts, ? as node",
        [kind, at(at_s), node],
    )


def throttled(connection: Any) -> dict[str, list[tuple[float, float]]]:
    count(connection, [])
    zero = at(0)
    found = side_evidence(connection, Topology()).throttled
    return {
        node: [((a - zero).total_seconds(), (b - zero).total_seconds()) for a, b, _ in every]
        for node, every in found.items()
    }


def test_throttling_lasts_from_start_to_end(connection: Any) -> None:
    event(connection, "thermal_throttle", 100)
    event(connection, "thermal_throttle_end", 400)
    event(connection, "HW_Throttle", 700)
    event(connection, "HW_Throttle_END", 720)
    event(connection, "xid", 800)
    event(connection, "power_throttle", 300, "n2")
    event(connection, "power_throttle_end", 350, "n2")
    assert throttled(connection) == {"n1": [(100, 400), (700, 720)], "n2": [(300, 350)]}


def test_half_a_pair_speaks_for_a_minute(connection: Any) -> None:
    event(connection, "thermal_throttle", 100)
    event(connection, "thermal_throttle_end", 500, "n2")
    assert throttled(connection) == {"n1": [(100, 160)], "n2": [(440, 500)]}


def test_throttling_told_again_and_again_is_one_span(connection: Any) -> None:
    for at_s in (100, 150, 200):
        event(connection, "thermal_throttle", at_s)
    assert throttled(connection) == {"n1": [(100, 260)]}


def test_throttling_without_time_or_node_says_nothing(connection: Any) -> None:
    event(connection, "thermal_throttle", None)
    event(connection, "thermal_throttle", 100, "")
    assert throttled(connection) == {}


def test_ends_of_links_are_named(connection: Any) -> None:
    count(connection, readings("width", [16, 8, 16], **PCIE))
    assert components(states_in_time(connection, Topology())) == ["n1:mlx5_2/pcie"]


def test_an_exchanged_gpu_is_read_in_the_order_of_time(connection: Any) -> None:
    slot = PCIE | {"interface": "gpu3/pcie"}
    rows = readings("width", [16, 16, 16, 16], gpu_uuid="GPU-a", **slot)
    later = [(16, 120), (8, 150), (16, 180)]
    rows += [reading("width", v, s, line=9 + s, gpu_uuid="GPU-b", **slot) for v, s in later]
    assert spans(connection, rows) == {"n1:gpu3/pcie": [(135.0, 165.0)]}
