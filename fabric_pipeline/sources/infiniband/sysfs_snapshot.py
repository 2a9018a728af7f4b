"""Reads a sysfs snapshot stored as one JSON object: path -> content of the file.

Most paths concern other devices and are passed over. Contents blanked to the attribute's own name
(`lid`: `lid`) are not measured. A cut object is read line by line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.lines import reject, stamped
from fabric_pipeline.sources.infiniband.sysfs_paths import Item, read_items

_KEY = re.compile(
    r"\"(?:/[\w.:@-]{1,80}){0,12}?/(?:infiniband/[\w.-]{1,40}|net/[\w.-]{1,40}|device/[\w.:-]{1,40})/"
    r"[\w./-]{1,100}\"\s{0,8}:\s{0,8}\""
)
_PAIR = re.compile(
    r"^\s*\"(?P<path>/[^\"\\]{1,300})\"\s*:\s*\"(?P<content>(?:[^\"\\]|\\.){0,1000})\""
)


class SysfsSnapshotReader:
    """Reader of sysfs snapshots in JSON."""

    format_id: ClassVar[str] = "sysfs_snapshot_json"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="a snapshot of sysfs as one JSON object",
        versions="not stated",
        recognised_by="an object whose keys are sysfs paths of RDMA devices or interfaces",
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
            "A content that only repeats the attribute's name was blanked and is not measured.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with an object whose keys are sysfs paths of RDMA devices or interfaces."""
        head = file.head
        if file.is_binary or "/sys/" not in head or not head.lstrip().startswith("{"):
            return 0
        return 95 if _KEY.search(head) else 40

    def read(self, file: SourceFile) -> ReadResult:
        """States, rates and counters of ports and interfaces, PCI link levels."""
        result = ReadResult()
        paths = _load(file, result)
        lines = _line_numbers(file)
        items = (
            Item(lines.get(path), path, content)
            for path, content in paths
            if content and content != path.rpartition("/")[2]
        )
        read_items(items, file.hints.node, result)
        result.facts["paths"] = len(paths)
        return stamped(result, file)


def _load(file: SourceFile, result: ReadResult) -> list[tuple[str, str]]:
    if file.is_binary:
        reject(result, None, "", "the file is binary, not JSON text")
        return []
    try:
        loaded: Any = json.loads(file.text)
    except (ValueError, RecursionError):
        reject(result, None, file.text[:200], "the JSON is cut or damaged; lines were read singly")
        return list(_loose(file))
    if not isinstance(loaded, dict):
        reject(result, None, file.text[:200], "the JSON holds no object of paths")
        return []
    return [(path, value.strip()) for path, value in loaded.items() if isinstance(value, str)]


def _loose(file: SourceFile) -> Iterator[tuple[str, str]]:
    for line in file.lines:
        found = _PAIR.match(line[:2000])
        if found:
            yield found.group("path"), found.group("content").replace("\\n", " ").strip()


def _line_numbers(file: SourceFile) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for number, line in enumerate(file.lines, 1):
        found = _PAIR.match(line[:2000])
        if found:
            numbers.setdefault(found.group("path"), number)
    return numbers
