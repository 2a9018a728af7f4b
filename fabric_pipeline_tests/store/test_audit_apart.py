"""A typed question runs in a process of its own, and neither memory nor time of it can run away."""

from __future__ import annotations

import resource
import time

import pytest

from fabric_pipeline.errors import FabricError, NotFoundError, UsageError
from fabric_pipeline.settings import Settings
from fabric_pipeline.store import audit_apart
from fabric_pipeline.store.audit import rebuild_audit
from fabric_pipeline.store.audit_apart import query_apart
from fabric_pipeline.store.audit_query import QueryResult
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline_tests.store.fakes import START, draft, settings


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    where = settings(tmp_path_factory.mktemp("audit"))
    Ledger(where.ledger).record_draft(draft(), START)
    rebuild_audit(where)
    return where


def asked(where: Settings, sql: str, **other: float) -> QueryResult:
    limits = {"limit": 1000, "timeout_s": 5.0, "cell_chars": 100, "memory_mb": 256} | other
    return query_apart(where, sql, **limits)  # type: ignore[arg-type]


def test_an_answer_comes_back_as_texts_and_empty_cells(where: Settings) -> None:
    answer = asked(where, "select 7 as n, null as nothing, '' as none, '\u202eé' as text")
    assert answer == QueryResult(["n", "nothing", "none", "text"], [("7", None, "", "\u202eé")], truncated=False)  # fmt: skip


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("delete from ledger_drafts", "read-only"),
        ("select * from read_text('/etc/passwd')", "refused"),
        ("selec 1", "syntax error"),
        ("select '\ud800'", "half a character"),
    ],
)
def test_a_refusal_comes_back_as_it_was_given(where: Settings, sql: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        asked(where, sql)


def test_without_a_file_it_is_not_found(tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(NotFoundError, match="does not exist"):
        asked(settings(tmp_path_factory.mktemp("none")), "select 1")


def test_one_call_that_wants_gigabytes_ends_early_and_costs_this_process_nothing(
    where: Settings,
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.monotonic()
    with pytest.raises(FabricError, match=r"(?i)memory"):
        asked(where, "select length(repeat('x', 3900000000))")
    assert time.monotonic() - started < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


def test_a_process_that_does_not_end_is_ended(
    where: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_apart, "_GRACE_S", -0.9)  # before DuckDB itself is interrupted
    with pytest.raises(FabricError, match="longer than 1 s and was stopped"):
        asked(where, "select count(*) from range(100000000000)", timeout_s=1.0)


def test_a_very_wide_answer_is_cut_to_whole_rows(where: Settings) -> None:
    columns = ", ".join(["i"] * 2000)
    answer = asked(where, f"select {columns} from range(100) as t(i)")
    assert (len(answer.rows), len(answer.rows[0]), answer.truncated) == (50, 2000, True)
    long = asked(where, "select repeat('x', 90000) from range(500)", cell_chars=90_000)
    assert (len(long.rows), long.truncated) == (355, True)
