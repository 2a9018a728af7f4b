"""What a report of a repair may say, on a real ledger."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from fabric_pipeline.errors import BadInputError, FabricError, NotFoundError, UsageError
from fabric_pipeline.incidents.record import Place
from fabric_pipeline.incidents.ticket import RepairOrderStep
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.lifecycle import life_lines, life_of
from fabric_pipeline.workflows.report_repair import RepairWords, parse_time, report_repair
from fabric_pipeline_tests.store.fakes import START, draft, incident, later

INCIDENT, TICKET = "INC-00000000000a", "T-00000000000a"
ORDER = [
    RepairOrderStep(step=1, action="collect_logs"),
    RepairOrderStep(step=2, action="reseat_module", part="GPU module"),
    RepairOrderStep(step=3, action="replace_module", part="GPU module"),
    RepairOrderStep(step=4, action="clean_port"),
    RepairOrderStep(step=5, action="clean_port"),
]
NOW = later(9000)
WORDS = RepairWords("reseat_module", "technician-2")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(tmp_path / "ledger.sqlite")
    place = Place(gpu_serial="S-1")
    made.record_incidents(
        "d1", [incident(place=place, first_seen=START, last_seen=later(60))], START
    )
    made.record_draft(draft(TICKET, repair_order=ORDER), START)
    return made


def test_a_report_is_kept_with_its_step_and_part_and_makes_the_state_repaired(
    ledger: Ledger,
) -> None:
    words = replace(WORDS, old_serial=" S-1 ", new_serial="S-1", repaired_at=later(600))
    recorded = report_repair(ledger, TICKET, words, NOW)
    report = recorded.row.report
    assert (report.step, report.part, report.old_serial) == (2, "GPU module", "S-1")
    assert (report.incident_id, report.ticket_id) == (INCIDENT, TICKET)
    assert recorded.remarks == (f"ticket {TICKET} was not published before this repair (awaiting)",)
    assert life_of(ledger, INCIDENT).state == "repaired"
    assert "step 2 reseat_module (GPU module) by technician-2" in life_lines(ledger, INCIDENT)[1]
    assert ledger.verify_chain() == []


def test_a_step_may_be_named_as_the_sheet_prints_it(ledger: Ledger) -> None:
    words = replace(WORDS, action="Reseat module")
    assert report_repair(ledger, TICKET, words, NOW).row.report.action == "reseat_module"


def test_the_incident_may_be_named_instead_and_the_time_be_left_out(ledger: Ledger) -> None:
    report = report_repair(ledger, INCIDENT, WORDS, NOW).row.report
    assert (report.ticket_id, report.repaired_at) == (TICKET, NOW)


@pytest.mark.parametrize(
    ("words", "error", "says"),
    [
        (replace(WORDS, action="reseat"), UsageError, "step 2 reseat_module; step 3 replace_module"),
        (replace(WORDS, action="Reseat; drop table repairs"), UsageError, "has no action"),
        (replace(WORDS, step=3), UsageError, "step 3 of T-00000000000a is not reseat_module"),
        (replace(WORDS, action="clean_port"), UsageError, "more than one step"),
        (replace(WORDS, action="collect_logs"), UsageError, "no repair"),
        (replace(WORDS, action="other"), UsageError, "needs --note"),
        (replace(WORDS, action="other", note="x", step=1), UsageError, "no step"),
        (replace(WORDS, by="  "), UsageError, "--by"),
        (replace(WORDS, by="a\x1b[31mb"), UsageError, "--by"),
        (replace(WORDS, repaired_at=NOW + timedelta(seconds=1)), UsageError, "future"),
        (replace(WORDS, repaired_at=later(-1)), UsageError, "before the fault was first seen"),
        (replace(WORDS, old_serial="S-1\n<b>"), BadInputError, "not a serial"),
        (replace(WORDS, new_serial="9" * 65), BadInputError, "not a serial"),
        (
            replace(WORDS, action="replace_module", old_serial="S-1", new_serial="s-1"),
            UsageError, "same serial",
        ),
        (
            replace(WORDS, action="other", note="x", old_serial="S-1", new_serial="S-1"),
            UsageError, "same serial",
        ),
    ],
)  # fmt: skip
def test_what_is_refused_and_why(
    ledger: Ledger, words: RepairWords, error: type[FabricError], says: str
) -> None:
    with pytest.raises(error, match=says):
        report_repair(ledger, TICKET, words, NOW)
    assert ledger.repairs() == []


def test_unknown_and_never_accused_targets_are_told_apart(ledger: Ledger) -> None:
    with pytest.raises(NotFoundError, match="T-nothing"):
        report_repair(ledger, "T-nothing", WORDS, NOW)
    ledger.record_incidents("d2", [incident("INC-watch", severity="WATCH")], START)
    with pytest.raises(UsageError, match="never accused"):
        report_repair(ledger, "INC-watch", WORDS, NOW)


def test_an_action_of_its_own_needs_no_ticket(ledger: Ledger) -> None:
    ledger.record_incidents("d2", [incident("INC-00000000000c")], START)
    words = RepairWords("other", "technician-2", note="moved the node to another rack")
    report = report_repair(ledger, "INC-00000000000c", words, NOW).row.report
    assert (report.action, report.step, report.note) == ("other", None, words.note)


def test_the_same_report_twice_is_refused(ledger: Ledger) -> None:
    words = replace(WORDS, repaired_at=later(600))
    report_repair(ledger, TICKET, words, NOW)
    with pytest.raises(UsageError, match="recorded already"):
        report_repair(ledger, INCIDENT, words, NOW)
    report_repair(ledger, TICKET, replace(words, repaired_at=later(700)), NOW)


def test_serials_that_do_not_fit_are_remarked(ledger: Ledger) -> None:
    other = incident(
        "INC-00000000000d", drop="d3", isolated_component="calc-09:gpu0/nvlink-5",
        place=Place(gpu_serial="S-7"),
    )  # fmt: skip
    ledger.record_incidents("d3", [other], START)
    words = replace(WORDS, action="replace_module", old_serial="S-8", new_serial="S-7")
    remarks = "\n".join(report_repair(ledger, TICKET, words, NOW).remarks)
    assert "names S-1 at this link, not S-8" in remarks
    assert "S-7, has given trouble before: T-00000000000d (calc-09:gpu0/nvlink-5)" in remarks


@pytest.mark.parametrize("text", ["yesterday", "2026-11-20T14:30", "", "\x00"])
def test_times_need_a_date_and_a_zone(text: str) -> None:
    with pytest.raises(UsageError, match="time"):
        parse_time(text)


def test_a_time_with_a_zone_is_read() -> None:
    assert parse_time("2031-03-04T06:06:07+01:00") == START
