"""The work of one shard: its readings as Parquet in, its part of link_counters and of the spike stage's tables out.

A pure function of the item: it reads what the item names, computes in an engine of its process, and leaves
its result under a key made of all that it follows from. Which shards there are, and what becomes of their
results, is said in `sharded_counters`.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fabric_pipeline.detect.counting.count import count_links
from fabric_pipeline.detect.spikes.series import summarise
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.schemas.validation import Violation, validate
from fabric_pipeline.store.duck import scalar, session
from fabric_pipeline.store.lake import attach_file, write_file
from fabric_pipeline.store.shard_files import Manifest, Place, deliver, fetched, find
from fabric_pipeline.workflows.shards import WORKPLACE

_FIGURES = {
    "read": "select count(*) from raw_telemetry",
    "quarantined": "select count(*) from raw_telemetry where refused_by is not null",
    "accepted": "select count(*) from link_counters",
    "resets": "select count(*) from link_counters where quality = 'reset'",
    "series": "select count(*) from error_series",
}


@dataclass(frozen=True, slots=True)
class CountItem:
    """One shard to count.

    `address` and `sha256` are those of its readings, `machines` tells files without a host apart
    (`model.captures.machines`), `key` stands for everything the result follows from.
    """

    place: Place
    address: str
    sha256: str
    machines: tuple[tuple[str, str], ...]
    key: str


@dataclass(frozen=True, slots=True)
class Counted:
    """What became of a shard: where its result lies, or the rules that its rows break."""

    manifest: Manifest | None
    violations: tuple[Violation, ...] = ()
    was_there: bool = False


def count_shard(item: CountItem) -> Counted:
    """Count one shard; a result that lies there already is not made again.

    Files of the result: `part`, the rows of link_counters; `series` and `increments`, the tables of
    `detect.spikes.series`. What is said of it: the figures of `_FIGURES`.
    """
    if there := find(item.place, item.key):
        return Counted(there, was_there=True)
    with (
        fetched(item.place, [item.address], [item.sha256]) as paths,
        _workplace(item.place) as folder,
    ):
        with closing(session()) as connection:
            attach_file(connection, paths, "raw_telemetry")
            files, violations = _made(connection, dict(item.machines), Path(folder))
            if violations:
                return Counted(None, tuple(violations))
            said = {name: int(scalar(connection, sql) or 0) for name, sql in _FIGURES.items()}
        return Counted(deliver(item.place, item.key, files, said))


def _made(
    connection: Any, machines: dict[str, str], folder: Path
) -> tuple[dict[str, Path], list[Violation]]:
    table = TABLES["link_counters"]
    files = {name: folder / f"{name}.parquet" for name in ("part", "series", "increments")}

    def write(rows: str) -> int:
        return write_file(connection, table.coded_sql(f"({rows})"), files["part"])

    count_links(connection, write, machines)
    attach_file(connection, files["part"], table.name)
    if violations := validate(connection, table, table.name):
        return {}, violations
    summarise(connection)
    write_file(connection, "select * from error_series order by series", files["series"])
    order = "series, sample"
    write_file(connection, f"select * from error_increments order by {order}", files["increments"])
    return files, []


def _workplace(place: Place) -> TemporaryDirectory[str]:
    """A folder for files that are being made, where the result can be linked from if it stays on this disk."""
    if place.shared:
        Path(place.folder).mkdir(parents=True, exist_ok=True)
    return TemporaryDirectory(prefix=WORKPLACE, dir=place.folder if place.shared else None)


def violations_of(counted: Iterable[Counted]) -> list[Violation]:
    """The broken rules of all shards, each rule of a column once."""
    found = {(one.column, one.rule): one for shard in counted for one in shard.violations}
    return [found[key] for key in sorted(found)]
