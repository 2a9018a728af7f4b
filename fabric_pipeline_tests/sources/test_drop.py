"""Listing a drop: its files in order, its description, whose captures they are, and what is not taken."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from fabric_pipeline.errors import BadInputError
from fabric_pipeline.sources.base import Hints
from fabric_pipeline.sources.drop import Drop, list_drop, loose_files, sha256_of
from fabric_pipeline_tests.workflows.readout import write


def hints(drop: Drop, name: str, known: frozenset[str] = frozenset()) -> Hints:
    (stamp,) = [stamp for stamp in drop.files if stamp.name == name]
    return drop.source(stamp, known).hints


def names(drop: Drop) -> list[str]:
    return [stamp.name for stamp in drop.files]


def test_files_in_a_fixed_order_with_their_hashes(tmp_path: Path) -> None:
    write(
        tmp_path / "d",
        {"b.txt": "b", "a/z.txt": "z", "a.txt": "a", "drop.yaml": "site: x", ".hid": ""},
    )
    drop = list_drop(tmp_path / "d")
    assert names(drop) == [".hid", "a/z.txt", "a.txt", "b.txt", "drop.yaml"]
    assert [stamp.name for stamp in drop.data_files()] == [".hid", "a/z.txt", "a.txt", "b.txt"]
    assert {s.name: s.size for s in drop.files}["a/z.txt"] == 1
    assert drop.files[2].sha256 == sha256_of(tmp_path / "d" / "a.txt")
    assert drop.problems == ()


def test_the_same_bytes_have_the_same_hash_anywhere(tmp_path: Path) -> None:
    files = {"a.txt": "1", "b/c.txt": "2"}
    one, two = (list_drop(write(tmp_path / place, files)) for place in ("x", "y/z"))
    assert one.content_sha256 == two.content_sha256
    write(tmp_path / "x", {"a.txt": "9"})
    assert list_drop(tmp_path / "x").content_sha256 != one.content_sha256
    (tmp_path / "y/z/a.txt").rename(tmp_path / "y/z/A.txt")
    assert list_drop(tmp_path / "y/z").content_sha256 != one.content_sha256


def test_a_single_file_is_a_drop(tmp_path: Path) -> None:
    write(tmp_path, {"run1/nvlink.txt": "x", "run1/other.txt": "y"})
    drop = list_drop(tmp_path / "run1" / "nvlink.txt")
    assert names(drop) == ["nvlink.txt"]
    assert hints(drop, "nvlink.txt") == Hints()


def test_a_stamp_knows_whether_its_file_held_still(tmp_path: Path) -> None:
    path = write(tmp_path, {"a.txt": "1"}) / "a.txt"
    (stamp,) = list_drop(tmp_path).files
    assert stamp.is_unchanged()
    path.write_text("12")
    assert not stamp.is_unchanged()
    path.unlink()
    assert not stamp.is_unchanged()


@pytest.mark.parametrize("path", ["missing", "missing/file.txt", "a.txt/b", "nul\0name"])
def test_a_path_that_is_not_there(tmp_path: Path, path: str) -> None:
    write(tmp_path, {"a.txt": "1"})
    for call in (lambda p: list_drop(p), lambda p: loose_files([p])):
        with pytest.raises(BadInputError, match="no such file or folder ->"):
            call(tmp_path / path)


def test_a_pipe_is_no_drop(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInputError, match="neither a file nor a folder -> save"):
        loose_files([tmp_path / "pipe"])
    drop = list_drop(tmp_path)
    assert names(drop) == []
    assert drop.problems == (
        "pipe: neither a file nor a folder, not read; save its content to a file",
    )


class TestLinks:
    """Links are followed only inside the drop, except the one path that the user names."""

    def test_a_link_out_of_the_drop_is_named_and_not_read(self, tmp_path: Path) -> None:
        write(tmp_path, {"drop/a.txt": "1", "drop-2/secret.txt": "2", "other/secret.txt": "3"})
        for number, target in enumerate(("drop-2/secret.txt", "other/secret.txt", "other")):
            (tmp_path / "drop" / f"link{number}").symlink_to(tmp_path / target)
        drop = list_drop(tmp_path / "drop")
        assert names(drop) == ["a.txt"]
        assert len(drop.problems) == 3
        assert all("link to a place outside the drop, not followed" in one for one in drop.problems)

    def test_links_inside_the_drop(self, tmp_path: Path) -> None:
        write(tmp_path, {"sub/a.txt": "1"})
        (tmp_path / "b.txt").symlink_to("sub/a.txt")
        (tmp_path / "folder").symlink_to("sub")
        (tmp_path / "gone").symlink_to("sub/missing.txt")
        (tmp_path / "round").symlink_to("round")
        drop = list_drop(tmp_path)
        assert names(drop) == ["b.txt", "sub/a.txt"]
        assert [one.partition(":")[0] for one in drop.problems] == ["folder", "gone", "round"]
        assert ["leads nowhere" in one for one in drop.problems] == [False, True, True]

    def test_a_link_that_the_user_names_is_followed(self, tmp_path: Path) -> None:
        write(tmp_path, {"far/a.txt": "1"})
        (tmp_path / "near").mkdir()
        (tmp_path / "near/current").symlink_to(tmp_path / "far/a.txt")
        (tmp_path / "near/folder").symlink_to(tmp_path / "far")
        assert len(list_drop(tmp_path / "near/current").files) == 1
        assert names(list_drop(tmp_path / "near/folder")) == ["a.txt"]
        drop = loose_files([tmp_path / "near/current", tmp_path / "near/folder"])
        assert len(drop.files) == 2
        assert drop.problems == ()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_named(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "1", "b.txt": "2", "sub/c.txt": "3"})
    (tmp_path / "a.txt").chmod(0)
    (tmp_path / "sub").chmod(0)
    try:
        drop = list_drop(tmp_path)
    finally:
        (tmp_path / "sub").chmod(0o700)
    assert names(drop) == ["b.txt"]
    assert sorted(one.partition(":")[0] for one in drop.problems) == ["a.txt", "sub"]


def test_a_file_that_cannot_be_opened_costs_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"a.txt": "1", "b.txt": "2", "drop.yaml": "site: x"})

    def hash_of(path: Path, *told: Callable[[int], None]) -> str:
        if path.name in locked:
            raise PermissionError(13, "Permission denied")
        return sha256_of(path, *told)

    monkeypatch.setattr("fabric_pipeline.sources.drop.sha256_of", hash_of)
    locked = {"a.txt"}
    drop = list_drop(tmp_path)
    assert names(drop) == ["b.txt", "drop.yaml"]
    assert drop.problems == (
        "a.txt: cannot be opened (Permission denied); check its permissions and drop it again",
    )
    locked = {"drop.yaml"}  # without it times could be misread, so the drop waits
    with pytest.raises(
        BadInputError, match=r"drop.yaml: cannot be opened .* -> make the file readable"
    ):
        list_drop(tmp_path)


def test_names_that_are_not_utf_8(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt"))
    path.write_text("1")
    drop = list_drop(tmp_path)
    assert names(drop) == ["caf\\xe9.txt"]
    assert len(drop.content_sha256) == 64
    assert drop.source(drop.files[0]).text == "1"
    assert names(loose_files([path])) == [f"{tmp_path}/caf\\xe9.txt"]


class TestLooseFiles:
    def test_in_the_order_given_and_each_once(self, tmp_path: Path) -> None:
        write(tmp_path, {"b.txt": "b", "a.txt": "a", "sub/c.txt": "c"})
        paths = [tmp_path / "b.txt", tmp_path / "sub", tmp_path / "a.txt", tmp_path / "b.txt"]
        drop = loose_files([*paths, tmp_path / "sub/c.txt"])
        assert names(drop) == [str(tmp_path / name) for name in ("b.txt", "sub/c.txt", "a.txt")]

    def test_named_as_given(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(tmp_path, {"n07/nvlink.txt": "x"})
        monkeypatch.chdir(tmp_path)
        drop = loose_files([Path("n07/nvlink.txt")])
        assert names(drop) == ["n07/nvlink.txt"]
        assert hints(drop, "n07/nvlink.txt").node == "n07"


class TestWhoseCapture:
    """Which host a file was taken on, as its surroundings say."""

    @pytest.mark.parametrize(
        ("folder", "node"),
        [("gpu-r01-n03", "gpu-r01-n03"), ("n07", "n07"), ("dgx2.site.org-1", "dgx2.site.org-1"),
         ("node-1", "node-1"), ("rack-1", ""), ("run1", ""), ("Run_12", ""), ("day-3", ""), ("before", ""), ("capture7", ""), ("logs2", ""),
         ("nvlink", ""), ("2026-11-20", ""), ("<script>1", "")],
    )  # fmt: skip
    def test_a_folder_that_looks_like_a_host(self, tmp_path: Path, folder: str, node: str) -> None:
        drop = list_drop(write(tmp_path, {f"{folder}/nvlink.txt": "x", "top.txt": "y"}))
        assert hints(drop, f"{folder}/nvlink.txt").node == node
        assert hints(drop, "top.txt").node == ""

    def test_the_topology_knows_the_names(self, tmp_path: Path) -> None:
        drop = list_drop(write(tmp_path, {"elm/a.txt": "x", "run1/a.txt": "y"}))
        known = frozenset({"elm"})
        assert hints(drop, "elm/a.txt", known).node == "elm"
        assert hints(drop, "run1/a.txt", known).node == ""

    def test_node_pattern_decides_alone(self, tmp_path: Path) -> None:
        files = {
            "run1/a.txt": "x",
            "n07/a.txt": "y",
            "drop.yaml": "node_pattern: '^run(?P<unit>\\d)$'",
        }
        drop = list_drop(write(tmp_path, files))
        assert hints(drop, "run1/a.txt").node == "run1"
        assert hints(drop, "n07/a.txt").node == ""

    def test_hints_for_single_files(self, tmp_path: Path) -> None:
        meta = """
timezone: Europe/Berlin
files:
  "n07/*.txt": {node: elm-07, time: 2026-07-01T10:00:00}
  "*.log": elm-08
  "sub/x?.csv": {time: "2026-07-01 10:00:00+05:30"}
"""
        taken = {
            "n07/a.txt": "",
            "n07/b.log": "",
            "sub/x1.csv": "",
            "sub/y.csv": "",
            "drop.yaml": meta,
        }
        drop = list_drop(write(tmp_path, taken))
        berlin = ZoneInfo("Europe/Berlin")
        assert hints(drop, "n07/a.txt") == Hints(
            "elm-07", datetime(2026, 7, 1, 8, tzinfo=UTC), berlin
        )
        assert hints(drop, "n07/b.log") == Hints("elm-08", None, berlin)
        assert hints(drop, "sub/x1.csv").time == datetime(2026, 7, 1, 4, 30, tzinfo=UTC)
        assert hints(drop, "sub/y.csv") == Hints("", None, berlin)


class TestDescription:
    def test_all_of_it(self, tmp_path: Path) -> None:
        text = """\ufeff
cluster: larch
site: 12
window: {start: 2026-07-01T10:00:00, end: "2026-07-01T12:00:00+00:00"}
timezone: Europe/Berlin
node_pattern: "^gpu-(?P<rack>r\\\\d+)"
"""
        meta = list_drop(write(tmp_path, {"drop.yaml": text})).meta
        assert (meta.cluster, meta.site, meta.timezone_name) == ("larch", "12", "Europe/Berlin")
        assert meta.window_start == datetime(2026, 7, 1, 8, tzinfo=UTC)
        assert meta.window_end == datetime(2026, 7, 1, 12, tzinfo=UTC)
        assert meta.node_pattern == re.compile(r"^gpu-(?P<rack>r\d+)")

    @pytest.mark.parametrize(
        "text", ["", "# nothing\n", "cluster:\nfiles:\nwindow:\ntimezone: utc\n"]
    )
    def test_saying_nothing(self, tmp_path: Path, text: str) -> None:
        meta = list_drop(write(tmp_path, {"drop.yaml": text})).meta
        assert (meta.cluster, meta.timezone, meta.files) == ("", UTC, ())

    def test_a_key_that_means_nothing_is_a_problem(self, tmp_path: Path) -> None:
        drop = list_drop(
            write(tmp_path, {"drop.yaml": "site: x\ntime_zone: Europe/Berlin\n5: 6\n"})
        )
        assert [one.partition(": the key")[0] for one in drop.problems] == [
            "drop.yaml line 2", "drop.yaml line 3"
        ]  # fmt: skip
        assert all("known keys: cluster, site" in one for one in drop.problems)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("a: b: c", "drop.yaml line 1: not readable as YAML"),
            ("site: x\n\tcluster: y", "drop.yaml line 2: not readable as YAML"),
            ("site: 'x", "not readable as YAML"),
            ("\x00", "not readable as YAML"),
            ("a: !!python/object/apply:os.system [ls]", "not readable as YAML"),
            ("start: 2026-13-45", "not readable as YAML (month must be in 1..12)"),
            ("[" * 1500, "not readable as YAML"),
            ("- a\n- b", "must be a mapping"),
            ("just words", "must be a mapping"),
            ("site: x\ncluster: [1, 2]", "drop.yaml line 2: cluster must be a text"),
            ("timezone: Europe/Berlim", "drop.yaml line 1: timezone 'Europe/Berlim' is not known"),
            ("timezone: Europe", "timezone 'Europe' is not known"),
            ("timezone: ../../etc/passwd", "timezone '../../etc/passwd' is not known"),
            ("timezone: {a: b}", "timezone must be a text"),
            ("window: today", "drop.yaml line 1: window must be a mapping"),
            ("window: {start: noon}", "drop.yaml line 1: 'noon' is not a time"),
            ("site: x\nwindow:\n  start: 2026-01-02\n  end: 2026-01-01", "line 2: the window ends before"),
            ("timezone: Asia/Tokyo\nwindow: {start: 0001-01-01}", "is not a time"),
            ("node_pattern: 'gpu-('", "drop.yaml line 1: node_pattern is no regular expression"),
            ("files: [a.txt]", "drop.yaml line 1: files must be a mapping"),
            ("files:\n  a.txt: {node: [1]}", "drop.yaml line 2: node must be a text"),
            ("files:\n  'a*.txt': {time: later}", "drop.yaml line 2: 'later' is not a time"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_understood_is_refused(
        self, tmp_path: Path, text: str, message: str
    ) -> None:
        write(tmp_path, {"drop.yaml": text, "a.txt": "x"})
        with pytest.raises(BadInputError) as refusal:
            list_drop(tmp_path)
        assert message in refusal.value.message
        assert refusal.value.message.startswith("drop.yaml")
        assert refusal.value.remedy
        assert "\n" not in str(refusal.value)

    def test_other_encodings_are_refused(self, tmp_path: Path) -> None:
        write(tmp_path, {"drop.yaml": "site: Köln".encode("latin-1")})
        with pytest.raises(BadInputError, match="not UTF-8 text -> save it as UTF-8"):
            list_drop(tmp_path)

    def test_aliases_without_end_stay_small(self, tmp_path: Path) -> None:
        """A few lines that would unfold to billions of words."""
        lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
        lines += [
            f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]"
            for a, b in zip("abcdefgh", "bcdefghi", strict=True)
        ]
        write(tmp_path, {"drop.yaml": "\n".join([*lines, "cluster: *i"])})
        with pytest.raises(BadInputError, match="cluster must be a text"):
            list_drop(tmp_path)

    def test_one_that_leads_out_of_the_drop_is_refused(self, tmp_path: Path) -> None:
        write(tmp_path, {"other.yaml": "timezone: Asia/Tokyo", "drop/a.txt": "x"})
        (tmp_path / "drop/drop.yaml").symlink_to(tmp_path / "other.yaml")
        with pytest.raises(BadInputError, match=r"drop.yaml: link to a place outside"):
            list_drop(tmp_path / "drop")
