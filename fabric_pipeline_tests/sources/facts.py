"""Invented measurements that the round-trip tests write in the grammar of a format and read back.

A fact is a value of one counter of one link at one time. How a format writes it is said by the tests of
that format, in words of their own; the readers' tables are not used for writing.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from fabric_pipeline.model.counters import BLANK_VALUES
from fabric_pipeline_tests.workflows.readout import Readout, read_files

BEGIN = datetime(2024, 2, 28, 23, 59, 58, tzinfo=UTC)  # a leap day lies ahead
LAST_EXACT = 2**53  # beyond it a double does not hold every whole number
EDGES = (0, 1, 15, 255, 65534, 65535, 65536, 2**31 - 1, 2**32, 10**12, 2**53 - 1)
Found = Counter[tuple[Any, ...]]
# Each example reads a drop of several files, a tenth of a second; `explore` looks longer.
EXAMPLES = 200 if os.environ.get("HYPOTHESIS_PROFILE") == "explore" else 6


@dataclass(frozen=True)
class Fact:
    """`word` picks one of the counters that the format at hand knows."""

    node: str
    gpu: int
    link: int
    word: int
    value: int
    time: datetime

    @property
    def uuid(self) -> str:
        """As invented as the rest: the same for the same card."""
        return f"GPU-{sum(map(ord, self.node)):08x}-0000-4000-8000-{self.gpu:012x}"


nodes = st.from_regex(r"(elm|fir|oak)(-rack[0-9]{1,2})?-[0-9]{2}", fullmatch=True)
values = st.sampled_from(EDGES) | st.integers(0, LAST_EXACT)
counts = values.filter(lambda value: float(value) not in BLANK_VALUES)
times = st.integers(0, 86_400_000).map(lambda ms: BEGIN + timedelta(milliseconds=ms))


def facts(words: int, *, most: int = 5, links: int = 18) -> st.SearchStrategy[list[Fact]]:
    """A few facts, no two of the same counter of the same link; `words` counters, links from 0."""
    one = st.builds(
        Fact,
        node=nodes,
        gpu=st.integers(0, 15),
        link=st.integers(0, links - 1),
        word=st.integers(0, words - 1),
        value=counts,
        time=times,
    )
    return st.lists(
        one, min_size=1, max_size=most, unique_by=lambda f: (f.node, f.gpu, f.link, f.word)
    )


def delivered(files: Mapping[str, str | bytes]) -> Readout:
    """The files read as one drop, through the door that all commands use."""
    with tempfile.TemporaryDirectory() as folder:
        readout = read_files(Path(folder), files)
    assert [report.problem for report in readout.read.files] == [""] * len(files)
    assert readout.balances
    return readout


def formats(readout: Readout) -> set[str]:
    """The format ids under which the files were read."""
    return {report.format for report in readout.read.files}


def readings(readout: Readout, file: str = "", *columns: str) -> Found:
    """Everything read from one file: node, interface, counter, value, time, and more columns."""
    names = ("node", "interface", "counter", "value", "ts", *columns)
    return Counter(
        tuple(row[name] for name in names) for row in readout.rows("raw_telemetry", file)
    )


def rounds(**more: Any) -> Callable[[Any], Any]:
    """How many drops a round-trip test reads."""
    return settings(max_examples=EXAMPLES, **more)
