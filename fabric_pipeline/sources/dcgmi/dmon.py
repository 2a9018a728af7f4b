"""Reader of `dcgmi dmon`: columns of samples a GPU under short field names.

Which short name is which counter stands here (`dcgmi dmon -l` lists them). Rows whose cells ran
together are refused: nothing says where one number ends.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import ClassVar

from fabric_pipeline.model.records import (
    MAX_TEXT,
    FabricEvent,
    Reading,
    ReadResult,
    RejectedLine,
    UnknownFact,
)
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.nvidia_smi.captures import CapturedLine, captured_lines
from fabric_pipeline.sources.nvidia_smi.values import (
    is_not_measured,
    judge_number,
    kind_of,
    parse_count,
)

_HEADER = re.compile(r"^\s*#\s?Entity\b(?P<names>.{0,2000})$")
_HINT = re.compile(r"^[ \t]*#[ \t]?Entity[ \t]+[A-Z]", re.M)
_ROW = re.compile(
    r"^\s*(?P<entity>GPU|GPU-I|GPU-CI|Switch|NvSwitch|Link|CPU)\s+(?P<id>\d{1,6})\b(?P<cells>.*)$"
)
_PER_LINK = re.compile(r"^(?P<code>NFEL|NDEL|NREL|NRCL)(?P<link>\d{1,2}|T)$")
_LINK_COUNTERS = {"NFEL": "crc_flit", "NDEL": "crc_data", "NREL": "replay", "NRCL": "recovery"}
_PCIE = {
    "RPCTR": "pcie_replay",
    "PCIRP": "pcie_replay",
    "PCILG": "pcie_gen",
    "PCIMG": "pcie_gen_max",
    "PCILW": "width",
    "PCIMW": "width_max",
}
_INTERCONNECT = re.compile(
    r"^(?!NVDEC|NVJPG|NVOFA)(?:N[FDR][EC]L|NV|NBW|PCI|RPCTR|[TR]XTPT|SW|LNK|C2C|XIDER|GNVERR)"
)
_TRAFFIC = re.compile(r"^(?:NVL\d{0,2}[TR]X?|PCI[TR]X|NBWL(?:\d{1,2}|T)|[TR]XTPT)$")


class DcgmiDmonReader:
    """Samples of link counters and traffic; traffic stays under its short name."""

    format_id: ClassVar[str] = "dcgmi_dmon"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events"})
    wanted_lines: ClassVar[str] = ""  # every line; they are many, so they are not held in memory
    note: ClassVar[FormatNote] = FormatNote(
        tool="dcgmi dmon",
        versions="DCGM 3.1.8",
        recognised_by="the header line that begins with `#Entity`",
        gives=(
            "NVLink error counters, PCIe replays, width and generation, and traffic under its "
            "short name, one reading a sample"
        ),
        traps=(
            "Columns of totals are sums of a GPU and never name a link.",
            "Cells that ran together are refused: nothing says where one number ends.",
            "The Xid column holds the last Xid for ever; it is told once and without a time.",
            "N/A is not measured; the number of such samples is stated.",
            "Samples have no time stamps.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with the header that begins with `#Entity`."""
        return 92 if not file.is_binary and _HINT.search(file.head) else 0

    def read(self, file: SourceFile) -> ReadResult:
        """One reading a cell of an interconnect column (clocks, memory and load are passed over).

        N/A cells are not measured; the unknown facts say how many samples that concerns.
        """
        parser = _Parser()
        for line in captured_lines(file):
            parser.feed(line)
            file.hand_over(parser.result)
        return parser.finish()


class _Parser:
    def __init__(self) -> None:
        self.result = ReadResult()
        self.names: list[str] = []
        self.samples: Counter[tuple[str, str, str]] = Counter()
        self.missing: Counter[tuple[str, str, str]] = Counter()
        self.passed_over: dict[str, None] = {}
        self.xids: set[tuple[str, str, int]] = set()

    def feed(self, line: CapturedLine) -> None:
        header = _HEADER.match(line.text)
        if header:
            self.names = header["names"].split()
            return
        row = _ROW.match(line.text) if self.names else None
        if row is None:
            return
        cells = row["cells"].split()
        if len(cells) != len(self.names):
            rule = f"the row has {len(cells)} cells under {len(self.names)} columns"
            self.result.rejected.append(RejectedLine(line.number, line.text[:MAX_TEXT], rule))
            return
        device = _device(row["entity"], row["id"])
        for name, cell in zip(self.names, cells, strict=True):
            if _is_of_interconnect(name):
                self._cell(line, f"{row['entity']} {row['id']}", device, name, cell)
            else:
                self.passed_over[name] = None

    def _cell(self, line: CapturedLine, entity: str, device: str, name: str, cell: str) -> None:
        number = parse_count(cell)
        if number is None and not is_not_measured(cell):
            rule = f"the cell under {name} reads {cell[:60]!r}, which is no number"
            self.result.rejected.append(RejectedLine(line.number, line.text[:MAX_TEXT], rule))
            return
        counter, interface, scope = _column(name, device)
        reading = Reading(line.number, name, cell[:200], entity, node=line.node)
        reading.interface, reading.counter, reading.scope = interface, counter, scope
        reading.link_type = "pcie" if interface.endswith("/pcie") else "nvlink"
        reading.kind = _kind(name, counter)
        reading.time = line.time
        reading.quality = "not_supported"
        if number is not None:
            reading.value, reading.quality = judge_number(counter, number)
        self.result.readings.append(reading)
        key = (line.node, device, name)
        self.samples[key] += 1
        self.missing[key] += reading.quality == "not_supported"
        if name == "XIDER" and reading.value:
            self._xid(line, device, int(reading.value))

    def _xid(self, line: CapturedLine, device: str, code: int) -> None:
        """The field holds the last Xid for ever, so it is told once and without a time."""
        if (line.node, device, code) in self.xids:
            return
        self.xids.add((line.node, device, code))
        event = FabricEvent(line.number, "xid", line.text.strip()[:MAX_TEXT], line.node, device)
        event.code, event.severity = code, "watch"
        event.reason = f"the last Xid of {device} was {code}; the field does not say when"
        self.result.events.append(event)

    def finish(self) -> ReadResult:
        for (node, device, name), count in self.missing.items():
            if count:
                reason = f"{count} of {self.samples[node, device, name]} samples read N/A"
                fact = UnknownFact(node, device, f"{name} of {device}", reason)
                self.result.unknown.append(fact)
        if self.passed_over:
            self.result.facts["dmon_columns_passed_over"] = list(self.passed_over)
        return self.result


def _device(entity: str, number: str) -> str:
    if entity == "GPU":
        return f"gpu{number}"
    return f"nvswitch-{number}" if "Switch" in entity else ""


@lru_cache(4096)
def _is_of_interconnect(name: str) -> bool:
    return bool(_INTERCONNECT.match(name))


@lru_cache(4096)
def _kind(name: str, counter: str) -> str:
    return "gauge" if _TRAFFIC.match(name) else kind_of(counter)


@lru_cache(4096)
def _column(name: str, device: str) -> tuple[str, str, str]:
    """Canonical counter, interface and scope of a column."""
    found = _PER_LINK.match(name)
    if found and device.startswith("gpu"):
        counter = _LINK_COUNTERS[found["code"]]
        if found["link"] == "T":
            return counter, device, "gpu_sum"
        return counter, f"{device}/nvlink-{int(found['link'])}", "link"
    if device.startswith("gpu") and (name in _PCIE or name.startswith("PCI") or "XTPT" in name):
        return _PCIE.get(name, ""), f"{device}/pcie", "link"
    return "", device, "gpu_sum" if device.startswith("gpu") else "link"
