"""Files of shards go a week after their last use, wherever they lie, and retention sees to it."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.shard_files import Place, deliver, find, send
from fabric_pipeline.workflows.retention import retain
from fabric_pipeline.workflows.shards_trim import trim_shards
from fabric_pipeline_tests.pipeline_runs import ROOT
from fabric_pipeline_tests.store.shard_places import DAY, KEY, OTHER, written


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A home, and a mounted folder as its object store."""
    (tmp_path / "store").mkdir()
    return Settings(ROOT, tmp_path / "home", shard_store=f"file://{tmp_path / 'store'}")


def made_old(folder: Path, age: timedelta) -> None:
    then = (datetime.now(UTC) - age).timestamp()
    for path in folder.rglob("*"):
        os.utime(path, (then, then))


def filled(settings: Settings, folder: Path, key: str) -> list[Place]:
    path, sha256 = written(folder / key / "out.parquet", b"counted")
    places = [
        Place("", str(settings.shards)), Place("", str(settings.staged)), Place(settings.shard_store),
    ]  # fmt: skip
    send(places[2], [path], [sha256])
    for place in places:
        deliver(place, key, {"part": path}, {})
    return places


def test_what_was_not_used_for_a_week_goes_everywhere(settings: Settings, tmp_path: Path) -> None:
    places = filled(settings, tmp_path, OTHER)
    made_old(tmp_path, 8 * DAY)
    filled(settings, tmp_path, KEY)
    gone = trim_shards(settings)
    assert [find(place, OTHER) for place in places] == [None] * 3
    assert all(find(place, KEY) for place in places)
    assert gone.files == 6  # a table and a manifest in each; the input was sent again
    assert trim_shards(settings) == (0, 0)


def test_retention_frees_the_bytes_that_a_shared_folder_still_holds(
    settings: Settings, tmp_path: Path
) -> None:
    filled(settings, tmp_path, KEY)
    made_old(tmp_path, 8 * DAY)
    assert retain(settings, datetime.now(UTC), dry_run=True).shards == (0, 0)
    assert retain(settings, datetime.now(UTC)).shards.files == 7
    left = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert left == []


def test_what_a_killed_worker_was_making_goes_after_a_day(settings: Settings) -> None:
    for name, age in (("work-old", 2 * DAY), ("work-now", timedelta())):
        folder = settings.shards / name
        written(folder / "part.parquet", b"half")
        then = (datetime.now(UTC) - age).timestamp()
        os.utime(folder, (then, then))
    trim_shards(settings)
    assert [path.name for path in settings.shards.iterdir()] == ["work-now"]
