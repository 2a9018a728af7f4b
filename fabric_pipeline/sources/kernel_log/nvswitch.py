"""SXid messages of the NVSwitch driver: up to three lines in any order make one event.

The lines are a severity word with the link, a severity number with the engine instance, and a data
list. Lines of several links and switches may be interleaved, and any of the three may be cut off.
"""

from __future__ import annotations

import re

from fabric_pipeline.model.records import FabricEvent, ReadResult, RejectedLine
from fabric_pipeline.sources.kernel_log.frames import KernelLine, extend
from fabric_pipeline.sources.kernel_log.nvidia import pci_interface
from fabric_pipeline.sources.kernel_log.sxid_catalog import sxid_meaning

FOLD_LINES = 60
FOLD_S = 2.0
_MAX_PORT = 255

_SXID = re.compile(
    r"(?:nvidia-)?nvswitch(\d{1,3})?:?\s{0,3}SXid\s?\((?:PCI:)?([^()]{0,40})\)\s?:\s?([0-9]{1,6})\b,?"
    r"\s{0,4}(.*)",
    re.IGNORECASE,
)
_SXID_START = re.compile(r"\bSXid\s?\(", re.IGNORECASE)
_WORD = re.compile(
    r"(Fatal|Non-?fatal)\b,?\s{0,4}(?:Link\s{1,3}(\d{1,3})\b)?\s{0,4}(.*)", re.IGNORECASE
)
_NUMBER = re.compile(
    r"Severity (\d{1,2})\b.{0,10}?Engine instance (\d{1,4})\b(?:.{0,10}?Sub-engine instance (\d{1,4}))?",
    re.IGNORECASE,
)
_DATA = re.compile(r"Data \{?\s?(0x[0-9a-fA-F]{1,8}.{0,400})", re.IGNORECASE)
_HEX = re.compile(r"0x([0-9a-fA-F]{1,8})")

_Key = tuple[str, str, int]


class NvswitchParser:
    """Collects SXid events. `feed` returns True when the line was used."""

    def __init__(self, result: ReadResult) -> None:
        self._result = result
        self._open: dict[_Key, list[FabricEvent]] = {}

    def feed(self, line: KernelLine) -> bool:
        """Use one line."""
        found = _SXID.search(line.message)
        if not found:
            if _SXID_START.search(line.message):
                self._reject(line, "an SXid line needs a device and a number")
                return True
            return False
        number, address, code, body = (
            found.group(1),
            found.group(2),
            int(found.group(3)),
            found.group(4),
        )
        switch = f"nvswitch-{int(number)}" if number else pci_interface(address)
        if not self._part(line, (line.node, switch, code), address, body):
            self._reject(line, "an SXid line needs a text behind its number")
        return True

    def _reject(self, line: KernelLine, rule: str) -> None:
        self._result.rejected.append(RejectedLine(line.number, line.raw, rule))

    def _part(self, line: KernelLine, key: _Key, address: str, body: str) -> bool:
        """One of the three forms, or a plain text; False when nothing stands there."""
        if found := _NUMBER.search(body):
            instance = int(found.group(2))
            event = self._event(line, key, address, "severity", instance)
            event.details.update(severity=int(found.group(1)), engine_instance=instance)
            event.details.setdefault("is_fatal", int(found.group(1)) > 0)
        elif found := _DATA.search(body):
            words = [int(word, 16) for word in _HEX.findall(found.group(1))]
            event = self._event(line, key, address, "data", None, words)
            event.details["data"] = words
        elif found := _WORD.match(body):
            link = int(found.group(2)) if found.group(2) else None
            event = self._event(line, key, address, "word", link)
            event.details["is_fatal"] = found.group(1).lower() == "fatal"
            event.details["says"] = found.group(3)[:200]
        elif body.strip():
            event = self._event(line, key, address, "word", None)
            event.details["says"] = body.strip()[:200]
            if (is_fatal := sxid_meaning(key[2]).is_fatal) is not None:
                event.details["is_fatal"] = is_fatal
        else:
            return False
        _weigh(event)
        return True

    def _event(
        self,
        line: KernelLine,
        key: _Key,
        address: str,
        part: str,
        link: int | None,
        words: list[int] | None = None,
    ) -> FabricEvent:
        """The open event this line belongs to, or a new one."""
        near = [e for e in self._open.get(key, []) if self._is_near(line, e)]
        self._open[key] = near
        lacking = [e for e in near if part not in e.details["parts"]]
        event = _same_link(lacking, link) if words is None else _same_data(lacking, words)
        if event is None:
            meaning = sxid_meaning(key[2])
            event = line.event("sxid", code=key[2], reason=meaning.says)
            event.details.update(
                parts=[], link=None, switch=key[1], pci=pci_interface(address).removeprefix("pci-"),
                subject="nvlink", is_link=True, per_port=meaning.per_port,
            )  # fmt: skip
            if meaning.is_fatal is not None and part == "data":
                event.details["is_fatal"] = meaning.is_fatal
            near.append(event)
            self._result.events.append(event)
        else:
            extend(event, line)
        event.details["parts"].append(part)
        _name(event, link)
        return event

    @staticmethod
    def _is_near(line: KernelLine, event: FabricEvent) -> bool:
        gap = line.gap_s(event)
        if gap is not None and gap > FOLD_S:
            return False
        return line.number - event.line <= FOLD_LINES


def _port_in(words: list[int]) -> int | None:
    """Port named by the data of a link controller error: its number fills the first two words."""
    is_port = len(words) > 1 and words[0] == words[1] and 0 < words[0] <= _MAX_PORT
    return words[0] if is_port else None


def _same_link(events: list[FabricEvent], link: int | None) -> FabricEvent | None:
    """The event of that link; else the last one whose link is open and whose data do not object."""
    for event in events:
        if event.details["link"] == link:
            return event
    for event in reversed(events):
        port = _port_in(event.details.get("data", []))
        if event.details["link"] is None and port in (None, link):
            return event
    return None


def _same_data(events: list[FabricEvent], words: list[int]) -> FabricEvent | None:
    """The event a data list belongs to: that of the port it names, else the last one."""
    port = _port_in(words)
    fitting = events if port is None else [e for e in events if e.details["link"] == port]
    return fitting[-1] if fitting else None


def _name(event: FabricEvent, link: int | None) -> None:
    details = event.details
    if details["link"] is None:
        details["link"] = link
    switch = details["switch"]
    port = details["link"]
    is_port = port is not None and ("word" in details["parts"] or details["per_port"])
    event.interface = f"{switch}/port-{port}" if switch and is_port else switch


def _weigh(event: FabricEvent) -> None:
    is_fatal = event.details.get("is_fatal")
    event.role = "cause" if is_fatal else "context"
    event.severity = "critical" if is_fatal else "watch"
