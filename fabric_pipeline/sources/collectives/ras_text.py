"""Reader of the text output of the NCCL RAS client, whole reports and excerpts that begin anywhere.

Understands the communicator table, the sections on incomplete, dead, mismatching and failed ranks and
the lines of the event monitor. A mismatch is passed on with its lag; judging it is done elsewhere.
"""

from __future__ import annotations

import re
from typing import ClassVar

from fabric_pipeline.model.records import FabricEvent, ReadResult, RejectedLine
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.collectives.line_tags import clipped, plain
from fabric_pipeline.sources.collectives.ras_events import (
    PASSED_ON,
    Launched,
    Who,
    behind_events,
    lifecycle_event,
    local_time,
    who_event,
)

_TABLE = re.compile(r"Group\s{1,20}Comms\s{1,20}Nodes\s{1,20}Ranks")
_ROW = re.compile(
    r"^\s{0,20}(\d{1,9})((?:\s{1,20}[\d/-]{1,20}){1,6})\s{1,20}([A-Z][A-Z/]{2,30})\s{1,20}([A-Z][A-Z,/]{1,60})\s*$"
)
_COMMUNICATOR = re.compile(r"^\s{0,8}#(\d{1,6}-\d{1,6}) \(([0-9a-fx]{4,20})\) ([A-Z]{4,20})")
_SECTION = re.compile(r"^\s{0,4}(INCOMPLETE|DEAD|TIMEOUT)\s*$")
_PROCESS = re.compile(
    r"Process (\d{1,9}) on node (\S{1,253}) managing GPUs? ([\d,-]{1,200}(?: \(NVML [\d,-]{1,200}\))?)"
)
_PLACE = re.compile(
    r"-- GPUs? ([\d,-]{1,200}(?: \(NVML [\d,-]{1,200}\))?) managed by process (\d{1,9}) on node (\S{1,253})"
)
_RANK = re.compile(r"^\s{0,8}Rank (\d{1,8})\b(.{0,400})$")
_MISSING_RANKS = re.compile(r"The missing ranks?: ([\d, -]{1,400})")
_GROUP_LAUNCHED = re.compile(r"(\d{1,8}) ranks have launched up to operation (\d{1,18})")
_GROUP_NONE = re.compile(r"(\d{1,8}) ranks have not launched any operations")
_RANK_LAUNCHED = re.compile(r"has launched up to operation (\d{1,18})")
_DIFFERENT = re.compile(r"ranks have different (\w{1,30}) operation counts|different (status)")
_REPORTED = re.compile(r"(?:ranks|Rank \d{1,8}) reported ([A-Za-z][\w ]{2,60}?)(?: --|\s*$)")
_STATUS = re.compile(r"(?:ranks have|has) status ([A-Z]{3,20})")
_LIFECYCLE = re.compile(r"^\s{0,8}(?:\[([^\]]{10,40})\]\s{0,4})?(PEER_[A-Z_]{3,30}):\s?(.{0,600})$")
_HEADLINES = (
    "RAS network",
    "Communicators...",
    "Job summary",
    "Missing communicator data",
    "considered dead",
)


class RasTextReader:
    """Reads `nccl_ras_text` files; yields events only."""

    format_id: ClassVar[str] = "nccl_ras_text"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"events"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="NCCL RAS client, text",
        versions="NCCL 2.26.2 in one, others from the manual",
        recognised_by=(
            "the communicator table, its sections, or PEER_ lines of the monitor; excerpts may "
            "begin anywhere"
        ),
        gives="events of dead, missing, failing and lagging ranks with host and GPU",
        traps=(
            (
                "A rank that is behind in its count is not yet at fault; the lag is passed on for"
                " judging."
            ),
            "`remote process error` only passes on what happened to another process.",
            "RAS names processes and ranks, never links.",
            "Times are local without a zone.",
            "A rank list without the statement above it is refused.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """92 for the table or a communicator section, 85 for process and monitor lines."""
        if file.is_binary or file.head.lstrip().startswith("{"):
            return 0
        best = 0
        for line in file.head.split("\n")[:5000]:
            text = plain(line)
            if _TABLE.search(text) or _COMMUNICATOR.match(text):
                return 92
            if _LIFECYCLE.match(text) or _GROUP_LAUNCHED.search(text) or _PROCESS.search(text):
                best = 85
            elif text.startswith(_HEADLINES) and "..." in text:
                best = max(best, 60)
        return best

    def read(self, file: SourceFile) -> ReadResult:
        """All events of the report."""
        reading = _Reading(file)
        for line_number, line in enumerate(file.lines, 1):
            reading.line(line_number, plain(line))
        reading.close_block()
        return reading.out


class _Reading:
    """State of one report: the section and the communicator that the lines belong to."""

    def __init__(self, file: SourceFile) -> None:
        self.hints = file.hints
        self.out = ReadResult()
        self.section = ""
        self.communicator = "of unstated hash"
        self.op = ""
        self.error = ""
        self.group_value: int | None = None
        self.counts: dict[int, int] = {}
        self.launched: list[Launched] = []
        self.table: list[dict[str, str]] = []

    def line(self, number: int, text: str) -> None:
        if not text.strip():
            return
        steps = (self._lifecycle, self._heading, self._table_row, self._process, self._counts)
        if not any(step(number, text) for step in steps):
            self._rank(number, text)

    def _lifecycle(self, number: int, text: str) -> bool:
        found = _LIFECYCLE.match(text)
        if not found:
            return False
        stamp, word, rest = found.groups("")
        process = _PROCESS.search(rest)
        who = _process_who(process) if process else Who()
        details = (rest[process.end() :] if process else rest).strip()
        event = lifecycle_event(number, word, who, clipped(details), text)
        event.time_text, event.time = stamp, local_time(stamp, self.hints)
        self.out.events.append(event)
        return True

    def _heading(self, number: int, text: str) -> bool:
        del number
        communicator, section = _COMMUNICATOR.match(text), _SECTION.match(text)
        different = _DIFFERENT.search(text)
        if communicator:
            self.close_block()
            self.communicator = f"#{communicator.group(1)} ({communicator.group(2)})"
            self.section = communicator.group(3)
        elif section:
            self.close_block()
            self.section = section.group(1)
        elif different:
            self.close_block()
            self.op = different.group(1) or ""
            self.section = "MISMATCH" if self.op else "STATUS"
        return bool(communicator or section or different)

    def _table_row(self, number: int, text: str) -> bool:
        found = _ROW.match(text)
        if not found:
            return False
        group, numbers, status, errors = found.groups()
        words = " ".join(numbers.split())
        reason = f"RAS group {group}: status {status}, errors {errors}"
        event = FabricEvent(number, "ras_status", clipped(text.strip()), reason=reason)
        event.severity = "info" if errors == "OK" else "watch"
        event.details = {"group": group, "figures": words, "status": status, "errors": errors}
        self.out.events.append(event)
        self.table.append({"group": group, "status": status, "errors": errors})
        self.out.facts["communicator_groups"] = self.table
        return True

    def _process(self, number: int, text: str) -> bool:
        found = _PROCESS.search(text)
        if not found:
            return self._missing_list(number, text)
        who = _process_who(found)
        dead = self.section == "DEAD"
        kind = "ras_peer_dead" if dead else "ras_rank_missing"
        said = "is considered dead" if dead else "gave RAS no data about its communicators"
        self.out.events.append(who_event(number, kind, who, f"{who.words} {said}", text.strip()))
        return True

    def _missing_list(self, number: int, text: str) -> bool:
        found = _MISSING_RANKS.search(text)
        if not found:
            return False
        for part in re.findall(r"\d{1,8}", found.group(1)):
            who = Who(rank=int(part))
            reason = f"{who.words} of communicator {self.communicator} gave RAS no data"
            self.out.events.append(who_event(number, "ras_rank_missing", who, reason, text.strip()))
        return True

    def _counts(self, number: int, text: str) -> bool:
        del number
        launched, none = _GROUP_LAUNCHED.search(text), _GROUP_NONE.search(text)
        reported = _REPORTED.search(text) if " ranks reported " in text else None
        if launched:
            self.group_value = int(launched.group(2))
            self._count(self.group_value, int(launched.group(1)))
        elif none:
            self.group_value = 0
            self._count(0, int(none.group(1)))
        elif reported:
            self.error = reported.group(1)
        return bool(launched or none or reported)

    def _count(self, value: int, ranks: int) -> None:
        self.counts[value] = self.counts.get(value, 0) + ranks

    def _rank(self, number: int, text: str) -> None:
        found = _RANK.match(text)
        if not found:
            return
        rank, rest = int(found.group(1)), found.group(2)
        who = _place_who(_PLACE.search(rest), rank)
        single, reported = _RANK_LAUNCHED.search(rest), _REPORTED.search(text)
        status = _STATUS.search(rest)
        if single or "has not launched any operations" in rest:
            value = int(single.group(1)) if single else 0
            self._count(value, 1)
            self.launched.append(Launched(who, value, number))
        elif reported or self.section == "ERROR":
            self._error(number, who, reported.group(1) if reported else self.error, text)
        elif self.section == "MISMATCH" and self.group_value is not None:
            self.launched.append(Launched(who, self.group_value, number))
        elif self.section == "INCOMPLETE":
            reason = f"{who.words} of communicator {self.communicator} gave RAS no data"
            self.out.events.append(who_event(number, "ras_rank_missing", who, reason, text.strip()))
        elif status or self.section == "STATUS":
            said = f"has status {status.group(1)}" if status else "has another status than the rest"
            self._status(number, who, said, text)
        elif " -- " in rest:
            rule = "a rank line needs the statement above it that it belongs to"
            self.out.rejected.append(RejectedLine(number, clipped(text.strip()), rule))

    def _status(self, number: int, who: Who, said: str, text: str) -> None:
        event = who_event(number, "ras_rank_status", who, f"{who.words} {said}", text.strip())
        event.role, event.severity = "context", "watch"
        self.out.events.append(event)

    def _error(self, number: int, who: Who, error: str, text: str) -> None:
        reason = f"{who.words} reported {error or 'an error'}"
        event = who_event(number, "ras_rank_error", who, reason, text.strip())
        if error.lower() in PASSED_ON:
            event.role = "symptom"
        event.details["error"] = error
        self.out.events.append(event)

    def close_block(self) -> None:
        """Turn the operation counts of one communicator and operation into events."""
        if self.counts:
            top, total = max(self.counts), sum(self.counts.values())
            ranks = [launched for launched in self.launched if launched.operations < top]
            self.out.events += behind_events(
                self.communicator, self.op or "collective", ranks, top, total
            )
            self.out.facts.setdefault("operation_counts", []).append(
                {"communicator": self.communicator, "op": self.op, "ranks_at": dict(self.counts)}
            )
        elif self.launched:
            rule = "a rank list needs the line that says how far its ranks are"
            self.out.rejected.append(RejectedLine(self.launched[0].line, "", rule))
        self.counts, self.launched, self.group_value, self.error = {}, [], None, ""


def _process_who(found: re.Match[str]) -> Who:
    pid, node, gpu = found.groups()
    return Who(node, int(pid), _gpus(gpu), gpu)


def _place_who(found: re.Match[str] | None, rank: int) -> Who:
    if found is None:
        return Who(rank=rank)
    gpu, pid, node = found.groups()
    return Who(node, int(pid), _gpus(gpu), gpu, rank)


def _gpus(text: str) -> tuple[int, ...]:
    """GPU numbers; the NVML ones where both are given, since only those are the node's own count."""
    own = text.partition("(NVML")[2] or text
    return tuple(int(part) for part in re.findall(r"\d{1,3}", own)[:64])
