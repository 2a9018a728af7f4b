"""Reader of injection and bisection bandwidth tests: what every rank can send, and pairs of ranks.

The output states bandwidths and no durations, so none are made up. Whether a rank stands out is judged
in `detect.sweeps`.
"""

from __future__ import annotations

import math
import re
from typing import ClassVar

from fabric_pipeline.model.records import CollectiveTiming, ReadResult, RejectedLine
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.collectives.line_tags import clipped, untagged
from fabric_pipeline.sources.collectives.run_names import run_name

_RANK = re.compile(
    r"\bRank\s{1,9}(\d{1,8})\s{1,9}(injection|bisection)\s{1,9}\(([^)]{1,80})\)\s{0,9}=\s{0,9}(\S{1,24})\s{1,20}([KMGT]i?B/s)"
)
_PARTNER = re.compile(r"\s?with partner (\d{1,8})")
_BELONGS = re.compile(r"\bRank\s{1,9}\d{1,8}\s{1,9}(?:injection|bisection)\b")
_SUMMARY = re.compile(
    r"^\s{0,9}\[?((?:Bisection measured|GLOBAL injection|Non-blocking %|Node aggregate injection).{0,60}?)\]?"
    r"\s{0,9}=\s{0,9}([\d.]{1,20})\s{0,9}(GB/s|%)"
)
_SETTING = re.compile(r"msg_size=(\d{1,18}) bytes")
_VALUE = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
_GBS = {"KB/s": 1e-6, "MB/s": 1e-3, "GB/s": 1.0, "TB/s": 1e3,
        "KiB/s": 1.024e-6, "MiB/s": 1.048576e-3, "GiB/s": 1.073741824, "TiB/s": 1099.511627776}  # fmt: skip


class InjectionReader:
    """Reads `injection_bandwidth_text` files; yields bandwidths per rank as timings."""

    format_id: ClassVar[str] = "injection_bandwidth_text"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"timings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="injection and bisection tests",
        versions="not stated",
        recognised_by="lines `Rank n injection (...) = 6.301 GB/s`",
        gives="bandwidth of each rank, or of each pair in bisection",
        traps=(
            "The output has no durations, so none are made up.",
            "Sums over ranks are facts; they name no rank.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """90 with two rank lines, 60 with one."""
        if file.is_binary or ("njection" not in file.head and "isection" not in file.head):
            return 0
        hits = len(_RANK.findall(file.head[:100_000]))
        return 90 if hits > 1 else 60 if hits or _SUMMARY.search(file.head) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """All rank lines; sums over ranks go to the facts."""
        out = ReadResult()
        run = run_name(file, "injection")
        size = _SETTING.search(file.text)
        summaries: dict[str, list[str]] = {}
        for line_number, line in enumerate(file.lines, 1):
            text = untagged(line)
            found, summary = _RANK.search(text), _SUMMARY.search(text)
            if found and _VALUE.fullmatch(found.group(4)):
                _add(out, line_number, run, found, int(size.group(1)) if size else None)
            elif _BELONGS.search(text):
                rule = "a rank line needs a bandwidth and its unit"
                out.rejected.append(RejectedLine(line_number, clipped(text.strip()), rule))
            elif summary:
                words = " ".join(summary.group(1).split())
                summaries.setdefault(words, []).append(f"{summary.group(2)} {summary.group(3)}")
        values = [t.busbw_gbs for t in out.timings if t.busbw_gbs is not None]
        out.facts = {"ranks": len({t.rank for t in out.timings}), "sums": summaries}
        if values:
            out.facts |= {"lowest_gbs": min(values), "highest_gbs": max(values)}
        return out


def _add(out: ReadResult, line: int, run: str, found: re.Match[str], size: int | None) -> None:
    rank, op, how, value, unit = found.groups()
    words = " ".join(how.split())
    partner = _PARTNER.search(words)
    out.timings.append(
        CollectiveTiming(
            line,
            op,
            math.nan,
            run=run,
            communicator=f"{rank},{partner.group(1)}" if partner else "world",
            seq=len(out.timings),
            bytes=size,
            rank=int(rank),
            busbw_gbs=float(value) * _GBS[unit],
            variant=_PARTNER.sub("", words),
            unit_kind="bandwidth",
        )
    )
