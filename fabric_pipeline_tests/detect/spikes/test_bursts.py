"""Bursts: found at every scale, with tight edges, and never in the noise of a fleet."""

from __future__ import annotations

import random
from typing import Any

import pytest

from fabric_pipeline.detect.spikes.bursts_sql import bursts_sql, significance_sql, windows_sql
from fabric_pipeline.detect.spikes.evaluate import (
    Spike,
    bursts_from_json,
    detect_from_series,
    detect_spikes,
)
from fabric_pipeline.detect.spikes.series import create_empty, summarise
from fabric_pipeline.detect.spikes.thresholds import SpikeLimits
from fabric_pipeline_tests.detect.spikes.sparse import fill
from fabric_pipeline_tests.detect.telemetry import at, count, growing, series

Steps = dict[int, dict[int, float]]


def poisson(seed: int, mean: float) -> int:
    """A Poisson number by inversion; tests only."""
    source, product, number = random.Random(seed), 1.0, 0  # noqa: S311
    while (product := product * source.random()) > 2.718281828459045**-mean:
        number += 1
    return number


def noise(links: range, per_hour: float, samples: int = 240, step_s: float = 30.0) -> Steps:
    mean = per_hour * step_s / 3600
    return {
        link: {n: float(c) for n in range(2, samples + 1) if (c := poisson(link * 1000 + n, mean))}
        for link in links
    }


def rules(spike: Spike) -> set[str]:
    return {hit.rule_id for hit in spike.hits}


def test_a_burst_has_tight_edges(connection: Any) -> None:
    """A stray error before and after it within a window's reach is not part of it."""
    steps: Steps = {3: dict.fromkeys(range(100, 110), 40.0) | {97: 1.0, 113: 1.0}}
    fill(connection, 18, steps)
    (spike,) = detect_from_series(connection)
    assert spike.bursts == [(at(98 * 30), at(108 * 30), 400.0)]
    assert (spike.start_ts, spike.end_ts) == (at(95 * 30), at(112 * 30))
    assert spike.events == 402


@pytest.mark.parametrize("per_hour", [300.0, 500.0])
def test_a_weak_source_that_lasts_is_found_whole(connection: Any, per_hour: float) -> None:
    """No single sample stands out: three or four errors in 30 seconds are below the floor of eight."""
    drip = {n: c for n, c in noise(range(1), per_hour)[0].items() if 100 <= n < 200}
    steps = noise(range(1, 18), 4.0) | {0: drip}
    fill(connection, 18, steps)
    (spike,) = [s for s in detect_from_series(connection) if s.interface == "gpu0/nvlink-0"]
    assert {"unusual_count", "sibling_outlier_rate"} <= rules(spike)
    (start, end, events), *others = spike.bursts
    assert not others
    assert (start, end) == (at((min(drip) - 2) * 30), at((max(drip) - 1) * 30))
    assert events == sum(drip.values())


def test_a_source_that_was_there_from_the_first_sample_is_found(connection: Any) -> None:
    fill(connection, 18, noise(range(1, 18), 4.0) | {0: noise(range(1), 500.0)[0]})
    (spike,) = [s for s in detect_from_series(connection) if s.interface == "gpu0/nvlink-0"]
    assert {"unusual_count", "persistent_errors", "sibling_outlier_rate"} <= rules(spike)
    assert sum(events for *_, events in spike.bursts) > 0.95 * spike.events


def test_own_history_explains_what_all_links_do(connection: Any) -> None:
    fill(connection, 18, noise(range(18), 400.0))
    assert all(rules(spike) == {"persistent_errors"} for spike in detect_from_series(connection))


def test_noise_of_a_fleet_makes_no_burst(connection: Any) -> None:
    """50 of 1,000 series at 30 errors an hour: 36,000 windows, each of which might err by chance."""
    fill(connection, 1000, noise(range(0, 1000, 20), 30.0))
    found = detect_from_series(connection)
    assert [spike.bursts for spike in found if spike.bursts] == []
    assert {hit.severity for spike in found for hit in spike.hits} <= {"watch"}
    assert len(found) <= 2


def test_a_gap_is_one_window_with_its_own_exposure(connection: Any) -> None:
    """60 errors after an hour without readings are 60 an hour, in half a minute they are 7200."""
    quiet = [
        row
        for link in range(9)
        for row in series("crc_flit", [0] * 240, interface=f"gpu0/nvlink-{link}")
    ]
    rows = series("crc_flit", growing({200: 60}, 240))
    count(connection, quiet + [row for n, row in enumerate(rows) if not 80 <= n < 200])
    assert [s for s in detect_spikes(connection) if s.bursts] == []
    count(connection, quiet + rows)
    (spike,) = detect_spikes(connection)
    assert spike.bursts == [(at(199 * 30), at(200 * 30), 60.0)]


def test_a_long_gap_does_not_end_an_interval(connection: Any) -> None:
    rows = series("crc_flit", growing(dict.fromkeys(range(70, 90), 200.0), 120))
    count(connection, [row for n, row in enumerate(rows) if not 75 <= n < 85])
    (spike,) = detect_spikes(connection)
    assert (spike.start_ts, spike.end_ts, spike.events) == (at(69 * 30), at(89 * 30), 4000)
    assert spike.exposure_s == 600


def test_noise_makes_no_rows_in_python(connection: Any) -> None:
    """30,000 active samples of 600 links: nothing leaves the database."""
    steps: Steps = {link: dict.fromkeys(range(2 + link % 5, 1202, 24), 1.0) for link in range(600)}
    fill(connection, 600, steps, samples=1201)

    class Watched:
        fetched = 0

        def execute(self, *arguments: Any) -> Watched:
            self.cursor = connection.execute(*arguments)
            return self

        @property
        def description(self) -> Any:
            return self.cursor.description

        def fetchall(self) -> Any:
            rows = self.cursor.fetchall()
            Watched.fetched += len(rows)
            return rows

    assert connection.execute("select count(*) from error_increments").fetchall() >= [(30_000,)]
    assert detect_from_series(Watched()) == []
    assert Watched.fetched == 0


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_rows_does_not_matter(connection: Any, seed: int) -> None:
    steps = noise(range(36), 60.0) | {5: noise(range(5, 6), 900.0)[5]}
    steps[7] = steps[7] | dict.fromkeys(range(50, 60), 33.0)
    fill(connection, 36, steps)
    ordered = [spike.row("d1") for spike in detect_from_series(connection)]
    assert len(ordered) >= 2
    for table, key in (("error_series", "series"), ("error_increments", "series * 1000 + sample")):
        connection.execute(
            f"create or replace temp table {table} as from {table} order by hash({key} + {seed})"
        )
    assert [spike.row("d1") for spike in detect_from_series(connection)] == ordered


def test_the_summary_of_readings_is_what_sparse_data_would_fill_in(connection: Any) -> None:
    rows = series("crc_flit", growing({20: 30}, 60)) + series(
        "crc_flit", [0] * 60, interface="gpu3/nvlink-5"
    )
    port = {"interface": "gpu3/nvlink-4"}
    rows += series("rx_bytes", growing(dict.fromkeys(range(1, 60), 3e6), 60), **port)
    count(connection, rows)
    create_empty(connection)
    described = [
        [row[:2] for row in connection.execute(f"describe {table}").fetchall()]
        for table in ("error_series", "error_increments")
    ]
    summarise(connection)
    for table, columns in zip(("error_series", "error_increments"), described, strict=True):
        made = [row[:2] for row in connection.execute(f"describe {table}").fetchall()]
        assert sorted(made) == sorted(columns)
    seen = connection.execute(
        "select interface, samples, timed_samples, exposure_s, step_s, events, active_samples, bytes_per_s from error_series order by all"
    ).fetchall()
    assert seen == [
        ("gpu3/nvlink-4", 60, 59, 1770, 30, 30, 1, 1e5),
        ("gpu3/nvlink-5", 60, 59, 1770, 30, 0, 0, None),
    ]
    assert connection.execute("select sample, ts, delta from error_increments").fetchall() == [
        (21, at(600), 30)
    ]


def test_passing_over_hopeless_intervals_changes_nothing(connection: Any) -> None:
    """The sums over blocks may only skip intervals that no window could make significant."""
    steps = noise(range(40), 12.0)
    for link in range(20, 40):
        for n in range(2 + 5 * link, 12 + 5 * link):
            steps[link][n] = steps[link].get(n, 0.0) + 1 + link % 6
    fill(connection, 600, steps)
    quick = detect_from_series(connection)
    limits = SpikeLimits()
    whole = windows_sql(limits).replace("semi join hopeful using (series, spike)", "")
    assert whole != windows_sql(limits)
    for statement in (whole, significance_sql(), bursts_sql(limits)):
        connection.execute(statement)
    slow = connection.execute(
        "select node, interface, spike, b.events from error_bursts b join error_series using (series) order by all"
    ).fetchall()
    assert slow == sorted(
        (q.node, q.interface, q.spike, events) for q in quick for *_, events in q.bursts
    )
    assert 5 <= len(slow) < 20


def test_bursts_survive_storage(connection: Any) -> None:
    fill(connection, 18, {3: {100: 90.0}})
    (spike,) = detect_from_series(connection)
    assert bursts_from_json(spike.row("d1")[-1]) == spike.bursts != []
