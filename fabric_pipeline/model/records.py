"""What a reader makes of one file: readings, events, timings, topology parts, refused lines.

These are plain values as close to the file as possible; nothing here judges. Text fields hold what
stood in the file (bounded by the reader); canonical fields are "" or None when unknown, never guessed.
`file` is filled in by the step that calls the reader, not by the reader.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

MAX_TEXT = 2000  # characters kept of any one text from a file


@dataclass(slots=True)
class Reading:
    """One counter, state or level as one line of a file says it.

    `interface` follows the component grammar (`gpu5/nvlink-11`). `counter` is a canonical name of
    `model.counters` or "" (then it is kept raw and listed). `scope`: `link`, `gpu_sum` (over all
    links of a GPU: never names a link), `switch_sum`, `lane`. `quality`: `ok`, `not_supported`
    (blank, N/A), `saturated` (at its ceiling: at least). `time` is timezone-aware UTC or None.
    `state` carries the words of a state reading (`<inactive>`, `Polling`). `is_undated`: the time of
    the capture must not be taken for the time of this reading.
    """

    line: int | None
    counter_text: str
    value_text: str
    entity_text: str = ""
    time_text: str = ""
    node: str = ""
    interface: str = ""
    link_type: str = ""
    counter: str = ""
    value: float | None = None
    kind: str = "cumulative"
    quality: str = "ok"
    scope: str = "link"
    lane: int | None = None
    time: datetime | None = None
    gpu_uuid: str = ""
    socket: int | None = None
    state: str = ""
    file: str = ""
    is_undated: bool = False


@dataclass(slots=True)
class FabricEvent:
    """One event, however many log lines told it.

    `kind`: slug (`xid`, `sxid`, `aer_corrected`, `aer_uncorrected`, `link_down`, `link_up`,
    `gpu_lost`, `cable_unplugged`, `module_over_temperature`, ...). `role` and `severity` are what
    the vendor's catalogue says of such an event alone: `cause`, `symptom`, `context`;
    `critical`, `warning`, `watch`, `info`. `seconds` is a clock inside the file (dmesg seconds) for
    ordering when no absolute time is known. `count` is the number of events this one stands for
    (1 unless the line itself says "repeated n times").
    """

    line: int
    kind: str
    text: str
    node: str = ""
    interface: str = ""
    lane: int | None = None
    code: int | None = None
    role: str = "context"
    severity: str = "info"
    reason: str = ""
    time: datetime | None = None
    time_text: str = ""
    seconds: float | None = None
    last_line: int | None = None
    count: int = 1
    details: dict[str, Any] = field(default_factory=dict)
    file: str = ""


@dataclass(slots=True)
class CollectiveTiming:
    """Duration of one collective, of the whole group (`rank` None) or as one rank saw it.

    `run` names the job or benchmark run, `communicator` the group of ranks; `seq` orders them.
    `duration_us` is what the source measured; `baseline_us` only when the source itself gives one.
    `variant` keeps unlike rows apart (`in_place`, `out_of_place`). `unit_kind`: `collective`,
    `step` (a whole training step) or `compute`.
    """

    line: int | None
    op: str
    duration_us: float
    run: str = ""
    communicator: str = ""
    seq: int = 0
    bytes: int | None = None
    rank: int | None = None
    ranks: int | None = None
    node: str = ""
    gpu: int | None = None
    start: datetime | None = None
    arrival_us: float | None = None
    baseline_us: float | None = None
    busbw_gbs: float | None = None
    model: str = ""
    variant: str = ""
    unit_kind: str = "collective"
    file: str = ""


@dataclass(slots=True)
class Run:
    """One job: which nodes it used and when."""

    run: str
    nodes: list[str]
    start: datetime | None = None
    end: datetime | None = None
    model: str = ""
    step_time_ms: float | None = None
    baseline_step_time_ms: float | None = None


@dataclass(slots=True)
class RejectedLine:
    """One line that belongs to the format and could not be read, with the rule in words."""

    line: int | None
    text: str
    rule: str


@dataclass(slots=True)
class UnknownFact:
    """Something that was not measured or not stated: neither zero nor healthy."""

    node: str
    interface: str
    what: str
    reason: str


@dataclass(slots=True)
class TopologyPart:
    """What one file says about nodes, devices and links, in the shape of `topology.json`.

    `nodes`, `switches` and `links` hold dicts with the keys of design section 10; keys that the
    file does not state are missing. `service`: contact, schedule, customer_reference, sla by priority.
    `spares`: part, location, quantity, fits. `source` is the file, filled in by whoever calls the reader.
    """

    nodes: list[dict[str, Any]] = field(default_factory=list)
    switches: list[dict[str, Any]] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    site: str = ""
    service: dict[str, Any] = field(default_factory=dict)
    spares: list[dict[str, Any]] = field(default_factory=list)
    source: str = ""


@dataclass(slots=True)
class ReadResult:
    """Everything one reader made of one file. `facts` is free text and numbers for people."""

    readings: list[Reading] = field(default_factory=list)
    events: list[FabricEvent] = field(default_factory=list)
    timings: list[CollectiveTiming] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    topology: TopologyPart | None = None
    rejected: list[RejectedLine] = field(default_factory=list)
    unknown: list[UnknownFact] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def understood(self) -> int:
        """Counter, state, timing and event values that were read (blanks are not readings)."""
        measured = sum(1 for r in self.readings if r.quality != "not_supported")
        return measured + len(self.timings) + sum(e.count for e in self.events)
