"""Error counts of `dcgmi nvlink -e`, as table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.sources.base import Reader
from fabric_pipeline.sources.dcgmi.nvlink_errors import DcgmiNvlinkErrorsReader
from fabric_pipeline.sources.dcgmi.nvlink_errors_json import DcgmiNvlinkErrorsJsonReader
from fabric_pipeline_tests.sources.nvidia_smi.files import JUNK, one, read, source, values

TABLE, JSON = DcgmiNvlinkErrorsReader(), DcgmiNvlinkErrorsJsonReader()
Counts = dict[int, dict[str, str]]
Render = Callable[[int, Counts], str]
NAMES = {
    "CRC FLIT Error": "crc_flit",
    "CRC Data Error": "crc_data",
    "Replay Error": "replay",
    "Recovery Error": "recovery",
}


def as_table(gpu: int, counts: Counts) -> str:
    rows = ["+------+------+", "| NVLINK Error Counts |", f"| GPU {gpu}      |", "+======+======+"]
    for link, numbers in counts.items():
        rows.append(f"| Link {link}        |       |")
        rows += [f"| -> {name}   | {value}    |" for name, value in numbers.items()]
    return "\n".join([*rows, "+------+------+"]) + "\n"


def as_json(gpu: int, counts: Counts) -> str:
    body = {
        f"Link {link}": {"children": {name: {"value": value} for name, value in numbers.items()}}
        for link, numbers in counts.items()
    }
    return (
        json.dumps({"body": body, "header": ["NVLINK Error Counts", f"GPU {gpu}"]}, indent=4) + "\n"
    )


FORMS = [pytest.param(TABLE, as_table, id="table"), pytest.param(JSON, as_json, id="json")]
SOME: Counts = {
    0: dict.fromkeys(NAMES, "0"),
    11: {**dict.fromkeys(NAMES, "0"), "Replay Error": "42"},
}


@pytest.mark.parametrize(("reader", "render"), FORMS)
def test_counts_of_links_behind_a_prompt(tmp_path: Path, reader: Reader, render: Render) -> None:
    text = "[root@dgx-9 ~]# dcgmi nvlink -g 0 -e\n" + render(3, SOME)
    result = read(reader, tmp_path, text)
    reading = one(result, "gpu3/nvlink-11", "replay")
    assert (reading.value, reading.node, reading.scope) == (42.0, "dgx-9", "link")
    assert reading.line is not None
    assert "42" in text.split("\n")[reading.line - 1]
    assert len(result.readings) == 8
    other = JSON if reader is TABLE else TABLE
    assert other.score(source(tmp_path, text)) == 0


@pytest.mark.parametrize(("reader", "render"), FORMS)
def test_several_gpus_blanks_and_bad_values(tmp_path: Path, reader: Reader, render: Render) -> None:
    odd = {
        "CRC FLIT Error": "9223372036854775794",
        "CRC Data Error": "N/A",
        "Replay Error": "seven",
        "Symbol BER": "15e-255",
    }
    result = read(reader, tmp_path, render(0, SOME) + render(1, {4: odd}))
    assert one(result, "gpu1/nvlink-4", "crc_flit").quality == "not_supported"
    assert one(result, "gpu1/nvlink-4", "crc_data").quality == "not_supported"
    assert one(result, "gpu1/nvlink-4", "symbol_ber").value == 0.0
    assert ["seven" in refused.rule for refused in result.rejected] == [True]
    assert ("gpu0/nvlink-0", "replay") in values(result)


@pytest.mark.parametrize(("reader", "render"), FORMS)
def test_cut_output_keeps_what_was_read(tmp_path: Path, reader: Reader, render: Render) -> None:
    text = render(2, SOME)
    result = reader.read(source(tmp_path, text[: len(text) * 3 // 5]))
    assert result.readings
    assert result.rejected


def test_counts_of_a_whole_gpu_name_no_link(tmp_path: Path) -> None:
    text = as_table(5, {}).replace(
        "+======", "| Error Detail | |\n| -> Symbol BER | 3e-9 |\n+======", 1
    )
    assert one(read(TABLE, tmp_path, text), "gpu5", "symbol_ber").scope == "gpu_sum"


def test_warnings_of_unreadable_counts_are_unknown(tmp_path: Path) -> None:
    text = (
        "Warning: Unable to retrieve nvlink Replay Error count for link 4 for gpuId 5 - no data\n"
        + as_table(5, {})
    )
    interfaces = {fact.interface for fact in read(TABLE, tmp_path, text).unknown}
    assert interfaces == {"gpu5/nvlink-4", "gpu5"}


@pytest.mark.parametrize("junk", JUNK)
def test_junk_is_nobodys(tmp_path: Path, junk: bytes) -> None:
    file = source(tmp_path, junk)
    for reader in (TABLE, JSON):
        assert reader.score(file) == 0
        assert reader.read(file).readings == []


@given(
    st.dictionaries(
        st.integers(0, 17),
        st.fixed_dictionaries({name: st.integers(0, 10**9).map(str) for name in NAMES}),
        min_size=1,
        max_size=18,
    )
)
def test_rendered_counts_read_back(
    tmp_path_factory: pytest.TempPathFactory, counts: Counts
) -> None:
    for reader, render in ((TABLE, as_table), (JSON, as_json)):
        found = values(reader.read(source(tmp_path_factory.mktemp("x"), render(6, counts))))
        for link, numbers in counts.items():
            for name, value in numbers.items():
                assert found[f"gpu6/nvlink-{link}", NAMES[name]] == float(value)
