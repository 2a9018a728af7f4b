"""Our own counters table reads back equal in all its forms: long and wide, CSV, JSON lines and Parquet."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from fabric_pipeline.store.duck import literal, session
from fabric_pipeline_tests.sources.facts import Fact, delivered, facts, formats, readings, rounds

COUNTERS = ("replay", "crc_single_bit", "link_downed", "pcie_replay")
PLACE = ("ts", "node", "gpu", "link_type", "link", "lane")
Row = tuple[Any, ...]
zones = st.integers(-12 * 4, 14 * 4).map(lambda n: timezone(timedelta(minutes=15 * n)))


def _place(fact: Fact, zone: timezone) -> Row:
    stamp = fact.time.astimezone(zone).isoformat(timespec="milliseconds")
    if COUNTERS[fact.word] == "pcie_replay":
        return stamp, fact.node, fact.gpu, "pcie", f"gpu{fact.gpu}/pcie", None
    lane = fact.link if fact.value % 2 else None
    return stamp, fact.node, fact.gpu, "nvlink", f"gpu{fact.gpu}/nvlink-{fact.link}", lane


def _csv(columns: Sequence[str], rows: Sequence[Row]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([columns, *(["" if c is None else c for c in row] for row in rows)])
    return text.getvalue().encode()


def _jsonl(columns: Sequence[str], rows: Sequence[Row]) -> bytes:
    records = (dict(zip(columns, row, strict=True)) for row in rows)
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def _parquet(columns: Sequence[str], rows: Sequence[Row]) -> bytes:
    """Numbers in columns of numbers, everything else as text."""
    whole = ("gpu", "lane", "value", *COUNTERS)
    ddl = ", ".join(f"{name} {'bigint' if name in whole else 'varchar'}" for name in columns)
    with tempfile.TemporaryDirectory() as folder:
        path, con = Path(folder) / "made.parquet", session()
        con.execute(f"create temp table made ({ddl})")
        con.executemany(f"insert into made values ({', '.join('?' for _ in columns)})", rows)
        con.execute(f"copy made to {literal(str(path))} (format parquet)")
        con.close()
        return path.read_bytes()


@rounds(suppress_health_check=[HealthCheck.too_slow])
@given(facts(len(COUNTERS), most=8), zones)
def test_counters_in_every_form(found: list[Fact], zone: timezone) -> None:
    long = [(*_place(f, zone), COUNTERS[f.word], f.value) for f in found]
    wide = [
        (*_place(f, zone), *(f.value if n == f.word else None for n in range(len(COUNTERS))))
        for f in found
    ]
    shapes = {"long": ((*PLACE, "counter", "value"), long), "wide": ((*PLACE, *COUNTERS), wide)}
    writers = {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet}
    files = {
        f"{shape}.{kind}": write(columns, rows)
        for shape, (columns, rows) in shapes.items()
        for kind, write in writers.items()
    }
    readout = delivered(files)
    assert formats(readout) == {"fabric_counters"}
    expected = Counter(
        (f.node, link, COUNTERS[f.word], float(f.value), f.time, lane, kind, None)
        for f in found
        for _, _, _, kind, link, lane in [_place(f, zone)]
    )
    for name in files:
        assert readings(readout, name, "lane", "link_type", "refused_by") == expected, name
