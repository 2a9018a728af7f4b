"""Tables of the audit file, and questions to it: paging, sorting, filters, and the fences around SQL."""

from __future__ import annotations

import csv
import io
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.audit import rebuild_audit
from fabric_pipeline.store.audit_query import query as query_audit
from fabric_pipeline.workflows import audit_browse
from fabric_pipeline.workflows.audit_questions import QUESTIONS
from fabric_pipeline_tests.portal.auditor_homes import FORMULA, HOSTILE, decided_home, portal
from fabric_pipeline_tests.portal.serving import Answer, ask
from fabric_pipeline_tests.store.fakes import START, draft, settings


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    home = settings(tmp_path_factory.mktemp("home"))
    ledger = decided_home(home)
    for number in range(60):
        ledger.record_draft(draft(f"T-{number:012x}", title=f"Title {number}"), START)
    rebuild_audit(home)
    return home


@pytest.fixture(scope="module")
def url(audited: Settings) -> Iterator[str]:
    with portal(audited) as address:
        yield address


def query(url: str, sql: str) -> Answer:
    return ask(url, f"/audit/query?sql={quote(sql)}")


def rows_of(answer: Answer) -> list[list[str]]:
    body = re.search(r'data grid">.*?<tbody>(.*?)</tbody>', answer.text, re.DOTALL)
    assert body
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in body[1].split("</tr>")]
    return [[re.sub("<[^>]*>", "", cell) for cell in row] for row in cells if row]


def test_every_table_is_listed_with_comment_and_rows(url: str) -> None:
    text = ask(url, "/data").text
    assert re.search(r'ledger_drafts</a></td><td>Every revision.*?<td class="number">61</td>', text)
    assert "who_approved_what" in text
    assert "raw_telemetry" in text


def test_pages_sort_and_filter(url: str) -> None:
    first = ask(url, "/data/ledger_drafts?sort=ticket_id&order=desc")
    assert "61 rows" in first.text
    assert rows_of(first)[0][1] == "TKT-00000000000a"
    assert len(rows_of(first)) == 50
    second = ask(url, "/data/ledger_drafts?sort=ticket_id&order=desc&page=2")
    assert len(rows_of(second)) == 11
    assert 'rel="next"' in first.text
    assert 'rel="next"' not in second.text
    one = ask(url, "/data/ledger_drafts?column=ticket_id&match=is&text=T-000000000007")
    assert len(rows_of(one)) == 1
    assert "1 row " in one.text
    assert len(rows_of(ask(url, "/data/ledger_drafts?column=draft&text=TITLE+59"))) == 1
    assert "No row matches" in ask(url, "/data/ledger_drafts?column=drafter&match=empty").text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/data/no_such_table", 404),
        ("/data/audit_info%22%3B%20drop%20table%20x", 404),
        ("/data/audit_info?sort=nope", 400),
        ("/data/audit_info?column=value%22&text=x", 400),
        ("/data/audit_info?match=like", 400),
        ("/data/audit_info?page=-1", 200),
        ("/data/audit_info?column=value&text=%27%20or%201%3D1%20--", 200),
        ("/data/audit_info?column=value&text=%25", 200),
    ],
)
def test_what_is_asked_for_is_a_name_or_a_text_and_never_sql(
    url: str, path: str, status: int
) -> None:
    answer = ask(url, path)
    assert answer.status == status
    if "text=" in path and status == 200:
        assert "No row matches" in answer.text


def test_cells_are_texts_on_the_page_and_no_formulas_in_the_csv(url: str) -> None:
    page = ask(url, "/data/ledger_reviews").text
    assert "<script>alert" not in page
    assert "\u202e" not in page
    answer = ask(url, "/data/ledger_reviews.csv")
    rows = list(csv.DictReader(io.StringIO(answer.text, newline="")))
    assert [row["reason"] for row in rows] == [f"'{FORMULA}", "reads right"]
    assert rows[0]["reviewer"] == HOSTILE
    filtered = ask(url, "/data/ledger_reviews.csv?column=decision&match=is&text=approved").text
    assert len(filtered.splitlines()) == 2


def test_an_answer_has_rows_a_csv_and_an_address(url: str) -> None:
    sql = "select decision, count(*) as n from ledger_reviews group by all order by 1"
    answer = query(url, sql)
    assert rows_of(answer) == [["approved", "1"], ["rejected", "1"]]
    assert f"/audit/query.csv?sql={quote_plus(sql)}" in answer.text
    assert ask(url, f"/audit/query.csv?sql={quote(sql)}").text.splitlines()[0] == "decision,n"
    assert rows_of(query(url, "show tables"))
    assert query(url, "").status == 200


def test_empty_cells_and_long_ones_are_told_apart(url: str) -> None:
    (row,) = rows_of(query(url, "select null as a, '' as b, repeat('x', 1000000) as c"))
    assert row[:2] == ["empty", ""]
    assert row[2] == "x" * 240 + "…"


@pytest.mark.parametrize(
    "sql",
    [
        "copy (select 1) to '/tmp/out.csv'",
        "attach '/tmp/other.db'",
        "select * from read_csv('/etc/passwd')",
        "select * from read_text('/etc/passwd')",
        "select * from '/etc/passwd'",
        "select * from glob('/etc/*')",
        "install httpfs",
        "set memory_limit = '90GB'",
        "pragma enable_external_access",
        "drop table ledger_drafts",
        "insert into audit_info values ('a', 'b')",
        "select 1; select 2",
        "with x as (copy (select 1) to '/tmp/y') select 1",
        "select 1) as a; drop table b; select (1",
        "selec 1",
    ],
)
def test_nothing_but_one_select_inside_the_lake_is_answered(url: str, sql: str) -> None:
    answer = query(url, sql)
    assert answer.status == 400
    assert "Not answered" in answer.text
    assert "root:" not in answer.text
    assert ask(url, f"/audit/query.csv?sql={quote(sql)}").status == 400


def test_a_question_without_end_is_stopped(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def quick(*args: object, timeout_s: float, **more: object) -> object:
        asked.append(timeout_s)
        return query_audit(*args, timeout_s=0.5, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(audit_browse, "query", quick)
    started = time.monotonic()
    answer = query(
        url, "with recursive r as (select 1 a union all select a + 1 from r) select count(*) from r"
    )
    assert answer.status == 400
    assert "was stopped" in answer.text
    assert "narrow it" in answer.text
    assert time.monotonic() - started < 5
    assert set(asked) == {5.0}


def test_more_rows_than_the_limit_are_cut_and_said_to_be(url: str) -> None:
    answer = query(url, "select * from range(5000)")
    assert len(rows_of(answer)) == 1000
    assert "there are more" in answer.text
    cut = ask(url, "/audit/query.csv?sql=select+*+from+range(5000)")
    assert cut.headers["x-rows-left-out"] == "yes"
    assert len(cut.text.splitlines()) == 1001


def test_every_ready_question_is_answered(url: str) -> None:
    page = query(url, "").text
    for one in QUESTIONS:
        assert f"sql={quote_plus(one.sql)}".replace("&", "&amp;") in page
        assert query(url, one.sql).status == 200
    for must_be_empty in QUESTIONS[:2]:
        assert "the good answer" in query(url, must_be_empty.sql).text


def test_the_portal_reads_on_while_the_file_is_built_anew(tmp_path: Path) -> None:
    home = settings(tmp_path)
    ledger = decided_home(home)
    stop, wrong = threading.Event(), []

    def read(address: str) -> None:
        while not stop.is_set():
            answer = query(address, "select count(*) as n from ledger_drafts")
            if answer.status != 200:
                wrong.append(answer.text)

    with portal(home) as address:
        readers = [threading.Thread(target=read, args=(address,)) for _ in range(2)]
        for reader in readers:
            reader.start()
        for number in range(2):
            ledger.record_draft(draft(f"T-{number:012x}"), START)
            rebuild_audit(home)
        stop.set()
        for reader in readers:
            reader.join()
        assert wrong == []
        assert rows_of(query(address, "select count(*) as n from ledger_drafts")) == [["3"]]
        assert re.search(
            r'ledger_drafts</a>.*?<td class="number">3</td>', ask(address, "/data").text
        )


def test_without_an_audit_file_it_is_said_what_to_do(tmp_path: Path) -> None:
    with portal(settings(tmp_path / "new")) as url:
        answer = ask(url, "/data")
        assert answer.status == 404
        assert "run the pipeline" in answer.text
        assert query(url, "select 1").status == 404
