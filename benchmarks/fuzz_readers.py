"""Feeds damaged and random files to every reader and to the reading of drops, and prints what came of it.

    python benchmarks/fuzz_readers.py 20000 [first input] [folder with more valid files]

No reader may raise, take long, point outside its file, find a reading in random content or one that does
not stand in the text; no drop may lose a row or break a rule of its tables. Each 50th input goes through
the reading of drops, a hundred of them to a drop, most of these in archives. Random files and every tenth
damaged one go to all readers, the others to the reader of their format and six more. The state is printed every
20,000 inputs; the number of an input makes it again. Exit code 1 when something was found.
"""

from __future__ import annotations

import gc
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fabric_pipeline.sources.base import Reader
from fabric_pipeline.sources.registry import readers
from fabric_pipeline_tests.sources.damage import damaged, faults, junk, parquet_specimens, specimens
from fabric_pipeline_tests.sources.damaged_drops import drop_faults
from fabric_pipeline_tests.sources.held_files import held
from fabric_pipeline_tests.sources.traced import inventions

SLOW_S = 2.0  # of the processor
JUNK_EVERY = 10
DROP_EVERY, IN_DROP = 5000, 100  # inputs
ALL_EVERY, OTHERS = 10, 6  # inputs that all readers get; readers that get each of the others
SAY_EVERY = 20_000
LARGEST = 20_000  # bytes of a valid file that is damaged
READERS = tuple(readers())
BY_FORMAT = {reader.format_id: reader for reader in READERS}


@dataclass
class Tally:
    """What was seen so far."""

    inputs: int = 0
    in_drops: int = 0
    accepted: Counter[str] = field(default_factory=Counter)
    understood: int = 0
    rejected: int = 0
    problems: list[str] = field(default_factory=list)
    slowest: list[tuple[float, str]] = field(default_factory=list)

    def found(self, problem: str) -> None:
        """Keep and say it at once: a long run may be stopped."""
        self.problems.append(problem)
        if len(self.problems) <= 200:
            _say(f"FOUND {problem[:400]}")


def main() -> int:
    """Run and print; 1 when something was found."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    tally = Tally()
    start, used = time.monotonic(), time.process_time()
    gc.set_threshold(100_000, 20, 20)  # small inputs leave little behind
    with tempfile.TemporaryDirectory() as folder:
        known = specimens() | parquet_specimens(Path(folder)) | _more(sys.argv[3:])
        seed = first
        while seed < first + count:
            if seed % DROP_EVERY == 0:
                seed += _drop(seed, known, tally)
            else:
                _one(seed, Path(folder) / "table", known, tally)
                seed += 1
            if seed % SAY_EVERY == 0 or seed % SAY_EVERY == IN_DROP:
                _say(f"next input {seed}; {tally.inputs} done, {len(tally.problems)} found")
    _say(
        f"{tally.inputs} inputs, {tally.in_drops} of them in drops, in {time.monotonic() - start:.0f} s"
    )
    _say(f"{time.process_time() - used:.0f} s of the processor")
    _say(f"{tally.understood} values understood, {tally.rejected} lines refused")
    for name, times in sorted(tally.accepted.items()):
        _say(f"  {times:6} read as {name}")
    _say("slowest:")
    for seconds, what in sorted(tally.slowest, reverse=True)[:10]:
        _say(f"  {seconds:6.2f} s  {what}")
    _say(f"{len(tally.problems)} found")
    return 1 if tally.problems else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _more(folders: list[str]) -> dict[str, bytes]:
    """Small files of the user's, by their path."""
    paths = [path for folder in folders for path in Path(folder).rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in paths if path.stat().st_size <= LARGEST}


def _drop(first: int, known: dict[str, bytes], tally: Tally) -> int:
    """Read a drop of damaged files; returns how many inputs that were."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            for fault in drop_faults(Path(folder), known, first, IN_DROP):
                tally.found(f"drop from input {first}: {fault}")
        except Exception as problem:
            tally.found(f"drop from input {first}: {problem!r}")
    tally.inputs += IN_DROP
    tally.in_drops += IN_DROP
    return IN_DROP


def _some(seed: int, name: str) -> list[Reader]:
    """The reader whose format was damaged, and a few others by chance."""
    own = BY_FORMAT.get(name.partition(".")[0])
    rng = random.Random(seed)  # noqa: S311 - which readers, no secret
    return [*([own] if own else []), *rng.choices(READERS, k=OTHERS)]


def _one(seed: int, spill: Path, known: dict[str, bytes], tally: Tally) -> None:
    is_junk = seed % JUNK_EVERY == 0
    name, data = ("junk", junk(seed // JUNK_EVERY)) if is_junk else damaged(seed, known)
    tally.inputs += 1
    file = held(data, spill)
    for reader in READERS if is_junk or seed % ALL_EVERY == 0 else _some(seed, name):
        label = f"input {seed} {reader.format_id} from {name}"
        start = time.process_time()
        try:
            if reader.score(file) <= 0:
                continue
            result = reader.read(file)
            seconds = time.process_time() - start
            found = [*faults(file, result), *inventions(file, result)]
        except Exception as problem:
            tally.found(f"{label}: {problem!r}")
            continue
        if seconds > 0.05:
            tally.slowest.append((seconds, label))
        if seconds > SLOW_S:
            found.append(f"took {seconds:.1f} s")
        if is_junk and any(reading.counter for reading in result.readings):
            found.append("readings in random content")
        for one in found:
            tally.found(f"{label}: {one}")
        tally.accepted[reader.format_id] += 1
        tally.understood += result.understood
        tally.rejected += len(result.rejected)


if __name__ == "__main__":
    sys.exit(main())
