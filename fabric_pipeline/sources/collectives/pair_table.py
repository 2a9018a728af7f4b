"""Reader of pairwise bandwidth tables that people keep by hand: two nodes, a number, a remark.

One row is one measurement between two nodes and belongs to both of them; which of the two is slow is
decided in `detect.sweeps`. The table has no durations, so none are made up.
"""

from __future__ import annotations

import math
import re
from typing import ClassVar

from fabric_pipeline.model.records import (
    CollectiveTiming,
    ReadResult,
    RejectedLine,
    Run,
    UnknownFact,
)
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.collectives.line_tags import clipped, plain
from fabric_pipeline.sources.collectives.run_names import run_name

PAIR_OP = "pair_bandwidth"

_NAME = r"([A-Za-z][\w.]{0,120}(?:-[\w.]{1,60}){0,6})"
_PAIR = re.compile(
    rf"^\s{{0,20}}{_NAME}\s{{0,20}}(,|;|<-{{1,2}}>|-{{1,2}}>|\s-\s|\sto\s|\s)\s{{0,20}}{_NAME}"
    r"(?:\s{0,9}[,;:=]\s{0,20}|\s{1,40})(\S{1,24})\s{0,20}(GB/s|GBps|Gb/s|Gbps|Gbit/s|GiB/s)?"
    r"[,;\s]{0,20}(?:#(.{0,300}))?$"
)
_VALUE = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
_DIGIT = re.compile(r"\d")
_GBS = {"": 1.0, "GB/s": 1.0, "GBps": 1.0, "GiB/s": 1.073741824}
_BITS = 0.125
_NOT_MEASURED = frozenset(("n/a", "na", "-", "nan", "timeout", "fail", "failed", "none", "?"))


class PairTableReader:
    """Reads `nccl_pair_table` files; yields timings with a bandwidth and no duration."""

    format_id: ClassVar[str] = "nccl_pair_table"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"timings", "runs"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="a table of pairwise bandwidth, kept by hand",
        versions="not stated",
        recognised_by="mostly rows of two node names and a bandwidth",
        gives="one bandwidth a pair of nodes with its remark",
        traps=(
            "One slow pair does not tell which of its two nodes is slow.",
            "The table has no durations, so none are made up.",
            "`timeout` or N/A in place of a number is unknown, not zero.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """80 when most lines are pairs joined by a comma or an arrow, 45 when only blanks join them."""
        if file.is_binary:
            return 0
        lines = [text for text in map(plain, file.head.split("\n")[:2000]) if _is_content(text)]
        pairs = [found for found in map(_pair, lines) if found]
        if len(pairs) < 2 or len(pairs) < 0.6 * len(lines):
            return 0
        joined = sum(1 for found in pairs if found.group(2).strip())
        return 80 if joined == len(pairs) else 45

    def read(self, file: SourceFile) -> ReadResult:
        """Every pair of the table; `communicator` is `a,b`, `variant` the remark."""
        out = ReadResult()
        run = run_name(file, "pair_table")
        nodes: dict[str, None] = {}
        for line_number, line in enumerate(file.lines, 1):
            text = plain(line)
            if not _is_content(text):
                continue
            found = _pair(text)
            if found is None:
                rule = "a row of the pair table is two node names and a bandwidth"
                out.rejected.append(RejectedLine(line_number, clipped(text.strip()), rule))
                continue
            nodes.update(dict.fromkeys((found.group(1), found.group(3))))
            _add(out, line_number, run, found)
        out.runs.append(Run(run, list(nodes)))
        out.facts = {
            "pairs": len(out.timings),
            "nodes": list(nodes),
            "busbw_gbs": {t.communicator: t.busbw_gbs for t in out.timings[:500]},
        }
        return out


def _is_content(text: str) -> bool:
    stripped = text.strip()
    return bool(stripped) and not stripped.startswith("#")


def _pair(text: str) -> re.Match[str] | None:
    """The parts of a row; a name has a digit unless a unit says that a bandwidth is meant."""
    found = _PAIR.match(text.rstrip())
    if found is None:
        return None
    left, joint, right, value, unit, _ = found.groups()
    named = _DIGIT.search(left) and _DIGIT.search(right)
    known = _VALUE.fullmatch(value) or value.lower() in _NOT_MEASURED
    return found if known and (named or unit or joint.strip()) and left != right else None


def _add(out: ReadResult, line_number: int, run: str, found: re.Match[str]) -> None:
    left, _, right, value, unit, remark = found.groups("")
    pair = f"{left},{right}"
    if not _VALUE.fullmatch(value):
        reason = f"the table gives no number for this pair ({value})"
        out.unknown.append(UnknownFact(left, "", f"bandwidth between {left} and {right}", reason))
        return
    out.timings.append(
        CollectiveTiming(
            line_number,
            PAIR_OP,
            math.nan,
            run=run,
            communicator=pair,
            seq=len(out.timings),
            busbw_gbs=float(value) * _GBS.get(unit, _BITS),
            variant=remark.strip(),
            unit_kind="bandwidth",
        )
    )
