"""Reader of the JSON output of the NCCL RAS client: a status report or events of its monitor.

Turns missing ranks, errors and differing operation counts into events. Which of them accuse anybody is
decided in `detect.sweeps`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from fabric_pipeline.model.records import FabricEvent, ReadResult, RejectedLine, UnknownFact
from fabric_pipeline.sources.base import FormatNote, Hints, SourceFile
from fabric_pipeline.sources.collectives.json_records import (
    as_dict,
    as_int,
    as_list,
    as_text,
    records,
)
from fabric_pipeline.sources.collectives.ras_events import (
    PASSED_ON,
    Launched,
    Who,
    behind_events,
    lifecycle_event,
    local_time,
    who_event,
)

# Values of ncclResult_t (nccl.h); 0 is success and 7 means still in progress.
_RESULTS = {
    1: "Unhandled CUDA error",
    2: "System error",
    3: "Internal error",
    4: "Invalid argument",
    5: "Invalid usage",
    6: "Remote process error",
}


class RasJsonReader:
    """Reads `nccl_ras_json` files; yields events only."""

    format_id: ClassVar[str] = "nccl_ras_json"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"events"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="NCCL RAS client, JSON",
        versions="NCCL 2.29.1",
        recognised_by="communicators with ranks and missing ranks, or monitor events",
        gives="events of dead, missing, failing and lagging ranks with host and GPU",
        traps=(
            (
                "A rank that is behind in its count is not yet at fault; the lag is passed on for"
                " judging."
            ),
            "`remote process error` only passes on what happened to another process.",
            "RAS names processes and ranks, never links.",
            "Times are local without a zone.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """95 for a status report, 92 for events of the RAS monitor."""
        head = file.head
        if file.is_binary or "{" not in head[:4000]:
            return 0
        if '"communicators"' in head and ('"missing_ranks' in head or '"ranks_count"' in head):
            return 95
        return 92 if '"event"' in head and '"PEER_' in head else 0

    def read(self, file: SourceFile) -> ReadResult:
        """All reports and events of the file."""
        out = ReadResult()
        for found in records(file.text):
            if found.value is None:
                rule = "the report is no complete JSON object"
                out.rejected.append(RejectedLine(found.line, found.text, rule))
            elif "communicators" in found.value:
                _report(out, found.value, found.line, file.hints)
            elif "event" in found.value:
                out.events.append(_lifecycle(found.value, found.line, file.hints))
            else:
                rule = "a RAS record needs communicators or an event"
                out.rejected.append(RejectedLine(found.line, str(found.value)[:200], rule))
        return out


def _lifecycle(value: dict[str, Any], line: int, hints: Hints) -> FabricEvent:
    peer = as_dict(value.get("peer"))
    devices = as_list(peer.get("nvml_devs")) or as_list(peer.get("cuda_devs"))
    gpus = tuple(gpu for gpu in map(as_int, devices[:64]) if gpu is not None)
    node = as_text(peer.get("host")) or as_text(peer.get("addr")).partition("<")[0]
    who = Who(node, as_int(peer.get("pid")), gpus)
    word, stamp = as_text(value.get("event")), as_text(value.get("timestamp"))
    event = lifecycle_event(line, word, who, as_text(value.get("details")), f"{stamp} {word}")
    event.time_text, event.time = stamp, local_time(stamp, hints)
    return event


def _report(out: ReadResult, value: dict[str, Any], line: int, hints: Hints) -> None:
    stamp = as_text(value.get("timestamp"))
    first = len(out.events)
    for item in as_list(value.get("communicators")):
        _communicator(out, as_dict(item), line)
    for event in out.events[first:]:
        event.time_text, event.time = stamp, local_time(stamp, hints)
    timeouts = as_int(as_dict(value.get("ras")).get("timeouts_count"))
    if timeouts:
        reason = f"RAS met {timeouts} time-outs while it gathered the data"
        out.unknown.append(UnknownFact("", "", "RAS data of some processes", reason))
    out.facts["nccl_version"] = as_text(value.get("nccl_version"))
    out.facts["timestamp"] = stamp


def _communicator(out: ReadResult, value: dict[str, Any], line: int) -> None:
    name = as_text(value.get("hash")) or "of unstated hash"
    ranks = [as_dict(item) for item in as_list(value.get("ranks"))]
    missing = [as_dict(item) for item in as_list(value.get("missing_ranks"))]
    reason = f"RAS communicator {name}: {len(ranks)} ranks answered, {len(missing)} are missing"
    event = FabricEvent(line, "ras_status", reason, reason=reason)
    event.severity = "watch" if missing else "info"
    event.details = {
        "group": name,
        "size": as_int(value.get("size")),
        "answered": len(ranks),
        "missing": len(missing),
        "errors": "INCOMPLETE" if missing else "OK",
    }
    out.events.append(event)
    out.events += [_missing(item, name, line) for item in missing]
    out.events += [found for item in ranks if (found := _error(item, line))]
    for op in _operations(ranks):
        out.events += _behind(ranks, op, name, line)
    states = {as_text(item.get("host")): None for item in (*ranks, *missing)}
    out.facts.setdefault("hosts", []).extend(host for host in states if host)


def _missing(item: dict[str, Any], name: str, line: int) -> FabricEvent:
    status, who = as_dict(item.get("status")), _who(item)
    dead = status.get("considered_dead") is True
    said = "is considered dead" if dead else "gave RAS no data and is not yet considered dead"
    kind = "ras_peer_dead" if dead else "ras_rank_missing"
    return who_event(line, kind, who, f"{who.words} of communicator {name} {said}")


def _error(item: dict[str, Any], line: int) -> FabricEvent | None:
    status, who = as_dict(item.get("status")), _who(item)
    codes = (as_int(status.get("async_error")), as_int(status.get("init_state")))
    error = next((_RESULTS[code] for code in codes if code in _RESULTS), "")
    if error:
        event = who_event(line, "ras_rank_error", who, f"{who.words} reported {error}")
        event.role = "symptom" if error.lower() in PASSED_ON else "cause"
        event.details["error"] = error
        return event
    if status.get("abort_flag") is True:
        event = who_event(line, "ras_rank_status", who, f"{who.words} has the abort flag set")
        event.role, event.severity = "context", "watch"
        return event
    return None


def _operations(ranks: list[dict[str, Any]]) -> list[str]:
    names: dict[str, None] = {}
    for item in ranks:
        names.update(dict.fromkeys(as_dict(item.get("collective_counts"))))
    return list(names)


def _behind(ranks: list[dict[str, Any]], op: str, name: str, line: int) -> list[FabricEvent]:
    launched = []
    for item in ranks:
        number = as_int(as_dict(item.get("collective_counts")).get(op))
        if number is not None:
            launched.append(Launched(_who(item), number, line))
    top = max((each.operations for each in launched), default=0)
    late = [each for each in launched if each.operations < top]
    return behind_events(name, op, late, top, len(launched))


def _who(item: dict[str, Any]) -> Who:
    device = as_int(item.get("nvml_dev"))
    if device is None or device < 0:
        device = as_int(item.get("cuda_dev"))
    gpus = (device,) if device is not None and device >= 0 else ()
    host = as_text(item.get("host"))
    pid = as_int(item.get("pid"))
    return Who(
        "" if host == "unknown" else host,
        pid if pid is not None and pid >= 0 else None,
        gpus,
        rank=as_int(item.get("rank")),
    )
