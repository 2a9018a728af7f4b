"""PCI devices of hosts as node_exporter's collector pcidevice lists them: class, parent, NUMA node.

Turns `node_pcidevice_info` and `node_pcidevice_numa_node` into entries of a topology. Widths and speeds
of the links are readings and belong to `node_series`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fabric_pipeline.model.components import normalise_pci
from fabric_pipeline.model.records import TopologyPart

# Class codes of the PCI code and ID assignment specification; the longer prefix comes first.
_BRIDGE = "0604"
_KINDS = (("0302", "gpus"), ("0300", "gpus"), ("0207", "nics"), ("0200", "nics"), ("0680", "nvswitches"))  # fmt: skip
_SOCKET_IDS = frozenset({0, 1})  # more NUMA nodes than two are parts of sockets
_MOST = 200_000  # devices of one file; a host has some hundred
_NVIDIA, _MELLANOX = "10de", "15b3"
Place = tuple[str, str]  # host and scraped address; either may be ""
Address = str


class NodeDevices:
    """Devices by host and address, each with its class and the bridge above it."""

    def __init__(self) -> None:
        self._classes: dict[tuple[Place, Address], tuple[str, str]] = {}
        self._parents: dict[tuple[Place, Address], Address] = {}

    def add(self, place: Place, labels: dict[str, str]) -> None:
        """One sample of `node_pcidevice_info`; a parent of `*` is none."""
        address, parent = _address(labels, ""), _address(labels, "parent_")
        if not address or len(self._classes) >= _MOST:
            return
        code = labels.get("class_id", "").lower().removeprefix("0x")
        vendor = labels.get("vendor_id", "").lower().removeprefix("0x")
        self._classes[place, address] = code, vendor
        if parent:
            self._parents[place, address] = parent

    def topology(
        self, sockets: dict[tuple[str, str], int], host_of: Callable[[Place], str]
    ) -> TopologyPart | None:
        """GPUs, network cards and NVSwitches by address with socket and PCIe switch, where stated.

        `sockets` is the NUMA node by host and `pci-<address>`; devices of unknown hosts are left out.
        """
        numa: dict[str, set[int]] = {}
        for (host, _), number in sockets.items():
            numa.setdefault(host, set()).add(number)
        nodes: dict[str, dict[str, Any]] = {}
        for (place, address), (code, vendor) in self._classes.items():
            kind = next((name for prefix, name in _KINDS if code.startswith(prefix)), "")
            host = host_of(place)
            if not host or not kind or not _is_fabric_device(kind, vendor):
                continue
            entry: dict[str, Any] = {"pci": address}
            if kind == "nvswitches":
                entry["nvswitch"] = f"pci-{address}"
            interface = f"pci-{address}"
            number = sockets.get((host, interface), sockets.get(("", interface), -1))
            if number >= 0:
                is_socket = numa.get(host, numa.get("", set())) <= _SOCKET_IDS
                entry["socket" if is_socket else "numa"] = number
            if switch := self._switch_above(place, address):
                entry["pcie_switch"] = f"pci-{switch}"
            nodes.setdefault(host, {"node": host}).setdefault(kind, []).append(entry)
        return TopologyPart(nodes=list(nodes.values())) if nodes else None

    def _switch_above(self, place: Place, address: str) -> str:
        """Upstream port of the PCIe switch above a device; "" below a root port.

        A device hangs on a downstream port, that on the switch's upstream port, that on a root port.
        NCCL names a switch by its upstream port as well.
        """
        above = [address]
        for _ in range(3):
            parent = self._parents.get((place, above[-1]), "")
            if not self._classes.get((place, parent), ("", ""))[0].startswith(_BRIDGE):
                return ""
            above.append(parent)
        return above[2]


def _is_fabric_device(kind: str, vendor: str) -> bool:
    """Cards of other makers (a management NIC, the BMC's graphics) carry no fabric."""
    return vendor == (_MELLANOX if kind == "nics" else _NVIDIA)


def _address(labels: dict[str, str], prefix: str) -> str:
    parts = [labels.get(prefix + name, "") for name in ("segment", "bus", "device", "function")]
    if not all(part.isalnum() for part in parts[1:]):
        return ""
    segment, bus, device, function = parts
    whole = f"{segment or '0000'}:{bus.rjust(2, '0')}:{device.rjust(2, '0')}.{function}"
    found = normalise_pci(whole)
    return found if len(found.split(":")) == 3 and found[-2] == "." else ""
