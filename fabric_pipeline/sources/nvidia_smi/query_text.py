"""Reader of `nvidia-smi -q`: the indented report of each GPU, of which the PCIe link is read.

Sections are told apart by indentation. Clocks, memory, temperatures and ECC of the GPU memory are
no interconnect data and are passed over.
"""

from __future__ import annotations

import re
from typing import ClassVar

from fabric_pipeline.model.records import MAX_TEXT, ReadResult, RejectedLine, TopologyPart
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.nvidia_smi.captures import CapturedLine, captured_lines, selected_gpu
from fabric_pipeline.sources.nvidia_smi.clock import parse_clock
from fabric_pipeline.sources.nvidia_smi.gpu_query import (
    Field,
    QueriedGpu,
    add_records,
    topology_entry,
)

_BANNER = re.compile(r"^\s{0,4}=+\s*NVSMI LOG\s*=+\s*$", re.M)
_GPU = re.compile(r"^GPU (?P<pci>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*$")
_WANTED = re.compile(r"Replay|Link Width|PCIe Generation|Performance State")

# last parts of the section path -> field of gpu_query
_FIELDS = {
    ("Replays Since Reset",): "replays",
    ("Replays since reset",): "replays",
    ("Replay Number Rollovers",): "replay_rollovers",
    ("PCIe Generation", "Max"): "gen_max",
    ("PCIe Generation", "Current"): "gen_current",
    ("PCIe Generation", "Device Current"): "gen_device_current",
    ("PCIe Generation", "Device Max"): "gen_device_max",
    ("PCIe Generation", "Host Max"): "gen_host_max",
    ("Link Width", "Max"): "width_max",
    ("Link Width", "Current"): "width_current",
    ("Tx Throughput",): "tx",
    ("Rx Throughput",): "rx",
    ("Performance State",): "performance_state",
    ("Product Name",): "name",
    ("GPU UUID",): "uuid",
    ("Serial Number",): "serial",
    ("Minor Number",): "minor_number",
    ("Utilization", "Gpu"): "utilization",
    ("Utilization", "GPU"): "utilization",
    ("GPU Virtualization Mode", "Virtualization Mode"): "virtualization",
    ("GPU Recovery Action",): "recovery_action",
    ("Fabric", "CliqueId"): "fabric_clique",
    ("Fabric", "ClusterUUID"): "fabric_cluster",
    ("Fabric", "State"): "fabric_state",
    ("Fabric", "Status"): "fabric_status",
    ("Health", "Summary"): "fabric_health",
    ("Health", "Bandwidth"): "fabric_bandwidth",
    ("Health", "Route Recovery in progress"): "fabric_route_recovery",
    ("Health", "Route Unhealthy"): "fabric_route",
    ("Health", "Access Timeout Recovery"): "fabric_access_recovery",
    ("Health", "Incorrect Configuration"): "fabric_configuration",
}


class QueryTextReader:
    """PCIe link, replays and performance state of `nvidia-smi -q`."""

    format_id: ClassVar[str] = "nvidia_smi_query_text"
    version: ClassVar[str] = "2"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events", "topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="nvidia-smi -q",
        versions="driver 525.105.17",
        recognised_by="the banner `NVSMI LOG`, or the PCIe section of the report alone",
        gives=(
            "PCIe replays and rollovers, width and generation with their maxima, performance "
            "state, state of the NVLink fabric; serial number and UUID"
        ),
        traps=(
            (
                "A narrow or slow link of an idle GPU saves power; the performance state stands "
                "beside it for that reason."
            ),
            "The maximum is the lowest of what GPU, slot and host state.",
            (
                "Zeros for width and generation are a virtual machine that hides the link: not "
                "measured."
            ),
            (
                "A query of some GPUs tells no index by its order; without a minor number the GPU"
                " goes by its PCI address."
            ),
            "The time stamp is local time and the report names no host.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with the banner of the report, likely with its PCIe section alone."""
        if file.is_binary or "<nvidia_smi_log" in file.head:
            return 0
        if _BANNER.search(file.head):
            return 88
        pairs = ("Replays Since Reset", "Replay Number Rollovers", "GPU Link Info")
        return 60 if sum(words in file.head for words in pairs) >= 2 else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Readings on `gpu<N>/pcie` (and `gpu<N>` for the performance state) for each report."""
        parser = _Parser(file)
        for line in captured_lines(file):
            parser.feed(line)
        return parser.finish()


class _Parser:
    def __init__(self, file: SourceFile) -> None:
        self.zone = file.hints.timezone
        self.result = ReadResult()
        self.reports: list[list[QueriedGpu]] = [[]]
        self.attached: int | None = None
        self.time = file.hints.time
        self.sections: list[tuple[int, str]] = []

    def feed(self, line: CapturedLine) -> None:
        text = line.text
        if _BANNER.match(text):
            self.reports.append([])
            self.attached, self.sections = None, []
            return
        start = _GPU.match(text)
        if start:
            self._start(line, start["pci"])
            return
        key, colon, value = text.partition(":")
        if colon and value[:1].isspace():
            indent = len(text) - len(text.lstrip())
            self._value(line, indent, key.strip()[:80], value.strip()[:300])
        elif text.strip():
            self._section(line, text)

    def _start(self, line: CapturedLine, pci: str) -> None:
        report = self.reports[-1]
        gpu = QueriedGpu(line.node, self.time or line.time, pci, len(report), line.number)
        gpu.attached, gpu.chosen = self.attached, selected_gpu(line.command)
        report.append(gpu)
        self.sections = []

    def _section(self, line: CapturedLine, text: str) -> None:
        indent = len(text) - len(text.lstrip())
        self._close(indent)
        self.sections.append((indent, text.strip().rstrip(":").strip()[:80]))
        if self.reports[-1] and _WANTED.search(text) and "Link" not in text and "Gen" not in text:
            rule = "the row ends before its value"
            self.result.rejected.append(RejectedLine(line.number, text[:MAX_TEXT], rule))

    def _close(self, indent: int) -> None:
        while self.sections and self.sections[-1][0] >= indent:
            self.sections.pop()

    def _value(self, line: CapturedLine, indent: int, key: str, value: str) -> None:
        self._close(indent)
        if key == "Timestamp":
            self.time = parse_clock(value, self.zone) or self.time
        elif key == "Attached GPUs":
            self.attached = int(value) if value.isdecimal() and len(value) < 5 else None
        parent = self.sections[-1][1] if self.sections else ""
        name = _FIELDS.get((parent, key)) or _FIELDS.get((key,))
        if name is None:
            return
        if not self.reports[-1]:
            self._start(line, "")  # an excerpt without the line that names the GPU
        words = f"{parent} {key}".strip() if (parent, key) in _FIELDS else key
        self.reports[-1][-1].fields.setdefault(name, Field(value, words, line.number))

    def finish(self) -> ReadResult:
        nodes: dict[str, list[dict[str, object]]] = {}
        for report in self.reports:
            for gpu in report:
                gpu.listed = len(report)
                add_records(gpu, self.result)
                entry = topology_entry(gpu)
                known = nodes.setdefault(gpu.node, [])
                if entry and entry not in known:
                    known.append(entry)
        if nodes:
            parts = [{"node": node, "gpus": gpus} for node, gpus in nodes.items()]
            self.result.topology = TopologyPart(nodes=parts)
        return self.result
