"""What the extra processes of the concurrency tests do; importable by a spawned interpreter."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import duckdb

from fabric_pipeline.errors import GateError
from fabric_pipeline.store.audit import rebuild_audit
from fabric_pipeline.store.audit_query import query
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.edit_ticket import edit
from fabric_pipeline.workflows.review_ticket import review
from fabric_pipeline_tests.store.fakes import draft, later, settings, sha


def write_ledger(path: Path, worker: int, rounds: int) -> None:
    """Claim drops, record drafts and review them; all workers share one ticket as well."""
    ledger = Ledger(path)
    for number in range(rounds):
        name = f"w{worker}-{number}"
        ledger.claim_drop("drop", f"/in/{name}", sha(name), later(number))
        ledger.record_draft(draft(f"t-{name}"), later(number))
        ledger.add_review(f"t-{name}", draft(f"t-{name}").sha256, "approved", "Mara", "", later(1))
        ledger.record_draft(draft("t-shared", title=name), later(number))


def rebuild(home: Path, rounds: int) -> None:
    for _ in range(rounds):
        rebuild_audit(settings(home))


def read_in_a_loop(home: Path, stop: Path, report: Path) -> None:
    """Ask until the stop file appears; write how often it went well and what went wrong."""
    asked, wrong = 0, ""
    while not stop.exists() and not wrong:
        try:
            tables = {row[0] for row in query(settings(home), "SHOW TABLES").rows}
            query(settings(home), "SELECT count(*) FROM ledger_drafts, link_counters")
            if "stranger" in tables:
                wrong = "a table of another session appeared"
            asked += 1
            time.sleep(0.02)  # the builders need the processor as well
        except Exception as error:
            wrong = repr(error)
    report.write_text(f"{asked} {wrong}")


def leave_a_write_ahead_log(database: Path) -> None:
    """An auditor's session that was opened for writing and then killed."""
    con = duckdb.connect(str(database))
    con.execute("CREATE TABLE stranger AS SELECT 1 AS n")
    os._exit(0)


def edit_and_review(path: Path, worker: int, rounds: int, report: Path) -> None:
    """Edit and approve one shared ticket, as often as the others let it; write what was kept."""
    ledger = Ledger(path)
    kept = []
    for number in range(rounds):
        read = ledger.current_draft("t-shared").draft_sha256
        words = {"title": f"words {worker}-{number}"}
        with suppress(GateError):  # somebody else was faster
            edit(ledger, "t-shared", read, words, f"editor-{worker}", "why", later(number))
            kept.append(words["title"])
        read = ledger.current_draft("t-shared").draft_sha256
        with suppress(GateError):
            reviewer = f"reviewer-{worker}"
            review(ledger, "t-shared", read, "approved", reviewer, "", later(number))
    report.write_text("\n".join(kept))
