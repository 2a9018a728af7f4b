"""The run history of Dagster through engines that are kept: the same rows, fewer engines, nothing left open."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from importlib import import_module
from pathlib import Path

import dagster as dg
import pytest

from fabric_pipeline.orchestration.history import _STORAGES, kept_open


@dg.asset
def grown() -> int:
    """An asset of this test."""
    return 1


JOB = dg.Definitions(assets=[grown], jobs=[dg.define_asset_job("grow")]).resolve_job_def("grow")
CONFIG = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def run_of(home: Path) -> str:
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    with dg.DagsterInstance.local_temp(str(home)) as instance:
        return JOB.execute_in_process(instance=instance, run_config=CONFIG).run_id


def events_of(home: Path, run: str) -> list[tuple[str, str]]:
    """What another process reads of the run, from the file itself."""
    with closing(sqlite3.connect(home / "history" / "runs" / f"{run}.db")) as file:
        sql = "select dagster_event_type, step_key from event_logs order by id"
        return file.execute(sql).fetchall()


def test_dagster_still_makes_its_engines_where_we_look() -> None:
    assert [name for name in _STORAGES if not hasattr(import_module(name), "create_engine")] == []


def test_a_run_leaves_the_same_events_with_one_engine_a_file(tmp_path: Path) -> None:
    makers = [import_module(name).create_engine for name in _STORAGES]
    plain = run_of(tmp_path / "plain")
    with kept_open() as engines:
        kept = run_of(tmp_path / "kept")
    assert events_of(tmp_path / "kept", kept) == events_of(tmp_path / "plain", plain) != []
    files = {Path(address.removeprefix("sqlite://")) for address in engines}
    assert {file.name for file in files} >= {"runs.db", "index.db", f"{kept}.db"}
    # Closed at the end: SQLite has copied its logs back and removed them.
    assert [*tmp_path.rglob("*.db-wal")] == []
    assert [import_module(name).create_engine for name in _STORAGES] == makers


def test_a_failure_inside_puts_everything_back(tmp_path: Path) -> None:
    makers = [import_module(name).create_engine for name in _STORAGES]

    def fails() -> None:
        run_of(tmp_path / "kept")
        raise RuntimeError

    with pytest.raises(RuntimeError), kept_open():
        fails()
    assert [import_module(name).create_engine for name in _STORAGES] == makers
    assert [*tmp_path.rglob("*.db-wal")] == []
