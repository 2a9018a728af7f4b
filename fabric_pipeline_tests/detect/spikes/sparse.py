"""Error series given by their increments alone, for tests with many silent links."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from fabric_pipeline.detect.spikes.series import create_empty
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline_tests.detect.telemetry import START

_SERIES = (
    "series", "node", "interface", "counter", "link_type", "error_class", "samples", "timed_samples", "exposure_s", "step_s", "events",
    "active_samples", "measured", "last_value", "first_ts", "last_ts",
)  # fmt: skip
_INCREMENTS = ("series", "sample", "ts", "elapsed_s", "delta", "quality", "file", "line")


def fill(
    connection: Any,
    links: int,
    steps: Mapping[int, Mapping[int, float]],
    samples: int = 240,
    step_s: float = 30.0,
) -> None:
    """Fill error_series and error_increments: link -> sample -> errors; 18 links make a GPU.

    The first reading of a series is sample 1 at the fixed start, so the first increment is sample 2.
    """
    create_empty(connection)
    end = START + timedelta(seconds=(samples - 1) * step_s)
    series, increments = [], []
    for link in range(links):
        errors = steps.get(link, {})
        total = float(sum(errors.values()))
        series.append(
            (link, f"n{link // 144}", f"gpu{link // 18 % 8}/nvlink-{link % 18}", "crc_flit", "nvlink", "detected_retransmitted", samples, samples - 1,
             (samples - 1) * step_s, step_s, total, len(errors), samples, total, START, end)
        )  # fmt: skip
        increments += [
            (link, n, START + timedelta(seconds=(n - 1) * step_s), step_s, float(count), "ok", "a.csv", n)
            for n, count in errors.items()
        ]  # fmt: skip
    for table, names, rows in (
        ("error_series", _SERIES, series),
        ("error_increments", _INCREMENTS, increments),
    ):
        types = {row[0]: row[1] for row in connection.execute(f"describe {table}").fetchall()}
        insert_columns(connection, table, [(name, types[name]) for name in names], rows)
