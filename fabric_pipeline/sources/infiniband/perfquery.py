"""Reads `perfquery`: the counters of one or several ports, classic, extended (-x) or detailed.

Ports are known by LID only. Classic counters stop at their ceilings, extended ones are 64 bits
wide. A query that printed traffic alone leaves the errors unknown, which is said for each port.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.model.records import Reading, ReadResult, UnknownFact
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.lines import body_lines, count_hits, reject, stamped
from fabric_pipeline.sources.infiniband.ports import PortRef, switch_port

_HEADER = re.compile(
    r"^\s*#\s*(?P<what>[A-Z][\w ]{2,60}?)\s*:\s*(?:Lid (?P<lid>\d{1,6})|DR path (?P<path>[\w;, ]{1,80}?))"
    r"\s+port (?P<port>\d{1,4})\b"
)
_ROW = re.compile(r"^\s*(?P<name>[A-Za-z]\w{2,60}):\.*\s*(?P<value>\S{0,40})\s*$")
_DOTS = re.compile(r"^\s*[A-Za-z]\w{2,60}:\.{2,}")
_NUMBER = re.compile(r"^[0-9]{1,20}$")
_SELECTORS = frozenset({"PortSelect", "CounterSelect", "CounterSelect2"})
_ALL_PORTS = 255


@dataclass(slots=True)
class _Block:
    """One printed attribute of one port."""

    port: PortRef
    is_wide: bool
    what: str
    readings: list[Reading] = field(default_factory=list)


class PerfqueryReader:
    """Reader of `perfquery` output."""

    format_id: ClassVar[str] = "perfquery"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="perfquery, -l, -x, --rcverr",
        versions="infiniband-diags 44.0, others not stated",
        recognised_by="a header `# Port counters: Lid 2 port 3` and rows with dots before the number",
        gives="the counters of a port, classic, extended or detailed; data in bytes",
        traps=(
            "Ports are known by LID only; a topology is needed to name them.",
            (
                "Classic counters saturate at 15, 255 or 65535; extended ones are 64 bits wide "
                "and do not."
            ),
            "Data counters count words of four bytes.",
            "A query that printed traffic alone leaves the errors unknown.",
            "Port 255 means all ports: a sum that names none.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with a block header and dotted rows."""
        if count_hits(file, _HEADER, 1) and count_hits(file, _DOTS, 1):
            return 95
        return 55 if count_hits(file, _PMA_ROW, 3) >= 3 else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Counters of each port."""
        result = ReadResult()
        blocks: list[_Block] = []
        for number, line in body_lines(file, result):
            if found := _HEADER.match(line):
                blocks.append(_block(found))
            elif found := _ROW.match(line):
                if not blocks:
                    blocks.append(_Block(PortRef("", "", "port not stated"), False, "counters"))
                _take_row(number, line, found, blocks[-1], result)
            elif _DOTS.match(line) or "iberror" in line:
                reject(result, number, line, "a counter row is cut, or the query failed")
        _tell_widths_apart(blocks)
        for block in blocks:
            result.readings += block.readings
        _name_gaps(blocks, result)
        return stamped(result, file)


_PMA_ROW = re.compile(
    r"^\s*(?:SymbolErrorCounter|LinkDownedCounter|Port(?:Rcv|Xmit)\w{3,40}):\.+\d"
)


def _block(found: re.Match[str]) -> _Block:
    port_number, what = int(found.group("port")), found.group("what")
    lid = int(found.group("lid")) if found.group("lid") else None
    path = (found.group("path") or "").strip().replace(" ", "").replace(";", "-").replace(",", "-")
    port = switch_port(f"dr-{path}" if path else "", port_number, lid=lid)
    if port_number == _ALL_PORTS:
        device = port.interface.rpartition("/")[0]
        port = PortRef("", device, f"{device} all ports", lid=lid, scope="switch_sum")
    return _Block(port, "extended" in what.lower(), what)


def _take_row(
    number: int, line: str, found: re.Match[str], block: _Block, result: ReadResult
) -> None:
    name, value = found.group("name"), found.group("value")
    if name in _SELECTORS:
        return
    if not _NUMBER.match(value):
        reject(result, number, line, "the value of a counter is missing or no number")
        return
    block.readings.append(block.port.count(number, name, value, float(value), block.is_wide))


def _tell_widths_apart(blocks: list[_Block]) -> None:
    """`perfquery` and `perfquery -x` of one port are one moment, so the same name gets two spellings."""
    narrow = {(b.port.interface, r.counter_text) for b in blocks if not b.is_wide for r in b.readings}  # fmt: skip
    for block in blocks:
        for reading in block.readings:
            if block.is_wide and (block.port.interface, reading.counter_text) in narrow:
                reading.counter_text += " (extended)"


def _name_gaps(blocks: list[_Block], result: ReadResult) -> None:
    """Say which ports were read without any error counter."""
    with_errors: dict[str, bool] = {}
    ports: dict[str, PortRef] = {}
    for block in blocks:
        ports[block.port.interface] = block.port
        has = any(_is_error(reading) for reading in block.readings)
        with_errors[block.port.interface] = with_errors.get(block.port.interface, False) or has
    for interface, has in with_errors.items():
        if not has:
            result.unknown.append(
                UnknownFact(
                    ports[interface].node,
                    interface,
                    "error counters",
                    "the query printed no error counter for this port, so errors are unknown",
                )
            )


def _is_error(reading: Reading) -> bool:
    spec = COUNTERS.get(reading.counter)
    return spec is not None and spec.role == "error"
