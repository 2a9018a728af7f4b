"""Feeds damaged and random files to every reader and prints what came of it.

    python benchmarks/fuzz_readers.py 20000 [first seed] [folder with more valid files]

No reader may raise, take long, point outside its file or find a reading in random content. Exit code 1
when one does; the seed that is printed makes the same input again.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fabric_pipeline.sources.registry import readers
from fabric_pipeline_tests.sources.damage import (
    damaged,
    faults,
    junk,
    parquet_specimens,
    source,
    specimens,
)

SLOW_S = 2.0
JUNK_EVERY = 5
LARGEST = 20_000  # bytes of a valid file that is damaged


@dataclass
class Tally:
    """What was seen so far."""

    inputs: int = 0
    accepted: Counter[str] = field(default_factory=Counter)
    understood: int = 0
    rejected: int = 0
    problems: list[str] = field(default_factory=list)
    slowest: list[tuple[float, str]] = field(default_factory=list)


def main() -> int:
    """Run and print; 1 when something was found."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    tally = Tally()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        known = specimens() | parquet_specimens(Path(folder)) | _more(sys.argv[3:])
        for seed in range(first, first + count):
            _one(seed, Path(folder) / "input", known, tally)
    _say(f"{tally.inputs} inputs in {time.monotonic() - start:.0f} s")
    _say(f"{tally.understood} values understood, {tally.rejected} lines refused")
    for name, times in sorted(tally.accepted.items()):
        _say(f"  {times:6} read as {name}")
    _say("slowest:")
    for seconds, what in sorted(tally.slowest, reverse=True)[:10]:
        _say(f"  {seconds:6.2f} s  {what}")
    for problem in tally.problems[:50]:
        _say(f"FOUND {problem}")
    return 1 if tally.problems else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _more(folders: list[str]) -> dict[str, bytes]:
    """Small files of the user's, by their path."""
    paths = [path for folder in folders for path in Path(folder).rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in paths if path.stat().st_size <= LARGEST}


def _one(seed: int, path: Path, known: dict[str, bytes], tally: Tally) -> None:
    is_junk = seed % JUNK_EVERY == 0
    name, data = ("junk", junk(seed)) if is_junk else damaged(seed, known)
    tally.inputs += 1
    file = source(path, data)
    for reader in readers():
        start = time.monotonic()
        try:
            if reader.score(file) <= 0:
                continue
            result = reader.read(file)
            found = list(faults(file, result))
        except Exception as problem:
            tally.problems.append(f"seed {seed} {reader.format_id} from {name}: {problem!r}")
            continue
        finally:
            seconds = time.monotonic() - start
            if seconds > 0.05:
                tally.slowest.append((seconds, f"seed {seed} {reader.format_id} from {name}"))
        if seconds > SLOW_S:
            found.append(f"took {seconds:.1f} s")
        if is_junk and any(reading.counter for reading in result.readings):
            found.append("readings in random content")
        tally.problems += [f"seed {seed} {reader.format_id} from {name}: {one}" for one in found]
        tally.accepted[reader.format_id] += 1
        tally.understood += result.understood
        tally.rejected += len(result.rejected)


if __name__ == "__main__":
    sys.exit(main())
