"""Reader of a link summary: one flat JSON record about one link, as people write them in reports.

No tool prints it, so keys are read by their words; what has no canonical counter stays in the
facts.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import ClassVar

from fabric_pipeline.model.records import (
    MAX_TEXT,
    FabricEvent,
    Reading,
    ReadResult,
    RejectedLine,
    TopologyPart,
)
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.nvidia_smi.clock import parse_clock
from fabric_pipeline.sources.nvidia_smi.located_json import Document, Leaf, located_documents
from fabric_pipeline.sources.nvidia_smi.values import judge_number, kind_of

_NODE_KEYS = ("node", "host", "hostname")
_GPU_KEYS = ("gpu", "gpu_index", "gpu_id")
_LINK_KEYS = ("link", "nvlink", "link_id", "nvlink_id")
_TIME_KEYS = ("time", "ts", "timestamp", "measured_at", "sampled_at")
_FAILURE_TIME_KEYS = ("failed_at", "failure_time", "failure_at")
# words that make a number something else than this link's own lifetime count
_NOT_OWN = frozenset(
    {"other", "others", "sample", "per", "swept", "rate", "ber", "gpus", "nodes", "rack", "in"}
)
_XID = re.compile(r"\bXid\s*:?\s*([0-9]{1,4})\b", re.I)
_FOREIGN = re.compile(r'"(?:fabric_interface|fabric_errors|node_id|coll_perf|metric)"')
_OWN_KEYS = re.compile(
    r'"(?:gpu|gpu_index|gpu_id)"\s*:.{0,2000}"(?:link|nvlink|link_id|nvlink_id)"\s*:', re.S
)


class LinkSummaryReader:
    """Counters, failure and circumstances of the one link a record speaks of."""

    format_id: ClassVar[str] = "link_summary_json"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events", "topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="a record about one link in a report; no tool prints it",
        versions="the records of public reports",
        recognised_by="a small JSON object with a GPU, a link and at least one counter by its words",
        gives="lifetime counts of the one link, its failure with the Xid, the rack",
        traps=(
            (
                "Numbers about other links, whole GPUs, samples or rates are not taken for this "
                "link's count."
            ),
            "A record that names no GPU or no link is refused.",
            "Lifetime counts have no start, so they give no rate.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Likely when a small object names a GPU and a link beside counters."""
        head = file.head[:8192].lstrip()
        if not head.startswith(("{", "[")) or _FOREIGN.search(head) or not _OWN_KEYS.search(head):
            return 0
        words = re.findall(r'"(\w{1,60})"\s*:', head)
        return 70 if any(_counter_of(word) for word in words) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Lifetime counts as cumulative readings; a failure as an event on the same link."""
        result = ReadResult()
        for document in located_documents(file):
            for record in _records(document):
                _read_record(record, file, result)
            result.rejected.extend(document.refused())
        return result


def _records(document: Document) -> list[dict[str, Leaf]]:
    """Flat records of a document: itself, or the members of a list."""
    records: dict[tuple[str | int, ...], dict[str, Leaf]] = {}
    for leaf in document.leaves:
        *parents, key = leaf.path
        if all(isinstance(parent, int) for parent in parents):
            records.setdefault(tuple(parents), {})[str(key).lower()] = leaf
    return list(records.values())


def _read_record(record: dict[str, Leaf], file: SourceFile, result: ReadResult) -> None:
    node = _text(record, _NODE_KEYS) or file.hints.node
    gpu, link = _number(record, _GPU_KEYS), _number(record, _LINK_KEYS)
    if gpu is None or link is None:
        line = next(iter(record.values())).line
        result.rejected.append(RejectedLine(line, "", "the record names no GPU or no link"))
        return
    interface = f"gpu{gpu}/nvlink-{link}"
    moment = _time(record, _TIME_KEYS, file)
    for key, leaf in record.items():
        counter = _counter_of(key)
        if counter and not isinstance(leaf.value, bool):
            _add_count(leaf, key, counter, node, interface, moment, result)
    _add_failure(record, node, interface, _time(record, _FAILURE_TIME_KEYS, file), result)
    rack = _text(record, ("rack",))
    if node and rack:
        result.topology = result.topology or TopologyPart()
        result.topology.nodes.append({"node": node, "rack": rack, "gpus": [{"gpu": gpu}]})
    kept = {key: leaf.value for key, leaf in record.items()}
    result.facts.setdefault("link_summaries", []).append(kept)


def _add_count(
    leaf: Leaf,
    key: str,
    counter: str,
    node: str,
    interface: str,
    moment: datetime | None,
    result: ReadResult,
) -> None:
    text = str(leaf.value)[:200]
    if leaf.value is None:
        value, quality = None, "not_supported"
    elif re.fullmatch(r"[0-9]{1,20}(?:\.[0-9]{1,10})?", text):
        value, quality = judge_number(counter, float(text))
    else:
        result.rejected.append(RejectedLine(leaf.line, text, f"{key} is no count"))
        return
    reading = Reading(leaf.line, key, text, interface, node=node, interface=interface)
    reading.link_type, reading.counter, reading.kind = "nvlink", counter, kind_of(counter)
    reading.value, reading.quality, reading.time = value, quality, moment
    result.readings.append(reading)


def _add_failure(
    record: dict[str, Leaf], node: str, interface: str, moment: datetime | None, result: ReadResult
) -> None:
    """The failure that the record tells: its first Xid, which names this link."""
    for key in ("failure", "error", "event"):
        leaf = record.get(key)
        found = _XID.search(str(leaf.value)) if leaf else None
        if leaf is None or found is None:
            continue
        text = str(leaf.value)[:MAX_TEXT]
        event = FabricEvent(leaf.line, "xid", text, node, interface, code=int(found[1]))
        event.role, event.severity, event.time = "cause", "critical", moment
        event.reason = f"the record gives Xid {found[1]} as the failure of this link"
        result.events.append(event)
        return


def _counter_of(key: str) -> str:
    """Canonical counter of a key such as `link_recovery_events_lifetime`, else ""."""
    words = set(re.split(r"[\W_]+", key.lower()))
    if words & _NOT_OWN:
        return ""
    if words & {"recovery", "recoveries"}:
        return "recovery_failed" if words & {"failed", "failure", "failures"} else "recovery"
    if "crc" in words:
        return "crc_flit" if "flit" in words else "crc_data" if "data" in words else "crc"
    if words & {"replay", "replays"}:
        return "replay"
    if words & {"error", "errors"}:
        return next((f"{w}_error" for w in ("symbol", "effective") if w in words), "")
    return "ecc" if "ecc" in words else ""


def _text(record: dict[str, Leaf], keys: tuple[str, ...]) -> str:
    values = (record[key].value for key in keys if key in record)
    return next((value for value in values if isinstance(value, str)), "")


def _number(record: dict[str, Leaf], keys: tuple[str, ...]) -> int | None:
    """The number under one of `keys`, plain or behind a word (`nvlink-14`, `gpu0`)."""
    for key in keys:
        leaf = record.get(key)
        found = re.fullmatch(r"[A-Za-z]{0,10}[-_ ]?(\d{1,3})", str(leaf.value)) if leaf else None
        if found:
            return int(found[1])
    return None


def _time(record: dict[str, Leaf], keys: tuple[str, ...], file: SourceFile) -> datetime | None:
    text = _text(record, keys)
    return parse_clock(text, file.hints.timezone) if text else file.hints.time
