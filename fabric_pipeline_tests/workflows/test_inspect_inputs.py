"""What can be given to `inspect`: patterns, stdin, hints, several of them mixed; and what is refused."""

from __future__ import annotations

import gzip
import io
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fabric_pipeline.errors import BadInputError, UsageError
from fabric_pipeline.workflows import inspect_inputs
from fabric_pipeline.workflows.inspect import inspect
from fabric_pipeline.workflows.inspect_inputs import Given
from fabric_pipeline_tests.workflows.readout import READ_AT, write

CAPTURE = (
    "GPU 2: Some Card (UUID: GPU-1)\n\t Link 3: Replay Errors: {}\n\t Link 4: Replay Errors: 0\n"
)
STDIN = Path("-")


def given(text: str | bytes = "", **hints: Any) -> Given:
    data = text.encode() if isinstance(text, str) else text
    return Given(io.BytesIO(data), **hints)


def shown(answer: dict[str, Any]) -> list[str]:
    return [one["path"] for one in answer["inputs"]]


def test_a_quoted_pattern_stands_for_its_files_in_natural_order(tmp_path: Path) -> None:
    write(tmp_path, {f"{n}.log": CAPTURE.format(n) for n in (10, 9, 1)} | {"x.txt": "x"})
    answer = inspect([tmp_path / "*.log"], READ_AT)
    assert shown(answer) == [f"{tmp_path}/{n}.log" for n in (1, 9, 10)]


def test_a_pattern_over_folders(tmp_path: Path) -> None:
    write(tmp_path, {"a/1.log": CAPTURE.format(1), "b/c/2.log": CAPTURE.format(2)})
    assert len(shown(inspect([tmp_path / "**" / "*.log"], READ_AT))) == 2


def test_a_file_that_is_named_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    write(tmp_path, {"a[1].log": CAPTURE.format(1), "a1.log": CAPTURE.format(2)})
    assert shown(inspect([tmp_path / "a[1].log"], READ_AT)) == [f"{tmp_path}/a[1].log"]


def test_a_pattern_that_matches_nothing_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"\*\.log: no file matches"):
        inspect([tmp_path / "*.log"], READ_AT)


def test_stdin_is_read_like_a_file_and_named_as_it_was_given() -> None:
    answer = inspect([STDIN], READ_AT, given=given(CAPTURE.format(7)))
    (one,) = answer["inputs"]
    assert (one["path"], one["format"], one["readings"]) == ("-", "nvidia_smi_nvlink_errors", 2)


def test_stdin_keeps_its_place_among_files(tmp_path: Path) -> None:
    write(tmp_path, {"earlier.txt": CAPTURE.format(10)})
    paths = [tmp_path / "earlier.txt", STDIN]
    answer = inspect(paths, READ_AT, given=given(CAPTURE.format(90_000), node="calc-07"))
    assert shown(answer) == [f"{tmp_path}/earlier.txt", "-"]
    (cause,) = [one for one in answer["findings"] if one["role"] == "cause"]
    assert {"path": "-", "line": 2} in cause["evidence"]


def test_an_archive_may_come_by_stdin() -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo("gpu-n07/nvlink.txt")
        entry.size = len(CAPTURE.format(1))
        archive.addfile(entry, io.BytesIO(CAPTURE.format(1).encode()))
    answer = inspect([STDIN], READ_AT, given=given(packed.getvalue()))
    assert shown(answer) == ["-", "-!gpu-n07/nvlink.txt"]
    zipped = given(gzip.compress(CAPTURE.format(1).encode()))
    assert inspect([STDIN], READ_AT, given=zipped)["inputs"][-1]["readings"] == 2


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "stdin is empty"),
        (b"\0\1\2\3" * 500, "stdin: binary content that no reader knows"),
        (b"\x28\xb5\x2f\xfd\0\0rest", "stdin: zstd archive, which is not opened"),
    ],
)
def test_a_stdin_that_says_nothing_is_an_error(data: bytes, said: str) -> None:
    with pytest.raises(BadInputError, match=said) as told:
        inspect([STDIN], READ_AT, given=given(data))
    assert told.value.remedy


def test_a_stdin_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_inputs, "MAX_STDIN_BYTES", 3 * 1024**2)
    with pytest.raises(BadInputError, match="stdin holds more than"):
        inspect([STDIN], READ_AT, given=given(b"x" * (4 * 1024**2)))


def test_text_that_nobody_knows_is_no_data_not_an_error() -> None:
    answer = inspect([STDIN], READ_AT, given=given("two sugars\n"))
    assert answer["verdict"] == "no_data"
    assert answer["facts"]["problems"][0].startswith("-: no reader knows this format")


def test_stdin_can_be_given_once() -> None:
    with pytest.raises(UsageError, match="more than once"):
        inspect([STDIN, STDIN], READ_AT, given=given("x"))


def test_the_host_of_a_bare_capture_is_the_one_given(tmp_path: Path) -> None:
    write(tmp_path, {"1.txt": CAPTURE.format(10), "2.txt": CAPTURE.format(90_000)})
    answer = inspect([tmp_path / "1.txt", tmp_path / "2.txt"], READ_AT, given=Given(node="calc-07"))
    (cause,) = [one for one in answer["findings"] if one["role"] == "cause"]
    assert cause["component"] == "calc-07:gpu2/nvlink-3"


def test_a_folder_named_after_a_host_is_not_renamed(tmp_path: Path) -> None:
    write(tmp_path, {"gpu-n01/e.txt": CAPTURE.format(90_000), "e.txt": CAPTURE.format(80_000)})
    answer = inspect([tmp_path], READ_AT, given=Given(node="calc-07"))
    named = {one["component"].split(":")[0] for one in answer["findings"]}
    assert named == {"gpu-n01", "calc-07"}


def test_a_capture_gets_the_time_that_is_given(tmp_path: Path) -> None:
    time = datetime(2026, 11, 20, 8, tzinfo=UTC)
    write(tmp_path, {"gpu-n01/1.txt": CAPTURE.format(10)})
    kept = Given(time=time)
    assert inspect([tmp_path / "gpu-n01" / "1.txt"], READ_AT, given=kept)["verdict"] == "healthy"
    write(tmp_path, {"gpu-n01/2.txt": CAPTURE.format(20)})
    with pytest.raises(UsageError, match="one --time for 2 files"):
        inspect([tmp_path / "gpu-n01"], READ_AT, given=kept)
