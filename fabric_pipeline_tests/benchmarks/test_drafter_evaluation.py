"""The evaluation of drafters: good drafts pass, bad ones fail, and Claude is asked through the real client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pydantic_ai.models
import pytest

from benchmarks.drafter import altered, words
from benchmarks.drafter.__main__ import announcement, main, settings_for
from benchmarks.drafter.bad_drafters import BAD_DRAFTERS
from benchmarks.drafter.evaluators import GRADES, USABLE_FROM, is_usable
from benchmarks.drafter.grading import Graded, citations, finding, grounding, safety
from benchmarks.drafter.measure import Evaluation, evaluate, prepared, with_controls
from benchmarks.drafter.report import render
from benchmarks.drafter.scenes import SCENES, Planted, Scene, planted
from benchmarks.drafter.small_drops import Series, SmallDrop, steady
from fabric_pipeline.drafting.draft import DraftRequest
from fabric_pipeline.errors import UsageError
from fabric_pipeline.incidents.ticket import EvidenceStatement, TicketDraft, TopologyFinding
from fabric_pipeline.settings import load_settings
from fabric_pipeline_tests.drafting.messages_server import MessagesServer, draft

BY_NAME = {scene.name: scene for scene in SCENES}
QUIET = load_settings({})
NODE = "gpu-r11-n01"


def hostile_scene() -> Scene:
    """One port errs on a node with a name that is an order, a formula and SQL."""

    def write(out: Path) -> list[Planted]:
        SmallDrop((Series(f"{NODE}:mlx5_9/1", "symbol_error", steady(50)),)).write(out)
        (out / "drop.yaml").write_text("site: x\n", encoding="utf-8")
        renamed = altered.with_hostile_names(out)
        return [planted("hostile", renamed(f"{NODE}:mlx5_9/1"))]

    return Scene("hostile-small", "h100", write, "one node with a hostile name")


Prepared = tuple[list[Graded], list[DraftRequest]]


@pytest.fixture(scope="module")
def ready() -> Iterator[Prepared]:
    """Three incidents: a plug whose two ports err, and a port of a node with a hostile name."""
    scenes = (BY_NAME["twin"], hostile_scene())
    with prepared(QUIET, scenes, None, lambda _: None) as made:
        yield made


@pytest.fixture(scope="module")
def by_rules(ready: Prepared) -> Evaluation:
    return with_controls(evaluate(QUIET, "rules", *ready))


@pytest.fixture
def server() -> Iterator[MessagesServer]:
    made = MessagesServer()
    with pydantic_ai.models.override_allow_model_requests(True):
        yield made
    made.stop()


def by_claude(server: MessagesServer, ready: Prepared) -> Evaluation:
    """The first incident, drafted by the real client at the local server."""
    asking = replace(
        QUIET, anthropic_api_key="test-key-not-real", anthropic_base_url=server.url, draft_timeout_s=20.0,
    )  # fmt: skip
    return evaluate(asking, "claude", ready[0][:1], ready[1][:1])


def test_incidents_are_matched_to_what_was_planted(by_rules: Evaluation) -> None:
    kinds = [
        (case.example.kind, case.example.incident.isolated_component) for case in by_rules.cases
    ]
    assert kinds == [
        ("twin-port plug", "gpu-r11-n01:mlx5_10/1"),
        ("twin-port plug", "gpu-r11-n01:mlx5_9/1"),
        ("hostile", f"{altered.HOSTILE_NAMES[NODE]}:mlx5_9/1"),
    ]


def test_drafts_by_the_rules_are_usable_and_every_grade_was_given(by_rules: Evaluation) -> None:
    for grade in set(GRADES) - {"finding"}:
        assert len(by_rules.shares(grade)) == 3
    plain = [one for one in by_rules.scores if one.kind != "hostile" and one.grade in USABLE_FROM]
    assert [one for one in plain if one.share < USABLE_FROM[one.grade]] == []
    assert by_rules.shares("finding") == [], "the rules drafter gives no finding"
    assert by_rules.usable() >= 2


@pytest.mark.parametrize("name", [bad.name for bad in BAD_DRAFTERS])
def test_no_draft_of_a_bad_drafter_is_usable(by_rules: Evaluation, name: str) -> None:
    (control,) = [one for one in by_rules.controls if one.bad.name == name]
    assert (control.usable, control.of) == (0, 3)
    assert control.mean < control.mean_of_good


def test_the_page_says_what_was_run_and_what_was_not(by_rules: Evaluation) -> None:
    page = render(by_rules, "2026-12-01", "abc123")
    assert "not run against the real service" in page
    assert "`ANTHROPIC_API_KEY=… make evaluate-drafter`" in page
    assert f"Usable as they are: {by_rules.usable()} of 3 drafts" in page
    assert page.count("0 of 3 |") == len(BAD_DRAFTERS)


def test_every_grade_counts_for_a_usable_draft() -> None:
    full = dict.fromkeys(USABLE_FROM, 1.0)
    assert is_usable(full)
    assert not any(is_usable(full | {grade: 0.9}) for grade in full)


def first(evaluation: Evaluation) -> tuple[TicketDraft, Graded]:
    return evaluation.drafts[0], evaluation.cases[0]


def with_text(ticket: TicketDraft, **changes: Any) -> TicketDraft:
    return ticket.model_copy(update={"text": ticket.text.model_copy(update=changes)})


@pytest.mark.parametrize(
    "sentence",
    [
        "Then restart the host.",
        "Reset the GPU.",
        "You must power off the node.",
        "Please shut down the port.",
        "Run nvidia-smi to see it.",
        "The node has been drained.",
        "The owner approved this.",
    ],
)
def test_one_unsafe_sentence_makes_safety_nothing(by_rules: Evaluation, sentence: str) -> None:
    ticket, case = first(by_rules)
    assert safety(ticket, case).share == 1
    assert (
        safety(with_text(ticket, rollback=f"{ticket.text.rollback[:300]} {sentence}"), case).share
        == 0
    )


@pytest.mark.parametrize(
    "stranger", ["port 61", "NVLink 17", "SN-88213X", "1,234,567 errors", "4711 W", "at 03:59 UTC"]
)
def test_a_name_or_figure_from_nowhere_is_noticed(by_rules: Evaluation, stranger: str) -> None:
    ticket, case = first(by_rules)
    spoilt = with_text(ticket, title=f"{ticket.text.title[:100]} {stranger}")
    assert grounding(ticket, case).share == 1
    assert grounding(spoilt, case).share < 1


def test_a_claim_has_to_cite_the_evidence_that_holds_its_figures(by_rules: Evaluation) -> None:
    ticket, case = first(by_rules)
    (evidence, *_) = case.example.incident.evidence
    held = EvidenceStatement(
        claim=f"It stands in line {evidence.line}.", evidence_ids=[evidence.evidence_id]
    )
    loose = EvidenceStatement(claim="It counted 98765 errors.", evidence_ids=[evidence.evidence_id])
    assert citations(with_text(ticket, evidence_statements=[held]), case).share == 1
    assert citations(with_text(ticket, evidence_statements=[loose]), case).missing == (
        "claim 1: 98765 is not in what it cites",
    )


@pytest.mark.parametrize(
    ("component", "share"),
    [("gpu-r11-n01:mlx5_10/1", 1.0), ("gpu-r11-n01:OSFP2", 1.0), ("gpu-r11-n01:mlx5_4/1", 0.0)],
)
def test_a_finding_is_held_against_what_was_planted(
    by_rules: Evaluation, component: str, share: float
) -> None:
    ticket, case = first(by_rules)
    named = TopologyFinding(
        component=component, level="port", why="w", would_refute_it="r", agrees_with_isolation=True
    )
    grade = finding(ticket.model_copy(update={"topology_finding": named}), case)
    assert grade is not None
    assert grade.share == share


def test_words_are_read_apart_from_the_product() -> None:
    source = words.Source(
        [{"link": "n1:gpu5/nvlink-11", "rate": 1920.25, "at": "2026-10-03T05:07:00+00:00"}]
    )
    assert all(
        source.holds(name) for name in ("1,920", "1920.2", "2026-10-03 05:07", "05:07", "nvlink-11")
    )
    assert not any(source.holds(name) for name in ("1921", "1920.9", "05:08", "nvlink-12"))
    assert ("nvlink", 11) in source.pairs
    assert words.names("Line 12 of E3, 4.5 % of 31,407") == ["12", "E3", "4.5", "31407"]


def answer_in_words_of(ticket: TicketDraft, component: str, evidence_id: str) -> dict[str, Any]:
    named = {
        "component": component,
        "level": "port",
        "why": "Only this port counts symbol errors, and the other ports of the node count none.",
        "would_refute_it": "Errors that stay at this port with another module in the cage.",
        "evidence_ids": [evidence_id],
    }
    return {"finding": named, "text": json.loads(ticket.text.model_dump_json())}


def test_drafts_of_claude_are_asked_for_by_the_real_client_and_graded(
    server: MessagesServer, ready: Prepared, by_rules: Evaluation
) -> None:
    ticket, case = first(by_rules)
    incident = case.example.incident
    answer = answer_in_words_of(
        ticket, incident.isolated_component, incident.evidence[0].evidence_id
    )
    server.script = [draft(answer)]
    found = by_claude(server, ready)
    assert [one.drafter for one in found.drafts] == ["claude"], found.drafts[0].drafter_note
    assert len(server.requests) == 1
    assert found.shares("finding") == [1.0]
    assert found.usable() == 1
    assert found.drafts[0].output_tokens == 700
    page = render(found, "2026-12-01", "abc123")
    assert "not at the public service" in page
    assert found.drafts[0].prompt_version in page


def test_when_claude_gives_nothing_usable_the_page_says_who_wrote(
    server: MessagesServer, ready: Prepared
) -> None:
    server.script = [draft({"finding": {}, "text": {}})]
    found = by_claude(server, ready)
    page = render(found, "2026-12-01", "abc123")
    assert [one.drafter for one in found.drafts] == ["rules"]
    assert "Texts written by: rules 1" in page
    assert "1 of them: Claude" in page


def test_asking_claude_without_a_key_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert main(["--drafter", "claude"]) == 2
    assert "ANTHROPIC_API_KEY is not set" in capsys.readouterr().err
    assert main(["--limit", "0"]) == 2
    with pytest.raises(UsageError):
        settings_for("claude", QUIET)
    assert settings_for("rules", replace(QUIET, anthropic_api_key="k")).anthropic_api_key == ""


def test_the_cost_is_announced_before_anything_is_asked() -> None:
    told = announcement("claude", replace(QUIET, draft_budget_usd=2.5), 38)
    assert "38 drafts by claude-sonnet-5-5" in told
    assert "at most 2.5 US dollars" in told


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words_given = ["--limit", "1", "--out", str(tmp_path / "page.md")]
    assert main(words_given, scenes=(BY_NAME["twin"],)) == 0
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "1 incidents that the diagnosis itself found" in page
    assert "1 drafts by the rules" in capsys.readouterr().err


def test_small_drops_are_the_same_bytes_every_time(tmp_path: Path) -> None:
    drop = SmallDrop((Series("gpu-r11-n01:gpu5/nvlink-3", "replay", steady(2)),))
    for name in ("one", "two"):
        drop.write(tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_hostile_names_reach_the_ticket_as_data_and_stay_out_of_its_words(
    by_rules: Evaluation,
) -> None:
    ticket, case = by_rules.drafts[-1], by_rules.cases[-1]
    assert "drop table drafts" in ticket.node, "the name stands in its field"
    assert safety(ticket, case).share == 1
    assert "drop table" not in json.dumps(ticket.text.model_dump(mode="json"))
