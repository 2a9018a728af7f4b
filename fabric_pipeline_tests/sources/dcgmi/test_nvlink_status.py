"""Letters of `dcgmi nvlink -s`."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.sources.dcgmi.nvlink_status import DcgmiNvlinkStatusReader
from fabric_pipeline_tests.sources.nvidia_smi.files import JUNK, one, read, source, values

READER = DcgmiNvlinkStatusReader()
TITLE = "+----+\n|  NvLink Link Status  |\n+----+\nGPUs:\n"
KEY = "\nKey: Up=U, Down=D, Disabled=X, Not Supported=_\n"


@pytest.mark.parametrize("frame", [(TITLE, KEY), ("", "")])
def test_letters_of_gpus_and_switches(tmp_path: Path, frame: tuple[str, str]) -> None:
    text = (
        frame[0] + "    gpuId 0:\n        U D X _\n    gpuId 3: U U\n"
        "NvSwitches:\n    physicalId 11:\n        U _ D\n" + frame[1]
    )  # fmt: skip
    result = read(READER, tmp_path, text)
    found = values(result)
    assert found["gpu0/nvlink-0", "link_up"] == 1.0
    assert found["gpu0/nvlink-1", "link_up"] == 0.0
    assert found["gpu3/nvlink-1", "link_up"] == 1.0
    assert found["nvswitch-11/port-2", "link_up"] == 0.0
    assert one(result, "gpu0/nvlink-2", "link_up").state == "disabled"
    assert one(result, "gpu0/nvlink-3", "link_up").quality == "not_supported"
    assert result.understood == 7


def test_owner_without_letters_and_damaged_letters(tmp_path: Path) -> None:
    text = (
        TITLE
        + "    gpuId 0:\n    gpuId 1:\n        U U ? U\n    gpuId 2:\n        U U\n    gpuId 3:\n"
    )
    result = read(READER, tmp_path, text)
    assert {fact.interface for fact in result.unknown} == {"gpu0", "gpu1", "gpu3"}
    assert len(result.rejected) == 1
    assert ("gpu2/nvlink-1", "link_up") in values(result)


@pytest.mark.parametrize("junk", JUNK)
def test_junk_is_nobodys(tmp_path: Path, junk: bytes) -> None:
    file = source(tmp_path, junk)
    assert READER.score(file) == 0
    assert READER.read(file).readings == []


@given(st.lists(st.text("UDX_", min_size=1, max_size=36), min_size=1, max_size=16))
def test_rendered_letters_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str]
) -> None:
    text = TITLE + "".join(
        f"    gpuId {n}:\n        {' '.join(row)}\n" for n, row in enumerate(rows)
    )
    result = READER.read(source(tmp_path_factory.mktemp("x"), text))
    letters = {(r.interface): r.value_text for r in result.readings}
    assert letters == {
        f"gpu{gpu}/nvlink-{link}": letter
        for gpu, row in enumerate(rows)
        for link, letter in enumerate(row)
    }
