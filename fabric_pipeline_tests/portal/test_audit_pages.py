"""The ledger's page: entries with filters, the chain verified on demand, CSV that no spreadsheet runs."""

from __future__ import annotations

import csv
import io
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline_tests.portal.auditor_homes import FORMULA, HOSTILE, decided_home, portal
from fabric_pipeline_tests.portal.serving import Answer, ask
from fabric_pipeline_tests.store.fakes import TICKET, settings

HERE = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def home(tmp_path: Path) -> Settings:
    return settings(tmp_path)


@pytest.fixture
def ledger(home: Settings) -> Ledger:
    return decided_home(home)


@pytest.fixture
def url(home: Settings, ledger: Ledger) -> Iterator[str]:
    with portal(home) as address:
        yield address


def verify(url: str, **form: str) -> Answer:
    body = "&".join(f"{name}={quote(value)}" for name, value in form.items()) or "head="
    return ask(url, "/audit/verify", body=body, headers=HERE)


def read_csv(answer: Answer) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(answer.text, newline="")))


def test_entries_stand_newest_first_with_the_head(url: str, ledger: Ledger) -> None:
    text = ask(url, "/audit").text
    assert ledger.chain_head() in text
    places = [text.index(f'class="kind {kind}"') for kind in ("publication", "review", "draft")]
    assert places == sorted(places)
    assert "approved: reads right" in text
    assert "d1/ticket.json, by review 2" in text
    assert f"/tickets/{TICKET}" in text


def test_hostile_texts_are_texts(url: str) -> None:
    text = ask(url, "/audit").text
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text
    assert "\u202e" not in text.partition("<tbody>")[2]


def test_filters_narrow_page_and_csv(url: str) -> None:
    def kinds(query: str) -> list[str]:
        return [row["kind"] for row in read_csv(ask(url, f"/audit.csv?{query}"))]

    assert kinds("") == ["publication", "review", "review", "draft"]
    assert kinds("kind=review&who=REVIEWER-1") == ["review"]
    assert kinds(f"about={TICKET}&kind=draft") == ["draft"]
    assert kinds("about=no-such-ticket") == []
    assert "No entry matches" in ask(url, "/audit?about=no-such-ticket").text
    assert kinds("who=%25") == []  # not a pattern
    assert ask(url, "/audit?kind=lies").status == 400
    assert ask(url, "/audit?page=99").status == 200


def test_no_cell_of_the_csv_is_a_formula(url: str) -> None:
    answer = ask(url, "/audit.csv")
    assert answer.headers["content-type"].startswith("text/csv")
    assert "attachment" in answer.headers["content-disposition"]
    (rejected,) = [row for row in read_csv(answer) if row["says"].startswith("rejected")]
    assert FORMULA in rejected["says"]
    assert rejected["who"] == HOSTILE
    assert not any(
        cell[:1] in "=+-@\t\r" for row in read_csv(answer) for cell in row.values() if cell
    )


def test_the_chain_is_verified_when_asked_and_not_before(url: str, ledger: Ledger) -> None:
    assert "not since this portal was started" in ask(url, "/audit").text
    answer = verify(url)
    assert answer.status == 303
    text = ask(url, "/audit").text
    assert "4 links" in text
    assert '<span class="state good">holds' in text
    assert verify(url, head="1" * 64).status == 303
    assert "no longer contains the known head" in ask(url, "/audit").text
    assert verify(url, head="abc").status == 400
    assert ask(url, "/audit/verify", body="head=").status == 403


def test_a_changed_row_is_named_and_a_vanished_one_stays_in_the_list(
    url: str, ledger: Ledger
) -> None:
    with closing(sqlite3.connect(ledger.path)) as con:
        for (name,) in con.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            con.execute(f"DROP TRIGGER {name}")
        con.execute("UPDATE reviews SET reason = 'reads well' WHERE seq = 2")
        con.execute("DELETE FROM published")
        con.commit()
    verify(url)
    text = ask(url, "/audit").text
    assert '<span class="state critical">does not hold' in text
    assert "reviews: row 2" in text
    assert "the row of this entry has gone" in text


def test_an_empty_home_has_an_empty_list(tmp_path: Path) -> None:
    with portal(settings(tmp_path / "new")) as url:
        answer = ask(url, "/audit")
        assert answer.status == 200
        assert "Nothing has been recorded yet" in answer.text
