"""A ticket as it is read, and forms that are refused: nothing is recorded, nothing typed is lost."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric_pipeline.incidents.ticket import FailedAttempt, TopologyFinding
from fabric_pipeline.portal.identity import Auth
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline_tests.portal.serving import Answer, ask
from fabric_pipeline_tests.portal.ticket_homes import (
    DROP,
    EDITOR,
    REASON,
    REVIEWER,
    TICKET,
    copied,
    current,
    edit_form,
    portal,
    post,
)
from fabric_pipeline_tests.store.fakes import START, draft, incident

HERE = f"/tickets/{TICKET}"
PROXY = Auth("proxy", proxies=("127.0.0.0/8",))


@pytest.fixture(scope="module")
def settings(home: Settings, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return copied(home, tmp_path_factory.mktemp("tickets"))


@pytest.fixture(scope="module")
def ledger(settings: Settings) -> Ledger:
    return Ledger(settings.ledger)


@pytest.fixture(scope="module")
def url(settings: Settings) -> Iterator[str]:
    with portal(settings, dagster_url="http://127.0.0.1:3000/") as address:
        yield address


def decide(url: str, sha256: str, decision: str = "approved", **changes: str) -> Answer:
    form = {"draft_sha256": sha256, "decision": decision, "reviewer": REVIEWER, "reason": REASON}
    return post(url, f"{HERE}/review", form | changes)


def test_a_ticket_shows_every_field_with_its_origin(url: str, settings: Settings) -> None:
    made, sha256 = current(settings)
    text = ask(url, HERE).text
    for said in (made.rack, made.node_serial, made.gpu_uuid, sha256, made.text.rollback):
        assert said in text
    for word in ("topology", "telemetry", "catalogue", "rule"):
        assert f'">{word}</span>' in text
    assert 'class="origin drafted"' in text
    assert "Worded by rules, without a model." in text
    assert all(f'id="{one.evidence_id}"' in text for one in made.evidence)
    assert "nobody has questioned the isolation" in text
    assert (
        "http://127.0.0.1:3000/assets/ticket_drafts?view=checks&amp;checkDetail=human_review"
        in text
    )
    assert f"assets/ticket_drafts?view=partitions&amp;partition={DROP}" in text


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"reason": " short "}, "fewer than 8 characters"),
        ({"reviewer": "  "}, "needs the name"),
        ({"reviewer": "rules"}, "wrote this draft"),
        ({"decision": "maybe"}, "not a decision"),
        ({"draft_sha256": ""}, "which draft was read"),
    ],
)
def test_a_review_that_is_refused_keeps_what_was_typed(
    url: str, settings: Settings, ledger: Ledger, changes: dict[str, str], says: str
) -> None:
    answer = decide(url, current(settings)[1], **changes)
    assert answer.status == 400
    assert says in answer.text
    assert 'role="alert"' in answer.text
    assert (changes.get("reason", REASON)).strip() in answer.text
    assert f'value="{changes.get("reviewer", REVIEWER)}"' in answer.text
    assert ledger.reviews_of(TICKET) == []


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"title": "Reset the port with mlxlink"}, "orders"),
        ({"title": ""}, "would be empty"),
        ({"cable.length_m": "ten"}, "cable.length_m"),
        ({"evidence_statements.0.evidence_ids": "E999"}, "no evidence E999"),
        ({"rack": "r98", "editor": ""}, "needs the name"),
        ({"rack": "r98", "reason": ""}, "needs a reason"),
        ({}, "nothing is changed"),
    ],
)
def test_an_edit_that_is_refused_keeps_what_was_typed(
    url: str, settings: Settings, ledger: Ledger, changes: dict[str, str], says: str
) -> None:
    made, sha256 = current(settings)
    answer = post(url, f"{HERE}/edit", edit_form(made, sha256, **changes))
    assert answer.status in (400, 409)
    assert says.lower() in answer.text.lower()
    assert all(value in answer.text for value in changes.values())
    assert len(ledger.drafts_of_ticket(TICKET)) == 1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"by": ""}, "Say by name the person"),
        ({"action": ":other"}, "needs a note"),
        ({"action": "1:collect_bug_report"}, "changes nothing on the link"),
        ({"action": "nonsense"}, "has no action"),
        ({"repaired_at": "yesterday"}, "not a date"),
        ({"repaired_at": "2999-01-01T00:00"}, "lies in the future"),
        ({"old_serial": "<b>"}, "not a serial"),
    ],
)
def test_a_report_that_is_refused_keeps_what_was_typed(
    url: str, ledger: Ledger, changes: dict[str, str], says: str
) -> None:
    form = {"by": EDITOR, "action": "3:reseat_module", "new_serial": "S-2", "note": ""}
    answer = post(url, f"{HERE}/repaired", form | changes)
    assert answer.status == 400
    assert says in answer.text.replace("&#39;", "'")
    assert "--" not in re.search(r'class="wrong" role="alert">(.*?)</p>', answer.text)[1]  # type: ignore[index]
    assert 'value="S-2"' in answer.text
    assert ledger.repairs() == []


def test_the_sheet_brings_its_own_policy(url: str) -> None:
    answer = ask(url, f"{HERE}/print")
    style = re.search(r"<style>(.*?)</style>", answer.text, re.DOTALL)
    assert style
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    policy = answer.headers["content-security-policy"]
    assert f"style-src 'sha256-{digest}'" in policy
    assert "script" not in policy
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy


def test_a_ticket_as_json(url: str, settings: Settings) -> None:
    body = json.loads(ask(url, f"{HERE}.json").text)
    assert (body["draft_sha256"], body["state"]) == (current(settings)[1], "awaiting")
    assert body["may_be_published"] is False
    assert ask(url, "/tickets/T-0").status == 404
    assert ask(url, "/tickets/T-0/edit").status == 404
    assert post(url, "/tickets/T-0/review", {"reason": REASON, "draft_sha256": "x"}).status == 404


def test_hostile_words_of_a_draft_stay_text(tmp_path: Path) -> None:
    settings = Settings(root=tmp_path, home=tmp_path / "home")
    bad = '<script>alert("n")</script>\u202e=1+1'
    finding = TopologyFinding(
        component=bad, level="port", why=bad, would_refute_it=bad, agrees_with_isolation=False
    )
    made = draft(
        title=bad,
        drop="d1",
        node=bad,
        link=bad,
        rack=bad,
        fault=bad,
        tools=[bad],
        topology_finding=finding,
        drafter="claude",
        model="a-model",
        failed_attempts=[FailedAttempt(problems=[bad], answer=bad)],
    )
    ledger = Ledger(settings.ledger)
    ledger.record_incidents("d1", [incident()], START)
    ledger.record_draft(made, START)
    with portal(settings) as url:
        for path in ("/queue", f"/tickets/{made.ticket_id}", f"/tickets/{made.ticket_id}/edit"):
            answer = ask(url, path)
            assert answer.status == 200
            assert "<script>alert" not in answer.text
            assert "&lt;script&gt;alert" in answer.text
        queue = ask(url, "/queue").text
        page = ask(url, f"/tickets/{made.ticket_id}").text
    assert "The drafter disagrees: it names" in queue
    assert "Worded by Claude (a-model) after 1 answer that did not pass the checks." in queue
    assert "\u202e" not in page
    assert 'critical">disagrees' in page
    assert "1 answer that did not pass the checks" in page
