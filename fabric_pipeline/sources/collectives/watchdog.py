"""Reader of PyTorch's NCCL watchdog lines, and the event that other log readers make of such a line.

The rank that reports a time-out waited for somebody; the line names a collective, not a culprit.
"""

from __future__ import annotations

import re
from typing import ClassVar

from fabric_pipeline.model.records import FabricEvent, ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.collectives.line_tags import clipped, plain
from fabric_pipeline.sources.collectives.op_names import op_name

_TIMEOUT = re.compile(
    r"Watchdog caught collective operation timeout: WorkNCCL\((.{0,500}?)\)(?: ran|$)"
)
_HANG = re.compile(r"Watchdog got stuck for \d{1,9}|heartbeat monitor|Heartbeat monitor timed out")
_RANK = re.compile(
    r"\[(?:PG [^\]]{0,120} )?Rank (\d{1,8})\]|\[rank(\d{1,8})\]|global rank (\d{1,8})"
)
_FIELD = re.compile(r"(\w{1,30})(?:\(ms\))?=([\w.]{1,60})")
_RAN = re.compile(r"ran for (\d{1,12}) milliseconds")
_LAST = re.compile(r"last (enqueued|started|completed)(?: NCCL)? work: (-?\d{1,12})")


class WatchdogReader:
    """Reads `torch_watchdog_log` files; yields events only."""

    format_id: ClassVar[str] = "torch_watchdog_log"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"events"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="PyTorch's NCCL watchdog",
        versions="beside NCCL 2.26.2",
        recognised_by="`Watchdog caught collective operation timeout: WorkNCCL(...)`",
        gives="one event a time-out: rank, operation, sequence and limits",
        traps=(
            (
                "The rank that reports a time-out waited for somebody: it is a symptom and no "
                "culprit."
            ),
            "No link is named.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """70 with a watchdog line: below the readers of logs that merely contain one."""
        if file.is_binary or "atchdog" not in file.head:
            return 0
        return 70 if any(_is_watchdog(line) for line in file.head.split("\n")[:20000]) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """One event per time-out line."""
        out = ReadResult()
        for number, line in enumerate(file.lines, 1):
            event = timeout_event(number, plain(line))
            if event:
                out.events.append(event)
        out.facts = {
            "ranks_that_reported": sorted(
                {e.details["rank"] for e in out.events if e.details.get("rank") is not None}
            )
        }
        return out


def timeout_event(line: int, text: str) -> FabricEvent | None:
    """The event of one watchdog line, role `symptom`; None for any other line."""
    if "atchdog" not in text and "eartbeat" not in text:
        return None
    timeout, hang = _TIMEOUT.search(text), _HANG.search(text)
    if not timeout and not hang:
        return None
    named = _RANK.search(text)
    rank = next((int(part) for part in named.groups() if part), None) if named else None
    kind = "collective_timeout" if timeout else "watchdog_stuck"
    event = FabricEvent(line, kind, clipped(text.strip(), 500), role="symptom", severity="warning")
    event.details = {"rank": rank}
    if timeout:
        fields = dict(_FIELD.findall(timeout.group(1)))
        event.details |= {
            "seq": fields.get("SeqNum"),
            "op": op_name(fields.get("OpType", "")),
            "limit_ms": fields.get("Timeout"),
        }
        ran = _RAN.search(text)
        event.details["ran_ms"] = int(ran.group(1)) if ran else None
    event.details |= {f"last_{key}": int(number) for key, number in _LAST.findall(text)}
    who = "a rank" if rank is None else f"rank {rank}"
    event.reason = f"{who} waited for a collective until its watchdog gave up"
    return event


def _is_watchdog(line: str) -> bool:
    return timeout_event(0, plain(line)) is not None
