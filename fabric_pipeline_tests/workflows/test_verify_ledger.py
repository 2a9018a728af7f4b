"""The ledger against itself, against its own rules, and against the heads that dossiers keep."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fabric_pipeline.errors import NotFoundError, UsageError
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.verify_ledger import verify_ledger
from fabric_pipeline_tests.store.fakes import START, draft, later, settings, sha


@pytest.fixture
def home(tmp_path: Path) -> Settings:
    """A ledger with two drafts and a dossier that kept the head in between."""
    home = settings(tmp_path)
    ledger = Ledger(home.ledger)
    ledger.record_draft(draft(), START)
    keep_head(home, "INC-1--d1", ledger.chain_head())
    ledger.record_draft(draft("t-two"), later(1))
    return home


def keep_head(home: Settings, name: str, head: object) -> None:
    path = home.dossiers / name / "data" / "ledger.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"chain_head": head, "drop": "d1"}))


def shell(home: Settings, *statements: str) -> None:
    """What somebody with a database shell can do."""
    with closing(sqlite3.connect(home.ledger)) as con:
        for statement in statements:
            con.execute(statement)
        con.commit()


def test_an_untouched_ledger_holds_with_the_heads_of_its_dossiers(home: Settings) -> None:
    check = verify_ledger(home, [Ledger(home.ledger).chain_head()])
    assert (check.holds, check.links, check.heads) == (True, 2, 2)
    assert (check.problems, check.unread) == ([], [])


def test_a_rewritten_ledger_is_found_by_the_dossier_that_left_before(home: Settings) -> None:
    head = Ledger(home.ledger).chain_head()
    for path in home.home.glob("ledger.sqlite*"):
        path.unlink()
    Ledger(home.ledger).record_draft(draft(title="Other words"), START)
    check = verify_ledger(home)
    assert not check.holds
    (problem,) = check.problems
    assert problem.startswith("the chain no longer contains the known head")
    assert problem.endswith("(dossier INC-1--d1)")
    assert len(verify_ledger(home, [head]).problems) == 2


def test_changed_rows_and_missing_rules_are_named(home: Settings) -> None:
    shell(home, "DROP TRIGGER published_gate", "DROP TRIGGER drafts_no_update",
          "UPDATE drafts SET drop_id = 'x' WHERE seq = 2")  # fmt: skip
    assert verify_ledger(home).problems == [
        "drafts: row 2 (ticket t-two) was edited",
        "the file's own rule drafts_no_update is missing or changed",
        "the file's own rule published_gate is missing or changed",
    ]
    shell(
        home, "CREATE TRIGGER published_gate BEFORE INSERT ON published WHEN 0 BEGIN SELECT 1; END"
    )
    assert any(
        "published_gate is missing or changed" in one for one in verify_ledger(home).problems
    )


@pytest.mark.parametrize("head", [None, 7, "short", ["x"]])
def test_a_dossier_without_a_head_proves_nothing_and_is_named(home: Settings, head: object) -> None:
    keep_head(home, "INC-2--d1", head)
    check = verify_ledger(home)
    assert check.holds
    assert check.unread == ["dossier INC-2--d1 names no head of the chain"]


def test_a_head_that_is_none_and_a_ledger_that_is_not_there(tmp_path: Path, home: Settings) -> None:
    with pytest.raises(UsageError, match="not the head"):
        verify_ledger(home, ["abc"])
    assert len(verify_ledger(home, [sha("never")]).problems) == 1
    empty = settings(tmp_path / "elsewhere")
    with pytest.raises(NotFoundError, match="no ledger yet"):
        verify_ledger(empty)
    assert not empty.ledger.exists()
