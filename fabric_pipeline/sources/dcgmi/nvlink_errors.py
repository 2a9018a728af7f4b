"""Reader of the table `dcgmi nvlink -e` prints for one GPU: links, and their counts below them.

Several tables in one file (a loop over GPUs) are read one after the other.
"""

from __future__ import annotations

import re
from typing import ClassVar

from fabric_pipeline.model.records import MAX_TEXT, ReadResult, RejectedLine, UnknownFact
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.dcgmi.error_records import CountRow, add_count
from fabric_pipeline.sources.nvidia_smi.captures import (
    CapturedLine,
    captured_lines,
    selected_gpu,
    squeezed,
)

_TITLE = re.compile(r"NVLINK Error Counts", re.I)
_GPU = re.compile(r"^\s*\|\s*GPU(?: ID)?\s*:?\s*(?P<gpu>\d{1,4})\s*\|")
_LINK = re.compile(r"^\s*\|\s*(?:->\s*)?Link\s+(?P<link>\d{1,3})\s*\|\s*\|?\s*$")
_SECTION = re.compile(r"^\s*\|\s*(?P<title>[A-Za-z][\w ]{1,40}?)\s*\|\s*\|\s*$")
_COUNT = re.compile(r"^\s*\|\s*->\s*(?P<words>[^|]{2,60}?)\s*\|\s*(?P<value>[^|]{1,60}?)\s*\|\s*$")
_FRAME = re.compile(r"^\s*\+[-=+]+\+?\s*$|^\s*\|\s*NVLINK Error Counts\s*\|\s*$", re.I)
_WARNING = re.compile(
    r"Unable to retrieve nvlink (?P<words>.{1,60}?) count for link (?P<link>\d{1,3})"
    r" for gpuId (?P<gpu>\d{1,4})(?P<why>.{0,200})"
)


class DcgmiNvlinkErrorsReader:
    """CRC flit, CRC data, replay and recovery counts of each link of a GPU."""

    format_id: ClassVar[str] = "dcgmi_nvlink_errors"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="dcgmi nvlink -e",
        versions="DCGM 3.1.8",
        recognised_by="the title `NVLINK Error Counts` above a drawn table",
        gives=(
            "CRC flit, CRC data, replay and recovery counts of each link; one block for a whole "
            "GPU on newer ones"
        ),
        traps=(
            "Counts of a whole GPU are sums that never name a link.",
            "A count that dcgmi could not retrieve is unknown, not zero.",
            "A table row that lost a part is refused.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with the title in a drawn table; the JSON form is another format."""
        head = file.head
        if file.is_binary or not _TITLE.search(head) or '"header"' in head or '"body"' in head:
            return 0
        return 90 if "|" in head else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Cumulative readings a link; rows that lost a part are refused."""
        parser = _Parser()
        for line in captured_lines(file):
            parser.feed(line)
        return parser.finish()


class _Parser:
    def __init__(self) -> None:
        self.result = ReadResult()
        self.gpu: int | None = None
        self.link: int | None = None
        self.node = ""
        self.in_table = False

    def feed(self, line: CapturedLine) -> None:
        text, self.node = squeezed(line.text), line.node
        if _TITLE.search(text):
            self.in_table, self.link = True, None
            self.gpu = selected_gpu(line.command)
        elif not self.in_table or _FRAME.match(text):
            self._warning(text)
        elif gpu := _GPU.match(text):
            self.gpu = int(gpu["gpu"])
        elif link := _LINK.match(text):
            self.link = int(link["link"])
        elif count := _COUNT.match(text):
            row = CountRow(
                line.number,
                self.gpu,
                self.link,
                count["words"],
                count["value"],
                line.node,
                line.time,
            )
            add_count(row, self.result)
        elif _SECTION.match(text):
            self.link = None
        elif "|" in text:
            rule = "the table row holds no link and no counter with its value"
            self.result.rejected.append(RejectedLine(line.number, text[:MAX_TEXT], rule))
        else:
            self._warning(text)

    def _warning(self, text: str) -> None:
        found = _WARNING.search(text)
        if found:
            interface = f"gpu{found['gpu']}/nvlink-{found['link']}"
            reason = f"dcgmi could not read it{found['why']}"
            fact = UnknownFact(self.node, interface, found["words"], reason)
            self.result.unknown.append(fact)

    def finish(self) -> ReadResult:
        if self.in_table and not self.result.readings:
            reason = "the table of error counts has no row of a link"
            interface = "" if self.gpu is None else f"gpu{self.gpu}"
            fact = UnknownFact(self.node, interface, "NVLink error counts", reason)
            self.result.unknown.append(fact)
        return self.result
