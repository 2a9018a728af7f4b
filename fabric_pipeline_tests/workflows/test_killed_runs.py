"""kill -9 at every kind of moment of a run: what is there can be read, and the next run continues."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline.sources.drop import sha256_of
from fabric_pipeline.store.audit_query import query
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.store.run_mark import begin, is_at_work, unfinished
from fabric_pipeline.workflows.accounting import table_sha256
from fabric_pipeline.workflows.dossier_bag import check_bag
from fabric_pipeline.workflows.drop_progress import drop_progress
from fabric_pipeline.workflows.ingest_report import load_report
from fabric_pipeline.workflows.review_ticket import review
from fabric_pipeline.workflows.run_drops import plan
from fabric_pipeline_tests.pipeline_runs import NOW, ROOT, copy_home

DROP = "small"
FILES_OF_A_TICKET = 6
# In the order in which a run comes by them.
MOMENTS = (
    "after claim_drop", "before lake/raw_telemetry/*.parquet",
    "before ingest_report.json", "before lake/link_counters/*", "after lake/spike_detections/*", "before lake/incident_records/*",
    "after record_incidents", "after record_draft", "before dossiers/INC-*", "after dossiers/INC-*", "after mark_processed",
    "after audit.duckdb",
)  # fmt: skip
TABLES = (
    "raw_telemetry", "quarantined_telemetry", "collective_timings", "fabric_events", "fabric_topology", "link_counters",
    "spike_detections", "stragglers", "straggler_correlations", "incident_records",
)  # fmt: skip


UNNEEDED = {
    "anthropic", "dagster", "dask", "distributed", "httpx", "obstore", "pandas", "pandera", "pyarrow", "pydantic_ai",
    "starlette",
}  # fmt: skip


@dataclass
class Killer:
    """The process that forks the work."""

    process: subprocess.Popen[str]
    loaded: frozenset[str] = frozenset()

    def end_of(self, work: str, settings: Settings, drop: Path, moment: str = "") -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([work, str(settings.home), str(drop), moment]) + "\n")
        self.process.stdin.flush()
        ended, loaded = json.loads(self.process.stdout.readline())
        self.loaded = frozenset(loaded)
        return int(ended)


@pytest.fixture(scope="module")
def killer() -> Iterator[Killer]:
    with subprocess.Popen(
        [sys.executable, "-m", "fabric_pipeline_tests.workflows.killed_run"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
    ) as process:  # fmt: skip
        yield Killer(process)
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture(scope="module")
def undisturbed(
    killer: Killer, small_drop: Path, tmp_path_factory: pytest.TempPathFactory
) -> Settings:
    """A home whose only run was left alone; copy it, do not change it."""
    settings = Settings(root=ROOT, home=tmp_path_factory.mktemp("undisturbed") / "warehouse")
    assert killer.end_of("diagnose", settings, small_drop) == 0
    return settings


def state_of(settings: Settings) -> tuple[dict[str, str], list[str], list[str]]:
    """What a reading of the drop ends in: hashes of the tables, incidents, drafted texts."""
    ledger = Ledger(settings.ledger)
    hashes = {table: table_sha256(settings, table, DROP) for table in TABLES}
    incidents = sorted(one.incident_id for one in ledger.incidents(DROP))
    return hashes, incidents, sorted(one.draft_sha256 for one in ledger.drafts_of_drop(DROP))


def assert_whole(settings: Settings) -> None:
    """All that somebody may open now is whole, of whichever run it is."""
    with closing(duckdb.connect()) as connection:
        for part in settings.lake.glob("*/drop=*/*.parquet"):
            connection.execute(f"select count(*) from '{part}'").fetchall()
    if settings.audit.is_file():
        assert query(settings, "select count(*) from incident_records").rows
    assert Ledger(settings.ledger).verify_chain() == []
    if next(settings.lake.glob("*/*/ingest_report.json"), None):
        assert load_report(settings, DROP).files
    for bag in settings.dossiers.glob("INC-*"):
        assert check_bag(bag)[0] == []


def leftovers(settings: Settings) -> list[Path]:
    """Half-written files and folders that nobody will ever read."""
    found = [*settings.lake.rglob("*.tmp"), *settings.home.glob(".audit.duckdb.*")]
    return [*found, *settings.dossiers.glob(".staging")]


def test_a_whole_run_loads_nothing_that_its_work_does_not_need(
    killer: Killer, undisturbed: Settings
) -> None:
    """No row broke a rule, nobody asked for a model, and the shards were judged in this process."""
    assert undisturbed.audit.is_file()
    assert killer.loaded & UNNEEDED == set()
    assert "duckdb" in killer.loaded


def test_killed_at_each_moment_and_run_again_is_as_if_never_killed(
    killer: Killer, undisturbed: Settings, small_drop: Path, tmp_path: Path
) -> None:
    settings = Settings(root=ROOT, home=tmp_path / "warehouse")
    for moment in MOMENTS:
        assert killer.end_of("diagnose", settings, small_drop, moment) == -signal.SIGKILL, moment
        assert_whole(settings)
        assert not is_at_work(settings.home, DROP), moment
        assert drop_progress(settings, DROP).state != "running", moment
        (planned,) = plan(settings, [small_drop], datetime.now(UTC))
        assert planned.must_run, moment
    assert killer.end_of("diagnose", settings, small_drop) == 0
    assert_whole(settings)
    assert not plan(settings, [small_drop], datetime.now(UTC))[0].must_run
    assert unfinished(settings.home, DROP) is None
    assert drop_progress(settings, DROP).is_complete
    assert leftovers(settings) == []
    ended = state_of(settings)
    assert [len(part) for part in ended] == [len(TABLES), 2, 2]
    assert ended == state_of(undisturbed)


def test_a_run_again_of_known_content_that_was_killed_is_not_taken_for_read(
    undisturbed: Settings, small_drop: Path, tmp_path: Path
) -> None:
    settings = Settings(root=ROOT, home=tmp_path / "warehouse")
    copy_home(undisturbed.home, settings.home)
    (planned,) = plan(settings, [small_drop], NOW)
    assert (planned.must_run, planned.note) == (False, "unchanged since it was read")
    begin(settings.home, DROP, NOW)  # run --force, and killed
    (planned,) = plan(settings, [small_drop], NOW)
    assert (planned.must_run, planned.note) == (True, "not finished before")


def test_publishing_that_is_killed_is_finished_by_the_next(
    killer: Killer, undisturbed: Settings, small_drop: Path, tmp_path: Path
) -> None:
    homes = [Settings(root=ROOT, home=tmp_path / name) for name in ("killed", "left-alone")]
    for settings in homes:
        copy_home(undisturbed.home, settings.home)
        ledger = Ledger(settings.ledger)
        for stored in ledger.drafts_of_drop(DROP):
            review(ledger, stored.ticket_id, None, "approved", "reviewer-1", "fits", NOW)
    killed, alone = homes
    for moment in ("before record_publication", "after record_publication", "after outbox/T-*"):
        assert killer.end_of("publish", killed, small_drop, moment) == -signal.SIGKILL, moment
        for folder in killed.outbox.glob("T-*"):
            assert len(list(folder.iterdir())) == FILES_OF_A_TICKET
    for settings in homes:
        assert killer.end_of("publish", settings, small_drop) == 0
    assert len(Ledger(killed.ledger).publications()) == 2
    assert outbox(killed) == outbox(alone)
    assert Ledger(killed.ledger).verify_chain() == []


def outbox(settings: Settings) -> dict[str, bytes]:
    """All files that went out, and those that were left behind."""
    files = [path for path in settings.outbox.rglob("*") if path.is_file()]
    return {path.relative_to(settings.outbox).as_posix(): path.read_bytes() for path in files}


def test_unpacking_that_is_killed_leaves_no_folder_that_is_read(
    killer: Killer, tmp_path: Path
) -> None:
    settings = Settings(root=ROOT, home=tmp_path / "warehouse")
    drop = tmp_path / DROP
    drop.mkdir()
    with zipfile.ZipFile(drop / "logs.zip", "w") as archive:
        archive.writestr("n01/kern.log", "nothing known\n" * 50)
    moment = "before unpacked/*"
    assert killer.end_of("unpack", settings, drop, moment) == -signal.SIGKILL
    (left,) = [path for path in settings.unpacked.iterdir() if path.is_dir()]
    assert left.name.startswith(".part-")
    assert killer.end_of("unpack", settings, drop) == 0
    (home,) = [path for path in settings.unpacked.iterdir() if path.is_dir()]
    assert sha256_of(drop / "logs.zip") == home.name
    assert (home / "contents.json").is_file()
