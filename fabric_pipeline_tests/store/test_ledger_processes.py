"""Several processes write the ledger at once: nothing is lost and the chain stays one chain."""

from __future__ import annotations

import multiprocessing
import threading
from pathlib import Path

from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline_tests.store.fakes import START, draft
from fabric_pipeline_tests.store.workers import edit_and_review, write_ledger

WORKERS, ROUNDS = 2, 8


def test_two_processes_and_a_thread_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=write_ledger, args=(path, worker, ROUNDS))
        for worker in range(WORKERS)
    ]
    for process in processes:
        process.start()
    thread = threading.Thread(target=write_ledger, args=(path, WORKERS, ROUNDS))
    thread.start()
    for worker in (*processes, thread):
        worker.join(60)
    assert [process.exitcode for process in processes] == [0] * WORKERS

    ledger = Ledger(path)
    everyone = (WORKERS + 1) * ROUNDS
    assert ledger.verify_chain() == []
    assert len(ledger.drops()) == everyone
    assert len(ledger.reviews_after(0)) == everyone
    assert len(ledger.tickets()) == everyone + 1
    assert ledger.current_draft("t-shared").revision == everyone


def test_threads_share_one_ledger_object(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    threads = [
        threading.Thread(target=ledger.record_draft, args=(draft(f"t-{number}"), START))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ledger.tickets()) == 8
    assert ledger.verify_chain() == []


def test_two_processes_and_a_thread_edit_and_approve_one_ticket(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    ledger = Ledger(path)
    ledger.record_draft(draft("t-shared"), START)
    reports = [tmp_path / f"kept-{worker}" for worker in range(WORKERS + 1)]
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=edit_and_review, args=(path, worker, ROUNDS, reports[worker]))
        for worker in range(WORKERS)
    ]
    for process in processes:
        process.start()
    thread = threading.Thread(
        target=edit_and_review, args=(path, WORKERS, ROUNDS, reports[WORKERS])
    )
    thread.start()
    for worker in (*processes, thread):
        worker.join(60)
    assert [process.exitcode for process in processes] == [0] * WORKERS

    kept = [title for report in reports for title in report.read_text().split("\n") if title]
    edits = ledger.edits_of("t-shared")
    titles = [one.draft.text.title for one in ledger.drafts_of_ticket("t-shared") if one.draft]
    assert sorted(titles[1:]) == sorted(kept)
    assert len(kept) == len(edits) >= ROUNDS
    assert [row.base_revision for row in edits] == list(range(1, len(edits) + 1))
    contents = {one.revision: one.draft_sha256 for one in ledger.drafts_of_ticket("t-shared")}
    reviews = ledger.reviews_of("t-shared")
    assert reviews
    assert all(row.draft_sha256 == contents[row.revision] for row in reviews)
    assert ledger.verify_chain() == []
