"""Drafts of a drop over reruns, edits and later drops; by Claude with what it costs, and by the rules."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pydantic_ai.models
import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.duck import session
from fabric_pipeline.store.lake import part_path
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.store.ledger_drafts import StoredDraft
from fabric_pipeline.workflows import draft_drop
from fabric_pipeline.workflows.draft_costs import DraftCosts, draft_costs
from fabric_pipeline.workflows.draft_drop import draft_stage
from fabric_pipeline.workflows.edit_ticket import edit
from fabric_pipeline.workflows.summary import summarise
from fabric_pipeline_tests import small_drop
from fabric_pipeline_tests.drafting.messages_server import MessagesServer, Reply, draft, failure
from fabric_pipeline_tests.pipeline_runs import NOW, diagnose_without_dagster
from fabric_pipeline_tests.small_drop import BAD_LINKS, write_drop

DROP = "small"


def current(settings: Settings, drop: str = DROP) -> list[StoredDraft]:
    return Ledger(settings.ledger).drafts_of_drop(drop)


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    """The local Messages server, and leave to ask it."""
    running = MessagesServer()
    with pydantic_ai.models.override_allow_model_requests(True):
        yield running
    running.stop()


@pytest.fixture
def keyed(diagnosed: Settings, server: MessagesServer) -> Settings:
    """A diagnosed drop of which no draft is stored, and a key for the local server."""
    for leftover in diagnosed.home.glob("ledger.sqlite*"):
        leftover.unlink()
    return dataclasses.replace(
        diagnosed,
        model="claude-sonnet-5-5",
        anthropic_api_key="test-key-not-real",
        anthropic_base_url=server.url,
        draft_timeout_s=60.0,
    )


def like_the_rules(drafts: list[StoredDraft]) -> Callable[[dict[str, Any]], Reply]:
    """A model that hands in what the rules wrote for the same incident."""

    def choose(request: dict[str, Any]) -> Reply:
        told = str(request["messages"])
        found = next(one.draft for one in drafts if one.draft and one.incident_id in told)
        finding = {
            "component": found.link,
            "level": "link",
            "why": "The errors are counted on this link.",
            "would_refute_it": "Errors on its siblings as well.",
            "evidence_ids": found.text.evidence_statements[0].evidence_ids[:1],
        }
        answer = {"finding": finding, "text": found.text.model_dump(mode="json")}
        return draft(answer, tokens=(1000, 600, 4000, 200))

    return choose


def test_drafting_again_over_the_same_basis_asks_no_drafter(
    diagnosed: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = current(diagnosed)
    monkeypatch.setattr(draft_drop, "draft_tickets", None)
    said: list[str] = []
    result = draft_stage(diagnosed, DROP, NOW, said.append)
    assert (result.rows, result.figures["retired"], result.figures["new_drafts"]) == (2, [], 0)
    assert set(said) == set(BAD_LINKS)
    assert current(diagnosed) == before


def test_a_later_drop_revises_the_ticket_and_the_older_one_cannot_take_it_back(
    diagnosed: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = diagnosed
    first = [one.ticket_id for one in current(settings)]
    monkeypatch.setattr(small_drop, "START", small_drop.START + timedelta(days=1))
    diagnose_without_dagster(settings, write_drop(tmp_path / "tuesday"))
    assert [one.ticket_id for one in current(settings, "tuesday")] == first
    assert current(settings) == []
    said: list[str] = []
    again = draft_stage(settings, DROP, NOW, said.append)
    assert again.rows == 0
    assert any("a later drop has the newer draft" in line for line in said)
    assert [one.ticket_id for one in current(settings, "tuesday")] == first


def test_words_of_a_person_stay_while_the_basis_is_the_same(diagnosed: Settings) -> None:
    ledger, first = Ledger(diagnosed.ledger), current(diagnosed)[0]
    changes = {"rollback": "Put the part back where it was and write the readings down."}
    edit(ledger, first.ticket_id, first.draft_sha256, changes, "editor-1", "clearer", NOW)
    result = draft_stage(diagnosed, DROP, NOW)
    kept = current(diagnosed)[0]
    assert (result.rows, kept.revision) == (2, 2)
    assert kept.draft is not None
    assert kept.draft.edited_by == "editor-1"
    assert (kept.ticket_id, kept.draft_sha256) in set(
        read_columns(diagnosed, "ticket_id", "draft_sha256")
    )


def test_another_catalogue_makes_a_new_draft_even_over_an_edit(
    diagnosed: Settings, tmp_path: Path
) -> None:
    ledger, first = Ledger(diagnosed.ledger), current(diagnosed)[0]
    changes = {"rollback": "Put the part back where it was and write the readings down."}
    edit(ledger, first.ticket_id, first.draft_sha256, changes, "editor-1", "clearer", NOW)
    folder = tmp_path / "catalogue"
    shutil.copytree(diagnosed.catalogue, folder)
    for entry in folder.glob("*.yaml"):
        told = entry.read_text("utf-8").replace("\ntitle: ", "\ntitle: Our ", 1)
        entry.write_text(told, "utf-8")
    other = dataclasses.replace(diagnosed, catalogue_path=folder)
    result = draft_stage(other, DROP, NOW)
    new = current(other)[0]
    assert (result.figures["new_drafts"], new.revision) == (2, 3)
    assert new.draft is not None
    assert new.draft.edited_by == ""


def test_drafts_by_claude_are_accounted_for(
    keyed: Settings, diagnosed_once: Settings, server: MessagesServer
) -> None:
    server.choose = like_the_rules(current(diagnosed_once))
    result = draft_stage(dataclasses.replace(keyed, effort="high"), DROP, NOW)
    assert result.violations == []
    assert result.figures["drafters"] == ["claude"], [
        one.draft.drafter_note for one in current(keyed) if one.draft
    ]
    expected = {"new_drafts": 2, "requests": 2, "input_tokens": 10_400, "output_tokens": 1200}
    expected |= {"cache_read_tokens": 8000, "cache_write_tokens": 400, "failed_attempts": 0}
    assert {name: result.figures[name] for name in expected} == expected
    cost = 2 * (1000 * 2 + 4000 * 0.1 + 200 * 2.5 + 600 * 10) / 1e6
    assert result.figures["cost_usd"] == result.figures["new_cost_usd"] == pytest.approx(cost)
    columns = ("effort", "requests", "cache_read_tokens", "cache_write_tokens", "failed_attempts")
    assert read_columns(keyed, *columns) == [("high", 1, 4000, 200, 0)] * 2
    assert summarise(keyed, [DROP]).costs.line == (
        "2 drafts by Claude: 10,400 tokens in, 1,200 out, 0.02 US dollars"
    )
    assert summarise(keyed, [DROP]).as_json()["drafting"]["requests"] == 2


def test_the_lake_answers_up_front(
    keyed: Settings, diagnosed_once: Settings, server: MessagesServer
) -> None:
    server.choose = like_the_rules(current(diagnosed_once))
    draft_stage(keyed, DROP, NOW)
    for request in server.requests:
        told = request["messages"][0]["content"][0]["text"]
        around = json.loads(told.split("\n", 1)[1].rsplit("\n", 1)[0])["surroundings"]
        rows = around["counters_of_the_accused_end"]["counters"]["rows"]
        assert any(row["events"] for row in rows)
        assert "failed" not in json.dumps(around)


def test_claude_and_the_rules_side_by_side(
    keyed: Settings, diagnosed_once: Settings, server: MessagesServer
) -> None:
    first, _ = stored = current(diagnosed_once)
    good = like_the_rules(stored)
    server.choose = lambda request: (
        failure(403, "permission_error")
        if first.incident_id in str(request["messages"])
        else good(request)
    )
    result = draft_stage(keyed, DROP, NOW)
    assert result.figures["drafters"] == ["claude", "rules"]
    costs = draft_costs(Ledger(keyed.ledger), [DROP])
    assert costs.line == (
        "1 draft by Claude and 1 by the rules after Claude gave none: "
        "5,200 tokens in, 600 out, less than 0.01 US dollars"
    )


def test_nothing_is_said_of_costs_when_only_the_rules_wrote(diagnosed_once: Settings) -> None:
    assert draft_costs(Ledger(diagnosed_once.ledger), [DROP]) == DraftCosts()
    assert summarise(diagnosed_once, [DROP]).costs.line == ""


@pytest.mark.parametrize(
    ("costs", "end"),
    [
        (
            DraftCosts(2, 0, 2, 12_345, 2_345, 0, 0.0601),
            "12,345 tokens in, 2,345 out, 0.06 US dollars",
        ),
        (
            DraftCosts(1, 0, 1, 9, 9, 0, 0.0, 1),
            "cost not known (the model is not in our price list)",
        ),
        (DraftCosts(2, 0, 2, 9, 9, 0, 1.5, 1), "1.50 US dollars and 1 of unknown cost"),
        (DraftCosts(0, 1, 3, 9, 9, 0, 0.04), "9 tokens in, 9 out, 0.04 US dollars"),
        (DraftCosts(0, 1, 0, 0, 0, 0, 0.0), ""),
    ],
)
def test_the_line_of_costs(costs: DraftCosts, end: str) -> None:
    assert costs.line.endswith(end)
    assert bool(costs.line) is bool(end)


def read_columns(settings: Settings, *columns: str) -> list[tuple[Any, ...]]:
    """Columns of the table as it lies in the lake."""
    path = part_path(settings.lake, "ticket_drafts", DROP)
    with session() as con:
        return list(con.execute(f"select {', '.join(columns)} from '{path}'").fetchall())
