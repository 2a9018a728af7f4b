"""Events that the text and the JSON form of NCCL RAS share: who is dead, missing, behind, in error.

RAS names processes and ranks, never links; the events carry host, GPU and rank so that a finding can
name them. Whether a lag matters is decided in `detect.sweeps`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from fabric_pipeline.model.records import FabricEvent
from fabric_pipeline.sources.base import Hints

# Lifecycle words of the RAS network (NCCL 2.28 and later) that say a process is gone or in trouble.
DEAD_WORDS = frozenset(("PEER_DEAD", "PEER_TIMEOUT_DEAD"))
TROUBLE_WORDS = frozenset(
    [
        "PEER_UNRESPONSIVE",
        "PEER_KEEPALIVE_TIMEOUT",
        "PEER_SEND_STUCK",
        "PEER_INIT_TIMEOUT",
        "PEER_DISCONNECTED",
        "PEER_RETRY",
    ]
)
# Error texts that only pass on what happened to another process.
PASSED_ON = frozenset(("remote process error",))

_LOCAL_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")


@dataclass(frozen=True, slots=True)
class Who:
    """One process or rank as RAS names it; fields that are not stated are None or ""."""

    node: str = ""
    pid: int | None = None
    gpus: tuple[int, ...] = ()
    gpu_text: str = ""
    rank: int | None = None

    @property
    def words(self) -> str:
        """`rank 7 (GPU 3, process 811 on node n1)` with what is known."""
        gpu = self.gpu_text or ",".join(map(str, self.gpus))
        parts = [f"GPU {gpu}" if gpu else "", f"process {self.pid}" if self.pid is not None else ""]
        place = f"on node {self.node}" if self.node else ""
        inner = " ".join(filter(None, (", ".join(filter(None, parts)), place)))
        if self.rank is None:
            return inner or "a process that is not named"
        return f"rank {self.rank}" + (f" ({inner})" if inner else "")


@dataclass(frozen=True, slots=True)
class Launched:
    """How many operations of one kind a rank has launched."""

    who: Who
    operations: int
    line: int


def who_event(line: int, kind: str, who: Who, reason: str, text: str = "") -> FabricEvent:
    """An event about one process: role `cause`, severity `warning`."""
    event = FabricEvent(line, kind, text[:500], reason=reason, role="cause", severity="warning")
    event.node = who.node.replace(":", "-")  # an IPv6 address would end the node of a component
    if len(who.gpus) == 1:
        event.interface = f"gpu{who.gpus[0]}"
    event.details = {
        "who": who.words,
        "rank": who.rank,
        "pid": who.pid,
        "gpus": list(who.gpus),
        "host": who.node,
    }
    return event


def lifecycle_event(line: int, word: str, who: Who, details: str, text: str) -> FabricEvent:
    """An event of the RAS network; only a dead process is a cause."""
    reason = f"RAS reports {word} for {who.words}" + (f": {details}" if details else "")
    if word in DEAD_WORDS:
        return who_event(line, "ras_peer_dead", who, reason, text)
    event = who_event(line, "ras_peer_lifecycle", who, reason, text)
    event.role = "context"
    event.severity = "watch" if word in TROUBLE_WORDS else "info"
    return event


def behind_events(
    communicator: str, op: str, ranks: list[Launched], top: int, total: int
) -> list[FabricEvent]:
    """One event per named rank that launched fewer operations than the furthest one.

    `top` is the furthest count, `total` the number of ranks counted. `lag` is left for judging.
    """
    events = []
    for launched in ranks:
        lag = top - launched.operations
        if lag <= 0:
            continue
        reason = (
            f"{launched.who.words} has launched {launched.operations} {op} operations, {lag} fewer "
            f"than the furthest of {total} ranks of communicator {communicator}"
        )
        event = who_event(launched.line, "ras_rank_behind", launched.who, reason)
        event.details |= {"lag": lag, "top": top, "op": op, "communicator": communicator}
        event.details["behind"] = len(ranks)
        event.details["ranks"] = total
        events.append(event)
    return events


def local_time(text: str, hints: Hints) -> datetime | None:
    """RAS prints local time without a zone; the drop's zone is assumed, UTC when none is given."""
    found = _LOCAL_TIME.search(text)
    if not found:
        return None
    try:
        naive = datetime.fromisoformat(found.group(0))
        return naive.replace(tzinfo=hints.timezone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
