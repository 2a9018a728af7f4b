"""Reads a ttar archive of sysfs files: `Path:`, `Lines: n`, n content lines, `Mode:`.

ttar writes `EOF` behind content that lacks a final line end and `NULLBYTE` for zero bytes; both
marks are taken off. Directories and symbolic links carry no content.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.lines import body_lines, count_hits, reject, stamped
from fabric_pipeline.sources.infiniband.sysfs_paths import PORT_PATH, Item, read_items

_PATH = re.compile(r"^Path: (?P<path>\S.{0,400})$")
_COUNT = re.compile(r"^Lines: (?P<count>\d{1,7})$")
_RULE = re.compile(r"^# ttar(?: -)+\s*$")


class SysfsTtarReader:
    """Reader of ttar archives that hold RDMA port files."""

    format_id: ClassVar[str] = "sysfs_ttar"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="ttar",
        versions="not stated",
        recognised_by="`Path:` and `Lines:` headers with ttar's separator, and the path of a port",
        gives=(
            "port state, rate, width and LIDs, all port and RDMA counters, interface state and "
            "carrier counts, PCIe width and generation where listed"
        ),
        traps=(
            "Classic counters at their ceiling are saturated.",
            "Data counters count words of four bytes.",
            "The rate of a port that is down has no meaning and is kept uninterpreted.",
            (
                "The speed of a network interface can lag behind what the port trained to; it is "
                "kept uninterpreted."
            ),
            "The marks EOF and NULLBYTE belong to the archive and are taken off.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with ttar's separator and a port path."""
        if file.is_binary or not count_hits(file, _PATH, 1):
            return 0
        has_port = bool(PORT_PATH.search(file.head))
        if count_hits(file, _RULE, 1):
            return 95 if has_port else 60
        return 70 if has_port and count_hits(file, _COUNT, 1) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """States, rates and counters of the ports archived."""
        result = ReadResult()
        read_items(list(_items(file, result)), file.hints.node, result)
        return stamped(result, file)


def _items(file: SourceFile, result: ReadResult) -> Iterator[Item]:
    path, wanted, content, first = "", 0, list[str](), 0
    for number, line in body_lines(file, result):
        if wanted:
            content.append(line)
            first = first or number
            wanted -= 1
            if not wanted:
                yield Item(first, path, _joined(content))
        elif found := _PATH.match(line):
            path, content, first = found.group("path"), [], 0
        elif found := _COUNT.match(line):
            wanted = int(found.group("count")) if path else 0
    if wanted:
        reject(result, None, path, "the archive ends inside the content of this file")


def _joined(content: list[str]) -> str:
    text = "\n".join(content).strip().removesuffix("EOF")
    return text.replace("NULLBYTE", "").strip()
