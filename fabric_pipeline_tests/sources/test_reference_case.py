"""The two reference shapes read as files: totals, one timing, and refusals for what is no number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.reference_case import ReferenceCaseReader

READER = ReferenceCaseReader()
INTERFACE = {
    "node_id": "elm-rack-02-node-09",
    "fabric_interface": "nvlink-5",
    "crc_error_count": 1234,
    "allreduce_latency_us": 900.5,
    "baseline_latency_us": 850,
}
LINKS = {
    "node_id": "elm-node-07",
    "fabric_errors": [{"gpu_src": 4, "gpu_dst": 6, "link_id": "nvlink-2", "crc_errors": 7, "replay_count": 9}],
    "step_time_ms": 200.5,
    "baseline_step_time_ms": 180,
}  # fmt: skip


def read(tmp_path: Path, value: Any) -> ReadResult:
    path = tmp_path / "case"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    file = SourceFile(path, "case")
    assert READER.score(file) == 95
    return READER.read(file)


def test_one_interface(tmp_path: Path) -> None:
    result = read(tmp_path, INTERFACE)
    (reading,), (timing,) = result.readings, result.timings
    assert (reading.node, reading.interface, reading.counter, reading.value) == (
        "elm-rack-02-node-09", "nvlink-5", "crc", 1234
    )  # fmt: skip
    assert (timing.duration_us, timing.baseline_us, timing.unit_kind) == (900.5, 850, "collective")


def test_several_links(tmp_path: Path) -> None:
    result = read(tmp_path, LINKS)
    assert [(r.interface, r.counter, r.value) for r in result.readings] == [
        ("gpu4/nvlink-2", "crc", 7), ("gpu4/nvlink-2", "replay", 9)
    ]  # fmt: skip
    assert [(t.duration_us, t.baseline_us, t.op) for t in result.timings] == [
        (200_500, 180_000, "step")
    ]


def test_replays_of_a_pcie_switch_are_pcie_replays(tmp_path: Path) -> None:
    result = read(tmp_path, INTERFACE | {"fabric_interface": "pcie-switch-0", "replay_count": 3})
    assert {r.counter: r.link_type for r in result.readings} == {
        "crc": "pcie",
        "pcie_replay": "pcie",
    }


@pytest.mark.parametrize("value", ["12", True, [1], 1e999, float("nan"), 10**400, -3])
@pytest.mark.parametrize("key", ["crc_error_count", "allreduce_latency_us", "baseline_latency_us"])
def test_what_is_no_number_is_refused_by_name(tmp_path: Path, key: str, value: Any) -> None:
    result = read(tmp_path, INTERFACE | {key: value})
    assert [one.rule for one in result.rejected] == [
        f"{key} is not a number from zero to what 64 bits hold"
    ]
    kept = {"crc_error_count": 1, "allreduce_latency_us": 1, "baseline_latency_us": 2}[key]
    assert len(result.readings) + len(result.timings) == kept


@pytest.mark.parametrize(
    ("errors", "rule"),
    [(5, "fabric_errors is not a list"), ({}, "fabric_errors is not a list"),
     ([None], "the entry names no link_id"), ([{"gpu_src": 1}], "the entry names no link_id"),
     ([{"gpu_src": 1, "link_id": {"a": 1}}], "the entry names no link_id")],
)  # fmt: skip
def test_links_of_another_shape_are_refused(tmp_path: Path, errors: Any, rule: str) -> None:
    result = read(tmp_path, LINKS | {"fabric_errors": errors})
    assert [one.rule for one in result.rejected] == [rule]
    assert result.readings == []
    assert len(result.timings) == 1


def test_missing_fields_are_nothing(tmp_path: Path) -> None:
    case = {"node_id": "n", "fabric_errors": [{"link_id": "nvlink-0", "crc_errors": 0}]}
    result = read(tmp_path, case)
    assert [(r.interface, r.value) for r in result.readings] == [("nvlink-0", 0)]
    assert (result.timings, result.rejected) == ([], [])


def test_a_cut_case_is_refused_with_its_line(tmp_path: Path) -> None:
    (refused,) = read(tmp_path, json.dumps(LINKS, indent=1)[:-40]).rejected
    assert (refused.line or 0) > 5
    assert "not readable as JSON" in refused.rule
