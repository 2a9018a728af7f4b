"""After a repair that did not help: the steps go on where it ended, with serials and repeat offenders."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

import pytest

from fabric_pipeline.drafting.catalogue import Catalogue
from fabric_pipeline.drafting.forbidden import forbidden
from fabric_pipeline.drafting.history import TicketHistory
from fabric_pipeline.drafting.rules_draft import draft_by_rules
from fabric_pipeline.drafting.verify import problems
from fabric_pipeline.incidents.ticket import EarlierRepair, EarlierTicket
from fabric_pipeline_tests.drafting.catalogue_cases import FITTING
from fabric_pipeline_tests.drafting.incidents import nvlink_incident

AT = datetime(2026, 3, 20, 10, tzinfo=UTC)


def repair(step: int, action: str, **more: Any) -> EarlierRepair:
    return EarlierRepair(step=step, action=action, repaired_at=AT, outcome="came_back", **more)


def offender(serial: str, how: Literal["accused", "taken_out", "put_in"]) -> EarlierTicket:
    return EarlierTicket(
        ticket_id="T-77aa", serial=serial, link="n1:gpu6/nvlink-13", at=AT, how=how
    )


SWAPPED = TicketHistory(
    repairs=(
        repair(3, "reseat_module"),
        repair(4, "swap_module", old_serial="1654822003117", new_serial="1654822009991"),
    ),
    tickets=(offender("1654822009991", "put_in"), offender("1654822003117", "accused")),
    begin_at_step=5,
)


def test_steps_begin_with_the_next_one_and_name_what_was_tried(catalogue: Catalogue) -> None:
    ticket = draft_by_rules(nvlink_incident(), catalogue, history=SWAPPED)
    steps = ticket.text.repair_steps
    assert [step.do[:42] for step in steps[2:4]] == [
        "[replace_module] If the fault moved with t",
        "[replace_baseboard] If the fault stayed wi",
    ]
    assert len(steps) == 5
    assert steps[1].do == (
        "Tried before: reseat_module (the fault came back); swap_module, old serial 1654822003117, "
        "new serial 1654822009991 (the fault came back). Steps before it were done: begin with "
        "[replace_module]."
    )
    assert ticket.begin_at_step == 5
    assert [one.action for one in ticket.earlier_repairs] == ["reseat_module", "swap_module"]


def test_repeat_offenders_are_named_by_serial(catalogue: Catalogue) -> None:
    summary = draft_by_rules(nvlink_incident(), catalogue, history=SWAPPED).text.summary
    assert (
        "Repeat offender: serial 1654822009991 put in under ticket T-77aa; serial 1654822003117 "
        "accused in ticket T-77aa." in summary
    )
    assert "…" not in summary


@pytest.mark.parametrize("entry_id", sorted(FITTING))
def test_every_entry_can_go_on_anywhere(entry_id: str, catalogue: Catalogue) -> None:
    incident = FITTING[entry_id]
    order = catalogue.entry_for(incident).repair_steps
    for begin in range(1, len(order) + 2):
        done = tuple(repair(n + 1, step.action) for n, step in enumerate(order[: begin - 1]))
        history = TicketHistory(repairs=done, begin_at_step=begin)
        ticket = draft_by_rules(incident, catalogue, history=history)
        assert begin != 3 or problems(ticket.text, incident, catalogue) == []
        assert 2 <= len(ticket.text.repair_steps) <= 10
        told = " ".join(step.do for step in ticket.text.repair_steps)
        assert ("Every step of the repair order was tried" in told) == (begin > len(order))


def test_a_draft_with_history_passes_when_the_history_was_shown(catalogue: Catalogue) -> None:
    incident = nvlink_incident()
    ticket = draft_by_rules(incident, catalogue, history=SWAPPED)
    shown = [one.model_dump(mode="json") for one in (*SWAPPED.repairs, *SWAPPED.tickets)]
    assert problems(ticket.text, incident, catalogue, seen=shown) == []


@pytest.mark.parametrize(
    "hostile", ["reboot the node", "<b>x</b>", "n\u200b1", "x" * 900, "{near}"]
)
def test_hostile_reports_stay_in_their_fields(hostile: str, catalogue: Catalogue) -> None:
    bad = EarlierRepair(action=hostile[:400], old_serial=hostile, repaired_at=AT, outcome="waiting")
    ticket_ = EarlierTicket(ticket_id=hostile, serial=hostile, link="l", at=AT, how="accused")
    history = TicketHistory(repairs=(bad,), tickets=(ticket_,), begin_at_step=2)
    text = draft_by_rules(nvlink_incident(), catalogue, history=history).text
    words = [text.summary, *(step.do for step in text.repair_steps)]
    assert [sentence for sentence in words if forbidden(sentence, own_words=True)] == []
