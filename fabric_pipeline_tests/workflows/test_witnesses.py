"""One link, many witnesses: both ends and all tools make one finding, contradictions are shown, nothing is added up."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline_tests.workflows import captures_of_one_link as tool
from fabric_pipeline_tests.workflows.answers_of_inspect import answer_of, causes, gaps, places

BAD = (3, 2)
LINK = "n07:gpu3/nvlink-2"


# --- one NVLink --------------------------------------------------------------------------------


def test_six_witnesses_of_an_nvlink_make_one_finding(tmp_path: Path) -> None:
    answer = answer_of(
        tmp_path,
        {
            "dcgm.prom": tool.dcgm_links("n07", "CRC_FLIT", {BAD: 1200}),
            "switch.prom": tool.dcgm("n07", [("NVSWITCH_LINK_CRC_ERRORS", {"nvswitch": 2, "nvlink": p}, 900 if p == 32 else 0) for p in range(36)]),
            "n07/e.txt": tool.nvlink_errors({BAD: (0, 0, 1200)}),
            "n07/R.txt": tool.nvlink_remote(),
            "n07/q.txt": tool.query(),
            "n07/dmesg.txt": tool.XID_74.format(address="9c"),
            "n07/fabricmanager.log": tool.FABRIC_MANAGER,
        },
    )  # fmt: skip
    (finding,) = causes(answer)
    assert (finding["component"], finding["far_end"]) == (LINK, "n07:nvswitch-2/port-32")
    assert "1200 flits received with a bad CRC as totals" in finding["reason"]
    assert "CRC errors of unstated kind" not in finding["reason"], "the same counter, told once"
    assert {file for file, _ in places(finding)} == {"dcgm.prom", "switch.prom", "e.txt", "dmesg.txt"}  # fmt: skip
    assert "disagree" not in finding["reason"]
    (note,) = [one for one in answer["findings"] if one["kind"] == "sxid"]
    assert note["cause"] == LINK


def test_a_direct_nvlink_listed_at_both_ends_is_one_link(tmp_path: Path) -> None:
    remote = (
        f"GPU 0: NVIDIA A100 (UUID: {tool.uuid(0)})\n\t Link 2: Remote Device 00000000:9C:00.0: Link 5\n"
        f"GPU 3: NVIDIA A100 (UUID: {tool.uuid(3)})\n\t Link 5: Remote Device 00000000:1A:00.0: Link 2\n"
    )
    errors = tool.nvlink_errors({(0, 2): (0, 0, 5000), (3, 5): (4000, 0, 0)})
    files = {"n07/R.txt": remote, "n07/e.txt": errors, "n07/q.txt": tool.query()}
    (finding,) = causes(answer_of(tmp_path, files))
    assert (finding["component"], finding["far_end"]) == ("n07:gpu0/nvlink-2", "n07:gpu3/nvlink-5")


def test_two_tools_are_no_series(tmp_path: Path) -> None:
    """1200 and then 200 would be a reset and 200 errors in 20 seconds."""
    answer = answer_of(
        tmp_path,
        {
            "drop.yaml": 'files:\n  dcgm.prom: {time: "2024-05-07T10:00:00Z"}\n  n07/e.txt: {time: "2024-05-07T10:00:20Z"}\n',
            "dcgm.prom": tool.dcgm_links("n07", "REPLAY", {BAD: 1200}),
            "n07/e.txt": tool.nvlink_errors({BAD: (200, 0, 0)}),
        },
    )  # fmt: skip
    (finding,) = causes(answer)
    assert "counted 1200 NVLink replays as totals without a time span" in finding["reason"]
    assert "per hour" not in finding["reason"]
    (said,) = gaps(answer, LINK, "replay")
    assert said.startswith("dcgm-exporter says 1200 (dcgm.prom:21), nvidia-smi says 200 (n07/e.txt:65)")  # fmt: skip


def test_agreeing_witnesses_are_evidence_and_no_contradiction(tmp_path: Path) -> None:
    files = {
        "dcgm.prom": tool.dcgm_links("n07", "REPLAY", {BAD: 4000}),
        "n07/e.txt": tool.nvlink_errors({BAD: (4003, 0, 0)}),
    }
    answer = answer_of(tmp_path, files)
    (finding,) = causes(answer)
    assert {("dcgm.prom", 21), ("e.txt", 65)} <= places(finding)
    assert answer["unknown"] == []


@pytest.mark.parametrize("counter", ["crc", "replay"])
def test_a_contradiction_is_shown_and_not_averaged(tmp_path: Path, counter: str) -> None:
    metric = {"crc": "CRC_FLIT", "replay": "REPLAY"}[counter]
    files = {
        "dcgm.prom": tool.dcgm_links("n07", metric, {BAD: 1200}),
        "n07/e.txt": tool.nvlink_errors({}),
    }
    answer = answer_of(tmp_path, files)
    (finding,) = causes(answer)
    assert "counted 1200 " in finding["reason"]
    assert "Witnesses disagree" in finding["reason"]
    (said,) = gaps(answer, LINK, counter)
    assert "dcgm-exporter says 1200" in said
    assert "nvidia-smi says 0" in said
    assert "nothing is averaged" in said
    assert "600" not in said


@pytest.mark.parametrize("names", [("n07/a.txt", "z.prom"), ("n07/z.txt", "a.prom")])
def test_the_worse_state_is_judged_whatever_file_comes_first(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    up = [
        ("NVLINK_GET_STATE", {"gpu": gpu, "UUID": tool.uuid(gpu), "nvlink": link}, 1)
        for gpu in range(tool.GPUS)
        for link in range(tool.LINKS)
    ]
    files = {names[0]: tool.nvlink_status([(3, 3)]), names[1]: tool.dcgm("n07", up)}
    answer = answer_of(tmp_path, files)
    (finding,) = causes(answer)
    assert (finding["component"], finding["kind"]) == ("n07:gpu3/nvlink-3", "nvlink_inactive")
    assert "earlier capture" not in finding["reason"], "another tool is no earlier capture"
    (said,) = gaps(answer, "n07:gpu3/nvlink-3", "link_up")
    assert "nvidia-smi says down" in said
    assert "dcgm-exporter says up" in said


def test_one_pcie_link_under_two_names_is_compared_and_contradicted(tmp_path: Path) -> None:
    files = {"n07/lspci.txt": tool.lspci(narrow="9C"), "n07/q.txt": tool.query()}
    answer = answer_of(tmp_path, files)
    (finding,) = causes(answer)
    assert (finding["component"], finding["kind"]) == ("n07:gpu3/pcie", "width_downgrade")
    assert "3 equal GPUs run at x16" in finding["reason"]
    (said,) = gaps(answer, "n07:gpu3/pcie", "width")
    assert "lspci says 8" in said
    assert "nvidia-smi says 16" in said


# --- sums over a GPU ---------------------------------------------------------------------------


def test_a_sum_is_its_links_errors_told_once_more(tmp_path: Path) -> None:
    text = tool.dcgm_sums("n07", {3: 1200}) + tool.dcgm_links("n07", "CRC_FLIT", {BAD: 1200})
    answer = answer_of(tmp_path, {"dcgm.prom": text})
    (finding,) = causes(answer)
    assert finding["component"] == LINK
    assert "2400" not in finding["reason"]
    (told,) = [one for one in answer["findings"] if one["component"] == "n07:gpu3"]
    assert (told["role"], told["cause"]) == ("symptom", LINK)
    assert answer["unknown"] == []


def test_a_sum_beyond_its_links_leaves_the_rest_unknown(tmp_path: Path) -> None:
    text = tool.dcgm_sums("n07", {3: 9000}) + tool.dcgm_links("n07", "CRC_FLIT", {BAD: 1200})
    answer = answer_of(tmp_path, {"dcgm.prom": text})
    (finding,) = causes(answer)
    assert finding["component"] == LINK
    (said,) = gaps(answer, "n07:gpu3", "crc")
    assert "says 9000" in said
    assert "counted 1200 of it" in said


def test_a_sum_alone_names_no_link(tmp_path: Path) -> None:
    answer = answer_of(tmp_path, {"dcgm.prom": tool.dcgm_sums("n07", {3: 1200})})
    (finding,) = causes(answer)
    assert finding["component"] == "n07:gpu3"
    assert "which link it is, is not known" in finding["reason"]
