"""Damaged files delivered as one drop, in a folder or packed, and what must hold of the tables.

This is the way that bulk formats take, whose readings are made in SQL and not by `reader.read`. The
damage itself is that of `damage`, so that every drop can be made again from its number.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from fabric_pipeline.model.records import Reading, ReadResult
from fabric_pipeline_tests.sources.archives.packing import PACKERS
from fabric_pipeline_tests.sources.damage import damaged
from fabric_pipeline_tests.sources.held_files import held
from fabric_pipeline_tests.sources.traced import inventions
from fabric_pipeline_tests.workflows.readout import Readout, Row, read_files


def drop_faults(folder: Path, known: dict[str, bytes], first: int, count: int) -> Iterator[str]:
    """Ingest the inputs `first`, `first + 1` ... as one drop; each entry says what is wrong with it."""
    files = {f"{seed:07}.txt": damaged(seed, known)[1] for seed in range(first, first + count)}
    rng = random.Random(first)  # noqa: S311 - repeatable damage, no secret
    kind = rng.choice(("", "", *PACKERS))
    delivered = {f"all.{kind}": _hit(rng, PACKERS[kind](files))} if kind else files
    readout = read_files(folder, delivered, is_checked=True)
    yield from (f"breaks {one}" for one in readout.violations)
    yield from (() if readout.balances else ("readings are lost between the tables",))
    yield from readout.read.problems
    for report in readout.read.files:
        if "report this fault" in report.problem:
            yield f"{report.name}: {report.problem}"
    yield from _invented(folder, readout, files)


def _hit(rng: random.Random, packed: bytes) -> bytes:
    """Half of the archives whole, the others cut or with bits turned over."""
    if rng.random() < 0.5:
        return packed
    if rng.random() < 0.5:
        return packed[: rng.randrange(len(packed))]
    hit = bytearray(packed)
    for _ in range(rng.choice((1, 5, 50))):
        hit[rng.randrange(len(hit))] ^= 1 << rng.randrange(8)
    return bytes(hit)


def _invented(folder: Path, readout: Readout, files: dict[str, bytes]) -> Iterator[str]:
    """Readings of the tables that do not stand in the file they name (in whole files only)."""
    rows: dict[str, list[Row]] = {}
    for row in readout.rows("raw_telemetry"):
        rows.setdefault(str(row["file"]), []).append(row)
    for name, found in rows.items():
        data = files.get(name.rpartition("!")[2])
        if data is None or "!" in name:
            continue
        readings = [_reading(row) for row in found if row["counter_text"]]
        result = ReadResult(readings=readings)
        yield from (f"{name}: {one}" for one in inventions(held(data, folder / "table"), result))


def _reading(row: Row) -> Reading:
    reading = Reading(row["line"], row["counter_text"], row["value_text"] or "")
    reading.counter, reading.value = row["counter"] or "", row["value"]
    reading.kind, reading.state = row["kind"] or "", row["state"] or ""
    return reading
