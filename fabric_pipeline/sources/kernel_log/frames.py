"""The frame around a kernel message: time stamp, host, program. Takes it off and keeps what it says.

Frames nest (`Feb 14 05:03:41 host kernel: [ 12.3] message` inside a container log), so prefixes are
peeled one after the other (`prefixes`). This module adds the clocks that span lines and JSON records;
what a message means is decided by the parsers.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fabric_pipeline.model.records import MAX_TEXT, FabricEvent
from fabric_pipeline.sources.base import Hints
from fabric_pipeline.sources.kernel_log.prefixes import Peel, peel_prefixes

MAX_LINE = 8192  # characters of one line that are looked at; a kernel record ends near 1000
MAX_JSON_LINE = 65536

_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
# Lines that only appear while a machine starts.
BOOT_MARK = (
    r"Linux version \d|Command line: BOOT_IMAGE|Booting Linux on|^-- (?:Boot|Reboot)\b"
    r"|Coldplug All udev Devices|Started systemd-journald|Switching root|systemd-udev"
    r"|TPM2 PCR Machine ID"
)
_BOOT_MARK = re.compile(BOOT_MARK)


@dataclass(slots=True)
class KernelLine:
    """One log line without its frame.

    `seconds` is a clock inside the file: `clock` says which one (`boot`: seconds since boot,
    `calendar`: seconds since the start of the unstated year, `delta`: summed differences).
    `since_boot_s` is None when the file does not tell when the machine started.
    """

    number: int
    raw: str
    message: str
    node: str = ""
    program: str = ""
    time: datetime | None = None
    time_text: str = ""
    seconds: float | None = None
    clock: str = ""
    since_boot_s: float | None = None
    is_framed: bool = False

    def event(self, kind: str, interface: str = "", **fields: Any) -> FabricEvent:
        """An event that begins at this line and has its place and time."""
        details: dict[str, Any] = fields.pop("details", {})
        if self.clock:
            details["clock"] = self.clock
        if self.since_boot_s is not None:
            details["since_boot_s"] = round(self.since_boot_s, 6)
        return FabricEvent(
            line=self.number,
            last_line=self.number,
            kind=kind,
            text=self.raw[:MAX_TEXT],
            node=self.node,
            interface=interface,
            time=self.time,
            time_text=self.time_text,
            seconds=self.seconds,
            details=details,
            **fields,
        )

    def gap_s(self, event: FabricEvent) -> float | None:
        """Seconds since an earlier event, None when the two carry no common clock."""
        is_one_clock = self.clock == event.details.get("clock")
        if is_one_clock and self.seconds is not None and event.seconds is not None:
            return self.seconds - event.seconds
        if self.time is not None and event.time is not None:
            return (self.time - event.time).total_seconds()
        return None


def extend(event: FabricEvent, line: KernelLine) -> None:
    """Add a further line to an event that is told in several lines."""
    event.last_line = line.number
    if len(event.text) < MAX_TEXT:
        event.text = f"{event.text}\n{line.raw}"[:MAX_TEXT]


_MESSAGE_KEYS = ("MESSAGE", "message", "log", "msg", "Message")
_HOST_KEYS = ("_HOSTNAME", "hostname", "host", "Hostname", "nodeName", "node_name", "node")
_STAMP_KEYS = ("time", "ts", "timestamp", "@timestamp")


def _json_record(text: str) -> dict[str, Any] | None:
    """The innermost object with a message of a JSON log line, its own keys before the outer ones."""
    if not text.startswith("{") or len(text) > MAX_JSON_LINE:
        return None
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    inner = next(
        (v for v in record.values() if isinstance(v, dict) and set(v) & set(_MESSAGE_KEYS)), None
    )
    return {**record, **inner} if inner else record


def _text_of(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(v, int) and 0 <= v < 256 for v in value):
        return bytes(value).decode("utf-8", errors="replace")
    return value if isinstance(value, str) else ""


def _peel_json(record: dict[str, Any], peel: Peel) -> str:
    """Message of a journal or container record; fills the frame from its fields."""
    message = next((t for key in _MESSAGE_KEYS if (t := _text_of(record.get(key)))), "")
    peel.is_framed = bool(message)
    peel.node = next((t for key in _HOST_KEYS if (t := _text_of(record.get(key)))), "")
    peel.program = _text_of(record.get("SYSLOG_IDENTIFIER")) or _text_of(record.get("_TRANSPORT"))
    for key in ("_SOURCE_REALTIME_TIMESTAMP", "__REALTIME_TIMESTAMP"):
        if str(record.get(key, "")).isdecimal() and peel.time is None:
            micros = min(int(record[key]), 253402300799000000)
            peel.time = datetime.fromtimestamp(micros / 1e6, UTC)
            peel.time_text = str(record[key])
    monotonic = str(record.get("_SOURCE_MONOTONIC_TIMESTAMP", ""))
    if monotonic.isdecimal() and len(monotonic) < 20:
        peel.boot_s = int(monotonic) / 1e6
    stamp = next((t for key in _STAMP_KEYS if (t := _text_of(record.get(key)))), "")
    if stamp and peel.time is None:
        peel_prefixes(f"[{stamp}] ", peel)
    return message.rstrip("\n")


class FrameReader:
    """Takes the frame off one line after the other and keeps the clocks that span lines."""

    def __init__(self, hints: Hints) -> None:
        self._hints = hints
        self._delta_s = 0.0
        self._uses_delta = False
        self._boot_time: datetime | None = None
        self._boot_calendar_s: float | None = None

    def read(self, number: int, raw: str) -> KernelLine:
        """The line without its frame."""
        text = _ANSI.sub("", raw[:MAX_JSON_LINE])
        peel = Peel(self._hints.timezone)
        record = _json_record(text.strip())
        message = _peel_json(record, peel) if record else text[:MAX_LINE]
        message = peel_prefixes(message, peel)
        line = KernelLine(
            number=number,
            raw=text[:MAX_TEXT].rstrip(),
            message=message.strip()[:MAX_LINE],
            node=self._hints.node or ("" if peel.node == "localhost" else peel.node),
            program=peel.program,
            time=peel.time,
            time_text=peel.time_text,
            is_framed=peel.is_framed,
        )
        self._set_clock(line, peel)
        self._set_boot(line, peel)
        return line

    def _set_clock(self, line: KernelLine, peel: Peel) -> None:
        if peel.delta_s is not None:
            self._uses_delta = True
            self._delta_s += peel.delta_s
        if peel.boot_s is not None:
            line.seconds, line.clock = peel.boot_s, "boot"
        elif self._uses_delta:
            line.seconds, line.clock = self._delta_s, "delta"
        elif peel.calendar_s is not None:
            line.seconds, line.clock = peel.calendar_s, "calendar"

    def _set_boot(self, line: KernelLine, peel: Peel) -> None:
        if _BOOT_MARK.search(line.raw):
            self._boot_time = line.time
            self._boot_calendar_s = peel.calendar_s
        if peel.boot_s is not None:
            line.since_boot_s = peel.boot_s
        elif line.time is not None and self._boot_time is not None:
            line.since_boot_s = (line.time - self._boot_time).total_seconds()
        elif peel.calendar_s is not None and self._boot_calendar_s is not None:
            line.since_boot_s = peel.calendar_s - self._boot_calendar_s
