"""The drops in `data/drops`: what the generator writes today, small, and true to their keys."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from fabric_pipeline.synth import SCENARIOS, SHIPPED, SHIPPED_SEED, generate
from fabric_pipeline_tests.synth.drop_reading import (
    Timing,
    bin_start,
    counter_series,
    growth,
    timings,
    within,
)

DATA = Path(__file__).resolve().parents[2] / "data"
ERRORS = ("crc_single_bit", "crc_multi_bit", "symbol_error", "replay", "pcie_replay", "plr_retry")
SIZE_LIMIT = 2_500_000


def drop_of(name: str) -> Path:
    return DATA / "drops" / name


def answer_of(name: str) -> dict[str, Any]:
    return dict(json.loads((DATA / "answers" / f"{name}.json").read_text()))


def whole(name: str) -> list[Timing]:
    return [t for t in timings(drop_of(name)) if t.rank is None and t.seq > 2]


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_drop_is_what_the_generator_writes(name: str, tmp_path: Path) -> None:
    key = tmp_path / "key.json"
    generate(SCENARIOS[name](), tmp_path / name, seed=SHIPPED_SEED, answer_key=key)
    fresh = {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
    shipped = {path.name: path.read_bytes() for path in drop_of(name).iterdir()}
    assert fresh == shipped
    assert key.read_bytes() == (DATA / "answers" / f"{name}.json").read_bytes()


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_drop_is_small_and_holds_no_key(name: str) -> None:
    files = list(drop_of(name).iterdir())
    assert sum(path.stat().st_size for path in files) < SIZE_LIMIT
    text = b"".join(path.read_bytes() for path in files)
    assert b"is_fault" not in text
    assert b"benign" not in text


def test_shipped_drops_share_one_cluster_and_use_three_forms() -> None:
    assert len({(drop_of(name) / "topology.json").read_bytes() for name in SHIPPED}) == 1
    heads = {
        (path.suffix, "crc_single_bit" in path.read_text().split("\n", 1)[0])
        for name in SHIPPED
        for path in drop_of(name).glob("counters.*")
    }
    assert heads == {(".csv", True), (".csv", False), (".jsonl", True)}


@pytest.mark.parametrize("name", ["healthy", "missing-data"])
def test_drop_without_fault_has_no_burst_that_slows_anything(name: str) -> None:
    assert answer_of(name)["faults"] == []
    bursts = {
        time
        for (_, _, counter), values in counter_series(drop_of(name)).items()
        if counter in ERRORS
        for time, step in growth(values).items()
        if step > 0
    }
    assert bursts
    in_bursts = [t.ratio for t in whole(name) if bin_start(t.time) in bursts]
    assert median(in_bursts) < 1.02
    slow = [t for t in whole(name) if t.ratio > 1.1]
    assert len(slow) < 0.01 * len(whole(name))  # single outliers only


@pytest.mark.parametrize(
    ("name", "counter", "runs"),
    [("crc-multibit-lane", "crc_multi_bit", 1), ("ib-marginal-cable", "crc_single_bit", 2)],
)
def test_shipped_fault_is_seen_at_both_ends_and_in_latency(
    name: str, counter: str, runs: int
) -> None:
    (fault,) = answer_of(name)["faults"]
    series = counter_series(drop_of(name))
    active: set[datetime] = set()
    for side in ("near_end", "far_end"):
        node, interface = fault[side].removeprefix("unknown").split(":", 1)
        times = set(growth(series[node, interface, counter]))
        assert times
        assert all(within(time, fault["periods"]) for time in times)
        active |= times
    assert len(fault["slowed"]) == runs
    for run, comms in fault["slowed"].items():
        rows = [t for t in whole(name) if t.run == run and t.comm in comms]
        slow = [t.ratio for t in rows if bin_start(t.time) in active]
        quiet = [t.ratio for t in rows if bin_start(t.time) not in active]
        assert min(slow) > 1.5
        assert median(quiet) < 1.02


@pytest.mark.parametrize("name", ["crc-multibit-lane", "ib-marginal-cable"])
def test_harmless_bursts_stay_below_1000_resends_per_hour(name: str) -> None:
    (fault,) = answer_of(name)["faults"]
    guilty = {fault[side].split(":", 1)[1] for side in ("near_end", "far_end")}
    for (_, link, counter), values in counter_series(drop_of(name)).items():
        if counter in ("replay", "plr_retry", "pcie_replay") and link not in guilty:
            above = {time for time, step in growth(values).items() if step * 120 > 1000}
            in_a_row = {time for time in above if time + timedelta(seconds=30) in above}
            assert not in_a_row, link


def test_every_part_in_the_topology_stands_in_the_parts_catalogue() -> None:
    topology = json.loads((drop_of("healthy") / "topology.json").read_text())
    catalogue = "\n".join(path.read_text() for path in (DATA / "catalogue").glob("*.yaml"))
    for part in {link["part"] for link in topology["links"]}:
        assert re.search(rf"(?<![\w-]){re.escape(part)}(?![\w-])", catalogue), part
