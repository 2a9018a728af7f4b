"""What object stores take, and what is said when they are not there, closed or full of something else."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from fabric_pipeline.errors import FabricError, PipelineError, UsageError
from fabric_pipeline.store import shard_objects
from fabric_pipeline.store.shard_files import (
    Delivered,
    Manifest,
    Place,
    collect,
    deliver,
    expire,
    fetched,
    find,
    send,
)
from fabric_pipeline_tests.store.shard_places import (
    DAY,
    KEY,
    SECRET,
    Server,
    delivered,
    file_place,
    put_object,
    shared_place,
    written,
)


def test_an_object_of_another_length_is_sent_over(apart: Place, tmp_path: Path) -> None:
    path, sha256 = written(tmp_path / "in.parquet", b"readings")
    put_object(apart, f"inputs/{sha256}.parquet", b"read")
    with fetched(apart, send(apart, [path], [sha256]), [sha256]) as (there,):
        assert there.read_bytes() == b"readings"


def test_large_files_go_in_parts_and_stay_whole(
    apart: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_objects, "_PART_BYTES", 5 << 20)
    path, sha256 = written(tmp_path / "in.parquet", os.urandom(1 << 20) * 11 + b"end")
    with fetched(apart, send(apart, [path], [sha256]), [sha256]) as (there,):
        assert hashlib.sha256(there.read_bytes()).hexdigest() == sha256


@pytest.mark.parametrize(
    "url",
    [
        "memory:///", "https://host/x", "ftp://host/x", "/srv/shards", "hdfs://x", "s3://", "s3:///x", "file://", "file:///",
        f"s3://id:{SECRET}@bucket/x", f"s3://{SECRET}@bucket/x", f"az://c/x?sig={SECRET}", f"gs://b/x#{SECRET}",
    ],
)  # fmt: skip
def test_addresses_that_cannot_be_are_refused_without_repeating_secrets(url: str) -> None:
    with pytest.raises(UsageError) as caught:
        Place(url)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["s3://b", "gs://b/p", "az://c/p", "abfss://c@account.dfs.core.windows.net/p"]
)
def test_addresses_of_every_cloud_are_taken(url: str) -> None:
    assert not Place(url).shared


def every_call(place: Place, folder: Path) -> Mapping[str, Callable[[], object]]:
    path, sha256 = written(folder / "in.parquet", b"readings")

    def fetch() -> None:
        with fetched(place, [f"inputs/{sha256}.parquet"], [sha256]):
            pass

    manifest = Manifest(KEY, {"spikes": Delivered(sha256, 8)}, {})
    return {
        "send": lambda: send(place, [path], [sha256]),
        "fetched": fetch,
        "find": lambda: find(place, KEY),
        "deliver": lambda: deliver(place, KEY, {"spikes": path}, {}),
        "collect": lambda: collect(place, manifest, "spikes", folder / "part.parquet"),
        "expire": lambda: expire(place, DAY),
    }


def failures(place: Place, folder: Path) -> dict[str, FabricError]:
    found = {}
    for name, call in every_call(place, folder).items():
        with pytest.raises(FabricError) as caught:
            call()
        found[name] = caught.value
        assert SECRET not in str(caught.value)
        assert "<?xml" not in str(caught.value)
        assert len(str(caught.value)) < 800
        assert caught.value.remedy
    return found


def test_a_store_that_cannot_be_reached_is_said_within_seconds(
    bucket: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_objects, "_RETRIES", 1)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://user:{SECRET}@127.0.0.1:9")
    for problem in failures(Place("s3://bucket"), tmp_path).values():
        assert isinstance(problem, PipelineError)
        assert "asking 127.0.0.1:9" in str(problem)
        assert "AWS_ENDPOINT_URL" in problem.remedy


def test_no_bucket(bucket: Server, tmp_path: Path) -> None:
    found = failures(Place("s3://another/shards"), tmp_path)
    for name in ("send", "find", "deliver", "expire"):
        assert "there is no bucket or folder for s3://another/shards" in str(found[name])
    assert isinstance(found["find"], UsageError)


def test_no_folder_is_mounted(tmp_path: Path) -> None:
    for problem in failures(file_place(tmp_path / "not mounted"), tmp_path).values():
        assert isinstance(problem, UsageError)
        assert "create or mount it" in problem.remedy


def test_no_right(bucket: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "stranger")
    bucket.ask("POST", "/moto-api/reset-auth", b"0")
    try:
        for problem in failures(Place("s3://bucket"), tmp_path).values():
            assert isinstance(problem, UsageError)
            assert "refused access" in str(problem)
    finally:
        bucket.ask("POST", "/moto-api/reset-auth", b"inf")


def test_a_full_or_closed_disk_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file where the folder should be")
    path, _ = written(tmp_path / "out.parquet", b"x")
    with pytest.raises(PipelineError, match=r"Not a directory|File exists"):
        deliver(shared_place(tmp_path / "kept"), KEY, {"spikes": path}, {})
    with pytest.raises(PipelineError, match="No such file"):
        deliver(shared_place(tmp_path / "other"), KEY, {"spikes": tmp_path / "gone"}, {})


def test_without_the_library_it_is_said_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(UsageError, match="make setup-cluster"):
        find(Place("s3://bucket"), KEY)
    place = shared_place(tmp_path / "kept")  # and nobody else needs it
    assert delivered(place, tmp_path) == find(place, KEY)


def test_nothing_imports_the_library_before_it_is_used() -> None:
    said = (
        "import sys; import fabric_pipeline.store.shard_files; sys.exit('obstore' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", said], check=False).returncode == 0
