"""Reads `ibswinfo`: housekeeping of one unmanaged switch (power supplies, fans, temperature).

None of it says anything about a link, so there are no readings. Alarms become events that never
accuse, and everything is kept as facts.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from fabric_pipeline.model.records import FabricEvent, ReadResult, UnknownFact
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.infiniband.guids import normalise_guid
from fabric_pipeline.sources.infiniband.lines import body_lines, count_hits, reject

_ROW = re.compile(
    r"^(?P<indent>\s*)(?P<name>[\w#/][\w#/ ().:%-]{0,40}?)\s*\|\s*(?P<value>.{0,200})$"
)
_KNOWN = re.compile(
    r"^\s*(?:part number|serial number|product name|PSID|firmware version|uptime \(d-h:m:s\)|"
    r"PSU\d status|temperature \(C\)|fan status|fan#\d+ \(rpm\))\s*\|"
)
_RULE = re.compile(r"^[=-]{5,}$")
_BAD = re.compile(r"\b(?:error|fail\w{0,4}|not ok|absent|critical|alarm)\b", re.IGNORECASE)


class IbswinfoReader:
    """Reader of `ibswinfo` tables."""

    format_id: ClassVar[str] = "ibswinfo"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"events"})

    def score(self, file: SourceFile) -> int:
        """Sure with two of the tool's own rows."""
        hits = count_hits(file, _KNOWN, 3)
        return {0: 0, 1: 40, 2: 85}.get(hits, 95)

    def read(self, file: SourceFile) -> ReadResult:
        """Facts of the switch, and one event for each row that reports trouble."""
        result = ReadResult()
        switch: dict[str, Any] = {}
        parent = ""
        alarms: list[tuple[int, str, str]] = []
        for number, line in body_lines(file, result):
            found = _ROW.match(line)
            if not found:
                _note_other(number, line, switch, result)
                continue
            name, value = found.group("name").strip(), found.group("value").strip()
            parent = parent if found.group("indent") else name.partition(" ")[0]
            label = f"{parent} {name}" if found.group("indent") else name
            switch[label] = value
            if label.endswith("status") and _BAD.search(value):
                alarms.append((number, label, value))
        result.facts["switch"] = switch
        guid = normalise_guid(str(switch.get("GUID", "")))
        result.events = [_alarm(number, guid, label, value) for number, label, value in alarms]
        result.unknown.append(
            UnknownFact("", guid, "port states and error counters", "the table holds neither")
        )
        return result


def _note_other(number: int, line: str, switch: dict[str, Any], result: ReadResult) -> None:
    text = line.strip()
    if not text or _RULE.match(text):
        return
    if "|" in text:
        reject(result, number, line, "a row of the switch table without name or value")
    else:
        switch.setdefault("description", text)


def _alarm(number: int, guid: str, label: str, value: str) -> FabricEvent:
    return FabricEvent(
        number,
        "switch_housekeeping_alarm",
        f"{label} | {value}",
        interface=guid,
        severity="watch",
        reason=f"The switch reports {label} as {value}; that is housekeeping and no link fault.",
        details={"row": label, "value": value, "is_link": False},
    )
