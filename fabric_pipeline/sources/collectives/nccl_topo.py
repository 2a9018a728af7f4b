"""Reader of NCCL topology files and dumps: NUMA nodes, PCIe switches, GPUs, network cards of a host.

NCCL fills `link_width` and `link_speed` from `max_link_width` and `max_link_speed` of the kernel, the
lower of both ends, so they say what a link allows and never what it runs at. Judging is left to
`detect`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

from fabric_pipeline.model.records import (
    Reading,
    ReadResult,
    RejectedLine,
    TopologyPart,
    UnknownFact,
)
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.collectives.line_tags import clipped
from fabric_pipeline.sources.collectives.nccl_devices import (
    GPU,
    NIC,
    NVSWITCH,
    SWITCH,
    Host,
    Slot,
    pci_address,
)
from fabric_pipeline.sources.collectives.nccl_xml import Element, read_root, stands_first

_VERSION = re.compile(r"<system\s[^<>]{0,200}version\s{0,20}=")
_DEVICES = re.compile(
    r"<pci\s[^<>]{0,200}busid\s{0,20}=|<cpu\s[^<>]{0,200}(?:numaid|host_hash)\s{0,20}="
)
_SPEED = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,2})?)\s?GT/s\b", re.IGNORECASE)
# Raw rate of one lane by PCIe generation (PCI Express base specification).
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6, 128.0: 7}
_WIDTHS = frozenset({1, 2, 4, 8, 12, 16, 32})  # lanes a PCIe link can have
_NO_WIDTH = frozenset({0, 255})  # the kernel's and NCCL's way to say that no width is known
_SHOWN_INTERFACES = 100


class NcclTopoXmlReader:
    """Reads `nccl_topo_xml` files; yields the topology and what each PCIe link allows at most."""

    format_id: ClassVar[str] = "nccl_topo_xml"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "topology"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="NCCL, a topology file or dump",
        versions='version="1"',
        recognised_by="the root `<system>` with CPUs and PCI devices",
        gives=(
            "NUMA nodes, PCIe switches, GPUs, NICs and NVSwitches of a host, and the most that "
            "each PCIe link allows"
        ),
        traps=(
            "`link_width` and `link_speed` are what a link allows, never what it runs at.",
            "Bridges that a file only invents to place devices tell nothing.",
            "The file names no host; a fused dump of several hosts tells them apart by hash only.",
            "A GPU that is its own neighbour is a virtual machine that hides the far end.",
            "Entities and document types are refused, and so are files above 4 MiB.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """94 when the file starts with the root and has devices; 45 when that stands deeper in it."""
        head = file.head
        if file.is_binary or "<system" not in head or not _DEVICES.search(head):
            return 0
        if not stands_first(head, "system"):
            return 45
        return 94 if _VERSION.search(head) else 70

    def read(self, file: SourceFile) -> ReadResult:
        """Widths (lanes), speeds (raw GT/s) and generations on `gpu<N>/pcie` or `pci-<bdf>`."""
        result = ReadResult()
        root = read_root(file, "system", result)
        if root is None:
            return result
        hosts = _hosts(root, file.hints.node)
        result.topology = TopologyPart(nodes=[host.as_node() for host in hosts])
        for host in hosts:
            for slot in host.slots:
                _Link(file, host, slot, result).tell()
        _refuse_misplaced(root, result)
        result.facts.update(_facts(root, hosts))
        reason = "a topology file tells which devices there are and what their links allow at most"
        result.unknown.append(UnknownFact(file.hints.node, "", "state of the links", reason))
        return result


def _hosts(root: Element, node: str) -> list[Host]:
    """The hosts of a file: one, unless the CPUs carry different host hashes (a fused dump)."""
    by_hash: dict[str, list[Element]] = {}
    for cpu in _cpus(root):
        by_hash.setdefault(cpu.text("host_hash"), []).append(cpu)
    if len(by_hash) < 2:
        return [Host(node, cpus) for cpus in by_hash.values()]
    # Hosts of a fused dump are told apart by nothing but their hashes.
    return [
        Host(f"host-{key.removeprefix('0x') or 'unstated'}", cpus) for key, cpus in by_hash.items()
    ]


def _cpus(root: Element) -> Iterator[Element]:
    """NUMA nodes; a hand-written file may lack them, then the root stands in for one."""
    cpus = list(root.inside("cpu"))
    if any(child.name != "cpu" for child in root.children):
        outside = [child for child in root.children if child.name != "cpu"]
        cpus.append(Element("cpu", {}, root.line, root, outside))
    yield from cpus


def _refuse_misplaced(root: Element, result: ReadResult) -> None:
    """GPUs outside a PCI device and devices without an address cannot be placed or named."""
    for element in root.walk():
        shown = " ".join(f'{key}="{value}"' for key, value in element.attributes.items())
        text = clipped(f"<{element.name} {shown}>")
        if element.name == "gpu" and element.parent is not None and element.parent.name != "pci":
            rule = "a GPU stands below a <pci> element, which gives its address"
            result.rejected.append(RejectedLine(element.line, text, rule))
        elif element.name == "pci" and not pci_address(element):
            rule = "a device needs a busid such as 0000:5d:00.0"
            result.rejected.append(RejectedLine(element.line, text, rule))


class _Link:
    """The PCIe link above one device: its two attributes as readings, or as unknown."""

    def __init__(self, file: SourceFile, host: Host, slot: Slot, result: ReadResult) -> None:
        self._file = file
        self._host = host
        self._slot = slot
        self._result = result

    def tell(self) -> None:
        """Add readings, refused values and what is not stated; invented bridges tell nothing."""
        slot = self._slot
        if not slot.pci or slot.is_invented or slot.kind not in (GPU, NIC, SWITCH, NVSWITCH):
            return
        absent = [
            name
            for name, found in (("width", self._width()), ("speed", self._speed()))
            if not found
        ]
        if absent:
            what = f"{' and '.join(absent)} of the PCIe link"
            reason = f"the file states {self._stated()} for this device"
            fact = UnknownFact(self._host.name, self._host.interface(slot), what, reason)
            self._result.unknown.append(fact)

    def _stated(self) -> str:
        shown = [f"{key}={value!r}" for key, value in self._link_attributes().items()]
        return " and ".join(shown) or "no link_width and no link_speed"

    def _link_attributes(self) -> dict[str, str]:
        attributes = self._slot.element.attributes
        return {key: attributes[key] for key in ("link_width", "link_speed") if key in attributes}

    def _width(self) -> bool:
        element = self._slot.element
        text, value = element.text("link_width"), element.number("link_width")
        if not text or value in _NO_WIDTH:
            return False
        if value not in _WIDTHS:
            self._refuse("link_width", text, "a PCIe link has 1, 2, 4, 8, 12, 16 or 32 lanes")
            return False
        self._add("link_width", text, "width_max", float(value or 0))
        return True

    def _speed(self) -> bool:
        text = self._slot.element.text("link_speed")
        found = _SPEED.match(text)
        value = float(found[1]) if found else 0.0
        if value:
            self._add("link_speed", text, "speed_max_gbps", value)
            if value in _GENERATIONS:
                self._add("link_speed", text, "pcie_gen_max", float(_GENERATIONS[value]))
        elif text and not found and "unknown" not in text.lower():
            self._refuse("link_speed", text, "a PCIe link speed is given in GT/s")
        return bool(value)

    def _refuse(self, name: str, text: str, rule: str) -> None:
        shown = f'{self._slot.pci} {name}="{text}"'
        self._result.rejected.append(RejectedLine(self._slot.element.line, shown, rule))

    def _add(self, name: str, text: str, counter: str, value: float) -> None:
        slot = self._slot
        self._result.readings.append(
            Reading(
                line=slot.element.line,
                counter_text=name,
                value_text=text,
                entity_text=f"{slot.kind} {slot.pci}",
                node=self._host.name,
                interface=self._host.interface(slot),
                link_type="pcie",
                counter=counter,
                value=value,
                kind="gauge",
                time=self._file.hints.time,
                socket=self._host.socket(slot),
            )
        )


def _facts(root: Element, hosts: list[Host]) -> dict[str, Any]:
    """Numbers for people: devices, NVLinks by GPU, interfaces that are no ports of a device."""
    facts: dict[str, Any] = {"topology_version": root.text("version")}
    told = []
    for host in hosts:
        kinds = Counter(slot.kind for slot in host.slots)
        told.append({"node": host.name or "unknown", **kinds, "numa_nodes": host.numa_ids})
        nvlinks = host.nvlinks()
        if nvlinks:
            told[-1]["nvlinks"] = nvlinks
        virtual = host.virtual_interfaces()
        if virtual:
            told[-1]["interfaces_without_device"] = virtual[:_SHOWN_INTERFACES]
    facts["hosts"] = told
    return facts
