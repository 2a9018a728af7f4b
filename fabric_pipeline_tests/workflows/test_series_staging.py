"""Bulk texts of Prometheus series, read by SQL: the same rows as line by line, the values of the oracle.

The oracle is the parser of `prometheus_client`. Pieces are made small here, so that a scrape, a series
and a line of every kind meets their edges.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.registry import recognise
from fabric_pipeline.workflows import line_cleaning, series_staging
from fabric_pipeline_tests.workflows.readout import Readout, read_files

NEVER = 1 << 60
_SAID = ("drop", "entry", "file_sha256")  # the same for both ways by themselves
HINTS = "files: {'*': {time: '2026-11-20T08:00:00Z'}}\n"
OURS = 'DCGM_FI_DEV_GPU_TEMP{gpu="7"} 30\n' * 31  # whatever follows, the text is one of ours
GPU = 'gpu="{gpu}",UUID="GPU-{gpu}0",device="nvidia{gpu}",modelName="NVIDIA H100",Hostname="n01"'


def read(text: str | bytes, *, bulk: bool, drop_yaml: str = "", piece: int = 700) -> Readout:
    """Read one text, by SQL in small pieces or line by line."""
    files: dict[str, str | bytes] = {"metrics": text}
    if drop_yaml:
        files["drop.yaml"] = drop_yaml
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(series_staging, "LARGE", 0 if bulk else NEVER)
        patch.setattr(line_cleaning, "_PIECE", piece)
        return read_files(Path(folder), files)


def said(readout: Readout) -> dict[str, Any]:
    """All that came of a text, in an order that depends on nothing else."""
    tables = {
        name: sorted(
            repr({key: value for key, value in row.items() if key not in _SAID}) for row in rows
        )
        for name, rows in readout.tables.items()
    }
    facts = {name: dict(sorted(value.items())) for name, value in readout.read.facts.items()}
    unknown = sorted((u.node, u.interface, u.what, u.reason) for u in readout.read.unknown)
    return {**tables, "facts": facts, "unknown": unknown}


def assert_same(text: str | bytes, drop_yaml: str = "") -> Readout:
    """Both ways say the same; the answer is what the bulk way says."""
    by_sql = read(text, bulk=True, drop_yaml=drop_yaml)
    assert said(by_sql) == said(read(text, bulk=False, drop_yaml=drop_yaml))
    return by_sql


_values = st.sampled_from(
    [
        "0",
        "7",
        "12.5",
        "1e3",
        "3",
        "-1",
        "4294967295",
        "9223372036854775794",
        "NaN",
        "+Inf",
        "N/A",
        "1_0",
        "2",
        "1",
        "1.8446744073709552e19",
        "3e22",
        "0x10",
        "0.000000",
        "4095",
        "655",
    ]
)
_stamps = st.sampled_from(["", "", " 1790000000000", " 1790000060000", " 1790000000", " 1.79e12", " soon", " 1790000000123.5"])  # fmt: skip
_labels = st.sampled_from(
    [
        GPU.format(gpu=0),
        GPU.format(gpu=1),
        GPU.format(gpu=0) + ',nvlink="3"',
        GPU.format(gpu=0) + ',nvlink="004"',
        GPU.format(gpu=1) + ', nvlink="5"',
        GPU.format(gpu=1) + ',nvlink="12345"',
        GPU.format(gpu=0) + ',GPU_I_PROFILE="1g.10gb",GPU_I_ID="7"',
        'gpu="2",nvlink="1",Hostname="3f1c9a0b77de"',
        'gpu="2",nvlink="1",err="a, nvlink=\\"9\\"",Hostname="n02"',
        'nvswitch="0",nvlink="9",Hostname="n01"',
        'nvlink="9",Hostname="n01"',
        'gpu="0",link_status="ok",nvlink="2",Hostname="n03"',
        'gpu="0",gpu="1"',
        'gpu="0"nvlink="1"',
        'x="a} b",gpu="0"',
        'x="{",gpu="0"',
        "",
        'device="mlx5_0",port="1"',
        'device="mlx5_0",port="1",instance="10.0.0.1:9100"',
        'device="mlx5_1",port="1",instance="10.0.0.2:9100"',
        'device="eth0"',
        'device="lo"',
        'segment="0000",bus="1a",device="00",function="0",instance="10.0.0.1:9100"',
        'nodename="n07",instance="10.0.0.1:9100"',
        'nodename="n08",instance="10.0.0.2:9100"',
        'hostname="n09",err_msg="x",err_code="79",gpu="0"',
    ]
)
_names = st.sampled_from(
    [
        "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT",
        "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL",
        "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L3",
        "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_TOTAL",
        "DCGM_FI_DEV_NVLINK_LINK_STATUS",
        "DCGM_FI_DEV_NVLINK_SYMBOL_BER",
        "DCGM_FI_DEV_NVLINK_SYMBOL_BER_FLOAT",
        "DCGM_FI_DEV_NVSWITCH_LINK_STATUS",
        "DCGM_FI_DEV_NVSWITCH_LINK_CRC_ERRORS_LANE2",
        "DCGM_FI_DEV_PCIE_LINK_WIDTH",
        "DCGM_FI_PROF_NVLINK_TX_BYTES",
        "DCGM_FI_DEV_XID_ERRORS",
        "DCGM_EXP_XID_ERRORS_COUNT",
        "DCGM_FI_DEV_GPU_TEMP",
        "DCGM_FI_DEV_NVLINK_SOMETHING_NEW",
        "dcgm_nvlink_replay_error_count",
        "node_infiniband_symbol_error_total",
        "node_infiniband_link_downed_total",
        "node_infiniband_state_id",
        "node_infiniband_rate_bytes_per_second",
        "node_pcidevice_current_link_width",
        "node_pcidevice_numa_node",
        "node_network_carrier_down_changes_total",
        "node_uname_info",
        "node_load1",
        "nccl_collective_exec_time_microseconds",
        "go_goroutines",
        "FI_DEV_NVLINK_CRC",
        "9bad",
        "ümlaut",
    ]
)
_odd = st.sampled_from(
    [
        "# HELP x y",
        "",
        "...",
        "$ curl localhost:9400/metrics",
        "prose about a link",
        'DCGM_FI_DEV_GPU_TEMP{gpu="0"',
        '  DCGM_FI_DEV_GPU_TEMP{gpu="0"}\t33',
        '{__name__="DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT", gpu="0", nvlink="2"} => 5 @[1790000000.123]',
        'DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT{gpu="0",nvlink="2"} 5 # {trace_id="x"} 1',
        '\x1b[01;31mDCGM_FI_DEV_GPU_TEMP\x1b[m{gpu="0"} 33',
        '12:DCGM_FI_DEV_PCIE_REPLAY_COUNTER{gpu="1"} 4',
    ]
)
_lines = st.one_of(
    st.builds(
        lambda name, labels, value, stamp: (
            f"{name}{{{labels}}} {value}{stamp}" if labels else f"{name} {value}{stamp}"
        ),
        _names,
        _labels,
        _values,
        _stamps,
    ),
    _odd,
)


@settings(max_examples=15)
@given(st.lists(_lines, min_size=1, max_size=30), st.sampled_from(["", HINTS]))
def test_both_ways_say_the_same(lines: list[str], drop_yaml: str) -> None:
    assert_same(OURS + "\n".join(lines), drop_yaml)


@settings(max_examples=6)
@given(st.data())
def test_scrapes_of_the_same_series(data: st.DataObject) -> None:
    series = data.draw(st.lists(st.tuples(_names, _labels), min_size=1, max_size=6))
    lines = []
    for _ in range(data.draw(st.integers(1, 5))):
        for name, labels in series:
            if data.draw(st.integers(0, 9)):
                value = data.draw(_values)
                lines.append(f"{name}{{{labels}}} {value}" if labels else f"{name} {value}")
    assert_same(OURS + "\n".join(lines) + "\n", HINTS)


def scrape(nodes: int, minutes: int) -> str:
    """Text of two counters of every link of some hosts, minute by minute."""
    lines = []
    for minute in range(minutes):
        for node in range(nodes):
            for name in ("CRC_FLIT_ERROR_COUNT_TOTAL", "REPLAY_ERROR_COUNT_TOTAL"):
                lines.append(f"# TYPE DCGM_FI_DEV_NVLINK_{name} counter")
                for gpu in range(8):
                    for link in range(18):
                        value = minute * (gpu + link) if node == 1 else 0
                        labels = f'gpu="{gpu}",nvlink="{link}",Hostname="n{node:02d}"'
                        stamp = 1_790_000_000_000 + 60_000 * minute
                        lines.append(f"DCGM_FI_DEV_NVLINK_{name}{{{labels}}} {value}.5e1 {stamp}")
    return "\n".join(lines) + "\n"


def test_every_value_is_what_the_oracle_reads() -> None:
    text = scrape(nodes=3, minutes=6)
    rows = read(text, bulk=True, piece=50_000).rows("raw_telemetry")
    found = sorted(
        (row["counter_text"], row["interface"], row["node"], row["ts"].timestamp(), row["value"])
        for row in rows
    )
    expected = sorted(
        (
            sample.name.removesuffix("_total"),  # which the oracle adds to any counter
            f"gpu{sample.labels['gpu']}/nvlink-{sample.labels['nvlink']}",
            sample.labels["Hostname"],
            float(sample.timestamp or 0),
            sample.value,
        )
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    )
    assert len(found) == 3 * 6 * 2 * 144
    assert found == expected


def test_lines_keep_their_numbers_over_pieces_and_buffers() -> None:
    text = scrape(nodes=12, minutes=16)
    assert len(text) > 5_000_000
    lines = text.split("\n")
    rows = read(text, bulk=True, piece=2_000_000).rows("raw_telemetry")
    assert len(rows) == 12 * 16 * 2 * 144
    for row in rows:
        assert lines[row["line"] - 1] == (
            f"{row['counter_text']}{{{row['entity_text']}}} {row['value_text']} {row['time_text']}"
        )


def test_only_a_large_text_is_read_by_sql(tmp_path: Path) -> None:
    path = tmp_path / "metrics"
    path.write_text(OURS)
    file = SourceFile(path, "metrics")
    reader = recognise(file).reader
    assert reader is not None
    assert series_staging.set_wise(file, reader) is None
    path.write_text(OURS * (1 + series_staging.LARGE // len(OURS)))
    assert series_staging.set_wise(file, reader) is series_staging.stage_exposition


ANSWER = [
    (
        "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT",
        {"gpu": "0", "nvlink": "3", "Hostname": "n01"},
        [[1790000000, "4"], [1790000060, "9"]],
    ),
    (
        "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT",
        {"gpu": "0", "nvlink": "3", "Hostname": "n01", "note": 'a "b" \\ c'},
        [[1790000000.123, "NaN"], [1790000060.5, "+Inf"], [1790000120, "7"]],
    ),
    (
        "node_infiniband_state_id",
        {"device": "mlx5_0", "port": "1", "instance": "10.0.0.9:9100"},
        [[1790000000, "4"], [1790000000, "1"], [1790000060, "soon"], [17, "5"]],
    ),
    (
        "node_uname_info",
        {"nodename": "n09", "instance": "10.0.0.9:9100"},
        [[1790000000, "1"], [1790000060, "1"]],
    ),
]


def answer(series: list[tuple[str, dict[str, str], Any]], **more: Any) -> str:
    result = [
        {"metric": {"__name__": name, **labels}, "values": values}
        for name, labels, values in series
    ]
    told = {"status": "success", "data": {"resultType": "matrix", "result": result}, **more}
    return json.dumps(told, separators=(",", ":"))


def test_answers_of_a_query_say_the_same() -> None:
    rows = assert_same(answer(ANSWER)).rows("raw_telemetry")
    values = [(row["interface"], row["value"]) for row in rows if row["value"] is not None]
    assert ("gpu0/nvlink-3", 9.0) in values
    assert {row["node"] for row in rows if row["interface"] == "mlx5_0/1"} == {"n09"}


@pytest.mark.parametrize(
    "text",
    [
        answer(ANSWER, isPartial=True, warnings=["a store did not answer"]),
        answer(ANSWER) + "\n" + answer(ANSWER[:1]) + "\n",
        answer([]),
        answer([("DCGM_FI_DEV_GPU_TEMP", {"gpu": "0"}, [])]),
        answer(ANSWER).replace('"__name__":"DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT",', ""),
        answer(ANSWER)[:-40],
        json.dumps(json.loads(answer(ANSWER)), indent=1),
        answer([("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT", {"gpu": "0"}, [[1790000000, 5]])]),
    ],
    ids=("partial", "two", "empty", "no values", "nameless", "cut", "pretty", "bare number"),
)
def test_odd_answers_say_the_same(text: str) -> None:
    assert_same(text)


def test_what_was_refused_before_an_unusual_series_is_refused_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(series_staging, "_PIECE_CHARACTERS", 1)
    bad = ("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT", {"gpu": "0"}, [[1790000000, "soon"]])
    unusual: tuple[str, dict[str, str], Any] = ("DCGM_FI_DEV_GPU_TEMP", {"gpu": "0"}, [])
    rows = assert_same(answer([bad, unusual])).rows("quarantined_telemetry")
    assert len([row for row in rows if "soon" in row["entity_text"]]) == 1


_pairs = st.tuples(
    st.sampled_from([1790000000, 1790000000.123, 1790000060, 12.5, 3]),
    st.sampled_from(["0", "7", "NaN", "-1", "9223372036854775794", "1e3", "3e22", "x"]),
)


@settings(max_examples=6)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT",
                    "DCGM_FI_DEV_NVLINK_LINK_STATUS",
                    "node_infiniband_symbol_error_total",
                    "DCGM_FI_DEV_XID_ERRORS",
                    "up",
                ]
            ),
            st.sampled_from(
                [
                    {"gpu": "0", "nvlink": "1"},
                    {"gpu": "0", "nvlink": "2", "Hostname": "n1"},
                    {"device": "mlx5_0", "port": "1"},
                ]
            ),
            st.lists(_pairs, min_size=1, max_size=5),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_any_answers_say_the_same(series: list[tuple[str, dict[str, str], Any]]) -> None:
    assert_same(answer(series))
