"""`ledger verify` and `ledger head` over a home with two drafts."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline_tests.cli.calls import Shell


def test_a_ledger_that_holds_is_said_to_hold(shell: Shell, home: Settings) -> None:
    head = shell("ledger", "head").out.strip()
    assert head == Ledger(home.ledger).chain_head()
    assert shell("ledger", "head", "--json").json["head"] == head
    answer = shell("ledger", "verify", "--head", head)
    assert answer.code == 0
    assert "1 known head(s)" in answer.out
    assert shell("ledger", "verify", "--json").json["holds"] is True


def test_broken_rows_are_named_and_the_exit_code_is_1(shell: Shell, home: Settings) -> None:
    ticket = Ledger(home.ledger).tickets()[0].ticket_id
    with closing(sqlite3.connect(home.ledger)) as con:
        con.execute("DROP TRIGGER drafts_no_update")
        con.execute("UPDATE drafts SET drafter = 'claude' WHERE ticket_id = ?", [ticket])
        con.commit()
    answer = shell("ledger", "verify")
    assert answer.code == 1
    assert f"(ticket {ticket}) was edited" in answer.out
    assert "drafts_no_update" in answer.out
    body = shell("ledger", "verify", "--json")
    assert body.code == 1
    assert body.json["holds"] is False
    assert len(body.json["problems"]) == 2


def test_a_head_that_is_lost_or_none_is_told_apart(shell: Shell, home: Settings) -> None:
    lost = shell("ledger", "verify", "--head", "a" * 64)
    assert lost.code == 1
    assert f"no longer contains the known head {'a' * 64}" in lost.out
    assert shell("ledger", "verify", "--head", "abc").code == 2


def test_without_a_ledger_nothing_verifies(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABRIC_HOME", str(tmp_path / "new"))
    for command in ("verify", "head"):
        answer = shell("ledger", command)
        assert (answer.code, answer.out) == (4, "")
        assert "no ledger yet" in answer.err
    assert not (tmp_path / "new").exists()
