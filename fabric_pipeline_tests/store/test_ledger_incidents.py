"""History of incidents over diagnoses of the same and of other drops."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline.incidents.record import Place
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline_tests.store.fakes import INCIDENT, START, incident, later


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


def test_a_rerun_with_the_same_outcome_adds_nothing(ledger: Ledger) -> None:
    for second in range(3):
        assert ledger.record_incidents("d1", [incident()], later(second)) == []
    assert [entry.record for entry in ledger.incidents("d1")] == [incident()]
    assert len(ledger.incident_history(INCIDENT)) == 1


def test_a_changed_record_counts_and_the_old_one_stays(ledger: Ledger) -> None:
    ledger.record_incidents("d1", [incident()], START)
    ledger.record_incidents("d1", [incident(severity="WARNING")], later(1))
    assert [entry.record.severity for entry in ledger.incidents("d1")] == ["WARNING"]
    history = ledger.incident_history(INCIDENT)
    assert [entry.record.severity for entry in history] == ["CRITICAL", "WARNING"]


def test_an_incident_that_is_no_longer_found_is_noted_and_can_come_back(ledger: Ledger) -> None:
    ledger.record_incidents("d1", [incident()], START)
    assert ledger.record_incidents("d1", [], later(1)) == [INCIDENT]
    assert ledger.incidents("d1") == []
    ledger.record_incidents("d1", [incident()], later(2))
    assert [entry.found for entry in ledger.incident_history(INCIDENT)] == [True, False, True]
    assert len(ledger.incidents("d1")) == 1


def test_repeats_are_found_by_component_and_by_serial(ledger: Ledger) -> None:
    place = Place(gpu_serial="S-77")
    ledger.record_incidents("d1", [incident(place=place)], START)
    ledger.record_incidents("d2", [], later(1))
    moved = incident(drop="d3", isolated_component="calc-09:gpu0/nvlink-5", place=place)
    ledger.record_incidents("d3", [moved], later(2))
    assert [entry.drop for entry in ledger.incidents(gpu_serial="S-77")] == ["d1", "d3"]
    assert [e.drop for e in ledger.incidents(component="calc-07:gpu2/nvlink-5")] == ["d1"]


def test_many_questions_see_one_snapshot(ledger: Ledger) -> None:
    ledger.record_incidents("d1", [incident()], START)
    with ledger.held() as same:
        assert len(same.incidents()) == 1
        ledger.record_incidents("d2", [incident(drop="d2")], later(1))
        assert same.path == ledger.path
        assert [entry.record.drop for entry in same.incidents()] == ["d1"]
        assert len(same.incident_history(INCIDENT)) == 1
    assert sorted(entry.record.drop for entry in ledger.incidents()) == ["d1", "d2"]
