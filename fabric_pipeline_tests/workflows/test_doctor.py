"""The doctor: a healthy installation, and each thing that can be wrong with its remedy."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline.sources.registry import BUILT_IN, reader_for
from fabric_pipeline.workflows import doctor
from fabric_pipeline.workflows.doctor import Check, examine, readable_formats
from fabric_pipeline_tests.pipeline_runs import ROOT


def checks(settings: Settings) -> dict[str, Check]:
    return {check.what: check for check in examine(settings)}


def test_a_fresh_clone_is_fine_and_says_what_is_still_to_come(tmp_path: Path) -> None:
    found = checks(Settings(root=ROOT, home=tmp_path / "not" / "there"))
    assert {check.state for check in found.values()} == {"ok", "note"}
    assert found["audit database"].remedy == "fabric-pipeline run"
    assert "ANTHROPIC_API_KEY" in found["drafter"].remedy
    assert found["ledger"].found == "not there yet"
    assert list(tmp_path.iterdir()) == []


def test_a_home_in_use_is_examined(diagnosed: Settings) -> None:
    found = checks(replace(diagnosed, anthropic_api_key="secret-key"))
    assert found["ledger"].found == "chain holds"
    assert found["audit database"].state == "ok"
    assert found["drafter"].found == "Claude (claude-sonnet-5-5)"
    assert all("secret-key" not in str(check) for check in found.values())
    assert all(check.remedy for check in found.values() if check.state != "ok")


def test_a_ledger_changed_from_outside_is_broken(diagnosed: Settings) -> None:
    with closing(sqlite3.connect(diagnosed.ledger)) as con:
        con.execute("drop trigger drafts_no_update")
        con.execute("update drafts set drafter = 'somebody'")
        con.commit()
    assert checks(diagnosed)["ledger"].state == "broken"


def test_an_audit_file_that_is_none_is_broken(diagnosed: Settings) -> None:
    diagnosed.audit.write_bytes(b"not a database")
    found = checks(diagnosed)["audit database"]
    assert found.state == "broken"
    assert "--force" in found.remedy


def test_a_missing_package_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "version", version)
    found = checks(Settings(root=ROOT, home=tmp_path))
    assert found["dagster"] == Check("broken", "dagster", "not installed", "make setup")


def test_every_reader_is_listed_with_what_it_reads() -> None:
    rows = readable_formats()
    assert [row["format"] for row in rows] == sorted(BUILT_IN)
    by_name = {row["format"]: row for row in rows}
    assert by_name["fabric_topology"]["reads"] == "topology"
    assert by_name["fabric_topology"]["reader"] == "TopologyReader"


def test_a_format_comes_with_its_note_and_a_foreign_reader_may_lack_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class House:
        format_id = "house_log"
        yields = frozenset({"events"})

    monkeypatch.setattr(doctor, "readers", lambda: (House(), reader_for("perfquery")))
    monkeypatch.setattr(
        doctor, "reader_targets", lambda: {**BUILT_IN, "house_log": "house.logs:House"}
    )
    house, perfquery = readable_formats()
    assert (house["reader"], house["tool"], house["versions"]) == ("House", "", "")
    assert (house["recognised_by"], house["gives"], house["traps"]) == ("", "", ())
    assert perfquery["tool"].startswith("perfquery")
    assert any("saturate" in trap for trap in perfquery["traps"])
