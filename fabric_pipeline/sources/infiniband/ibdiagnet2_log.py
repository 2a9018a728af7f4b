"""Reads the log of `ibdiagnet2`: errors and warnings about ports and links, and the summary table.

Lines are marked `-E-`, `-W-` and `-I-`. The summary says how many errors each stage counted, which
is often more than the log lists.
"""

from __future__ import annotations

import re
from typing import ClassVar

from fabric_pipeline.model.records import Reading, ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.ibdiagnet_statements import Statements
from fabric_pipeline.sources.infiniband.lines import body_lines, count_hits, stamped

_MARKED = re.compile(r"^\s*-(?P<mark>[EWI])-\s+(?P<text>\S.*)$")
_MINE = re.compile(
    r"^\s*-[EW]-\s+(?:Link:\s*\S+<-->|S[0-9a-fA-F]{12,16}/N[0-9a-fA-F]{12,16}|[\w.-]{1,80}/\S{1,60}/P\d|"
    r"lid=0x)|^\s*-I-\s+(?:Stage\s+Warnings\s+Errors|Link Speed|Links Speed|Ports counters|"
    r"Discovering \.\.\.|Fabric Discover)|^\s*(?:Load Plugins from:|Running:?\s.{0,60}ibdiagnet)",
)
_STAGE = re.compile(
    r"^\s*-I-\s+(?P<stage>[A-Z][\w /()-]{2,60}?)\s{2,}(?P<warnings>[0-9]{1,9})\s+(?P<errors>[0-9]{1,9})(?:\s|$)"
)


class Ibdiagnet2LogReader:
    """Reader of ibdiagnet2 logs and of single lines quoted from one."""

    format_id: ClassVar[str] = "ibdiagnet2_log"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events", "topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="ibdiagnet2, its log",
        versions="a line of 2014, others not stated",
        recognised_by="lines marked -E- or -W- that name a port or a link, or the table of stages",
        gives=(
            "growth of counters during the run, unexpected widths and speeds, bit error rates, "
            "errors by stage, links"
        ),
        traps=(
            "A counter that increased is a difference over the run, not a total.",
            "Port numbers are decimal here, unlike in ibdiagnet2.lst.",
            (
                "Sub-ports of one adapter that are looped inside the chip have no cable; remarks "
                "on them accuse nothing."
            ),
            "A remark alone is context and names no bad link.",
            "The table of stages often counts more errors than the log lists.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with a marked line that names a port or a stage of the tool."""
        return 88 if count_hits(file, _MINE, 1) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Levels, counter growth and remarks of ports, links, and errors by stage."""
        result, statements = ReadResult(), Statements()
        other: dict[str, int] = {}
        for number, line in body_lines(file, result):
            stage = _STAGE.match(line)
            marked = _MARKED.match(line)
            if stage:
                result.readings.append(
                    stage_reading(number, stage.group("stage"), stage.group("errors"))
                )
            elif marked and marked.group("mark") != "I":
                text = marked.group("text")
                if not statements.take(number, text, marked.group("mark")):
                    other[marked.group("mark")] = other.get(marked.group("mark"), 0) + 1
        finish(result, statements)
        if other:
            result.facts["remarks_without_port"] = other
        return stamped(result, file)


def stage_reading(line: int, stage: str, errors: str) -> Reading:
    """How many errors a stage of the whole run counted."""
    return Reading(
        line,
        f"{stage} errors",
        errors,
        entity_text=stage,
        link_type="infiniband",
        counter="fabric_check_errors",
        value=float(errors),
        kind="gauge",
        scope="switch_sum",
    )


def finish(result: ReadResult, statements: Statements) -> None:
    """Move what the statements gave into the result."""
    result.readings += statements.readings
    result.events += statements.events
    topology = statements.fabric.topology()
    result.topology = topology if topology.links else None
    if statements.messages:
        most = sorted(statements.messages.items(), key=lambda item: -item[1])[:20]
        result.facts["remarks_by_wording"] = dict(most)
