"""Reads `ibswinfo`: housekeeping of one unmanaged switch (power supplies, fans, temperature).

None of it says anything about a link, so there are no readings and no events; everything is kept as
facts, and rows that report trouble once more as alarms.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from fabric_pipeline.model.records import ReadResult, UnknownFact
from fabric_pipeline.sources.base import FormatNote, SourceFile
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
    yields: ClassVar[frozenset[str]] = frozenset()
    note: ClassVar[FormatNote] = FormatNote(
        tool="ibswinfo",
        versions="not stated (switch firmware 11.2008)",
        recognised_by="rows such as `part number | ...`, `PSU0 status | OK` and `fan status | ...`",
        gives=(
            "facts only: part and serial number, firmware, power supplies, fans, temperature; "
            "rows that report trouble once more as alarms"
        ),
        traps=("None of it speaks of a link, so there are no readings and no events.",),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with two of the tool's own rows."""
        hits = count_hits(file, _KNOWN, 3)
        return {0: 0, 1: 40, 2: 85}.get(hits, 95)

    def read(self, file: SourceFile) -> ReadResult:
        """Facts of the switch, and the rows that report trouble."""
        result = ReadResult()
        switch: dict[str, Any] = {}
        parent = ""
        alarms: list[dict[str, Any]] = []
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
                alarms.append({"line": number, "row": label, "value": value})
        result.facts["switch"] = switch
        guid = normalise_guid(str(switch.get("GUID", "")))
        result.facts["alarms"] = alarms
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
