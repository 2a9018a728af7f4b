"""One cluster over five drops: found, repaired, verified, back again, replaced, and the old part elsewhere."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from fabric_pipeline.drafting.assemble import ticket_id
from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger, Publication
from fabric_pipeline.workflows.dispatch_stages import gate_state, publish_stage
from fabric_pipeline.workflows.drop_stages import load_incidents
from fabric_pipeline.workflows.lifecycle import life_lines, states
from fabric_pipeline.workflows.report_repair import RepairWords, report_repair
from fabric_pipeline.workflows.review_ticket import review
from fabric_pipeline.workflows.summary import summarise
from fabric_pipeline_tests.pipeline_runs import NOW, ROOT, diagnose_without_dagster
from fabric_pipeline_tests.small_drop import BAD_LINKS, write_drop

FIRST = {("calc-r1-n1", 1, 2): (10, 28)}
ELSEWHERE = {("calc-r1-n2", 1, 0): (6, 24)}
Faults = dict[tuple[str, int, int], tuple[int, int]]


def at(day: int, hour: int) -> datetime:
    return datetime(2024, 5, day, hour, tzinfo=UTC)


class Story:
    """The warehouse, the drops and the two tickets of the first day."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = Settings(root=ROOT, home=folder / "home")
        self.ledger = Ledger(self.settings.ledger)

    def drop(self, name: str, day: int, faults: Faults, **serials: str) -> str:
        """Write and diagnose a drop of that day with other serials in some slots."""
        path = write_drop(self.folder / name, faults=faults)
        for file in path.iterdir():
            text = file.read_text().replace("2024-05-06", f"2024-05-{day:02d}")
            for old, new in serials.items():
                text = text.replace(f'"serial": "{old}"', f'"serial": "{new}"')
            file.write_text(text)
        return diagnose_without_dagster(self.settings, path)

    def incident(self, drop: str, component: str) -> str:
        records = load_incidents(self.settings, drop)
        return next(r.incident_id for r in records if r.isolated_component == component)

    def draft(self, incident: str) -> tuple[int, TicketDraft]:
        seen = self.ledger.incident_history(incident)[-1].record
        stored = self.ledger.current_draft(ticket_id(seen))
        assert stored.draft is not None
        return stored.revision, stored.draft

    def approve_and_publish(self, drop: str) -> list[Publication]:
        for ticket in gate_state(self.settings, drop).awaiting:
            review(self.ledger, ticket, None, "approved", "reviewer-1", "evidence fits", NOW)
        return publish_stage(self.settings, drop, NOW)[1].published

    def state(self, incident: str) -> str:
        return states(self.ledger)[incident].state

    def news(self, drop: str) -> list[tuple[str, str]]:
        notes = summarise(self.settings, [drop]).lives
        return [(note.state, note.component) for note in notes]

    def audit(self, sql: str) -> list[tuple[Any, ...]]:
        with duckdb.connect(str(self.settings.audit), read_only=True) as con:
            return con.execute(sql).fetchall()


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    return Story(tmp_path_factory.mktemp("story"))


def test_the_life_of_two_faults(story: Story) -> None:
    # Found, approved, published.
    first_day = story.drop("day1", 6, {**FIRST, ("calc-r1-n2", 0, 1): (6, 22)})
    one, two = (story.incident(first_day, link) for link in BAD_LINKS)
    assert [story.state(name) for name in (one, two)] == ["new", "new"]
    assert len(story.approve_and_publish(first_day)) == 2
    assert story.draft(one)[1].begin_at_step == 1

    # Both are reseated.
    for name in (one, two):
        words = RepairWords("reseat", "technician-2", repaired_at=at(6, 15))
        assert report_repair(story.ledger, name, words, NOW).remarks == ()
        assert story.state(name) == "repaired"

    # A clean drop of 39 minutes verifies both; nobody is asked for anything.
    second_day = story.drop("day2", 7, {})
    assert [story.state(name) for name in (one, two)] == ["verified", "verified"]
    assert gate_state(story.settings, second_day).awaiting == []
    assert story.news(second_day) == [("verified", link) for link in sorted(BAD_LINKS)]

    # One comes back: reopened, with a new revision that begins at the next step and waits for a person.
    fifth_day = story.drop("day5", 11, FIRST)
    assert [story.state(name) for name in (one, two)] == ["reopened", "verified"]
    assert story.news(fifth_day)[0] == ("reopened", BAD_LINKS[0])
    revision, draft = story.draft(one)
    assert revision == 2
    assert gate_state(story.settings, fifth_day).awaiting == [draft.ticket_id]
    assert [r.outcome for r in draft.earlier_repairs] == ["came_back"]
    reseat = next(step for step in draft.repair_order if step.action == "reseat")
    assert draft.begin_at_step == reseat.step + 1
    assert len(story.approve_and_publish(fifth_day)) == 1

    # Another board is put in and its link is clean: the position is compared, not the serial.
    words = RepairWords(
        "replace_part", "technician-2", old_serial="S01", new_serial="S91", repaired_at=at(11, 15)
    )
    assert report_repair(story.ledger, one, words, NOW).remarks == ()
    story.drop("day6", 12, {}, S01="S91")
    assert story.state(one) == "verified"
    assert [line.rpartition("; ")[2] for line in life_lines(story.ledger, one)[1:]] == [
        "the fault came back", "verified",
    ]  # fmt: skip

    # The board that was taken out is bad in another node: a repeat offender by its serial.
    last_day = story.drop("day14", 20, ELSEWHERE, S01="S91", S11="S01")
    three = story.incident(last_day, "calc-r1-n2:gpu1/nvlink-0")
    assert [story.state(name) for name in (one, two, three)] == ["verified", "verified", "new"]
    _, moved = story.draft(three)
    told = {(ticket.how, ticket.serial, ticket.ticket_id) for ticket in moved.earlier_tickets}
    assert told == {(how, "S01", draft.ticket_id) for how in ("accused", "taken_out")}
    assert load_incidents(story.settings, last_day)[0].repeat_count == 1
    assert story.ledger.verify_chain() == []


def test_reading_an_old_drop_again_changes_nothing(story: Story) -> None:
    before = states(story.ledger)
    drafts = [(row.ticket_id, row.revision) for row in story.ledger.tickets()]
    diagnose_without_dagster(story.settings, story.folder / "day1")
    assert states(story.ledger) == before
    assert [(row.ticket_id, row.revision) for row in story.ledger.tickets()] == drafts


def test_an_auditor_reads_the_same_with_plain_duckdb(story: Story) -> None:
    lives: dict[str, str] = dict(story.audit("SELECT incident_id, state FROM incident_life"))
    assert lives == {name: life.state for name, life in states(story.ledger).items()}
    outcomes = story.audit(
        "SELECT action, outcome, round(time_to_repair_h), new_serial FROM repair_outcomes "
        "ORDER BY repaired_at, seq"
    )
    assert outcomes == [
        ("reseat", "came_back", 8.0, ""), ("reseat", "verified", 8.0, ""),
        ("replace_part", "verified", 128.0, "S91"),
    ]  # fmt: skip
    success = story.audit(
        "SELECT name, repairs, verified, came_back, outcome_unknown, first_repairs_known, "
        "first_repair_success_pct FROM repair_success WHERE grouped_by = 'action' ORDER BY name"
    )
    assert success == [("replace_part", 1, 1, 0, 0, 0, None), ("reseat", 2, 1, 1, 0, 2, 50.0)]
    offenders = story.audit(
        "SELECT serial, accused_incidents, taken_out, put_in, len(tickets) FROM repeat_offenders"
    )
    assert offenders == [("S01", 2, 1, 0, 2)]
    back = story.audit("SELECT component, repairs_between FROM links_repaired_and_back")
    assert back == [(BAD_LINKS[0], 1)]
