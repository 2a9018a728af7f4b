"""Reader of `dcgmi discovery -l`: which GPUs and NVSwitches a host has. It measures nothing.

Addresses and UUIDs go to the topology; a GPU whose rows are cut is told as unknown.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from fabric_pipeline.model.components import normalise_pci
from fabric_pipeline.model.records import ReadResult, TopologyPart, UnknownFact
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.nvidia_smi.captures import (
    CapturedLine,
    captured_lines,
    squeezed,
)

_FOUND = re.compile(r"^\s*(?P<count>\d{1,4}) (?P<what>GPUs?|NvSwitch(?:es)?) found", re.I)
_ROW = re.compile(
    r"^\s*\|\s*(?P<id>\d{0,4})\s*\|\s*(?P<key>Name|PCI Bus ID|Device UUID)"
    r"\s*:\s*(?P<value>[^|]{0,100}?)\s*\|?\s*$"
)
_SWITCH = re.compile(r"^\s*\|\s*(?P<id>\d{1,4})\s*\|\s*$")
_HINT = re.compile(r"^[ \t]*\d{1,4} GPUs? found", re.M)


class DcgmiDiscoveryReader:
    """Inventory of GPUs with PCI address and UUID, and of NVSwitch ids."""

    format_id: ClassVar[str] = "dcgmi_discovery"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="dcgmi discovery -l",
        versions="DCGM 3.1.8",
        recognised_by="`n GPUs found.` with rows `PCI Bus ID` and `Device UUID`",
        gives="GPUs with PCI address, UUID and model, and NVSwitch numbers",
        traps=(
            "An inventory has no states and no counters.",
            "GPUs that were found and are not listed are unknown.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with the count line and device rows."""
        head = file.head
        rows = "PCI Bus ID" in head or "Device UUID" in head
        if file.is_binary or not rows:
            return 0
        return 90 if _HINT.search(head) else 60 if "| GPU ID" in head else 0

    def read(self, file: SourceFile) -> ReadResult:
        """No readings: GPUs and NVSwitches by host."""
        parser = _Parser()
        for line in captured_lines(file):
            parser.feed(line)
        return parser.finish()


class _Parser:
    def __init__(self) -> None:
        self.gpus: dict[str, dict[int, dict[str, Any]]] = {}
        self.switches: dict[str, list[int]] = {}
        self.expected: dict[str, int] = {}
        self.gpu: int | None = None
        self.in_switches = False

    def feed(self, line: CapturedLine) -> None:
        text = squeezed(line.text)
        found, row, switch = _FOUND.match(text), _ROW.match(text), _SWITCH.match(text)
        if found:
            self.in_switches = found["what"].lower().startswith("nv")
            if not self.in_switches:
                self.expected[line.node] = int(found["count"])
        elif row and not self.in_switches:
            self._gpu_row(line, row)
        elif switch and self.in_switches:
            self.switches.setdefault(line.node, []).append(int(switch["id"]))

    def _gpu_row(self, line: CapturedLine, row: re.Match[str]) -> None:
        self.gpu = int(row["id"]) if row["id"] else self.gpu
        if self.gpu is None:
            return
        entry = self.gpus.setdefault(line.node, {}).setdefault(self.gpu, {"gpu": self.gpu})
        value = row["value"].strip()
        if row["key"] == "PCI Bus ID":
            entry["pci"] = normalise_pci(value)
        elif row["key"] == "Device UUID":
            entry["uuid"] = value
        else:
            entry["model"] = value

    def finish(self) -> ReadResult:
        result = ReadResult(topology=TopologyPart())
        nodes = {**self.expected, **self.gpus}
        for node in nodes:
            gpus = list(self.gpus.get(node, {}).values())
            part: dict[str, Any] = {"node": node, "gpus": gpus}
            if self.switches.get(node):
                part["nvswitches"] = self.switches[node]
            if result.topology is not None:
                result.topology.nodes.append(part)
            self._missing(node, gpus, result)
            facts = {"node": node or "unknown", "gpus": len(gpus)}
            result.facts.setdefault("discovery", []).append(facts)
        return result

    def _missing(self, node: str, gpus: list[dict[str, Any]], result: ReadResult) -> None:
        expected = self.expected.get(node, len(gpus))
        if len(gpus) < expected:
            reason = f"{expected} GPUs were found but only {len(gpus)} are listed"
            result.unknown.append(UnknownFact(node, "", "GPUs of the host", reason))
        for gpu in gpus:
            absent = [name for name in ("pci", "uuid") if name not in gpu]
            if absent:
                reason = "the rows of this GPU are cut"
                what = f"{' and '.join(absent)} of GPU {gpu['gpu']}"
                result.unknown.append(UnknownFact(node, f"gpu{gpu['gpu']}", what, reason))
