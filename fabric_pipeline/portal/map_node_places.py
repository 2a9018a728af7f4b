"""Where the parts of a node stand in its schematic: rows from the sockets down to the NVSwitches.

Every GPU has a column; PCIe switches and network ports stand over the GPUs that they serve. Drawing is
`map_node`'s.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from fabric_pipeline.model.components import natural_key
from fabric_pipeline.portal.map_marks import Box, Point
from fabric_pipeline.workflows.fabric_view_model import Device, NodeView, Port

MARGIN = 24.0
BAND = 210.0  # that the NVLinks cross
_TOP, _STEP = 12.0, 46.0
_SOCKET, _SWITCH, _NIC, _GPU, _NVSWITCH = 34.0, 30.0, 54.0, 66.0, 46.0
_COLUMN, _WIDTH = 116.0, 1040.0
_OTHER, _OTHER_ROW = 160.0, 36.0


@dataclass(slots=True)
class NodePlaces:
    """Boxes by device name (sockets as `socket 0`), places of single NVLinks by component."""

    node: NodeView
    width: float = _WIDTH
    height: float = 0.0
    boxes: dict[str, Box] = field(default_factory=dict)
    ports: dict[str, Point] = field(default_factory=dict)
    sockets: list[str] = field(default_factory=list)
    fars: list[str] = field(default_factory=list)
    band: float = 0.0

    @property
    def gpus(self) -> list[Device]:
        """GPUs in order."""
        return self.node.of_kind("gpu")

    @property
    def nics(self) -> list[Device]:
        """Network devices in order."""
        return self.node.of_kind("nic")

    @property
    def column(self) -> float:
        """Width of a GPU's column."""
        return (self.width - 2 * MARGIN) / max(1, len(self.gpus) or len(self.nics))

    def place(self) -> None:
        """Put everything somewhere."""
        self.width = max(_WIDTH, 2 * MARGIN + _COLUMN * max(len(self.gpus), len(self.nics) // 2))
        y = self._sockets(_TOP)
        y = self._pcie_switches(y)
        y = self._nics(y)
        y = self._gpus(y)
        y = self._nvlink_ends(y)
        self.height = self._others(y) + 30

    def pcie_above(self, device: Device) -> Box | None:
        """What a device hangs on: its PCIe switch, else its socket."""
        switch = self.boxes.get(str(device.facts.get("pcie_switch")))
        return switch or self.boxes.get(f"socket {device.facts.get('socket')}")

    def nvlinks(self, device: Device) -> list[Port]:
        """NVLinks in the order of their numbers."""
        return sorted(device.ports_of("nvlink"), key=lambda port: natural_key(port.end.interface))

    def _sockets(self, y: float) -> float:
        groups: dict[str, list[int]] = defaultdict(list)
        for place, device in enumerate(self.gpus or self.nics):
            socket = device.facts.get("socket")
            if socket is not None:
                groups[str(socket)].append(place)
        for socket, places in groups.items():
            left = MARGIN + min(places) * self.column + 5
            right = MARGIN + (max(places) + 1) * self.column - 5
            self.boxes[f"socket {socket}"] = Box(left, y, right - left, _SOCKET)
        self.sockets = sorted(groups, key=natural_key)
        return y + _SOCKET + _STEP if groups else y

    def _pcie_switches(self, y: float) -> float:
        placed = False
        for switch in self.node.of_kind("pcie_switch"):
            served = [
                n for n, gpu in enumerate(self.gpus) if gpu.facts.get("pcie_switch") == switch.name
            ]
            if served:
                middle = MARGIN + (sum(served) / len(served) + 0.5) * self.column
                wide = min(112.0, self.column - 12)
                self.boxes[switch.name] = Box(middle - wide / 2, y, wide, _SWITCH)
                placed = True
        return y + _SWITCH + _STEP - 8 if placed else y

    def _nics(self, y: float) -> float:
        shared: dict[int, list[str]] = defaultdict(list)
        columns = max(1, len(self.gpus) or len(self.nics))
        by_switch = {
            str(gpu.facts["pcie_switch"]): n for n, gpu in enumerate(self.gpus) if gpu.facts.get("pcie_switch")
        }  # fmt: skip
        for place, nic in enumerate(self.nics):
            column = by_switch.get(str(nic.facts.get("pcie_switch")), place % columns)
            shared[column].append(nic.name)
        for column, names in shared.items():
            # Room at the right lets the GPU's own PCIe line pass.
            room = (self.column - (32 if self.gpus else 10)) / len(names)
            for place, name in enumerate(names):
                x = MARGIN + column * self.column + 5 + place * room
                self.boxes[name] = Box(x, y, room - 4, _NIC)
        return y + _NIC + 34 if shared else y

    def _gpus(self, y: float) -> float:
        for place, gpu in enumerate(self.gpus):
            box = Box(MARGIN + place * self.column + 5, y, self.column - 10, _GPU)
            self.boxes[gpu.name] = box
            links = self.nvlinks(gpu)
            pitch = (box.w - 14) / max(1, len(links))
            for n, port in enumerate(links):
                self.ports[port.end.component] = (box.x + 7 + (n + 0.5) * pitch, box.bottom)
        self.band = y + _GPU if self.gpus else y
        return self.band

    def _nvlink_ends(self, y: float) -> float:
        """NVSwitches of the node or of its rack; links straight to other GPUs need room for bows."""
        fars = [port.far for gpu in self.gpus for port in self.nvlinks(gpu) if port.far is not None]
        names = [switch.name for switch in self.node.of_kind("nvswitch")]
        beyond = {far.device for far in fars if far.node != self.node.name}
        self.fars = names + sorted(beyond - set(names), key=natural_key)
        if not self.fars:
            return y + (BAND / 2 if self.ports else 0)
        y += BAND
        room = (self.width - 2 * MARGIN) / len(self.fars)
        wide = min(room - 10, 196.0)
        for place, name in enumerate(self.fars):
            box = Box(MARGIN + room * (place + 0.5) - wide / 2, y, wide, _NVSWITCH)
            self.boxes[name] = box
            self._far_ports(name, box)
        return y + _NVSWITCH

    def _far_ports(self, name: str, box: Box) -> None:
        """At the far end links arrive in the order of the GPUs, so that bundles do not cross there."""
        arriving = [
            port.far
            for gpu in self.gpus
            for port in self.nvlinks(gpu)
            if port.far is not None and port.far.device == name
        ]
        pitch = (box.w - 12) / max(1, len(arriving))
        for place, far in enumerate(arriving):
            self.ports[far.component] = (box.x + 6 + (place + 0.5) * pitch, box.y)

    def _others(self, y: float) -> float:
        """Devices of no known kind, in rows at the foot; root ports are ends of wires and not listed."""
        switches = self.node.of_kind("pcie_switch")
        roots = {p.far.device for s in switches for p in s.ports if p.far is not None}
        names: Sequence[str] = [
            name for name in self.node.devices if name not in self.boxes and name not in roots
        ]
        if not names:
            return y
        per_row = max(1, int((self.width - 2 * MARGIN) // _OTHER))
        y += _STEP if self.boxes else 0
        for place, name in enumerate(names):
            row, column = divmod(place, per_row)
            at = (MARGIN + column * _OTHER, y + row * _OTHER_ROW)
            self.boxes[name] = Box(*at, _OTHER - 10, 28)
        return y + -(-len(names) // per_row) * _OTHER_ROW
