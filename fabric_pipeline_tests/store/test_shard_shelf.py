"""How long files of shards are kept, and that a shared folder needs no copies."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from fabric_pipeline.errors import PipelineError, UsageError
from fabric_pipeline.store.shard_files import (
    Place,
    collect,
    expire,
    fetched,
    find,
    send,
)
from fabric_pipeline_tests.store.shard_places import (
    DAY,
    KEY,
    OTHER,
    delivered,
    left_in,
    set_age_in,
    shared_place,
    spoil,
    written,
)


def test_expiry_takes_what_is_old_and_ours(place: Place, tmp_path: Path) -> None:
    path, sha256 = written(tmp_path / "in.parquet", b"readings")
    names = send(place, [path], [sha256])
    old = delivered(place, tmp_path, b"old", OTHER)
    new = delivered(place, tmp_path)
    spoil(place, "results/notes.txt", b"somebody's own")
    set_age_in(place, "", 3 * DAY)
    assert find(place, KEY) == new  # used again: from now on it is young
    gone = expire(place, 2 * DAY)
    assert find(place, OTHER) is None
    assert find(place, KEY) == new
    collect(place, new, "link_counters", tmp_path / "part.parquet")
    if not place.shared:
        with (
            pytest.raises(PipelineError, match="not there any more"),
            fetched(place, names, [sha256]),
        ):
            pass
    assert gone.files == (2 if place.shared else 3)
    assert gone.size_bytes > old.files["link_counters"].size
    set_age_in(place, "", 3 * DAY)
    assert expire(place, 2 * DAY).files == 2
    assert expire(place, 2 * DAY) == (0, 0)
    assert left_in(place) == ["results/notes.txt"]


def test_expiry_keeps_what_a_run_may_be_using(place: Place) -> None:
    with pytest.raises(UsageError, match="at least a day"):
        expire(place, timedelta(hours=23))


def test_what_a_killed_run_left_in_a_shared_folder_expires(tmp_path: Path) -> None:
    place = shared_place(tmp_path / "kept")
    delivered(place, tmp_path)
    left, _ = written(tmp_path / "kept" / "results" / OTHER / f".{'a' * 32}.tmp", b"half")
    assert expire(place, DAY).files == 0
    set_age_in(place, left.name, 2 * DAY)
    assert expire(place, DAY).files == 1
    assert not left.parent.exists()


def test_a_shared_place_copies_nothing(tmp_path: Path) -> None:
    place = shared_place(tmp_path / "kept")
    collect(place, delivered(place, tmp_path), "link_counters", tmp_path / "part.parquet")
    computed = tmp_path / "computed" / "out.parquet"
    assert (tmp_path / "part.parquet").stat().st_ino == computed.stat().st_ino


def test_a_shared_place_without_links_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise OSError("Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    place = shared_place(tmp_path / "kept")
    collect(place, delivered(place, tmp_path), "link_counters", tmp_path / "part.parquet")
    assert (tmp_path / "part.parquet").read_bytes() == b"counted"


def test_results_in_a_shared_place_need_a_folder() -> None:
    with pytest.raises(UsageError, match="no folder"):
        find(Place(), KEY)
