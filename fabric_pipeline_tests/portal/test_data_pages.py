"""Tables of the audit file, and questions to it: paging, sorting, filters, and the fences around SQL."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.audit import rebuild_audit
from fabric_pipeline.store.audit_apart import query_apart
from fabric_pipeline.workflows import audit_browse
from fabric_pipeline.workflows.audit_questions import QUESTIONS
from fabric_pipeline_tests.portal.auditor_homes import FORMULA, HOSTILE, decided_home, portal
from fabric_pipeline_tests.portal.serving import Answer, ask
from fabric_pipeline_tests.store.fakes import START, draft, incident, settings


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


def test_the_csv_of_a_table_has_whole_cells_and_an_answer_says_where_it_cuts(
    tmp_path: Path,
) -> None:
    home = settings(tmp_path)
    said = "long " * 50_000
    decided_home(home).record_incidents("d1", [incident(reasoning=[said])], START)
    rebuild_audit(home)
    sql = "select record from ledger_incidents where is_current"
    csv.field_size_limit(1_000_000)
    with portal(home) as url:
        table = ask(url, "/data/ledger_incidents.csv?column=is_current&match=is&text=true")
        answer = ask(url, f"/audit/query.csv?sql={quote(sql)}")
        page = query(url, sql).text
        assert "whole in the CSV" in ask(url, "/data/ledger_incidents").text
    (row,) = csv.DictReader(io.StringIO(table.text, newline=""))
    assert json.loads(row["record"])["reasoning"] == [said]
    (cell,) = csv.DictReader(io.StringIO(answer.text, newline=""))
    assert cell["record"] == row["record"][:100_000]
    assert "the first 100,000 characters" in page


# All that is refused stands in `store/test_audit_query.py`; here one of each kind, and what the page says.
@pytest.mark.parametrize(
    "sql",
    [
        "copy (select 1) to '/tmp/out.csv'",
        "select * from read_text('/etc/passwd')",
        "drop table ledger_drafts",
        "select 1) as a; drop table b; select (1",
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
        return query_apart(*args, timeout_s=0.5, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(audit_browse, "query_apart", quick)
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
    for number, one in enumerate(QUESTIONS):
        assert f"sql={quote_plus(one.sql)}".replace("&", "&amp;") in page
        answer = query(url, one.sql)
        assert answer.status == 200
        if number < 2:  # nothing may be found by these
            assert "the good answer" in answer.text


def test_without_an_audit_file_it_is_said_what_to_do(tmp_path: Path) -> None:
    with portal(settings(tmp_path / "new")) as url:
        answer = ask(url, "/data")
        assert answer.status == 404
        assert "run the pipeline" in answer.text
        assert query(url, "select 1").status == 404
