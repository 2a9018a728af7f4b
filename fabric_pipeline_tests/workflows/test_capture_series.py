"""Captures without times: what makes them a series, in which order, and which hosts they never name."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline.workflows.inspect import inspect
from fabric_pipeline_tests.workflows import captures_of_one_link as tool
from fabric_pipeline_tests.workflows.answers_of_inspect import answer_of, causes, gaps, places
from fabric_pipeline_tests.workflows.readout import READ_AT, write

BAD = (3, 2)
OLD, NEW = tool.nvlink_errors({BAD: (0, 0, 100)}), tool.nvlink_errors({BAD: (0, 0, 5100)})
UNNAMED = "unknown:gpu3/nvlink-2"


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("before.txt", "after.txt"),
        ("n07/before/e.txt", "n07/after/e.txt"),
        ("s/2.txt", "s/10.txt"),
    ],
)
def test_names_order_captures_and_growth_has_no_rate(
    tmp_path: Path, earlier: str, later: str
) -> None:
    (finding,) = causes(answer_of(tmp_path, {earlier: OLD, later: NEW}))
    assert "counted 5000 CRC errors" in finding["reason"]
    assert "(5000 more, 5100 in total)" in finding["reason"]
    assert "a rate is not known" in finding["reason"]
    assert "per hour" not in finding["reason"]


def test_a_glob_gives_the_same_as_the_right_order(tmp_path: Path) -> None:
    folder = write(tmp_path, {"before.txt": OLD, "after.txt": NEW})
    given = [folder / "after.txt", folder / "before.txt"]
    answers = [inspect(order, READ_AT) for order in (given, given[::-1])]
    assert answers[0]["findings"] == answers[1]["findings"]
    assert [Path(one["path"]).name for one in answers[0]["inputs"]] == ["after.txt", "before.txt"]


def test_a_counter_that_fell_is_a_reset_and_no_error(tmp_path: Path) -> None:
    answer = answer_of(tmp_path, {"before.txt": NEW, "after.txt": OLD})
    assert causes(answer) == []
    (said,) = gaps(answer, UNNAMED, "crc")
    assert "a fall is no error" in said


@pytest.mark.parametrize(
    "names",
    [
        ("n07/2024-05-07T09:00:00Z/e.txt", "n07/2024-05-07T10:00:00Z/e.txt"),
        ("e_20240507-090000.txt", "e_20240507-100000.txt"),
    ],
)
def test_times_in_names_give_a_rate(tmp_path: Path, names: tuple[str, str]) -> None:
    (finding,) = causes(answer_of(tmp_path, dict(zip(names, (OLD, NEW), strict=True))))
    assert "counted 5000 CRC errors of unstated kind, up to 5000 per hour" in finding["reason"]


def test_a_time_in_the_content_goes_before_that_of_the_name(tmp_path: Path) -> None:
    content = f"Tue May  7 09:00:00 UTC 2024\n{OLD}Tue May  7 11:00:00 UTC 2024\n{NEW}"
    (finding,) = causes(answer_of(tmp_path, {"n07/e_20240101-0000.txt": content}))
    assert "up to 2500 per hour" in finding["reason"]


def test_a_little_growth_on_an_old_total_accuses_nobody(tmp_path: Path) -> None:
    files = {"n07/before.txt": NEW, "n07/after.txt": tool.nvlink_errors({BAD: (0, 0, 5101)})}
    answer = answer_of(tmp_path, files)
    assert causes(answer) == []
    (watched,) = answer["findings"]
    assert (watched["component"], watched["severity"]) == ("n07:gpu3/nvlink-2", "watch")
    assert "(1 more, 5101 in total)" in watched["reason"]


def test_port_counters_grow_between_captures_too(tmp_path: Path) -> None:
    files = {"before/p.txt": tool.perfquery(10, 0, 1), "after/p.txt": tool.perfquery(9010, 0, 1)}
    (finding,) = causes(answer_of(tmp_path / "switch", files))
    assert "9000 more symbol_error" in finding["reason"]
    files = {"n07/b-before.txt": tool.sysfs(1, 0, 0), "n07/b-after.txt": tool.sysfs(8001, 0, 0)}
    (finding,) = causes(answer_of(tmp_path / "host", files))
    assert (finding["component"], "8000 more symbol_error" in finding["reason"]) == ("n07:mlx5_0/1", True)  # fmt: skip


# --- hosts that nobody names -------------------------------------------------------------------


def test_two_files_without_a_host_are_not_one_gpu(tmp_path: Path) -> None:
    files = {
        "A.txt": tool.nvlink_errors({BAD: (0, 0, 3000)}, board="aaaa0000"),
        "B.txt": tool.nvlink_errors({BAD: (0, 0, 9000)}, board="bbbb0000"),
    }
    answer = answer_of(tmp_path, files)
    found = causes(answer)
    assert [one["component"] for one in found] == [UNNAMED, UNNAMED]
    assert [places(one) for one in found] == [{("A.txt", 67)}, {("B.txt", 67)}]
    assert not any("exchanged" in one["reason"] for one in found), "two machines, no exchanged GPU"
    (said,) = gaps(answer, "unknown:unknown", "name of the host")
    assert "A.txt, B.txt" in said


def test_two_ports_without_a_host_do_not_grow(tmp_path: Path) -> None:
    files = {"A.txt": tool.sysfs(100, 0, 0), "B.txt": tool.sysfs(9000, 5, 8)}
    answer = answer_of(tmp_path, files)
    assert not any(" more " in one["reason"] for one in answer["findings"])
    assert not any(len({file for file, _ in places(one)}) > 1 for one in answer["findings"])


def test_two_redacted_addresses_are_not_one_gpu(tmp_path: Path) -> None:
    files = {f"{name}.log": tool.XID_74.format(address="XX") for name in "AB"}
    answer = answer_of(tmp_path, files)
    assert [places(one) for one in causes(answer)] == [{("A.log", 1)}, {("B.log", 1)}]


def test_a_container_is_no_host_and_joins_none(tmp_path: Path) -> None:
    files = {
        "c.prom": tool.dcgm_links("3f2a9c01bd77", "REPLAY", {BAD: 3000}),
        "n07/e.txt": tool.nvlink_errors({}),
    }
    answer = answer_of(tmp_path, files)
    (finding,) = causes(answer)
    assert finding["component"] == UNNAMED
    assert {file for file, _ in places(finding)} == {"c.prom"}
    assert any("3f2a9c01bd77" in one["reason"] for one in answer["unknown"])


def test_several_tools_without_a_host_are_one_machine(tmp_path: Path) -> None:
    files = {"e.txt": NEW, "s.txt": tool.nvlink_status([BAD])}
    (finding,) = causes(answer_of(tmp_path, files))
    assert finding["component"] == UNNAMED
    assert {file for file, _ in places(finding)} == {"e.txt", "s.txt"}
