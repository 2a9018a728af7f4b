"""What the reader makes of answers of the Prometheus query API."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric_pipeline.model.counters import is_blank
from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.prometheus.query_json import PrometheusQueryReader
from fabric_pipeline_tests.sources.prometheus.files import source

REPLAY = {"__name__": "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "gpu": "3", "Hostname": "n07"}


def answer(result: Any, kind: str = "vector", **extra: Any) -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": kind, "result": result}, **extra}


def read(folder: Path, content: Any) -> ReadResult:
    text = content if isinstance(content, str | bytes) else json.dumps(content, indent=1)
    return PrometheusQueryReader().read(source(folder, text))


def test_vector(tmp_path: Path) -> None:
    result = read(tmp_path, answer([{"metric": REPLAY, "value": [1700000000.5, "412"]}], stats={}))
    (reading,) = result.readings
    assert (reading.node, reading.interface, reading.counter) == ("n07", "gpu3/pcie", "pcie_replay")
    assert (reading.value, reading.value_text) == (412, "412")
    assert reading.time == datetime.fromtimestamp(1700000000.5, UTC)
    assert reading.line is not None
    assert reading.line > 1
    assert (result.rejected, result.unknown) == ([], [])


def test_matrix_of_several_families(tmp_path: Path) -> None:
    port = {"__name__": "node_infiniband_symbol_error_total", "device": "mlx5_0", "port": "1"}
    values = [[1700000000, "1"], [1700000060, "4"], [1700000120, "NaN"]]
    result = read(
        tmp_path,
        answer(
            [
                {"metric": REPLAY, "values": values},
                {"metric": {**port, "instance": "n09:9100"}, "values": values},
            ],
            "matrix",
        ),
    )
    measured = [(r.node, r.counter, r.value) for r in result.readings if r.quality == "ok"]
    assert measured == [
        ("n07", "pcie_replay", 1),
        ("n07", "pcie_replay", 4),
        ("n09", "symbol_error", 1),
        ("n09", "symbol_error", 4),
    ]


def test_empty_result_is_unknown_not_clean(tmp_path: Path) -> None:
    result = read(tmp_path, answer([]))
    assert result.understood == 0
    assert any("no series" in fact.reason for fact in result.unknown)


def test_partial_answer_and_warnings_are_stated(tmp_path: Path) -> None:
    series = [{"metric": REPLAY, "value": [1700000000, "0"]}]
    whole = read(tmp_path, answer(series, isPartial=False))
    assert whole.unknown == []
    partial = read(tmp_path, answer(series, isPartial=True, warnings=["one store timed out"]))
    reasons = " | ".join(fact.reason for fact in partial.unknown)
    assert "partial" in reasons
    assert "timed out" in reasons
    assert partial.understood == 1


def test_failed_query_is_unknown(tmp_path: Path) -> None:
    failed = {"status": "error", "errorType": "bad_data", "error": "parse error"}
    assert PrometheusQueryReader().score(source(tmp_path, json.dumps(failed))) > 90
    result = read(tmp_path, failed)
    assert any("parse error" in fact.reason for fact in result.unknown)
    assert result.rejected == []


def test_values_without_a_metric_name_mean_nothing(tmp_path: Path) -> None:
    result = read(tmp_path, answer([{"metric": {"gpu": "3"}, "value": [1700000000, "0.5"]}]))
    assert result.understood == 0
    assert result.facts["unnamed_series"][0]["labels"] == {"gpu": "3"}
    scalar = read(tmp_path, answer([1700000000, "3"], "scalar"))
    assert scalar.understood == 0
    assert any("metric name" in fact.what for fact in scalar.unknown)


def test_other_metrics_are_no_readings(tmp_path: Path) -> None:
    metric = {**REPLAY, "__name__": "DCGM_FI_DEV_GPU_TEMP"}
    result = read(tmp_path, answer([{"metric": metric, "value": [1700000000, "40"]}]))
    assert result.understood == 0
    assert any("DCGM_FI_DEV_GPU_TEMP" in fact.reason for fact in result.unknown)


def test_behind_prompts_and_several_answers(tmp_path: Path) -> None:
    one = json.dumps(answer([{"metric": REPLAY, "value": [1700000000, "1"]}]))
    two = json.dumps(answer([{"metric": REPLAY, "value": [1700000060, "2"]}], isPartial=True))
    text = f"[root@n1 ~]# curl -s http://p/api?query=x{{gpu='3'}}\n{one}\n$ curl again {two}\n"
    result = read(tmp_path, text)
    assert [(r.line, r.value) for r in result.readings] == [(2, 1), (3, 2)]
    assert any("partial" in fact.reason for fact in result.unknown)
    assert result.rejected == []


def test_bare_series_and_export_lines(tmp_path: Path) -> None:
    bare = read(tmp_path, [{"metric": REPLAY, "value": [1700000000, "1"]}])
    assert [r.value for r in bare.readings] == [1]
    line = {"metric": REPLAY, "values": [5, 6], "timestamps": [1700000000000, 1700000060000]}
    export = read(tmp_path, json.dumps(line) + "\n" + json.dumps(line) + "\n")
    assert [r.value for r in export.readings] == [5, 6]
    assert export.readings[0].time == datetime.fromtimestamp(1_700_000_000, UTC)


def test_answer_that_was_cut_keeps_its_whole_series(tmp_path: Path) -> None:
    series = [
        {"metric": REPLAY | {"gpu": str(gpu)}, "value": [1700000000, "7"]} for gpu in range(4)
    ]
    text = json.dumps(answer(series))
    result = read(tmp_path, text[: text.rindex('{"metric"') + 30])
    assert [r.interface for r in result.readings] == ["gpu0/pcie", "gpu1/pcie", "gpu2/pcie"]
    assert len(result.rejected) == 1
    assert "complete" in result.rejected[0].rule


@pytest.mark.parametrize(
    "series",
    [
        "text",
        {"metric": "x", "value": [1, "2"]},
        {"metric": REPLAY},
        {"metric": REPLAY, "value": [1700000000]},
        {"metric": REPLAY, "value": ["noon", "1"]},
        {"metric": REPLAY, "value": [1e300, "1"]},
        {"metric": REPLAY, "value": [1700000000, "many"]},
        {"metric": REPLAY, "value": [1700000000, True]},
        {"metric": REPLAY, "value": [1700000000, "-5"]},
    ],
)
def test_broken_series_are_refused_by_rule(tmp_path: Path, series: Any) -> None:
    good = {"metric": {**REPLAY, "gpu": "0"}, "value": [1700000000, "1"]}
    result = read(tmp_path, answer([series, good]))
    assert [r.interface for r in result.readings] == ["gpu0/pcie"]
    assert len(result.rejected) == 1
    assert result.rejected[0].rule


def test_score(tmp_path: Path) -> None:
    reader = PrometheusQueryReader()
    assert reader.score(source(tmp_path, json.dumps(answer([])))) == 95
    assert reader.score(source(tmp_path, json.dumps(answer([])["data"]))) == 90
    bare = json.dumps({"metric": REPLAY, "value": [1, "2"]})
    assert reader.score(source(tmp_path, bare)) == 70
    for text in ("", "{}", "[]", '{"result": {"output": {}}}', 'x{a="b"} 4', b"\0{"):
        assert reader.score(source(tmp_path, text)) == 0


def test_hostile_text_does_not_hang(tmp_path: Path) -> None:
    started = time.perf_counter()
    for text in (
        "[" * 300_000,
        '{"metric":' * 100_000,
        '{"status":"success","data":{"resultType":"vector","result":[' + '{"metric":{"a":' * 50_000,
        '{"status":' + "9" * 100_000,
        "{" + " " * 500_000,
        "\n{" * 200_000,
        "x" * 1_000_000,
    ):
        assert read(tmp_path, text).understood == 0
    assert time.perf_counter() - started < 30


_numbers = st.integers(0, 2**53)


@settings(
    deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(st.integers(0, 4_000_000_000), _numbers), min_size=1, max_size=6))
def test_rendered_readings_read_back(tmp_path: Path, points: list[tuple[int, int]]) -> None:
    unique = dict(points)
    values = [(stamp, str(value)) for stamp, value in unique.items() if not is_blank(float(value))]
    result = read(tmp_path, answer([{"metric": REPLAY, "values": values}], "matrix"))
    assert [(r.time, r.value) for r in result.readings if r.quality == "ok"] == [
        (datetime.fromtimestamp(stamp, UTC), float(value)) for stamp, value in values
    ]
