"""Large files read on workers, or taken as they were read before: the tables are those of one reading."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest

from fabric_pipeline.model.records import ReadResult, UnknownFact
from fabric_pipeline.sources import registry
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.store.shard_files import Expired
from fabric_pipeline.workflows import staged_shards, staged_shelf
from fabric_pipeline.workflows.drop_stages import INGEST_TABLES, ingest_stage
from fabric_pipeline.workflows.staged_trim import trim
from fabric_pipeline_tests.pipeline_runs import ROOT
from fabric_pipeline_tests.workflows.readout import write
from fabric_pipeline_tests.workflows.staged_drops import AT, Elsewhere, Reads, dcgm_text, mixed

SHIPPED = [ROOT / "data" / "drops" / name for name in ("crc-multibit-lane", "missing-data")]
# Read where their problems are told, or not at all; never kept.
NEVER_KEPT = {"empty.txt", "torn.csv", "unknown.txt"}
FEW = ("counters.csv", "dcgm.prom", "elm-10/syslog")


@pytest.fixture
def reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(tmp_path, monkeypatch)


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """A drop with files of every kind."""
    return write(tmp_path / "full", mixed())


@pytest.fixture
def drop(tmp_path: Path) -> Path:
    """A few files, of which each can be kept."""
    return write(tmp_path / "drop", {name: mixed()[name] for name in FEW})


@pytest.mark.parametrize("shipped", SHIPPED, ids=lambda path: path.name)
def test_a_shipped_drop_is_read_equal_on_workers_and_taken_from_there(
    reads: Reads, shipped: Path
) -> None:
    workers = Elsewhere()
    read = reads("home", shipped, engine=workers)
    assert read.gone_through == workers.worked
    assert len(read.gone_through) == len(list(shipped.iterdir())) - 1
    assert read.outcome == reads("plain", shipped, aside=False).outcome


def test_written_tables_and_report_are_equal_to_the_byte(
    reads: Reads, full: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staged_shards, "FROM_BYTES", 1)
    written = []
    for _ in range(2):
        results, _ = ingest_stage(reads.settings("home"), "d", full, AT)
        reports = reads.settings("home").lake.rglob("ingest_report.json")
        written.append([*(one.sha256 for one in results), *map(Path.read_bytes, reports)])
    assert len(written[0]) == len(INGEST_TABLES) + 1
    assert written[0] == written[1]
    assert len(reads.kept("home")) == len(mixed()) - len(NEVER_KEPT) - 1


def test_files_of_every_kind_are_read_equal_in_every_way(reads: Reads, full: Path) -> None:
    plain = reads("plain", full, aside=False)
    assert len(plain.gone_through) == len(mixed()) - 1
    first, again = reads("one", full), reads("one", full)
    assert first.outcome == plain.outcome == again.outcome
    assert set(again.gone_through) == NEVER_KEPT
    workers = Elsewhere()
    other = reads("other", full, engine=workers)
    assert other.outcome == plain.outcome
    assert set(workers.worked) == set(mixed()) - NEVER_KEPT - {"drop.yaml"} | {"torn.csv"}
    # What workers kept serves a reading in one process.
    assert set(reads("other", full).gone_through) == NEVER_KEPT


def test_a_file_whose_host_was_not_known_yet_is_read_with_it(reads: Reads, full: Path) -> None:
    workers = Elsewhere()
    read = reads("home", full, engine=workers)
    # The log was sent with the other files of its turn, one of which names the folder's host.
    assert "quiet/kern.log" in workers.worked
    assert read.gone_through.count("quiet/kern.log") == 2
    assert read.gone_through.count("quiet/dmon.txt") == 1


def test_a_worker_that_fails_costs_a_reading_here_and_is_told(reads: Reads, drop: Path) -> None:
    plain = reads("plain", drop, aside=False)
    engine = Elsewhere(lost=lambda item: item.stamp.name == "dcgm.prom")
    read = reads("home", drop, engine=engine)
    assert read.tables == plain.tables
    (said,) = read.said["problems"]
    assert said.startswith("dcgm.prom: read here, a worker failed: MemoryError: worker is gone")


def test_another_version_of_the_code_is_refused_and_finds_nothing(
    reads: Reads, drop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads("home", drop)
    monkeypatch.setattr(staged_shelf, "code_sha256", lambda: "another")
    assert len(reads("home", drop).gone_through) == len(FEW)
    codes = iter(f"of worker {n}" for n in range(1000))
    monkeypatch.setattr(staged_shelf, "code_sha256", lambda: next(codes))
    # Two of the files go out together, the log before them.
    log, other = reads("other", drop, engine=Elsewhere()).said["problems"]
    assert log.startswith("elm-10/syslog: read here, a worker failed: a worker has another version")
    assert other.startswith("counters.csv and 1 more: read here, a worker failed: a worker has")


def test_a_process_that_outlives_an_update_shares_nothing_with_the_new_code(
    reads: Reads, drop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads("home", drop)
    staged_shelf.code_sha256.cache_clear()
    monkeypatch.setattr(staged_shelf, "_LOADED_AT", 0.0)  # before any of the files was changed
    try:
        assert len(reads("home", drop).gone_through) == len(FEW)
    finally:
        staged_shelf.code_sha256.cache_clear()


def test_a_grown_drop_reads_only_what_is_new(reads: Reads, drop: Path) -> None:
    reads("home", drop)
    write(drop, {"dcgm2.prom": dcgm_text(2)})
    (drop / "dcgm.prom").rename(drop / "renamed.prom")
    grown = reads("home", drop)
    assert set(grown.gone_through) == {"dcgm2.prom"}
    assert grown.outcome == reads("plain", drop, aside=False).outcome


@pytest.mark.parametrize("changed", ["timezone: UTC\n", "timezone: Europe/Berlin\nfiles:\n  '*.csv': {node: n9}\n"])  # fmt: skip
def test_other_surroundings_are_read_again(reads: Reads, drop: Path, changed: str) -> None:
    reads("home", drop)
    write(drop, {"drop.yaml": changed})
    assert reads("home", drop).outcome == reads("plain", drop, aside=False).outcome


def test_the_moment_of_reading_is_never_reused_wrongly(reads: Reads, tmp_path: Path) -> None:
    head = "ts,node,link_type,link,counter,value\n"
    times = [AT - timedelta(hours=1), AT + timedelta(hours=1), AT + timedelta(hours=3)]
    rows = "".join(f"{at.isoformat()},n1,nvlink,gpu0/nvlink-1,crc_flit,5\n" for at in times)
    drop = write(tmp_path / "drop", {"counters.csv": head + rows})
    reads("home", drop)
    # Hours from the first reading, and whether a reading lies between the two limits.
    for hours, is_read in ((0, False), (0.5, False), (0.9, True), (2, False), (0.5, True), (9, True), (20, False), (-3, True)):  # fmt: skip
        at = AT + timedelta(hours=hours)
        again = reads("home", drop, at=at)
        assert again.outcome == reads("plain", drop, at=at, aside=False).outcome
        assert bool(again.gone_through) is is_read, hours


@pytest.mark.parametrize("damage", ["parquet", "no parquet", "manifest", "no manifest", "other JSON"])  # fmt: skip
def test_what_is_damaged_is_read_again(reads: Reads, drop: Path, damage: str) -> None:
    plain = reads("plain", drop, aside=False)
    reads("home", drop)
    for folder in reads.kept("home"):
        manifest = folder / "manifest.json"
        if damage == "other JSON":
            body = json.loads(manifest.read_text())
            manifest.write_text(json.dumps(body | {"said": {"text": "[1]"}}))
        for path in folder.iterdir():
            if (path == manifest) is damage.endswith("manifest"):
                path.unlink() if damage.startswith("no ") else path.write_bytes(path.read_bytes()[:-9])  # fmt: skip
    assert reads("home", drop).outcome == plain.outcome
    assert reads("home", drop).gone_through == []


@pytest.mark.parametrize("moment", ["*.parquet", "manifest.json"])
def test_kill_9_while_it_is_written_leaves_nothing_that_is_read(
    reads: Reads, drop: Path, moment: str
) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from fabric_pipeline.workflows import staged_shards as s\n"
        "from fabric_pipeline.workflows.drop_stages import ingest_stage\n"
        "from fabric_pipeline_tests.workflows.killed_run import kill_at\n"
        "from fabric_pipeline_tests.workflows.staged_drops import AT\n"
        "from fabric_pipeline.settings import Settings\n"
        "s.FROM_BYTES = s._LEAST_KEPT = 1\n"
        "kill_at('before', sys.argv[3])\n"
        "ingest_stage(Settings(root=Path('.'), home=Path(sys.argv[1])), 'd', Path(sys.argv[2]), AT)\n"
    )
    home = reads.settings("home")
    given = [str(home.home), str(drop), f"staged/results/*/{moment}"]
    ended = subprocess.run([sys.executable, "-c", code, *given], cwd=ROOT, check=False)
    assert ended.returncode == -signal.SIGKILL
    (begun,) = reads.kept("home")
    assert not (begun / "manifest.json").exists()
    assert len(list(begun.glob("*.tmp"))) == 1
    read = reads("home", drop)
    assert len(read.gone_through) == len(FEW)
    assert read.outcome == reads("plain", drop, aside=False).outcome


def test_a_small_drop_keeps_nothing(reads: Reads, drop: Path) -> None:
    reads("home", drop, aside=False)
    assert not reads.settings("home").staged.exists()


def test_a_file_that_moves_is_not_kept(
    reads: Reads, drop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("ingest", "staged_shards"):
        original = getattr(sys.modules[f"fabric_pipeline.workflows.{module}"], "understood")  # noqa: B009

        def grows(con: Any, file: SourceFile, *rest: Any, _original: Any = original) -> Any:
            done = _original(con, file, *rest)
            if file.name == "dcgm.prom":
                os.utime(file.path, (1, 1))
            return done

        monkeypatch.setattr(f"fabric_pipeline.workflows.{module}.understood", grows)
    for engine in (None, Elsewhere()):
        (drop / "dcgm.prom").touch()
        files = reads("home", drop, engine=engine).said["files"]
        (said,) = [one.problem for one in files if one.name == "dcgm.prom"]
        assert said.startswith("changed while it was read")
    (drop / "dcgm.prom").touch()
    assert "dcgm.prom" in reads("home", drop).gone_through


def test_what_somebody_elses_reader_understood_is_not_kept(
    reads: Reads, drop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Foreign:
        format_id: ClassVar[str] = "dcgm_exporter"  # as one that was put in place of ours
        version: ClassVar[str] = "1"
        yields: ClassVar[frozenset[str]] = frozenset({"readings"})

        def score(self, file: SourceFile) -> int:
            return 99 if "DCGM_FI" in file.head else 0

        def read(self, file: SourceFile) -> ReadResult:
            return ReadResult(unknown=[UnknownFact("", "", file.name, "of another")])

    built_in = registry.readers()
    monkeypatch.setattr(registry, "readers", lambda: (Foreign(), *built_in))
    for engine in (None, Elsewhere()):
        reads("home", drop, engine=engine)
        assert "dcgm.prom" in reads("home", drop, engine=engine).gone_through


def test_a_full_disk_costs_what_is_kept_and_is_told(
    reads: Reads, drop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(staged_shards, "keep_read", full)
    read = reads("home", drop)
    assert read.tables == reads("plain", drop, aside=False).tables
    problems = read.said["problems"]
    assert any("dcgm.prom: read, but not kept" in said and "No space" in said for said in problems)


def test_what_was_longest_unused_goes_first(reads: Reads, drop: Path) -> None:
    reads("home", drop)
    settings, kept = reads.settings("home"), reads.kept("home")
    now = datetime.now(UTC).timestamp() - 60
    for days, folder in enumerate(kept):
        for path in folder.iterdir():
            os.utime(path, (now - 86400 * days,) * 2)
    sizes = [sum(path.stat().st_size for path in folder.iterdir()) for folder in kept]
    assert trim(settings) == Expired(0, 0)
    gone = trim(settings, keep_bytes=sum(sizes[:2]))
    assert gone.size_bytes == sum(sizes[2:])
    assert reads.kept("home") == kept[:2]
    trim(settings, older_than=timedelta(days=1))
    assert reads.kept("home") == kept[:1]
    trim(settings, keep_bytes=0)
    assert reads.kept("home") == []
    assert reads("home", drop).outcome == reads("plain", drop, aside=False).outcome


def test_nothing_is_trimmed_of_a_home_without_it(reads: Reads) -> None:
    assert trim(reads.settings("none"), older_than=timedelta(days=9)) == Expired(0, 0)


def test_what_a_killed_run_left_goes_after_a_day_and_not_before(reads: Reads) -> None:
    settings = reads.settings("home")
    left = settings.staged / "results" / ("0" * 64)
    write(left, {f"{'1' * 64}.parquet": b"x"})
    assert trim(settings, keep_bytes=0) == Expired(0, 0)
    for path in left.iterdir():
        os.utime(path, (1, 1))
    assert trim(settings) == Expired(1, 1)
    assert not left.exists()
