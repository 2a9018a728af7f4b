"""Devices of one host in an NCCL topology: which is which, where it hangs, how it is named.

Turns the elements of the file into the entries of a topology node. Widths, speeds and the file itself
belong to the reader.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from fabric_pipeline.model.components import normalise_pci
from fabric_pipeline.sources.collectives.nccl_xml import Element

GPU, NIC, SWITCH, NVSWITCH, OTHER = "gpu", "nic", "pcie_switch", "nvswitch", "other"
_FULL_PCI = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_INVENTED = re.compile(r"f{4,8}:ff:")  # bus numbers no machine has: bridges made up for a file
_MAX_GPU = 255
_MAX_BELOW = 64  # GPUs below one bridge; a real switch has up to eight
_MAX_PORTS = 16  # of one card
_MAX_LEVELS = 16  # bridges above one another; machines have two or three
# Class codes of the PCI code and ID assignment specification; the longer prefix comes first.
_CLASSES = (
    ("0604", SWITCH), ("0680", NVSWITCH), ("02", NIC), ("03", GPU), ("12", GPU), ("0b40", GPU),
)  # fmt: skip
_SOCKET_IDS = frozenset({0, 1})  # more NUMA nodes than two are parts of sockets
_NVLINK_WORDS = {"nvlink": "nvlinks", "xgmi": "xgmi_links", "c2c": "c2c_links"}


@dataclass(frozen=True, slots=True)
class Slot:
    """One PCI device: its element, kind, address ("" when none is stated) and NUMA node.

    `bridges` are the addresses of the PCIe switches above it, the nearest first.
    """

    element: Element
    kind: str
    pci: str
    numa: int | None
    bridges: tuple[str, ...]

    @property
    def is_invented(self) -> bool:
        """True for bridges that a file only uses to put devices next to each other."""
        return bool(_INVENTED.match(self.pci)) or self.element.text("vendor") in ("0x0", "0x0000")


class Host:
    """All devices of one host. `name` is "" when the file is not known to be of a certain host.

    `slots` are the PCI devices and `numa_ids` the NUMA nodes, both in the order of the file.
    """

    def __init__(self, name: str, cpus: Iterable[Element]) -> None:
        self.name = name
        self._cpus = list(cpus)
        self.slots = list(_slots(self._cpus))
        stated = Counter(d for s in self.slots if (d := _stated_index(s)) is not None)
        self._unique = {index for index, count in stated.items() if count == 1}
        self._by_pci = {slot.pci: slot for slot in self.slots if slot.pci}
        ids = (_numa(cpu) for cpu in self._cpus)
        self.numa_ids = list(dict.fromkeys(numa for numa in ids if numa is not None))
        self._has_sockets = _SOCKET_IDS.issuperset(self.numa_ids)
        self._gpus_below: dict[str, list[Slot]] = defaultdict(list)
        for slot in self._of(GPU):
            for bridge in slot.bridges:
                self._gpus_below[bridge].append(slot)

    def index(self, slot: Slot) -> int | None:
        """GPU index; None when it is not stated, or stated for two GPUs (each in its container)."""
        found = _stated_index(slot)
        return found if found in self._unique else None

    def interface(self, slot: Slot) -> str:
        """`gpu<N>/pcie` for a GPU with an index, else `pci-<bdf>`."""
        index = self.index(slot)
        if index is not None:
            return f"gpu{index}/pcie"
        return f"pci-{slot.pci}"

    def socket(self, slot: Slot) -> int | None:
        """CPU socket, known only where NUMA nodes are sockets."""
        return slot.numa if self._has_sockets else None

    def as_node(self) -> dict[str, Any]:
        """The host as a topology lists it; keys that the file does not state are missing."""
        node: dict[str, Any] = {"node": self.name}
        if self.numa_ids:
            node["sockets" if self._has_sockets else "numa_nodes"] = sorted(self.numa_ids)
        node["gpus"] = [self._gpu(slot) for slot in self._of(GPU)]
        nics = [nic for slot in self._of(NIC) for nic in self._nics(slot)]
        nics += [_nic(net, {}) for net in self._loose() if _is_fabric_port(net)]
        node["nics"] = _by_name(nics)
        node["pcie_switches"] = [
            {"pcie_switch": f"pci-{slot.pci}", **self._place(slot)} for slot in self._of(SWITCH)
        ]
        node["nvswitches"] = [
            {"nvswitch": f"pci-{slot.pci}", "pci": slot.pci, **self._place(slot)}
            for slot in self._of(NVSWITCH)
        ]
        return {key: value for key, value in node.items() if value != []}

    def nvlinks(self) -> dict[str, dict[str, int]]:
        """GPU -> neighbour -> number of links; NVSwitches are one neighbour."""
        found: dict[str, dict[str, int]] = {}
        for slot in self._of(GPU):
            links: dict[str, int] = defaultdict(int)
            for element in _gpu_links(slot):
                links[self._neighbour(element, slot)] += element.number("count") or 0
            if links:
                found[self._label(slot)] = dict(links)
        return found

    def virtual_interfaces(self) -> list[str]:
        """Network interfaces without a PCI device: bridges, tunnels, sockets; each name once."""
        loose = (net for net in self._loose() if not _is_fabric_port(net))
        return list(dict.fromkeys(net.text("name") or "unnamed" for net in loose))

    def _of(self, kind: str) -> list[Slot]:
        """Devices of a kind, each address once."""
        found = {slot.pci: slot for slot in reversed(self.slots) if slot.kind == kind and slot.pci}
        return list(reversed(found.values()))

    def _label(self, slot: Slot) -> str:
        return self.interface(slot).removesuffix("/pcie")

    def _place(self, slot: Slot) -> dict[str, Any]:
        """Where a device hangs: socket or NUMA node, and the PCIe switch above it."""
        place: dict[str, Any] = {}
        if slot.numa is not None:
            place["numa" if self.socket(slot) is None else "socket"] = slot.numa
        if slot.bridges:
            place["pcie_switch"] = f"pci-{slot.bridges[0]}"
        return place

    def _gpu(self, slot: Slot) -> dict[str, Any]:
        entry: dict[str, Any] = {"pci": slot.pci, **self._place(slot)}
        if (index := self.index(slot)) is not None:
            entry["gpu"] = index
        for gpu in slot.element.inside("gpu"):
            if (rank := gpu.number("rank")) is not None and rank >= 0:
                entry["rank"] = rank
        for element in _gpu_links(slot):
            word = _NVLINK_WORDS[element.name]
            entry[word] = entry.get(word, 0) + (element.number("count") or 0)
        return entry

    def _nics(self, slot: Slot) -> list[dict[str, Any]]:
        """One entry a network interface; a card without any is named by its address."""
        place = {"pci": slot.pci, **self._place(slot)}
        if near := self._near_gpus(slot):
            place["near_gpus"] = near
        nets = [net for nic in slot.element.inside("nic") for net in nic.inside("net")]
        nets += slot.element.inside("net")
        return [_nic(net, place) for net in nets] or [{"hca": f"pci-{slot.pci}", **place}]

    def _near_gpus(self, slot: Slot) -> list[int]:
        """GPUs below the nearest PCIe switch that has any; [] when one of them has no index."""
        below = next((g for b in slot.bridges if (g := self._gpus_below.get(b))), [])
        if len(below) > _MAX_BELOW:
            return []
        known = [index for gpu in below if (index := self.index(gpu)) is not None]
        return known if len(known) == len(below) else []

    def _loose(self) -> Iterator[Element]:
        """Network interfaces that hang at a NUMA node and at no PCI device."""
        for cpu in self._cpus:
            for nic in cpu.inside("nic"):
                yield from nic.inside("net")

    def _neighbour(self, element: Element, slot: Slot) -> str:
        target = normalise_pci(element.text("target"))
        if element.name == "c2c":
            return "cpu"
        if target == slot.pci:
            return "hidden"  # a virtual machine shows a GPU as its own neighbour
        if _kind(element.text("tclass")) == NVSWITCH:
            return "nvswitch"
        other = self._by_pci.get(target)
        return self._label(other) if other else target[:40] or "unknown"


def _slots(cpus: Iterable[Element]) -> Iterator[Slot]:
    """All devices; a parent comes before its children, so its own place is known by then."""
    for cpu in cpus:
        numa = _numa(cpu)
        above: dict[Element, tuple[str, ...]] = {}
        for element in cpu.walk():
            if element.name == "pci":
                pci = pci_address(element)
                bridges = above.get(element.parent, ()) if element.parent else ()
                above[element] = (pci, *bridges)[:_MAX_LEVELS] if pci else bridges
                yield Slot(element, _device_kind(element), pci, numa, bridges)


def pci_address(element: Element) -> str:
    """Address of a `<pci>` element in full lower-case form, "" when it states none."""
    pci = normalise_pci(element.text("busid"))
    return pci if _FULL_PCI.fullmatch(pci) else ""


def _device_kind(element: Element) -> str:
    """By what hangs below a device, else by its class code."""
    below = {child.name for child in element.children}
    if "gpu" in below:
        return GPU
    if below & {"nic", "net"}:
        return NIC
    return SWITCH if "pci" in below else _kind(element.text("class"))


def _kind(class_code: str) -> str:
    digits = class_code.lower().removeprefix("0x")
    return next((kind for prefix, kind in _CLASSES if digits.startswith(prefix)), OTHER)


def _numa(cpu: Element) -> int | None:
    numa = cpu.number("numaid")
    return numa if numa is not None and numa >= 0 else None  # -1: the kernel knows no NUMA node


def _stated_index(slot: Slot) -> int | None:
    if slot.kind != GPU:
        return None
    for gpu in slot.element.inside("gpu"):
        index = gpu.number("dev")
        if index is not None and 0 <= index <= _MAX_GPU:
            return index
    return None


def _gpu_links(slot: Slot) -> Iterator[Element]:
    for gpu in slot.element.inside("gpu"):
        yield from gpu.inside(*_NVLINK_WORDS)


def _is_fabric_port(net: Element) -> bool:
    """Sockets are numbered from zero in place of a GUID; only RDMA ports have a real one."""
    text = net.text("guid").lower().removeprefix("0x")
    return bool(re.fullmatch(r"[0-9a-f]{5,16}", text)) and int(text, 16) > 0xFFFF


def _nic(net: Element, place: dict[str, Any]) -> dict[str, Any]:
    """A network interface; `speed` of the file is in Mb/s."""
    entry: dict[str, Any] = {"hca": net.text("name") or "unnamed", **place}
    if (port := net.number("port")) is not None and port > 0:
        entry["port"] = port
    if (speed := net.number("speed")) is not None and speed > 0:
        entry["speed_gbps"] = speed / 1000
    if _is_fabric_port(net):
        entry["guid"] = net.text("guid")
    return entry


def _by_name(nics: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ports of one card under one entry, so that a name stands for one device."""
    found: dict[str, dict[str, Any]] = {}
    for nic in nics:
        first = found.setdefault(nic["hca"], nic)
        ports = first.get("ports", [first["port"]] if "port" in first else [])
        if "port" in nic and len(ports) < _MAX_PORTS and nic["port"] not in ports:
            first["ports"] = [*ports, nic["port"]]
    return list(found.values())
