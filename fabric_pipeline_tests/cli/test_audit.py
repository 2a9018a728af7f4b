"""`audit query|tables|export` and `dossier build|verify`."""

from __future__ import annotations

import csv
import io
import shutil
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.audit import rebuild_audit
from fabric_pipeline_tests.cli.calls import Shell
from fabric_pipeline_tests.pipeline_runs import ROOT


@pytest.fixture
def home(home: Settings) -> Settings:
    """The audit file names the lake by its path, so a copied home needs one of its own."""
    rebuild_audit(home)
    return home


@pytest.fixture(scope="module")
def asked_by_all(diagnosed_once: Settings, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    place = tmp_path_factory.mktemp("audit") / "warehouse"
    shutil.copytree(diagnosed_once.home, place)
    settings = Settings(root=ROOT, home=place)
    rebuild_audit(settings)
    return settings


@pytest.fixture
def asked(asked_by_all: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A home for questions alone, which change nothing in it."""
    monkeypatch.setenv("FABRIC_HOME", str(asked_by_all.home))
    return asked_by_all


def test_a_question_is_answered_as_table_json_and_csv(shell: Shell, asked: Settings) -> None:
    sql = "select node, count(*) as readings from link_counters group by all order by all"
    rows = [{"node": "calc-r1-n1", "readings": 480}, {"node": "calc-r1-n2", "readings": 480}]
    assert shell("audit", "query", sql, "--json").json == rows
    as_csv = shell("audit", "query", sql, "--csv").out
    assert list(csv.DictReader(io.StringIO(as_csv))) == [
        {name: str(value) for name, value in row.items()} for row in rows
    ]
    assert shell("audit", "query", sql).out.splitlines()[2] == "calc-r1-n1  480"


def test_a_moved_home_is_made_whole_by_a_rebuild(shell: Shell, home: Settings) -> None:
    home.audit.unlink()
    missing = shell("audit", "query", "select 1")
    assert (missing.code, "audit rebuild" in missing.err) == (4, True)
    said = shell("audit", "rebuild", "--json").json
    assert set(TABLES) <= set(said["tables"])
    assert str(home.audit) in shell("audit", "rebuild").out
    assert shell("audit", "query", "select count(*) n from link_counters", "--json").json == [
        {"n": 960}
    ]


def test_what_is_no_number_in_json_stays_json(shell: Shell, asked: Settings) -> None:
    sql = "select 'nan'::double as a, '-inf'::double as b, null as c, timestamp '2024-05-06' as d"
    (row,) = shell("audit", "query", sql, "--json").json
    assert row == {"a": None, "b": "-inf", "c": None, "d": "2024-05-06 00:00:00"}


def test_a_spreadsheet_does_not_run_what_telemetry_says(shell: Shell, asked: Settings) -> None:
    out = shell("audit", "query", "select '=cmd()' as a, -1 as b, '+x' as c", "--csv").out
    assert out == "a,b,c\n'=cmd(),-1,'+x\n"


def test_the_limit_is_said_when_it_cuts(shell: Shell, asked: Settings) -> None:
    answer = shell("audit", "query", "select * from range(5)", "--limit", "2", "--json")
    assert len(answer.json) == 2
    assert "--limit" in answer.err
    assert shell("audit", "query", "select * from range(2)", "--limit", "2").err == ""


REFUSED = (
    "delete from ledger_reviews", "insert into ledger_published select * from ledger_published",
    "drop table incident_records", "create table mine as select 1", "select 1; select 2",
    "copy (select 1) to 'out.csv'", "attach 'other.db'", "set memory_limit = '1GB'",
    "select * from read_csv('/etc/passwd')", "selekt", "",
)  # fmt: skip


def test_writing_and_wandering_off_are_refused(shell: Shell, asked: Settings) -> None:
    before = asked.audit.read_bytes()
    for sql in REFUSED:
        answer = shell("audit", "query", sql)
        assert (answer.code, answer.out) == (2, ""), sql
        assert "what to do:" in answer.err, sql
        assert asked.audit.read_bytes() == before, sql


def test_a_question_without_end_is_stopped(shell: Shell, asked: Settings) -> None:
    sql = "select sum(a.range * b.range) from range(10000000) a, range(10000000) b"
    answer = shell("audit", "query", sql, "--timeout", "0.2")
    assert answer.code == 1
    assert "longer than 0.2 s" in answer.err


def test_tables_are_listed_with_what_they_hold(shell: Shell, asked: Settings) -> None:
    listed = {row["name"]: row["comment"] for row in shell("audit", "tables", "--json").json}
    assert set(TABLES) <= set(listed)
    assert all(listed.values())
    assert "link_counters" in shell("audit", "tables").out


def test_the_export_needs_no_other_file(shell: Shell, home: Settings, tmp_path: Path) -> None:
    out = tmp_path / "for the auditor.duckdb"
    assert shell("audit", "export", out, "--json").json["file"] == str(out)
    home.home.rename(tmp_path / "gone")
    with closing(duckdb.connect(str(out), read_only=True)) as con:
        assert con.execute("select count(*) from link_counters").fetchall() == [(960,)]
    assert (
        shell("audit", "export", out).code == 2
    )  # an existing file is only replaced when asked to


def test_a_dossier_is_built_and_verified_and_an_edit_is_found(shell: Shell, home: Settings) -> None:
    incident = shell("incidents", "--json").json[0]["incident_id"]
    (built,) = shell("dossier", "build", incident, "--json").json
    folder = Path(built["path"])
    good = shell("dossier", "verify", folder, "--json")
    assert (good.code, good.json["problems"]) == (0, [])
    assert good.json["files"] == built["files"]
    victim = next(path for path in (folder / "data").rglob("*.csv"))
    victim.write_text(victim.read_text("utf-8") + "\n")
    bad = shell("dossier", "verify", folder)
    assert (bad.code, bad.out) == (1, "")
    assert victim.name in bad.err


def test_a_folder_that_is_no_dossier_is_said_to_be_none(shell: Shell, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        answer = shell("dossier", "verify", path)
        assert answer.code in (1, 3)
        assert answer.out == ""
        assert "Traceback" not in answer.err
        assert answer.err
