"""Repairs and link checks in the ledger: appended once, chained, never changed."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from fabric_pipeline.store.ledger import Ledger, LinkCheck, RepairReport
from fabric_pipeline_tests.store.fakes import INCIDENT, START, TICKET, later

REPAIR = RepairReport(
    INCIDENT, TICKET, "calc-07:gpu2/nvlink-5", "reseat", 1, "GPU", "S-1", "S-1", "technician-2", START
)  # fmt: skip
CHECK = LinkCheck(
    INCIDENT, "d2", "calc-07:gpu2/nvlink-5", "clean", START, later(1800), 1800.0, {"own_rate": 0.0}
)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


def test_repairs_come_back_by_the_time_they_were_done_and_by_serial(ledger: Ledger) -> None:
    second = replace(REPAIR, action="replace", step=2, new_serial="S-2", repaired_at=later(60))
    ledger.record_repair(second, later(90))
    ledger.record_repair(REPAIR, later(91))
    assert [row.report for row in ledger.repairs()] == [REPAIR, second]
    assert [row.report for row in ledger.repairs(serial="S-2")] == [second]
    assert [row.seq for row in ledger.repairs(serial="S-1")] == [2, 1]
    assert ledger.repairs("INC-other") == []
    assert ledger.verify_chain() == []


def test_the_same_check_again_is_not_written_and_a_changed_one_is(ledger: Ledger) -> None:
    assert ledger.record_link_checks([CHECK], later(1)) == [CHECK]
    assert ledger.record_link_checks([CHECK], later(2)) == []
    changed = replace(CHECK, verdict="dirty", facts={"own_rate": 9.0})
    assert ledger.record_link_checks([CHECK, changed], later(3)) == [changed]
    assert ledger.link_checks(drop="d2") == [changed]
    assert ledger.record_link_checks([CHECK], later(4)) == [CHECK]
    assert ledger.link_checks(incident_id=INCIDENT) == [CHECK]
    assert ledger.link_checks(drop="d3") == []
    assert ledger.verify_chain() == []


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("repairs", "UPDATE repairs SET new_serial = 'S-9'"),
        ("repairs", "DELETE FROM repairs"),
        ("link_checks", "UPDATE link_checks SET verdict = 'clean'"),
        ("link_checks", "DELETE FROM link_checks"),
    ],
)
def test_both_are_append_only_and_a_change_behind_the_triggers_shows(
    ledger: Ledger, table: str, change: str
) -> None:
    ledger.record_repair(REPAIR, START)
    ledger.record_link_checks([replace(CHECK, verdict="dirty")], START)
    con = sqlite3.connect(ledger.path)
    with pytest.raises(sqlite3.IntegrityError, match=f"{table} is append-only"):
        con.execute(change)
    for name in ("no_update", "no_delete"):
        con.execute(f"DROP TRIGGER {table}_{name}")
    con.execute(change)
    con.commit()
    con.close()
    assert any(problem.startswith(table) for problem in ledger.verify_chain())
