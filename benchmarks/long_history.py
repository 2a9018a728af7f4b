"""What one new drop costs in a home with a long history, against the same in a young home.

Each step is taken as the run takes it and measured in processor and wall milliseconds, the least of some
tries; ratios are of processor time. `--drops 10000 --incidents 100000` is the size that is asked for.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path

from benchmarks.long_home import NEW_DROP, diagnose, make_home
from benchmarks.long_home_rows import AT
from fabric_pipeline.settings import Settings
from fabric_pipeline.store import lake
from fabric_pipeline.store.audit import rebuild_audit
from fabric_pipeline.store.duck import session
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.drop_stages import load_incidents
from fabric_pipeline.workflows.fabric_view import chosen_drop
from fabric_pipeline.workflows.ingest_report import cluster_of
from fabric_pipeline.workflows.link_checks import record_link_checks
from fabric_pipeline.workflows.summary import summarise
from fabric_pipeline.workflows.ticket_history import with_repeats

YOUNG = 100
TRIES = 3


@dataclass(frozen=True, slots=True)
class Cost:
    """Least processor and wall milliseconds of a step."""

    cpu_ms: float
    wall_ms: float


def steps(settings: Settings, drop: str) -> dict[str, Callable[[], object]]:
    """What a run does with the ledger, the audit file and the lake when a drop has come, by name."""
    ledger = Ledger(settings.ledger)
    records = load_incidents(settings, drop)
    clusters = cache(lambda one: cluster_of(settings, one))
    return {
        "open the ledger": lambda: Ledger(settings.ledger),
        "claim a drop": lambda: ledger.claim_drop(drop, NEW_DROP, "0" * 64, AT),
        "record incidents": lambda: ledger.record_incidents(drop, records, AT),
        "repeats": lambda: with_repeats(ledger, records),
        "link checks": lambda: record_link_checks(settings, drop, AT, clusters),
        "drafts of the drop": lambda: ledger.drafts_of_drop(drop),
        "tickets of the drop": lambda: ledger.tickets(drop),
        "end of a run (summarise)": lambda: summarise(settings, [drop]),
        "newest drop (portal, topology)": lambda: chosen_drop(settings.lake, None),
        "drops of a table": lambda: lake.drops_of(settings.lake, "stragglers"),
        "tables of the lake": lambda: lake.tables_of(settings.lake),
    }


def whole_steps(settings: Settings) -> dict[str, Callable[[], object]]:
    """What reads all of the history and is not part of a run."""
    ledger = Ledger(settings.ledger)
    return {
        "verify the whole chain": ledger.verify_chain,
        "all counters as one view": lambda: _attach_all(settings.lake),
    }


def one_more(settings: Settings, number: int) -> Callable[[], object]:
    """The audit file after one more drop has come through a run."""
    return lambda: rebuild_audit(settings, at=AT + timedelta(minutes=number))


def measured(step: Callable[[], object], tries: int = TRIES) -> Cost:
    """The least of some tries."""
    cpu, wall = [], []
    for _ in range(tries):
        cpu_start, wall_start = time.process_time(), time.perf_counter()
        step()
        wall.append(time.perf_counter() - wall_start)
        cpu.append(time.process_time() - cpu_start)
    return Cost(min(cpu) * 1000, min(wall) * 1000)


def measure(settings: Settings, *, whole: bool) -> dict[str, Cost]:
    """Every step in one home. The audit file is made first, then again after the new drop."""
    found: dict[str, Cost] = {}
    if whole:
        found["audit file, made anew"] = measured(one_more(settings, 0), 1)
    else:
        rebuild_audit(settings, at=AT)
    started = time.process_time()
    drop = diagnose(settings, NEW_DROP)
    found["(diagnosis of the new drop)"] = Cost((time.process_time() - started) * 1000, 0.0)
    found["audit file, one more drop"] = measured(one_more(settings, 1), 1)
    found["audit file, nothing new"] = measured(one_more(settings, 2), 1)
    for name, step in steps(settings, drop).items():
        found[name] = measured(step)
    if whole:
        for name, step in whole_steps(settings).items():
            found[name] = measured(step, 1)
    return found


def _attach_all(folder: Path) -> None:
    with closing(session()) as con:
        lake.attach_all(con, folder, "link_counters")


def table(old: dict[str, Cost], young: dict[str, Cost]) -> str:
    """Both homes side by side."""
    rows = [f"| {'step':32} | long, cpu ms | long, wall ms | young, cpu ms | ratio |"]
    rows.append("|---|---:|---:|---:|---:|")
    for name, cost in old.items():
        other = young[name]
        ratio = cost.cpu_ms / max(other.cpu_ms, 0.01)
        rows.append(
            f"| {name:32} | {cost.cpu_ms:,.1f} | {cost.wall_ms:,.1f} | {other.cpu_ms:,.1f} | {ratio:,.1f} |"
        )
    return "\n".join(rows)


def main(argv: list[str] | None = None) -> int:
    """Make both homes, measure, print the table."""
    options = _options(argv)
    folder = Path(tempfile.mkdtemp(prefix="long-history-", dir=options.dir))
    try:
        per_drop = options.incidents // options.drops
        started = time.perf_counter()
        old = make_home(folder / "long", options.drops, options.incidents)
        sys.stdout.write(
            f"home of {options.drops:,} drops made in {time.perf_counter() - started:.0f} s\n"
        )
        young = make_home(folder / "young", YOUNG, YOUNG * per_drop)
        if options.profile:
            cProfile.runctx("measure(old, whole=False)", globals(), locals(), f"{folder}/p")
            pstats.Stats(f"{folder}/p").sort_stats("cumulative").print_stats(options.profile)
            return 0
        costs = [measure(home, whole=options.whole) for home in (old, young)]
        sys.stdout.write(f"{table(*costs)}\n")
    finally:
        if not options.keep:
            shutil.rmtree(folder)
    return 0


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drops", type=int, default=10_000)
    parser.add_argument("--incidents", type=int, default=100_000)
    parser.add_argument("--dir", help="where the homes are made; they take some 5 GB")
    parser.add_argument("--whole", action="store_true", help="also what reads all of the history")
    parser.add_argument("--keep", action="store_true", help="leave the homes there")
    parser.add_argument("--profile", type=int, default=0, help="show so many functions instead")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
