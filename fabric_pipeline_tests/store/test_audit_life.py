"""The life of incidents in the audit file, asked with plain DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from fabric_pipeline.incidents.record import Place
from fabric_pipeline.store.audit import rebuild_audit
from fabric_pipeline.store.ledger import Ledger, LinkCheck, RepairReport
from fabric_pipeline_tests.store.fakes import incident, later, settings

HOUR = 3600
A, B = "INC-00000000000a", "INC-00000000000b"
LINK_A, LINK_B = "calc-07:gpu2/nvlink-5", "calc-09:gpu0/nvlink-5"


def repair(name: str, hours: float, action: str, out: str = "", put: str = "") -> RepairReport:
    link = LINK_A if name == A else LINK_B
    return RepairReport(
        name, name.replace("INC", "T"), link, action, 1, "GPU module", out, put, "technician-2", later(hours * HOUR)
    )  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two faults of one board in two nodes; one repaired and verified, one not yet known."""
    ledger = Ledger(settings(tmp_path).ledger)
    for name, link, drop, hours in ((A, LINK_A, "d1", 0), (B, LINK_B, "d3", 90)):
        record = incident(
            name, drop=drop, isolated_component=link, place=Place(gpu_serial="S-1"),
            first_seen=later(hours * HOUR), last_seen=later(hours * HOUR + 60),
        )  # fmt: skip
        ledger.record_incidents(drop, [record], later(hours * HOUR))
    ledger.record_repair(repair(A, 2, "reseat", "S-1", "S-1"), later(99 * HOUR))
    ledger.record_repair(repair(A, 3, "replace", "S-1", "S-2"), later(99 * HOUR))
    ledger.record_repair(repair(B, 94, "reseat"), later(99 * HOUR))
    start, end = later(10 * HOUR), later(11 * HOUR)
    clean = LinkCheck(A, "d2", LINK_A, "clean", start, end, 3600.0, {})
    ledger.record_link_checks([clean], later(99 * HOUR))
    rebuild_audit(settings(tmp_path))
    return tmp_path


def ask(home: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(settings(home).audit), read_only=True) as con:
        return con.execute(sql).fetchall()


def test_states_come_with_reason_and_times(home: Path) -> None:
    rows = ask(home, "SELECT state, since, clean_min, repairs FROM incident_life ORDER BY 1")
    assert rows == [("repaired", later(94 * HOUR), 0.0, 1), ("verified", later(11 * HOUR), 60.0, 2)]
    reasons = ask(home, "SELECT reason FROM incident_life WHERE state = 'verified'")
    assert reasons[0][0].startswith("measured clean for 60 min after replace of 2031-03-04")


def test_outcomes_have_hours_and_say_what_is_not_known(home: Path) -> None:
    rows = ask(
        home,
        "SELECT action, outcome, time_to_repair_h, time_to_verify_h FROM repair_outcomes ORDER BY seq",
    )
    assert rows == [
        ("reseat", "unknown", 2.0, None), ("replace", "verified", 3.0, 8.0), ("reseat", "waiting", 4.0, None),
    ]  # fmt: skip


def test_what_is_not_known_is_no_success(home: Path) -> None:
    columns = "name, repairs, verified, came_back, outcome_unknown, first_repairs_known, first_repair_success_pct, median_time_to_repair_h"  # fmt: skip
    rows = ask(home, f"SELECT {columns} FROM repair_success ORDER BY grouped_by, name")
    assert rows == [
        ("replace", 1, 1, 0, 0, 0, None, 3.0), ("reseat", 2, 0, 0, 2, 0, None, 3.0),
        ("GPU module", 3, 1, 0, 2, 0, None, 3.0),
    ]  # fmt: skip


def test_a_board_in_two_places_is_a_repeat_offender_and_a_reseated_one_was_not_taken_out(
    home: Path,
) -> None:
    rows = ask(
        home, "SELECT serial, accused_incidents, taken_out, put_in, links FROM repeat_offenders"
    )
    assert rows == [("S-1", 2, 1, 0, [LINK_A, LINK_B])]
