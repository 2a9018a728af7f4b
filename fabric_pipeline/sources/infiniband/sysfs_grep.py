"""Reads `grep -r . /sys/class/infiniband` and the like: one `path:content` line a file.

Paths may be absolute or begin at the device; messages of grep itself are kept as refused lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.lines import (
    body_lines,
    count_hits,
    reject,
    stamped,
    typed_command,
)
from fabric_pipeline.sources.infiniband.sysfs_paths import Item, read_items

_LINE = re.compile(
    r"^\s*(?P<path>(?:\.{0,2}/)?(?:[\w.@-]{1,64}(?::[\w.@-]{1,32}){0,3}/){1,14}[\w.-]{1,64}):(?P<content>.{0,400})$"
)
_MINE = re.compile(
    r"^\s*(?:\S{0,160}/)?[A-Za-z][\w.-]{1,40}/ports/\d{1,3}/(?:counters/|hw_counters/)?[\w.-]{1,64}:\s*\S|"
    r"^\s*\S{0,160}/net/[\w.-]{1,40}/(?:operstate|carrier\w{0,16}|speed):\S"
)
_MESSAGE = re.compile(r"^\s*(?:grep|cat|find): ")


class SysfsGrepReader:
    """Reader of grep listings of sysfs."""

    format_id: ClassVar[str] = "sysfs_infiniband_grep"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="grep -r . /sys/class/infiniband",
        versions="mlx5, firmware 28.41 in one",
        recognised_by="lines `mlx5_0/ports/1/counters/symbol_error:0`, with absolute or relative paths",
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
            "Files that could not be read on the host are kept as refused lines.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with three port attributes, likely with one."""
        hits = count_hits(file, _MINE, 3)
        return {0: 0, 1: 65, 2: 80}.get(hits, 94)

    def read(self, file: SourceFile) -> ReadResult:
        """States, rates and counters of the ports listed."""
        result, hosts = ReadResult(), [file.hints.node]
        items = list(_items(file, result, hosts))
        read_items(items, next((host for host in hosts if host), ""), result)
        return stamped(result, file)


def _items(file: SourceFile, result: ReadResult, hosts: list[str]) -> Iterator[Item]:
    for number, line in body_lines(file, result):
        command = typed_command(line, "grep")
        if command:
            hosts.append(command.host)
        elif _MESSAGE.match(line):
            reject(result, number, line, "a file could not be read on the host")
        elif found := _LINE.match(line):
            yield Item(number, found.group("path"), found.group("content").strip())
        elif "/ports/" in line:
            reject(result, number, line, "a line of the listing is cut or unreadable")
