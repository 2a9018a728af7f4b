"""Files of shards over a real object store on loopback, a mounted folder as one, and a shared folder."""

from __future__ import annotations

import hashlib
import json
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.errors import PipelineError, UsageError
from fabric_pipeline.store import shard_objects, shard_shelf
from fabric_pipeline.store.shard_files import (
    Delivered,
    Manifest,
    Place,
    collect,
    deliver,
    fetched,
    find,
    send,
)
from fabric_pipeline_tests.store.shard_places import (
    KEY,
    OTHER,
    Server,
    delivered,
    modified,
    put_object,
    shared_place,
    spoil,
    written,
)


def test_files_reach_the_worker_and_its_result_comes_back(place: Place, tmp_path: Path) -> None:
    one, sha1 = written(tmp_path / "lake" / "näme of #1 *?'.parquet", b"first")
    two, sha2 = written(tmp_path / "lake" / "two.parquet", b"second")
    addresses = send(place, [one, two, one], [sha1, sha2, sha1])
    there, names = pickle.loads(pickle.dumps((place, addresses)))  # noqa: S301
    with fetched(there, names, [sha1, sha2, sha1]) as paths:
        assert [path.read_bytes() for path in paths] == [b"first", b"second", b"first"]
        if place.shared:
            assert paths == [one, two, one]
    assert find(place, KEY) is None
    manifest = pickle.loads(pickle.dumps(delivered(place, tmp_path)))  # noqa: S301
    assert manifest.files == {"link_counters": Delivered(hashlib.sha256(b"counted").hexdigest(), 7)}
    assert manifest.said == {"rows": 3, "pods": ["a", "b"]}  # as it is read again
    target = tmp_path / "lake" / "link_counters" / "part.parquet"
    collect(place, manifest, "link_counters", target)
    assert target.read_bytes() == b"counted"
    assert [path.name for path in target.parent.iterdir()] == ["part.parquet"]


def test_a_rerun_finds_the_result_and_nothing_else_is_one(place: Place, tmp_path: Path) -> None:
    manifest = delivered(place, tmp_path)
    assert find(place, KEY) == manifest
    assert find(place, OTHER) is None


def test_the_workers_folder_goes_even_when_the_work_fails(apart: Place, tmp_path: Path) -> None:
    path, sha256 = written(tmp_path / "in.parquet", b"x" * 100)
    addresses = send(apart, [path], [sha256])
    assert addresses == [f"inputs/{sha256}.parquet"]
    seen: list[Path] = []

    def fails() -> None:
        with fetched(apart, addresses, [sha256]) as (there,):
            seen.append(there)
            assert there.parent.stat().st_mode & 0o077 == 0  # nobody else reads it
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert not seen[0].parent.exists()


def test_what_is_there_is_not_sent_again(bucket: Server, tmp_path: Path) -> None:
    place = Place("s3://bucket")
    path, sha256 = written(tmp_path / "in.parquet", b"readings")
    (name,) = send(place, [path], [sha256])
    bucket.set_age(name, timedelta(hours=3))
    before = modified(name)
    send(place, [path], [sha256])
    assert modified(name) == before
    bucket.set_age(name, timedelta(hours=13))  # old enough to expire before the run is through
    send(place, [path], [sha256])
    assert modified(name) > before


def test_a_file_that_changed_after_it_was_hashed_is_not_sent(apart: Place, tmp_path: Path) -> None:
    path, sha256 = written(tmp_path / "in.parquet", b"readings")
    path.write_bytes(b"readingz")
    with pytest.raises(PipelineError, match="changed meanwhile"):
        send(apart, [path], [sha256])
    with (
        pytest.raises(PipelineError, match="not there any more"),
        fetched(apart, [f"inputs/{sha256}.parquet"], [sha256]),
    ):
        pass


def test_other_bytes_under_a_hash_are_refused(place: Place, tmp_path: Path) -> None:
    manifest = delivered(place, tmp_path)
    (sha256, _) = manifest.files["link_counters"]
    spoil(place, f"results/{KEY}/{sha256}.parquet", b"COUNTED")
    target, _ = written(tmp_path / "part.parquet", b"as it was")
    with pytest.raises(PipelineError, match=rf"{sha256}.*-> delete it and run again"):
        collect(place, manifest, "link_counters", target)
    assert target.read_bytes() == b"as it was"
    assert not list(tmp_path.glob(".*.tmp"))


def test_other_bytes_under_the_hash_of_an_input_are_refused(apart: Place, tmp_path: Path) -> None:
    path, sha256 = written(tmp_path / "in.parquet", b"readings")
    (name,) = send(apart, [path], [sha256])
    put_object(apart, name, b"READINGS")
    with (
        pytest.raises(PipelineError, match="does not hold the bytes"),
        fetched(apart, [name], [sha256]),
    ):
        pytest.fail("spoilt files were handed to the work")


def test_a_result_without_its_manifest_is_none(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(self: Any, name: str, text: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        for kind in (shard_objects.ObjectShelf, shard_shelf.FolderShelf):
            patch.setattr(kind, "keep_text", killed)
        with pytest.raises(KeyboardInterrupt):
            delivered(place, tmp_path)
    assert find(place, KEY) is None
    manifest = delivered(place, tmp_path)
    assert find(place, KEY) == manifest


@pytest.mark.parametrize(
    "spoilt",
    [
        b"", b"{", b"null", b"[]", b"\xff\xfe", b'{"version": 1}', b"[" * 100_000,
        b'{"version":1,"key":"%s","files":{"../../x":{"sha256":"%s","size":1}},"said":{}}' % (KEY.encode(), KEY.encode()),
        b'{"version":1,"key":"%s","files":{"x":{"sha256":"../../../etc/passwd","size":1}},"said":{}}' % KEY.encode(),
        b'{"version":1,"key":"%s","files":{},"said":{}}' % OTHER.encode(),
        b'{"version":2,"key":"%s","files":{},"said":{}}' % KEY.encode(),
    ],
)  # fmt: skip
def test_a_manifest_that_is_none_means_that_the_shard_is_worked_on_again(
    spoilt: bytes, tmp_path: Path
) -> None:
    place = shared_place(tmp_path / "kept")
    manifest = delivered(place, tmp_path)
    spoil(place, f"results/{KEY}/manifest.json", spoilt)
    assert find(place, KEY) is None
    assert delivered(place, tmp_path) == manifest == find(place, KEY)


def test_a_manifest_whose_file_has_gone_or_is_shorter_is_no_result(
    place: Place, tmp_path: Path
) -> None:
    manifest = delivered(place, tmp_path)
    (sha256, _) = manifest.files["link_counters"]
    spoil(place, f"results/{KEY}/{sha256}.parquet", b"count")
    assert find(place, KEY) is None


def test_two_workers_deliver_the_same_result_at_once(place: Place, tmp_path: Path) -> None:
    barrier = threading.Barrier(4)

    def work(number: int) -> Manifest:
        text = b"counted by one" if number % 2 else b"counted by another"
        barrier.wait()
        return delivered(place, tmp_path / str(number), text)

    with ThreadPoolExecutor(4) as pool:
        manifests = list(pool.map(work, range(4)))
    assert find(place, KEY) in manifests
    for number, manifest in enumerate(manifests):  # whichever the driver was handed, it can be read
        collect(place, manifest, "link_counters", tmp_path / f"{number}.parquet")
        text = b"counted by one" if number % 2 else b"counted by another"
        assert (tmp_path / f"{number}.parquet").read_bytes() == text


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".hidden", "Name", "a\nb", "x" * 101, "a\0"])
def test_names_that_could_leave_their_folder_are_refused(name: str, tmp_path: Path) -> None:
    path, _ = written(tmp_path / "out.parquet", b"x")
    with pytest.raises(UsageError, match="not a name"):
        deliver(shared_place(tmp_path / "kept"), KEY, {name: path}, {})
    assert find(shared_place(tmp_path / "kept"), KEY) is None


@given(st.text(max_size=70))
def test_only_a_hash_is_a_key(key: str) -> None:
    with pytest.raises(UsageError, match="SHA-256"):
        find(Place("", "folder"), key)
    with pytest.raises(UsageError, match="SHA-256"):
        send(Place(), [Path("x")], [key])


def test_a_table_that_the_result_lacks_is_named(tmp_path: Path) -> None:
    place = shared_place(tmp_path / "kept")
    manifest = delivered(place, tmp_path)
    with pytest.raises(PipelineError, match=r"no 'spikes', only \['link_counters'\]"):
        collect(place, manifest, "spikes", tmp_path / "part.parquet")


def test_what_is_said_must_be_plain(tmp_path: Path) -> None:
    path, _ = written(tmp_path / "out.parquet", b"x")
    place = shared_place(tmp_path / "kept")
    for said in ({"rate": float("nan")}, {"at": datetime.now(UTC)}):
        with pytest.raises((ValueError, TypeError)):
            deliver(place, KEY, {"spikes": path}, said)
    assert find(place, KEY) is None


def test_a_manifest_reads_well(tmp_path: Path) -> None:
    place = shared_place(tmp_path / "kept")
    manifest = delivered(place, tmp_path)
    read = json.loads((tmp_path / "kept" / "results" / KEY / "manifest.json").read_text("utf-8"))
    (one,) = manifest.files.values()
    assert read == {
        "version": 1,
        "key": KEY,
        "files": {"link_counters": {"sha256": one.sha256, "size": 7}},
        "said": {"rows": 3, "pods": ["a", "b"]},
    }
