"""Several processes write the ledger at once: nothing is lost and the chain stays one chain."""

from __future__ import annotations

import multiprocessing
import threading
from pathlib import Path

from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline_tests.store.fakes import START, draft
from fabric_pipeline_tests.store.workers import write_ledger

WORKERS, ROUNDS = 2, 12


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
