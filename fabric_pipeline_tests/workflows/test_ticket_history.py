"""What a ticket is told of earlier repairs and of its parts, on a real ledger."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from fabric_pipeline.incidents.record import CableFacts, IncidentRecord, Place
from fabric_pipeline.store.ledger import Ledger, RepairReport
from fabric_pipeline.workflows.ticket_history import history_of, repeats_of, with_repeats
from fabric_pipeline_tests.store.fakes import START, incident, later

FIRST, OTHER = "INC-00000000000a", "INC-00000000000b"
HOUR = 3600


def accused(name: str, drop: str, hours: float, serial: str = "", **more: Any) -> IncidentRecord:
    start = later(hours * HOUR)
    return incident(
        name, drop=drop, place=Place(gpu_serial=serial), first_seen=start, last_seen=later(hours * HOUR + 60), **more,
    )  # fmt: skip


def repair(name: str, hours: float, action: str, step: int | None, out: str = "", put: str = "") -> RepairReport:  # fmt: skip
    return RepairReport(
        name, name.replace("INC", "T"), "calc-07:gpu2/nvlink-5", action, step, "GPU module", out, put,
        "technician-2", later(hours * HOUR),
    )  # fmt: skip


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


def test_nothing_happened_before_the_first_sighting(ledger: Ledger) -> None:
    record = accused(FIRST, "d1", 0, "S-1")
    ledger.record_incidents("d1", [record], START)
    ledger.record_repair(repair(FIRST, 2, "reseat", 1), later(9 * HOUR))
    history = history_of(ledger, record, 4)
    assert (history.repairs, history.tickets, history.begin_at_step) == ((), (), 1)


def test_a_repair_that_did_not_help_is_told_and_the_next_step_begins(ledger: Ledger) -> None:
    ledger.record_incidents("d1", [accused(FIRST, "d1", 0, "S-1")], START)
    ledger.record_repair(repair(FIRST, 2, "reseat", 2, "S-1", "S-1"), later(9 * HOUR))
    again = accused(FIRST, "d2", 30, "S-1")
    ledger.record_incidents("d2", [again], later(31 * HOUR))
    history = history_of(ledger, again, 4)
    (told,) = history.repairs
    assert (told.action, told.step, told.outcome) == ("reseat", 2, "came_back")
    assert history.begin_at_step == 3
    assert history_of(ledger, again, 2).begin_at_step == 2
    ledger.record_repair(repair(FIRST, 40, "replace", 4), later(99 * HOUR))
    assert history_of(ledger, again, 4) == history


def test_a_part_is_followed_by_its_serial_into_another_slot(ledger: Ledger) -> None:
    ledger.record_incidents("d1", [accused(FIRST, "d1", 0, "S-1")], START)
    ledger.record_repair(repair(FIRST, 2, "replace", 3, "S-1", "S-2"), later(9 * HOUR))
    moved = accused(OTHER, "d2", 50, "S-1", isolated_component="calc-09:gpu0/nvlink-5")
    ledger.record_incidents("d2", [moved], later(51 * HOUR))
    told = [(one.ticket_id, one.serial, one.how) for one in history_of(ledger, moved).tickets]
    assert told == [("T-00000000000a", "S-1", "taken_out"), ("T-00000000000a", "S-1", "accused")]
    assert history_of(ledger, moved).repairs == ()
    repeats = repeats_of(ledger, moved)
    assert repeats.count == 1
    assert "1 other link(s) accused with the same part (serial S-1)" in repeats.basis


def test_another_part_in_the_slot_is_a_return_of_the_place_not_of_the_part(ledger: Ledger) -> None:
    ledger.record_incidents("d1", [accused(FIRST, "d1", 0, "S-1")], START)
    ledger.record_repair(repair(FIRST, 2, "replace", 3, "S-1", "S-2"), later(9 * HOUR))
    again = accused(FIRST, "d2", 30, "S-2")
    ledger.record_incidents("d2", [again], later(31 * HOUR))
    repeats = repeats_of(ledger, again)
    assert repeats.count == 1
    assert repeats.basis.startswith("0 other link(s) accused with the same part (serial S-2)")
    assert "1 return(s) of this fault after a repair at this place" in repeats.basis
    assert [one.repeat_count for one in with_repeats(ledger, [again])] == [1]


def test_without_serials_the_place_is_counted(ledger: Ledger) -> None:
    ledger.record_incidents("d1", [accused(FIRST, "d1", 0)], START)
    record = accused(OTHER, "d2", 30)
    ledger.record_incidents("d2", [record], START)
    assert repeats_of(ledger, record).count == 1
    assert "no serial is known" in repeats_of(ledger, record).basis


@pytest.mark.parametrize(
    "facts",
    [{"far_place": Place(nic_serial='S"1')}, {"cable": CableFacts(serial='S"1')}],
    ids=["far end", "cable"],
)
def test_the_far_end_and_the_cable_count_as_parts_too(
    ledger: Ledger, facts: dict[str, Any]
) -> None:
    ledger.record_incidents("d1", [accused(FIRST, "d1", 0, **facts)], START)
    record = accused(OTHER, "d2", 30, **facts)
    ledger.record_incidents("d2", [record], START)
    assert [one.serial for one in history_of(ledger, record).tickets] == ['S"1']


def test_only_earlier_faults_are_history(ledger: Ledger) -> None:
    first = accused(FIRST, "d1", 0, "S-1")
    ledger.record_incidents("d1", [first], START)
    ledger.record_incidents("d2", [accused(OTHER, "d2", 30, "S-1")], START)
    assert history_of(ledger, first).tickets == ()
    assert repeats_of(ledger, first).count == 0


def test_a_record_without_times_has_everything_before_it(ledger: Ledger) -> None:
    ledger.record_incidents("d1", [accused(FIRST, "d1", 0, "S-1")], START)
    undated = incident(OTHER, drop="d2", place=Place(gpu_serial="S-1"))
    ledger.record_incidents("d2", [undated], START)
    (told,) = history_of(ledger, undated).tickets
    assert isinstance(told.at, datetime)
