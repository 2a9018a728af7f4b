"""Series that vanish and nodes that are silent: hints, never accusations, never health."""

from __future__ import annotations

from typing import Any

from fabric_pipeline.detect.absence.evaluate import silent_nodes, vanished_series
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline_tests.detect.telemetry import Row, count, reading, series


def node_with_links(until: dict[str, int], step_s: float = 30.0, **changes: Any) -> list[Row]:
    """Interface -> number of samples before it falls silent."""
    rows: list[Row] = []
    for number, (interface, samples) in enumerate(until.items()):
        more: Row = {"interface": interface, "line": 1000 * number} | changes
        rows += series("replay", [0] * samples, step_s, **more)
    return rows


def vanished(connection: Any, rows: list[Row]) -> list[str]:
    count(connection, rows)
    return [finding.component for finding in vanished_series(connection)]


def test_a_link_that_falls_silent_beside_its_siblings_is_a_hint(connection: Any) -> None:
    count(
        connection, node_with_links({"gpu0/nvlink-0": 60, "gpu0/nvlink-1": 30, "gpu0/nvlink-2": 60})
    )
    (finding,) = vanished_series(connection)
    assert finding.component == "n1:gpu0/nvlink-1"
    assert (finding.severity, finding.role, finding.accuses) == ("watch", "context", False)
    assert (finding.evidence[0].file, finding.evidence[0].line) == ("a.csv", 1029)
    assert "07:14:30" in finding.reason


def test_the_first_counter_in_the_table_stands_for_a_silent_link(connection: Any) -> None:
    """Several counters of it have the last time; which one is cited must not depend on threads."""
    rows: list[Row] = []
    for number, name in enumerate(("rx_bytes", "recovery", "crc_flit", "tx_bytes")):
        rows += [
            row | {"counter": name, "line": row["line"] + 10_000 * number}
            for row in node_with_links(
                {"gpu0/nvlink-0": 60, "gpu0/nvlink-1": 30, "gpu0/nvlink-2": 60}
            )
        ]
    count(connection, rows)
    (finding,) = vanished_series(connection)
    assert finding.evidence[0].line == 21029, "crc_flit comes before recovery, rx_bytes, tx_bytes"


def test_siblings_need_not_end_in_the_same_second(connection: Any) -> None:
    rows = node_with_links({"gpu0/nvlink-0": 60, "gpu0/nvlink-1": 30, "gpu0/nvlink-2": 59})
    assert vanished(connection, rows) == ["n1:gpu0/nvlink-1"]


def test_a_short_silence_or_too_few_siblings_say_nothing(connection: Any) -> None:
    short = node_with_links({"gpu0/nvlink-0": 60, "gpu0/nvlink-1": 50, "gpu0/nvlink-2": 60})
    assert vanished(connection, short) == []
    assert vanished(connection, node_with_links({"gpu0/nvlink-0": 60, "gpu0/nvlink-1": 30})) == []
    one_goes_on = {"gpu0/nvlink-0": 60, "gpu0/nvlink-1": 30, "gpu0/nvlink-2": 30}
    assert vanished(connection, node_with_links(one_goes_on)) == []


def test_a_silence_is_measured_in_usual_steps(connection: Any) -> None:
    rows = node_with_links(
        {"gpu0/nvlink-0": 12, "gpu0/nvlink-1": 8, "gpu0/nvlink-2": 12}, step_s=600
    )
    assert vanished(connection, rows) == [], "four steps of ten minutes are within five steps"


def test_other_nodes_and_kinds_of_links_are_no_siblings(connection: Any) -> None:
    rows = node_with_links({"gpu0/nvlink-0": 60, "gpu0/nvlink-1": 30})
    rows += node_with_links({"mlx5_0/1": 60, "mlx5_1/1": 60}, link_type="infiniband")
    rows += node_with_links({"gpu0/nvlink-0": 60, "gpu0/nvlink-1": 60}, node="n2")
    assert vanished(connection, rows) == []


def test_a_reading_from_the_future_makes_nobody_silent(connection: Any) -> None:
    rows = node_with_links(dict.fromkeys(("gpu0/nvlink-0", "gpu0/nvlink-1", "gpu0/nvlink-2"), 60))
    for interface in ("gpu0/nvlink-0", "gpu0/nvlink-1"):
        rows.append(reading("replay", 0, 10**7, 9999, interface=interface, quality="clock_skew"))
    assert vanished(connection, rows) == []


def test_values_that_were_not_measured_are_silence(connection: Any) -> None:
    rows = node_with_links({"gpu0/nvlink-0": 60, "gpu0/nvlink-1": 60, "gpu0/nvlink-2": 60})
    for row in rows:
        if row["interface"] == "gpu0/nvlink-1" and row["line"] >= 1030:
            row |= {"value": None, "quality": "not_supported"}
    assert vanished(connection, rows) == ["n1:gpu0/nvlink-1"]


def test_an_expected_node_without_anything_is_named_and_not_judged(connection: Any) -> None:
    count(connection, node_with_links({"gpu0/nvlink-0": 3}))
    connection.execute(
        f"create or replace temp table fabric_events as {TABLES['fabric_events'].empty_sql()}"
    )
    found = silent_nodes(connection, ["n3", "n1", "n2", "n3"])
    assert [finding.component for finding in found] == ["n2:unknown", "n3:unknown"]
    assert {(f.severity, f.role, f.is_link, f.accuses) for f in found} == {
        ("info", "context", False, False)
    }
    assert "neither good nor bad" in found[0].reason
