"""Faults that damaged files and larger ones brought to light, each with the answer that is right."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import pytest

from fabric_pipeline.model.records import ReadResult, TopologyPart
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.sources.collectives.json_records import as_float, as_int
from fabric_pipeline.sources.registry import reader_for
from fabric_pipeline.workflows.topology_rows import topology_rows
from fabric_pipeline_tests.sources.damage import specimens
from fabric_pipeline_tests.sources.held_files import held

NO_TABLE = Path("no-table")
BUSY_S = 3.0  # of the processor; with work that grows with the square it would be far more


def _read(format_id: str, text: str) -> ReadResult:
    return reader_for(format_id).read(held(text.encode(), NO_TABLE))


@pytest.mark.parametrize("text", ["--5", "-", "٣", "1_000", "5.", ""])
def test_text_that_python_alone_would_read_is_no_whole_number(text: str) -> None:
    """`--5` passed the check of its characters and broke the reader."""
    assert as_int(text) is None


@pytest.mark.parametrize("text", ["1_000", "٣", "½", "3٫5"])
def test_text_that_python_alone_would_read_is_no_number(text: str) -> None:
    assert as_float(text) is None


def test_numbers_as_text_still_count() -> None:
    assert (as_int(" -12 "), as_int("9" * 18), as_float("1e3")) == (-12, 10**18 - 1, 1000.0)


@pytest.mark.parametrize("name", ["", " "])
def test_a_count_without_a_name_is_refused(name: str) -> None:
    """It came out as a reading of nothing."""
    body = {"Link 3": {"children": {name: {"value": "5"}, "Replay Error": {"value": "7"}}}}
    text = json.dumps({"body": body, "header": ["NVLINK Error Counts", "GPU 1"]}, indent=1)
    result = _read("dcgmi_nvlink_errors_json", text)
    assert [(r.interface, r.counter, r.value) for r in result.readings] == [("gpu1/nvlink-3", "replay", 7)]  # fmt: skip
    assert [refused.line for refused in result.rejected] == [6]


def test_a_switch_without_a_name_breaks_no_drop() -> None:
    """A damaged listing of a fabric names one so; the table asked for the name."""
    graph = Topology([TopologyPart(switches=[{"name": ""}, {"name": "leaf-1"}])])
    assert all("name" in switch for part in graph.parts() for switch in part.switches)
    assert len([row for part in graph.parts() for row in topology_rows("x", part)]) == 2


@pytest.mark.parametrize("format_id", ["fabric_topology", "reference_case"])
def test_a_document_that_ends_too_early_is_refused_with_a_line_it_has(format_id: str) -> None:
    """The parser names the line behind the last one."""
    lines = specimens()[format_id].decode().rstrip().removesuffix("}").rstrip().split("\n")
    (refused,) = _read(format_id, "\n".join(lines) + "\n").rejected
    assert refused.line == len(lines)


def _mlxlink(names: list[dict[str, str]]) -> str:
    outputs = ({"result": {"output": {"Physical Counters and BER Info": one}}} for one in names)
    return "".join(json.dumps(one, indent=1) + "\n" for one in outputs)


def test_a_field_is_never_sought_in_the_next_object() -> None:
    """An escaped name is not found as it stands; its line then is the object's, not the neighbour's."""
    first = {"Link Down Counter": "4"}
    text = _mlxlink([first, first]).replace("Link Down", "Link \\u0044own", 1)
    lines = [r.line for r in _read("mlxlink_json", text).readings if r.counter == "link_downed"]
    assert lines == [1, 14]


def test_more_objects_than_are_read_are_told() -> None:
    result = _read("mlxlink_json", _mlxlink([{"Link Down Counter": "4"}] * 4100))
    assert sum(r.counter == "link_downed" for r in result.readings) == 4096
    assert [refused.line for refused in result.rejected] == [4096 * 9 + 1]


def test_mlxlink_of_many_devices_takes_no_longer_for_each() -> None:
    one = {f"Some Field {n}": "0" for n in range(30)} | {"Link Down Counter": "4"}
    start = time.process_time()
    result = _read("mlxlink_json", _mlxlink([one] * 2000))
    assert time.process_time() - start < BUSY_S
    assert sum(r.counter == "link_downed" for r in result.readings) == 2000


def test_nvlink_listings_of_a_night_take_no_longer_for_each() -> None:
    """Eight GPUs in a loop without a prompt in between: what is missing was sought in all pairs."""
    block = "".join(f"GPU {n % 8}: NVIDIA A100 (UUID: GPU-0{n % 8})\n\t Link 0: CRC Errors: 0\n" for n in range(6000))  # fmt: skip
    last = "GPU 7: NVIDIA A100 (UUID: GPU-07)\n\t Link 0: CRC Errors: 0\n\t Link 1: CRC Errors: 3\n"
    start = time.process_time()
    result = _read("nvidia_smi_nvlink_errors", block + last)
    assert time.process_time() - start < BUSY_S
    assert result.readings[-1].value == 3
    assert "NVLink 1 of GPU 0" in {fact.what for fact in result.unknown}


def test_many_tables_in_one_file_hash_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, original = [], hashlib.sha256

    def counted(data: bytes) -> Any:
        calls.append(len(data))
        return original(data)

    monkeypatch.setattr(hashlib, "sha256", counted)
    text = specimens()["nccl_tests"].decode() + "\n"
    result = _read("nccl_tests", text * 50)
    assert len({timing.run for timing in result.timings}) == 150
    assert len(calls) == 1
