"""The ledger's tables of the audit file against a real ledger: columns, comments, nothing forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline.store.audit_tables import LEDGER_TABLES, LedgerTable
from fabric_pipeline.store.ledger import ExpiredTable, Ledger, LinkCheck, RepairReport
from fabric_pipeline.store.ledger_chain import TABLES
from fabric_pipeline_tests.store.fakes import INCIDENT, START, TICKET, draft, incident, later

# Tables whose rows stand in a table of another name.
NAMES = {"drop_reads": "drops", "incident_observations": "incidents", "published": "publications"}

# Tables that follow from others and only spare reading them.
DERIVED = {"accused_ends", "accused_serials", "drop_spans", "settled_incidents"}

RENAMED = {
    "drop_id": ("drop",),
    "json": ("record", "draft"),
    "at": (
        "diagnosed_at", "observed_at", "drafted_at", "reviewed_at", "edited_at", "reported_at",
        "checked_at", "retired_at", "published_at", "expired_at",
    ),
}  # fmt: skip


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Every table has a row."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.claim_drop("d1", "/in/d1", "c" * 64, START)
    ledger.record_incidents("d1", [incident()], START)
    ledger.record_draft(draft(), START)
    new = draft(title="Swap the cable", edited_by="technician-2")
    ledger.record_edit(TICKET, draft().sha256, new, "technician-2", "why", "-a\n+b", later(1))
    review = ledger.add_review(TICKET, new.sha256, "approved", "reviewer-1", "", later(2))
    ledger.record_publication(TICKET, new.sha256, review.seq, "reviewer-1", later(3), "f")
    done = RepairReport(
        incident_id=INCIDENT, ticket_id=TICKET, component="c", action="swap_cable", step=2,
        part="cable", old_serial="S1", new_serial="S2", repaired_by="technician-2",
        repaired_at=later(4),
    )  # fmt: skip
    ledger.record_repair(done, later(5))
    check = LinkCheck(INCIDENT, "d2", "c", "unmeasured", None, None, 0.0)
    ledger.record_link_checks([check], later(6))
    ledger.retire_drafts("d1", [], later(7))
    gone = ExpiredTable("d1", "link_counters", 9, 900, "e" * 64, "older than 90 days", later(8))
    ledger.record_expired([gone])
    return ledger


@pytest.mark.parametrize("one", LEDGER_TABLES, ids=lambda one: one.table.name)
def test_a_query_fills_its_columns_in_order(ledger: Ledger, one: LedgerTable) -> None:
    with ledger.reading() as con:
        cursor = con.execute(one.query)
        names = [column[0] for column in cursor.description]
        rows = cursor.fetchall()
    assert rows
    assert len(names) == len(one.table.columns)
    for name, column in zip(names, one.table.column_names, strict=True):
        assert not name.isidentifier() or column in (name, *RENAMED.get(name, (name,)))
    assert all(column.description for column in one.table.columns)


def test_every_table_of_the_ledger_and_every_kind_of_link_is_there(ledger: Ledger) -> None:
    with ledger.reading() as con:
        sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        tables = {row["name"] for row in con.execute(sql)}
        kinds = {row["kind"] for row in con.execute("SELECT DISTINCT kind FROM chain")}
    assert {f"ledger_{NAMES.get(name, name)}" for name in tables - DERIVED} == {
        one.table.name for one in LEDGER_TABLES
    }
    assert kinds == set(TABLES)
    assert ledger.verify_chain() == []
