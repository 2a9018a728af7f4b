"""Sample columns of `dcgmi dmon`."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline.sources.dcgmi.dmon import DcgmiDmonReader
from fabric_pipeline_tests.sources.nvidia_smi.files import JUNK, one, read, source

READER = DcgmiDmonReader()


def test_columns_become_counters_of_links_gpus_and_pcie(tmp_path: Path) -> None:
    text = (
        "dcgmi dmon -e 203,202,409,423\n"
        "#Entity   GPUTL      RPCTR      NFELT      NREL3      PCILW     NVLTX\nID\n"
        "GPU 2     97         5          6          7          16        880123\n"
    )
    result = read(READER, tmp_path, text)
    assert one(result, "gpu2/pcie", "pcie_replay").value == 5
    assert one(result, "gpu2", "crc_flit").scope == "gpu_sum"
    assert one(result, "gpu2/nvlink-3", "replay").value == 7
    assert one(result, "gpu2/pcie", "width").kind == "gauge"
    assert [r.counter_text for r in result.readings if not r.counter] == ["NVLTX"]
    assert result.facts["dmon_columns_passed_over"] == ["GPUTL"]


def test_missing_samples_are_unknown(tmp_path: Path) -> None:
    text = "#Entity NVLTX\nID\nGPU 0  N/A\nGPU 0  5\nGPU 0  9223372036854775794\n"
    result = read(READER, tmp_path, text)
    assert result.understood == 1
    (fact,) = result.unknown
    assert fact.reason == "2 of 3 samples read N/A"


def test_cells_that_ran_together_and_bad_cells(tmp_path: Path) -> None:
    text = "#Entity NFELT NDELT\nGPU 0 1 2\nGPU 0 123456789012\nGPU 0 1 x\n#Entity NRELT\nGPU 0 8\n"
    result = read(READER, tmp_path, text)
    assert [refused.line for refused in result.rejected] == [3, 4]
    assert one(result, "gpu0", "replay").value == 8


def test_last_xid_is_told_once(tmp_path: Path) -> None:
    text = "#Entity XIDER\nGPU 1 0\nGPU 1 79\nGPU 1 79\nGPU 2 0\n"
    (event,) = read(READER, tmp_path, text).events
    assert (event.code, event.interface, event.role) == (79, "gpu1", "context")


@pytest.mark.parametrize("junk", JUNK)
def test_junk_is_nobodys(tmp_path: Path, junk: bytes) -> None:
    file = source(tmp_path, junk)
    assert READER.score(file) == 0
    assert READER.read(file).readings == []
