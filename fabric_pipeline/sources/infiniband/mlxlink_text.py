"""Reads `mlxlink` text output: titled groups of `name : value`, for one or several devices.

One file may hold several runs. A typed command or a group title that repeats begins a new section;
sections are never merged, and the first may lack its command.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.lines import TypedCommand, body_lines, count_hits, stamped
from fabric_pipeline.sources.infiniband.lines import typed_command as _typed
from fabric_pipeline.sources.infiniband.mlxlink_sections import Section, emit, port_of_device

_TITLE = re.compile(
    r"^\s*(Operational Info|Supported Info|Troubleshooting Info|Tool Information|Module Info|"
    r"Physical Counters and BER Info(?: \(PRBS\))?|FEC Capability Info|Histogram of FEC Errors|"
    r"[A-Z][\w /()&-]{3,60} Info(?:rmation)?)\s*$"
)
_SURE = re.compile(
    r"^\s*(?:Operational Info|Physical Counters and BER Info|Troubleshooting Info)\s*$"
)
_FIELD = re.compile(r"^\s*(?P<name>[A-Za-z][\w ().\[\]/,#-]{1,60}?)\s*:\s*(?P<value>.{0,600})$")
_KNOWN = re.compile(
    r"^\s*(?:Effective Physical (?:Errors|BER)|Raw Physical (?:BER|Errors Per Lane)|Link Down Counter|"
    r"Time Since Last Clear \[Min\]|Symbol BER|Loopback Mode|Enabled Link Speed.{0,12})\s*:"
)
_OPTION = re.compile(r"(?:^|\s)(?:-d|--device)\s+(\S{1,120})")
_PORT_OPTION = re.compile(r"(?:^|\s)(?:-p|--port)\s+(\d{1,4}(?:/\d{1,3}){0,3})\b")
_FACTS = (
    "vendor name",
    "vendor part number",
    "vendor serial number",
    "identifier",
    "cable length [m]",
    "temperature [c]",
    "time since last clear [min]",
    "fec",
    "enabled link speed",
    "supported cable speed",
    "recommendation",
)


@dataclass(slots=True)
class _Sections:
    """Sections in the order of the file."""

    host: str
    made: list[Section] = field(default_factory=list)
    titles: set[str] = field(default_factory=set)

    def begin(self, line: int, command: TypedCommand | None) -> Section:
        """Start a section; without a typed command its port is not named."""
        arguments = command.arguments if command else ""
        device, port = _OPTION.search(arguments), _PORT_OPTION.search(arguments)
        host = self.host or (command.host if command else "")
        ref = port_of_device(
            host,
            device.group(1) if device else "",
            port.group(1) if port else "",
            len(self.made) + 1,
        )
        section = Section(ref, line)
        self.made.append(section)
        self.titles = set()
        return section

    def current(self, line: int) -> Section:
        """The running section."""
        return self.made[-1] if self.made else self.begin(line, None)


class MlxlinkTextReader:
    """Reader of mlxlink text output."""

    format_id: ClassVar[str] = "mlxlink_text"
    version: ClassVar[str] = "2"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="mlxlink, -c, -m; mstlink",
        versions="not stated",
        recognised_by=(
            "group titles such as `Operational Info` and `Physical Counters and BER Info` with "
            "rows `name : value`"
        ),
        gives=(
            "port state, width, speed, effective and symbol errors, link-down and recovery "
            "counts, bit error rates, raw errors by lane, code words by repaired symbols, the "
            "firmware's own diagnosis, module alarms and values outside the module's limits as "
            "events; module and cable as facts"
        ),
        traps=(
            "`15E-255` is the tool's way to say zero.",
            (
                "Raw errors are counted before error correction; they are normal and become "
                "corrected bits."
            ),
            "A width or speed is read only while the port is active.",
            "Codes of missing or switched-off modules accuse nothing.",
            "An alarm of the module accuses nothing: fibre, far end and module look alike.",
            (
                "Without the typed command a section does not name its port; sections are never "
                "merged."
            ),
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with a group title of the tool and its fields."""
        titles, known = count_hits(file, _SURE, 1), count_hits(file, _KNOWN, 3)
        if titles and known:
            return 94
        return 80 if titles or known >= 3 else 0

    def read(self, file: SourceFile) -> ReadResult:
        """State, width, speed, counters and lanes of each section."""
        result, sections = ReadResult(), _Sections(file.hints.node)
        for number, line in body_lines(file, result):
            command = _typed(line, "mlxlink") or _typed(line, "mstlink")
            if command:
                sections.begin(number, command)
            elif found := _TITLE.match(line):
                title = found.group(1)
                if title in sections.titles:
                    sections.begin(number, None)
                else:
                    sections.current(number)
                sections.titles.add(title)
            elif found := _FIELD.match(line):
                section = sections.current(number)
                name = found.group("name").strip().lower()
                section.fields.setdefault(name, (number, found.group("value").strip()))
        for section in sections.made:
            if section.fields:
                emit(section, result)
                result.facts.setdefault("modules", []).append(module_facts(section))
        return stamped(result, file)


def module_facts(section: Section) -> dict[str, str]:
    """Inventory fields of a section that a ticket may need."""
    facts = {name: section.text(name) for name in _FACTS if section.text(name)}
    return {"component": section.port.id, **facts}
