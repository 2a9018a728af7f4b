"""Recogniser of `counters.{csv,jsonl,parquet}`: says which form a file has and where its columns are.

The rows themselves are read set-wise with the SQL of `counters_sql`; a file of this kind may hold
hundreds of millions of readings, so no Python object is made per row here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.normalized.tables import header_of, is_jsonl

# Columns that say where and when; everything else in a wide file is a counter.
IDENTITY = ("ts", "node", "socket", "gpu", "gpu_uuid", "link_type", "link", "lane")
STATE_COLUMNS = ("state", "width", "speed_gbps")
LINK_TYPES = ("nvlink", "pcie", "infiniband", "roce", "ethernet")
_REQUIRED = frozenset({"node", "link"})
PARQUET_MAGIC = b"PAR1"


@dataclass(frozen=True, slots=True)
class CounterLayout:
    """How one counters file is laid out.

    `container`: csv, jsonl or parquet. `is_long`: one reading a row (`counter`, `value`), else one
    column per counter. `columns`: lower-case names in file order ([] for JSONL, keyed by name).
    """

    container: str
    is_long: bool
    columns: tuple[str, ...]


class CountersReader:
    """Recognises normalized counters; `layout` tells the ingest step how to read them."""

    format_id: ClassVar[str] = "fabric_counters"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"bulk"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="the normalized form of a site",
        versions="the first version",
        recognised_by=(
            "a header or first object with node, link and a counter column (or counter and "
            "value); Parquet with link_type in its footer"
        ),
        gives=(
            "readings of any canonical counter, in a long or a wide table; link states, widths "
            "and speeds; the rows are read set-wise, so that size costs no memory"
        ),
        traps=(
            "An empty cell was not measured; it is never zero.",
            "A counter that is not in the catalogue is kept and not judged.",
            (
                "A value at the ceiling of its counter is saturated; a time in the future is "
                "marked as clock skew."
            ),
            "A negative, infinite or oversized number is refused with its line.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure when node, link and a counter column stand in the header."""
        if file.starts_with(PARQUET_MAGIC):
            # Parquet column names stand in the footer; anything without them fails when it is read.
            return 60 if file.tail_has(b"link_type") else 0
        names = set(header_of(file))
        if not names >= _REQUIRED or "duration_us" in names:
            return 0
        wide = bool(names & (COUNTERS.keys() | set(STATE_COLUMNS)))
        return 98 if wide or {"counter", "value"} <= names else 0

    def layout(self, file: SourceFile) -> CounterLayout:
        """The layout of a file that `score` accepted."""
        if file.starts_with(PARQUET_MAGIC):
            return CounterLayout("parquet", is_long=False, columns=())
        names = tuple(header_of(file))
        container = "jsonl" if is_jsonl(file) else "csv"
        return CounterLayout(container, is_long={"counter", "value"} <= set(names), columns=names)

    def read(self, file: SourceFile) -> ReadResult:  # noqa: ARG002 - the rows come through `layout`
        """Nothing row by row; see the module docstring."""
        return ReadResult()
