"""Reader of `nvidia-smi -q -x` (schemas v11 to v13): the same report as XML.

The tags are scanned one by one instead of by an XML parser, so that a cut file, a shell prompt in
front or several reports in a row are read as far as they go, and every value keeps its line.
"""

from __future__ import annotations

import html
import re
from typing import ClassVar

from fabric_pipeline.model.records import ReadResult, RejectedLine, TopologyPart
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.nvidia_smi.captures import CapturedLine, captured_lines, selected_gpu
from fabric_pipeline.sources.nvidia_smi.clock import parse_clock
from fabric_pipeline.sources.nvidia_smi.gpu_query import (
    Field,
    QueriedGpu,
    add_records,
    topology_entry,
)

MAX_XML_LINE = 4_000_000  # a report without line breaks is one long line
_TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z_][\w.-]{0,60})(?P<rest>(?:\s[^<>]{0,200})?)>")
_ID = re.compile(r"\bid\s*=\s*[\"']([^\"']{1,40})[\"']")

# (parent element, element) -> field of gpu_query; "" as parent stands for any
_FIELDS = {
    ("pci", "replay_counter"): "replays",
    ("pci", "replay_rollover_counter"): "replay_rollovers",
    ("pcie_gen", "max_link_gen"): "gen_max",
    ("pcie_gen", "current_link_gen"): "gen_current",
    ("pcie_gen", "device_current_link_gen"): "gen_device_current",
    ("pcie_gen", "max_device_link_gen"): "gen_device_max",
    ("pcie_gen", "max_host_link_gen"): "gen_host_max",
    ("link_widths", "max_link_width"): "width_max",
    ("link_widths", "current_link_width"): "width_current",
    ("pci", "tx_util"): "tx",
    ("pci", "rx_util"): "rx",
    ("gpu", "performance_state"): "performance_state",
    ("gpu", "product_name"): "name",
    ("gpu", "uuid"): "uuid",
    ("gpu", "serial"): "serial",
    ("gpu", "minor_number"): "minor_number",
    ("utilization", "gpu_util"): "utilization",
    ("gpu_virtualization_mode", "virtualization_mode"): "virtualization",
    ("gpu", "gpu_recovery_action"): "recovery_action",
    ("fabric", "cliqueId"): "fabric_clique",
    ("fabric", "clusterUuid"): "fabric_cluster",
    ("fabric", "state"): "fabric_state",
    ("fabric", "status"): "fabric_status",
    ("health", "summary"): "fabric_health",
    ("health", "bandwidth"): "fabric_bandwidth",
    ("health", "route_recovery_in_progress"): "fabric_route_recovery",
    ("health", "route_unhealthy"): "fabric_route",
    ("health", "access_timeout_recovery"): "fabric_access_recovery",
    ("health", "incorrect_configuration"): "fabric_configuration",
}


class QueryXmlReader:
    """PCIe link, replays and performance state of `nvidia-smi -q -x`."""

    format_id: ClassVar[str] = "nvidia_smi_query_xml"
    version: ClassVar[str] = "2"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events", "topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="nvidia-smi -q -x",
        versions="schemas v11, v12 and v13 (drivers 510.47 to 595.84)",
        recognised_by="the root element `<nvidia_smi_log>`",
        gives=(
            "PCIe replays and rollovers, width and generation with their maxima, performance "
            "state, state of the NVLink fabric; serial number and UUID"
        ),
        traps=(
            "A cut file is read up to the cut, and the open element is named.",
            (
                "A narrow or slow link of an idle GPU saves power; the performance state stands "
                "beside it for that reason."
            ),
            (
                "Zeros for width and generation are a virtual machine that hides the link: not "
                "measured."
            ),
            "The time stamp is local time and the report names no host.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure when the root element stands in the head."""
        return 95 if not file.is_binary and "<nvidia_smi_log" in file.head else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Readings on `gpu<N>/pcie` (and `gpu<N>` for the performance state) for each report."""
        scanner = _Scanner(file)
        for line in captured_lines(file, max_line=MAX_XML_LINE):
            scanner.feed(line)
        return scanner.finish()


class _Scanner:
    def __init__(self, file: SourceFile) -> None:
        self.zone = file.hints.timezone
        self.time = file.hints.time
        self.result = ReadResult()
        self.open: list[tuple[str, int]] = []
        self.text = ""
        self.reports: list[list[QueriedGpu]] = []
        self.attached: int | None = None

    def feed(self, line: CapturedLine) -> None:
        position = 0
        for tag in _TAG.finditer(line.text):
            self.text += line.text[position : tag.start()]
            position = tag.end()
            if tag["close"]:
                self._end(line, tag["name"])
            elif not tag["rest"].endswith("/"):
                self._begin(line, tag["name"], tag["rest"])
        self.text = (self.text + line.text[position:])[-400:]

    def _begin(self, line: CapturedLine, name: str, attributes: str) -> None:
        self.text = ""
        if name == "nvidia_smi_log":
            self.open, self.attached = [], None
            self.reports.append([])
        elif name == "gpu" and self.reports and len(self.open) == 1:
            self._gpu(line, attributes)
        self.open.append((name, line.number))

    def _gpu(self, line: CapturedLine, attributes: str) -> None:
        found = _ID.search(attributes)
        report = self.reports[-1]
        pci = found[1] if found else ""
        gpu = QueriedGpu(line.node, self.time or line.time, pci, len(report), line.number)
        gpu.attached, gpu.chosen = self.attached, selected_gpu(line.command)
        report.append(gpu)

    def _end(self, line: CapturedLine, name: str) -> None:
        names = [opened for opened, _ in self.open]
        if name not in names:
            return
        is_leaf = names[-1] == name
        while self.open and self.open.pop()[0] != name:
            pass
        if is_leaf:
            parent = self.open[-1][0] if self.open else ""
            self._value(line, parent, name, html.unescape(self.text).strip())
        self.text = ""

    def _value(self, line: CapturedLine, parent: str, name: str, text: str) -> None:
        if name == "timestamp":
            self.time = parse_clock(text, self.zone) or self.time
        elif name == "attached_gpus":
            self.attached = int(text) if text.isdecimal() and len(text) < 5 else None
        field = _FIELDS.get((parent, name))
        if field and text and self.reports and self.reports[-1]:
            self.reports[-1][-1].fields.setdefault(field, Field(text, name, line.number))

    def finish(self) -> ReadResult:
        nodes: dict[str, list[dict[str, object]]] = {}
        for report in self.reports:
            for gpu in report:
                gpu.listed = len(report)
                add_records(gpu, self.result)
                entry = topology_entry(gpu)
                if entry and entry not in nodes.setdefault(gpu.node, []):
                    nodes[gpu.node].append(entry)
        if nodes:
            parts = [{"node": node, "gpus": gpus} for node, gpus in nodes.items()]
            self.result.topology = TopologyPart(nodes=parts)
        if self.open:
            name, line = self.open[-1]
            rule = f"the file ends inside the element <{name}> that begins here"
            self.result.rejected.append(RejectedLine(line, f"<{name}>", rule))
        return self.result
