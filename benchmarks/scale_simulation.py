"""A fleet of 100,000 GPUs on one to a thousand workers, in simulated time, from costs measured on this machine.

    python -m benchmarks.scale_simulation [--svg docs/pictures/scale.svg]

Prints the tables of docs/scale.md from `scale_measured.json`. What is
assumed is said in `scale_cases`; the farm is simulated in `scale_farm`, measured in `scale_measure`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.results import table
from benchmarks.scale_cases import (
    CASES,
    COUNTERS,
    GPUS,
    LINKS,
    NETWORKS,
    Case,
    farm_of,
    farm_only,
    outcomes,
    troubles,
    work_of,
)
from benchmarks.scale_chart import chart
from benchmarks.scale_costs import Costs, alike, costs_of, fit_errors, sizes
from benchmarks.scale_farm import Farm, Outcome, simulate
from benchmarks.scale_measure import MEASURED


def validated(measured: dict[str, list[dict[str, Any]]], costs: Costs) -> list[list[object]]:
    """Real runs beside the simulation of the same shards: what they took, one by one, is put in."""
    rows: list[list[object]] = []
    for run in measured["real"]:
        farm = Farm(run["workers"], handout_s=costs.handout_s, gap_s=costs.gap_s)
        said = simulate(farm, [one["wall_s"] for one in run["shards"]])
        cpu_s = sum(one["cpu_s"] for one in run["shards"])
        rows.append([
            run["workers"], len(run["shards"]), f"{run['farm_s']:.1f}", f"{said.wall_s:.1f}", f"{said.wall_s / run['farm_s'] - 1:+.1%}",
            f"{cpu_s:.1f}", run["sha256"][:12],
        ])  # fmt: skip
    return rows


def sizing(costs: Costs, gpus: int, interval_s: int) -> list[object]:
    """One line of the table of sizes: what a cluster makes in an hour, and what that needs."""
    series = gpus * LINKS * COUNTERS
    readings = series * 3600 // interval_s
    raw, counted = (readings * size / 1e9 for size in (costs.in_bytes, costs.out_bytes))
    shards = max(-(-readings // CASES[0].per_shard), 1)
    cpu_s = costs.shard_s * shards + costs.of_shard(series, readings) - costs.shard_s
    driver_s = costs.of_driver(series, readings)
    return [
        f"{gpus:,}", f"{interval_s} s", f"{readings / 1e6:,.0f} M", f"{raw:,.2f}", f"{counted:,.2f}", f"{shards:,}", f"{cpu_s / 3600:.2f}",
        f"{driver_s / 60:.1f}", f"{(raw + counted) * 24:,.0f}", f"{(raw + counted) * 24 * 30 / 1000:,.2f}",
    ]  # fmt: skip


def time_words(seconds: float) -> str:
    """A duration as people say it."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def report(measured: dict[str, list[dict[str, Any]]]) -> str:
    """All tables of docs/scale.md."""
    costs = costs_of(measured)
    parts = [_measured_lines(costs)]
    parts.append(
        table(
            ("readings", "series", "shard, CPU s", "line", "driver, CPU s", "line"),
            [
                [f"{r:,}", f"{s:,}", f"{a:.2f}", f"{b:.2f}", f"{c:.2f}", f"{d:.2f}"]
                for r, s, a, b, c, d in fit_errors(costs, measured["shards"])
            ],
        )
    )
    parts += [
        _steps(measured["shards"]),
        _engine(measured["engine"]),
        _transfers(measured["transfer"]),
    ]
    head = ("workers", "shards", "real, s", "simulated, s", "error", "CPU s in shards", "results")
    parts.append(table(head, validated(measured, costs)))
    for what in CASES:
        parts.append(f"### {what.name}: {what.readings / 1e9:.2f} G readings")
        parts.append(_table_of(outcomes(costs, what, NETWORKS[1]), costs, what))
    parts.append(_networks(costs))
    parts.append(_troubles(costs))
    parts.append(
        table(
            (
                "GPUs", "every", "readings/h", "raw GB/h", "counted GB/h", "shards/h", "cores busy", "driver, min/h", "GB/day",
                "TB in 30 days",
            ),
            [sizing(costs, gpus, every) for gpus in (1000, 10_000, 100_000) for every in (60, 15)],
        )
    )  # fmt: skip
    parts.append(_drops(costs))
    return "\n\n".join(parts)


def _drops(costs: Costs) -> str:
    rows = []
    for gpus in (100_000, 10_000, 1000):
        series = gpus * LINKS * COUNTERS
        each_s = costs.of_driver(series, series * 240)
        number = GPUS // gpus
        rows.append([
            f"{gpus:,}", number, time_words(each_s), f"{each_s * number / 3600:.2f}"
        ])  # fmt: skip
    head = ("GPUs in a drop", "drops an hour", "driver, each", "driver, cores busy")
    return table(head, rows)


def _steps(shards: Sequence[dict[str, Any]]) -> str:
    all_sizes = sizes(shards)
    chosen = [
        max(all_sizes, key=lambda one: one["readings"]),
        max(all_sizes, key=lambda one: one["series"]),
    ]
    chosen += [min(alike(shards), key=lambda one: one["noisy"])]
    chosen += [max(alike(shards), key=lambda one: one["noisy"])]
    rows = [
        [
            f"{one['readings']:,}", f"{one['series']:,}", f"{one['noisy']:.1%}", *(f"{took:.2f}" for took in one["driver_cpu_s"].values()),
            one["incidents"],
        ]
        for one in chosen
    ]  # fmt: skip
    return table(
        ("readings", "series", "noisy", *shards[0]["driver_cpu_s"], "incidents found"), rows
    )


def _engine(runs: Sequence[dict[str, Any]]) -> str:
    rows = [
        [
            one["workers"], f"{one['tasks']:,}", f"{one['driver_cpu_s'] / one['tasks'] * 1e3:.1f}",
            f"{one['wall_s'] / one['tasks'] * 1e3:.1f}",
        ]
        for one in runs
    ]  # fmt: skip
    return table(("workers", "tasks without work", "driver, CPU ms each", "wall, ms each"), rows)


def _transfers(files: Sequence[dict[str, Any]]) -> str:
    steps = ("send", "fetch", "deliver", "collect")
    rows = [
        [one["store"], *(f"{one[f'{step}_cpu_s'] / one['mb'] * 1e3:.1f}" for step in steps)]
        for one in files
    ]
    return table(("CPU ms for a MB", *steps), rows)


def _measured_lines(costs: Costs) -> str:
    return (
        f"shard: {costs.shard_s:.2f} s + {costs.shard_series_s * 1e6:.1f} us/series + {costs.reading_s * 1e6:.2f} us/reading, "
        f"spread {min(costs.spread):.2f} to {max(costs.spread):.2f}; "
        f"driver: {costs.driver_s:.2f} s + {costs.driver_series_s * 1e6:.1f} us/series + {costs.driver_reading_s * 1e6:.3f} us/reading; "
        f"bytes per reading {costs.in_bytes:.2f} in, {costs.out_bytes:.2f} out; handing out {costs.handout_s * 1e3:.1f} ms, gap "
        f"{costs.gap_s * 1e3:.1f} ms, start {costs.start_s:.1f} s; moving {costs.move_s_per_mb * 1e3:.2f} CPU ms/MB; peak {costs.peak_mb:.0f} MB"
    )


def _table_of(runs: Sequence[Outcome], costs: Costs, what: Case) -> str:
    work = work_of(costs, what)
    rows = []
    for run in runs:
        alone = simulate(farm_only(farm_of(costs, what, NETWORKS[1], run.workers)), work)
        rows.append([
            f"{run.workers:,}", time_words(alone.wall_s), f"{alone.efficiency:.0%}", alone.bottleneck, f"{alone.handout_share:.0%}",
            time_words(run.send_s), time_words(run.after_s), time_words(run.wall_s), f"{run.efficiency:.0%}", run.bottleneck,
        ])  # fmt: skip
    head = (
        "workers", "shards alone", "efficiency", "held up by", "driver busy", "send", "collect + reduce", "whole", "efficiency",
        "held up by",
    )  # fmt: skip
    return table(head, rows)


def _networks(costs: Costs) -> str:
    rows = []
    for network in NETWORKS:
        for number in (64, 1000):
            work = work_of(costs, CASES[0])
            run = simulate(farm_only(farm_of(costs, CASES[0], network, number)), work)
            rows.append([
                f"{network.worker_gbit_s:g} / {network.store_gbit_s:g}", number, time_words(run.wall_s), f"{run.efficiency:.0%}",
                f"{run.network_share:.0%}", run.bottleneck,
            ])  # fmt: skip
    return table(
        (
            "Gb/s worker / store",
            "workers",
            "shards alone",
            "efficiency",
            "store busy",
            "held up by",
        ),
        rows,
    )


def _troubles(costs: Costs) -> str:
    rows = [
        [name, time_words(run.wall_s), f"{run.efficiency:.0%}", run.deaths, run.failed]
        for name, run in troubles(costs, CASES[1], NETWORKS[1], 64)
    ]
    return table(
        ("64 workers, a day at 60 s", "shards alone", "efficiency", "deaths", "failed"), rows
    )


def main() -> None:
    """Print the tables, and draw the picture if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--svg", type=Path, help="file for the picture")
    given = parser.parse_args()
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    sys.stdout.write(report(measured) + "\n")
    if given.svg:
        costs = costs_of(measured)
        lines = {what.name: outcomes(costs, what, NETWORKS[1]) for what in CASES}
        given.svg.write_text(chart(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
