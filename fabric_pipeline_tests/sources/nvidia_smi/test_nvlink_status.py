"""Link states of nvlink listings: up, down, sentences for all links, holes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.sources.base import Hints
from fabric_pipeline.sources.nvidia_smi.nvlink_capture import read_capture
from fabric_pipeline.sources.nvidia_smi.nvlink_status import NvlinkStatusReader
from fabric_pipeline_tests.sources.nvidia_smi.files import (
    JUNK,
    NOON,
    UUID,
    one,
    read,
    source,
    values,
)

READER = NvlinkStatusReader()


def listing(gpu: int, rows: list[str], name: str = "NVIDIA H100 80GB HBM3") -> str:
    body = "".join(f"\t Link {n}: {row}\n" for n, row in enumerate(rows))
    return f"GPU {gpu}: {name} (UUID: {UUID})\n{body}"


def test_speed_rows_are_up_with_their_speed_in_gbps(tmp_path: Path) -> None:
    result = read(READER, tmp_path, listing(3, ["26.562 GB/s", "25 GB/s"]))
    assert values(result)["gpu3/nvlink-0", "speed_gbps"] == pytest.approx(212.496)
    assert values(result)["gpu3/nvlink-1", "link_up"] == 1.0
    assert one(result, "gpu3/nvlink-1", "link_up").gpu_uuid == UUID
    assert one(result, "gpu3/nvlink-1", "link_up").line == 3
    assert result.topology is not None
    assert result.topology.nodes == [{"node": "", "gpus": [{"gpu": 3, "uuid": UUID}]}]


def test_inactive_row_is_down_and_keeps_its_word(tmp_path: Path) -> None:
    result = read(READER, tmp_path, listing(0, ["25 GB/s", "<inactive>"]))
    down = one(result, "gpu0/nvlink-1", "link_up")
    assert (down.value, down.state) == (0.0, "<inactive> [NVIDIA H100 80GB HBM3]")
    assert ("gpu0/nvlink-1", "speed_gbps") not in values(result)


@pytest.mark.parametrize("spelling", ["inActive", "inactive", "in-active"])
def test_sentence_for_all_links_means_the_whole_gpu_is_down(tmp_path: Path, spelling: str) -> None:
    text = (
        listing(0, ["53.125 GB/s"], "NVIDIA B200")
        + f"GPU 1: NVIDIA B200 (UUID: {UUID})\n"
        + f"NVML: Unable to retrieve NVLink information as all links are {spelling}\n"
    )
    down = one(read(READER, tmp_path, text), "gpu1", "link_up")
    assert (down.value, down.scope) == (0.0, "gpu_sum")
    assert spelling in down.state


def test_gpu_without_header_is_taken_from_the_command(tmp_path: Path) -> None:
    text = (
        "$ nvidia-smi nvlink --status -i 5\n"
        "NVML: Unable to retrieve Nvlink information as all links are inActive\n"
    )
    assert one(read(READER, tmp_path, text), "gpu5", "link_up").value == 0.0


def test_gpu_without_nvlink_is_unknown_not_down(tmp_path: Path) -> None:
    text = listing(0, ["25 GB/s"]) + "GPU 1: Some Card\nDevice does not have or support Nvlink\n"
    result = read(READER, tmp_path, text)
    assert one(result, "gpu1", "link_up").quality == "not_supported"
    assert any(fact.interface == "gpu1" for fact in result.unknown)


def test_lost_gpu_becomes_an_event_at_its_address(tmp_path: Path) -> None:
    text = listing(0, ["25 GB/s"]) + (
        "Unable to determine the device handle for GPU0000:8A:00.0: GPU is lost. Reboot it\n"
    )
    (event,) = read(READER, tmp_path, text).events
    assert (event.kind, event.interface, event.severity) == (
        "gpu_lost",
        "pci-0000:8a:00.0",
        "critical",
    )


def test_cut_list_leaves_the_rest_unknown(tmp_path: Path) -> None:
    text = listing(0, ["25 GB/s"] * 6) + listing(1, ["25 GB/s"] * 2)
    (fact,) = read(READER, tmp_path, text).unknown
    assert fact.interface == "gpu1"
    assert fact.what == "NVLink 2-5 of GPU 1"


def test_ellipses_between_gpus_and_between_links(tmp_path: Path) -> None:
    text = (
        listing(0, ["25 GB/s"] * 3)
        + "...\n"
        + listing(3, ["25 GB/s"] * 3)
        + "GPU 4: NVIDIA H100 80GB HBM3\n\t Link 0: 25 GB/s\n\t [...]\n\t Link 2: 25 GB/s\n"
    )
    names = {fact.what for fact in read(READER, tmp_path, text).unknown}
    assert names == {"NVLinks of GPU 1", "NVLinks of GPU 2", "NVLink 1 of GPU 4"}


def test_open_end_is_told(tmp_path: Path) -> None:
    facts = read(READER, tmp_path, listing(0, ["25 GB/s"] * 3) + "...\n").unknown
    assert any("followed GPU 0" in fact.what for fact in facts)


def test_hosts_and_times_from_banners_prompts_and_hints(tmp_path: Path) -> None:
    body = listing(0, ["25 GB/s"])
    banners = f"===== hgx-7 | before | 2026-11-20T12:00:00Z =====\n{body}"
    assert one(read(READER, tmp_path, banners), "gpu0/nvlink-0", "link_up").time == NOON
    prompt = f"[root@hgx-8 ~]# nvidia-smi nvlink -s\n{body}"
    assert one(read(READER, tmp_path, prompt), "gpu0/nvlink-0", "link_up").node == "hgx-8"
    hinted = read(READER, tmp_path, prompt, Hints(node="hgx-9", time=NOON))
    assert one(hinted, "gpu0/nvlink-0", "link_up").node == "hgx-9"
    container = f"root@0123456789ab:/# nvidia-smi nvlink -s\n{body}"
    assert one(read(READER, tmp_path, container), "gpu0/nvlink-0", "link_up").node == ""


def test_lines_of_several_hosts_interleaved(tmp_path: Path) -> None:
    text = "".join(
        f"hgx-1: {a}\nhgx-2: {b}\n"
        for a, b in [
            ("GPU 0: NVIDIA H100 80GB HBM3", "GPU 4: NVIDIA H100 80GB HBM3"),
            ("\t Link 0: 25 GB/s", "\t Link 0: <inactive>"),
        ]
    )
    result = read(READER, tmp_path, text)
    found = {(r.node, r.interface): r.value for r in result.readings if r.counter == "link_up"}
    assert found == {("hgx-1", "gpu0/nvlink-0"): 1.0, ("hgx-2", "gpu4/nvlink-0"): 0.0}


def test_colours_carriage_returns_and_damaged_rows(tmp_path: Path) -> None:
    text = (
        "\x1b[4mGPU 0: NVIDIA H100\x1b[0m\r\n\t Link 0: 25 GB/s\r\n"
        "\t nk 1: 25 GB/s\r\n\t Link 2: quick brown fox\r\n\t Link 3"
    )
    result = read(READER, tmp_path, text)
    assert values(result)["gpu0/nvlink-0", "link_up"] == 1.0
    assert [refused.line for refused in result.rejected] == [3, 4, 5]
    assert all(refused.rule for refused in result.rejected)


@pytest.mark.parametrize("junk", JUNK)
def test_junk_is_nobodys(tmp_path: Path, junk: bytes) -> None:
    file = source(tmp_path, junk)
    assert READER.score(file) == 0
    assert READER.read(file).readings == []


@given(st.lists(st.one_of(st.none(), st.integers(1, 9999)), min_size=1, max_size=18))
def test_rendered_rows_read_back(
    tmp_path_factory: pytest.TempPathFactory, speeds: list[int | None]
) -> None:
    rows = ["<inactive>" if speed is None else f"{speed} GB/s" for speed in speeds]
    file = source(tmp_path_factory.mktemp("x"), listing(2, rows))
    found = values(read_capture(file).result)
    for number, speed in enumerate(speeds):
        assert found["gpu2/nvlink-" + str(number), "link_up"] == (0.0 if speed is None else 1.0)
        expected = None if speed is None else speed * 8.0
        assert found.get(("gpu2/nvlink-" + str(number), "speed_gbps")) == expected
