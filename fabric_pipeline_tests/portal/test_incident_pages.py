"""The list of incidents, one incident whole, figures asked again, and drafts asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from fabric_pipeline.incidents.record import (
    Alternative,
    Evidence,
    Figure,
    FiredRule,
    IncidentRecord,
    Symptom,
)
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.incident_list import GRADES
from fabric_pipeline_tests.portal.serving import ask
from fabric_pipeline_tests.portal.ticket_homes import (
    DROP,
    HERE,
    INCIDENT,
    TICKET,
    portal,
    post,
    wait_for,
    without_drafts,
)
from fabric_pipeline_tests.store.fakes import START, incident, sha

HOSTILE = '<script>alert("n")</script>\u202e=1+1\'" ' + "x" * 500


@pytest.fixture(scope="module")
def url(home: Settings) -> Iterator[str]:
    with portal(home) as address:
        yield address


@pytest.fixture(scope="module")
def record(home: Settings) -> IncidentRecord:
    return Ledger(home.ledger).incident_history(INCIDENT)[-1].record


def listed(text: str) -> list[str]:
    return re.findall(r'class="under">(INC-[0-9a-f]+) ', text)


def test_the_worst_stands_first_with_its_life_and_ticket(
    url: str, home: Settings, record: IncidentRecord
) -> None:
    answer = ask(url, "/incidents")
    found = listed(answer.text)
    assert found[0] == INCIDENT
    assert len(found) == len({one.incident_id for one in Ledger(home.ledger).incidents()})
    assert f'href="/tickets/{TICKET}"' in answer.text
    assert GRADES[record.evidence_grade] in answer.text
    assert "not accused" in answer.text
    assert "nothing was measured" in answer.text


@pytest.mark.parametrize(
    ("query", "holds"),
    [
        ("severity=CRITICAL", True),
        ("severity=INFO", False),
        ("fault=no_data", False),
        ("fault=physical_link_degradation", True),
        (f"drop={DROP}", True),
        ("drop=missing-data", False),
        ("life=not+accused", False),
        ("text=NVLINK-11", True),
        (f"text={TICKET}", True),
        ("text=no+such+thing", False),
        ("page=7&severity=CRITICAL", True),
        ("page=x&drop=none-of-these", False),
    ],
)
def test_the_list_is_narrowed(url: str, query: str, holds: bool) -> None:
    answer = ask(url, f"/incidents?{query}")
    assert answer.status == 200
    assert (INCIDENT in listed(answer.text)) is holds


def test_an_incident_shows_all_that_its_record_says(url: str, record: IncidentRecord) -> None:
    text = ask(url, f"/incidents/{INCIDENT}").text
    for said in (*record.would_change_the_verdict, *(one.rule_id for one in record.rules)):
        assert said.split("'")[0] in text
    assert text.count("<li>") >= len(record.reasoning)
    assert all(one.sha256 in text and f'id="{one.evidence_id}"' in text for one in record.evidence)
    assert all(f"/figure/{one.name}" in text for one in record.figures)
    assert all(one.component in text for one in record.symptoms)
    assert "/?drop=crc-multibit-lane&amp;link=gpu-r11-n03%3Agpu5%2Fnvlink-11" in text
    assert "/links/gpu-r11-n03:gpu5/nvlink-11?drop=crc-multibit-lane" in text
    assert "none has been built" in text


def test_every_figure_gives_its_recorded_value_again(url: str, record: IncidentRecord) -> None:
    assert record.figures
    for figure in record.figures:
        path = f"/incidents/{INCIDENT}/figure/{quote(figure.name)}?part=1"
        part = ask(url, path)
        assert part.status == 200
        assert 'class="state good">same' in part.text, figure.name
    assert "<h1" in ask(url, f"/incidents/{INCIDENT}/figure/counts.replay").text
    assert ask(url, f"/incidents/{INCIDENT}/figure/no-such").status == 404


def test_an_incident_as_json(url: str, record: IncidentRecord) -> None:
    body = json.loads(ask(url, f"/incidents/{INCIDENT}.json").text)
    assert body["evidence_sha256"] == record.evidence_sha256
    assert (body["found"], body["ticket"], body["drops"]) == (True, TICKET, [DROP])


def test_what_does_not_exist_says_so(url: str) -> None:
    assert ask(url, "/incidents/INC-0").status == 404
    assert ask(url, f"/incidents/{INCIDENT}?drop=missing-data").status == 404
    assert post(url, "/drafts", {"incident": "INC-0"}).status == 404
    assert post(url, "/drafts", {}).status == 404


def test_a_second_draft_is_refused_while_one_is_open(url: str) -> None:
    answer = post(url, "/drafts", {"incident": INCIDENT, "drop": DROP})
    assert answer.status == 409
    assert (
        f"Ticket {TICKET} is open for this incident: revision 1 waits for a person" in answer.text
    )
    assert "Ask for a draft" not in answer.text


def test_no_ticket_is_drafted_of_what_accuses_nobody(url: str, home: Settings) -> None:
    watched = next(
        one for one in Ledger(home.ledger).incidents() if not one.record.needs_ticket
    ).incident_id
    answer = post(url, "/drafts", {"incident": watched})
    assert answer.status == 409
    assert "opens no ticket" in answer.text


def test_a_draft_that_is_asked_for_is_made_once(home: Settings, tmp_path: Path) -> None:
    settings = without_drafts(home, tmp_path)
    ledger = Ledger(settings.ledger)
    with portal(settings) as address:
        assert "Ask for a draft" in ask(address, f"/incidents/{INCIDENT}").text
        forged = ask(address, "/drafts", body=f"incident={INCIDENT}")
        assert (forged.status, ledger.tickets()) == (403, [])
        answer = post(address, "/drafts", {"incident": INCIDENT, "drop": DROP})
        assert answer.status == 303
        assert answer.headers["location"] == f"/incidents/{INCIDENT}?drop={DROP}#draft"
        wait_for(lambda: "run ended" in ask(address, f"/incidents/{INCIDENT}/draft").text)
        assert [(row.ticket_id, row.state) for row in ledger.tickets()] == [(TICKET, "awaiting")]
        assert post(address, "/drafts", {"incident": INCIDENT}).status == 409
    assert [one.revision for one in ledger.drafts_of_ticket(TICKET)] == [1]


def test_strings_of_the_telemetry_stay_text(tmp_path: Path) -> None:
    settings = Settings(root=tmp_path, home=tmp_path / "home")
    bad = f"n:{HOSTILE}"
    one = incident(
        isolated_component=bad,
        far_end=bad,
        summary=HOSTILE,
        action_text=HOSTILE,
        reasoning=[HOSTILE],
        would_change_the_verdict=[HOSTILE],
        alternatives=[Alternative(explanation=HOSTILE, why_set_aside=HOSTILE)],
        symptoms=[Symptom(component=bad, kind="xid", reason=HOSTILE)],
        rules=[FiredRule(rule_id="r", says=HOSTILE, value=HOSTILE)],
        figures=[Figure(name='a"><b>/c', value=1, unit="u", says=HOSTILE, query="drop table x")],
        evidence=[
            Evidence(
                evidence_id="E1",
                file=HOSTILE,
                sha256=sha("a"),
                excerpt=f"{HOSTILE}\n\x1b[31m\x00red",
            )
        ],
    )
    Ledger(settings.ledger).record_incidents("d1", [one], START)
    with portal(settings) as address:
        for path in ("/incidents", f"/incidents/{one.incident_id}"):
            answer = ask(address, path)
            assert answer.status == 200
            assert "<script>alert" not in answer.text
            assert "&lt;script&gt;alert" in answer.text
            assert not re.search("[\u202e\x1b\x00]", answer.text)
        name = quote('a"><b>/c', safe="")
        refused = ask(address, f"/incidents/{one.incident_id}/figure/{name}")
        assert refused.status == 404
        assert "<b>/c" not in refused.text


def test_a_query_that_is_no_figure_is_refused(home: Settings, tmp_path: Path) -> None:
    settings = without_drafts(home, tmp_path)
    queries = {
        "write": "delete from incident_records",
        "two": "select * from (values (1), (2))",
        "wide": "select 1, 2",
        "gone": "select null",
        "other": "select 41",
    }
    figures = [Figure(name=n, value=42, unit="", says="", query=q) for n, q in queries.items()]
    one = incident("INC-00000000000f", drop=DROP, figures=figures)
    Ledger(settings.ledger).record_incidents(DROP, [one], START)
    with portal(settings) as address:
        got = {
            name: ask(address, f"/incidents/{one.incident_id}/figure/{name}?part=1")
            for name in queries
        }
    assert got["write"].status == 400
    assert "read-only" in got["write"].text
    assert "another shape" in got["two"].text
    assert "another shape" in got["wide"].text
    assert "no such row" in got["gone"].text
    assert 'critical">differs' in got["other"].text


def test_the_headers_forbid_everything_foreign(url: str) -> None:
    answer = ask(url, f"/incidents/{INCIDENT}", headers=HERE)
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert " style=" not in answer.text
    assert not re.search(r"\son[a-z]+=", answer.text)
