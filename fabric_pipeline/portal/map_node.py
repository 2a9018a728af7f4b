"""One node as a schematic: sockets, PCIe switches, network ports, GPUs and NVSwitches with the bundles between.

Between a GPU and an NVSwitch with a degraded link every single link is drawn, the bad one strongly and
with numbers around it; all others are bundles. Places are dealt out by `map_node_places`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from fabric_pipeline.model.components import nvlink_index
from fabric_pipeline.portal.map_card import scene_css
from fabric_pipeline.portal.map_marks import (
    Box,
    Picture,
    Point,
    line_of_text,
    path,
    pill_width,
    rect,
    sweep,
)
from fabric_pipeline.portal.map_node_places import BAND, NodePlaces
from fabric_pipeline.portal.map_scene import Drawn, Scene, layered, picked, pill_label
from fabric_pipeline.portal.map_tracks import Tracks
from fabric_pipeline.portal.svg import Svg, element, joined, number, title
from fabric_pipeline.workflows.fabric_view_model import TROUBLE, Device, Link, NodeView, Port

_PILL_ROW = 23.0
_STUB = 24.0  # of a link whose far end is not known
_NUMBERS_AROUND = 2


class NodeMap:
    """Lays out one node."""

    def __init__(self, scene: Scene, node: NodeView, links: Sequence[Link]) -> None:
        """`links` are the degraded ones of the node, the worst first."""
        self.scene, self.node, self.links = scene, node, links
        self.at = NodePlaces(node)
        self.pills = Tracks()

    def picture(self) -> Picture:
        """The whole schematic."""
        self.at.place()
        body = [
            joined(self._wires()),
            joined(self._nvlinks()),
            joined(self._boxes()),
            layered(self._link(link) for link in self.links),
        ]
        notes = []
        if self.at.gpus and not self.at.sockets:
            notes.append("No source states the sockets of this node.")
        return Picture(self.at.width, self.at.height, joined(body), notes)

    # wires

    def _wires(self) -> Iterator[Svg | None]:
        boxes = self.at.boxes
        lines = [self._pcie_line(device) for device in (*self.at.gpus, *self.at.nics)]
        for switch in self.node.of_kind("pcie_switch"):
            box, socket = boxes.get(switch.name), boxes.get(f"socket {switch.facts.get('socket')}")
            if box and socket:
                lines.append(f"M{number(box.cx)} {number(socket.bottom)}V{number(box.y)}")
        sockets = [boxes[f"socket {name}"] for name in self.at.sockets]
        for left, right in pairwise(sockets):
            lines.append(f"M{number(left.right)} {number(left.cy)}H{number(right.x)}")
        yield path("".join(lines), "lane")

    def _pcie_line(self, device: Device) -> str:
        """From what a device hangs on down to it; a GPU's line passes beside its network port."""
        box, above = self.at.boxes.get(device.name), self.at.pcie_above(device)
        if box is None or above is None:
            return ""
        x = box.cx
        if device.kind == "gpu" and any(self._is_over(nic, box) for nic in self.at.nics):
            x = box.right - 11
        start = max(above.x + 8, min(x, above.right - 8))
        return sweep((start, above.bottom), (x, min(box.y, above.bottom + 34))) + (
            f"V{number(box.y)}" if box.y > above.bottom + 34 else ""
        )

    def _is_over(self, nic: Device, gpu: Box) -> bool:
        box = self.at.boxes.get(nic.name)
        return box is not None and gpu.x <= box.cx <= gpu.right

    def _nvlinks(self) -> Iterator[Svg | None]:
        opened = {(e.device, f.device) for link in self.links for e in link.ends for f in link.ends}
        groups: dict[tuple[str, str], list[Port]] = defaultdict(list)
        for gpu in self.at.gpus:
            for port in self.at.nvlinks(gpu):
                if port.far is not None and port.far.component in self.at.ports:
                    groups[gpu.name, port.far.device].append(port)
                else:
                    groups[gpu.name, ""].append(port)
        singles = []
        for pair, ports in groups.items():
            if pair in opened or self.scene.mask.name != "health":
                singles += [self._single(port) for port in ports]
            else:
                yield path("".join(self._curve(port) for port in ports), "rope")
        yield joined(singles)

    def _single(self, port: Port) -> Svg:
        css = self.scene.mask.css(port)
        said = f"{port.end.interface} to {port.far.interface if port.far else 'unknown'}"
        figure = self.scene.mask.says(port)
        parts = [title(f"{said}, {figure}" if figure else said), path(self._curve(port), "lane")]
        return element("g", {"class": f"single {'healthy' if css in TROUBLE else css}"}, *parts)

    def _curve(self, port: Port) -> str:
        start = self.at.ports[port.end.component]
        end = self.at.ports.get(port.far.component) if port.far is not None else None
        if end is None:  # nobody says where it leads
            return f"M{number(start[0])} {number(start[1])}v{number(_STUB)}"
        if abs(start[1] - end[1]) > 1:
            return sweep(start, end)
        low = (
            (start[0] + end[0]) / 2,
            start[1] + BAND / 3,
        )  # straight to another GPU: a bow below both
        return sweep(start, low) + sweep(low, end)

    # boxes

    def _boxes(self) -> Iterator[Svg]:
        for socket in self.at.sockets:
            yield _labelled(self.at.boxes[f"socket {socket}"], f"CPU socket {socket}", [], "switch")
        for name in self.at.fars:
            if name not in self.node.devices:
                far = self.at.boxes[name]
                is_wide = far.w > 110
                label = name if is_wide else name.rpartition("-")[2]
                yield _labelled(far, label, ["in the rack"] if is_wide else [], "switch", name)
        for device in self.node.devices.values():
            box = self.at.boxes.get(device.name)
            if box is not None:
                yield self._device(device, box)

    def _device(self, device: Device, box: Box) -> Svg:
        label, lines = _words(device)
        own = device.reading.state if device.reading else ""
        css = own if own in TROUBLE else "no_data" if device.state == "no_data" else "healthy"
        said = ", ".join(
            f"{k.replace('_', ' ')} {v}" for k, v in device.facts.items() if v not in (None, "")
        )
        drawn = _labelled(
            box, label, lines, f"gpu {css}", f"{device.name}: {said}" if said else device.name
        )
        if self.scene.mask.name == "health" or device.kind not in ("gpu", "nic"):
            return drawn
        step = scene_css(self.scene, device.ports_of("nic") or device.ports_of("pcie"))
        return joined([drawn, rect(Box(box.x + 1, box.bottom - 5, box.w - 2, 4), step, 2)])

    # trouble

    def _link(self, link: Link) -> Drawn:
        boxes = [self.at.boxes[end.device] for end in link.ends if end.device in self.at.boxes]
        outlines: list[Svg | None] = [rect(box, "outline", 6) for box in boxes]
        places = [self.at.ports.get(end.component) for end in link.ends]
        if len(places) == 2 and places[0] is not None and places[1] is not None:
            return self._nvlink(link, places[0], places[1], outlines)
        own = next(
            (e for e in link.ends if e.node == self.node.name and e.device in self.at.boxes), None
        )
        if own is None:
            return picked(self.scene, link, outlines, None)
        start = self.at.ports.get(own.component)
        if start is not None:
            return self._stub(link, start, outlines)
        box, half = self.at.boxes[own.device], pill_width(pill_label(link)) / 2
        x = max(half + 2, min(box.cx, self.at.width - half - 2))
        device = self.node.devices[own.device]
        if link.link_type == "pcie" and device.kind in ("gpu", "nic"):
            line = self._pcie_line(device)
            shapes = [path(line, "hit"), path(line, "cable"), *outlines]
            return picked(self.scene, link, shapes, (x, box.y - 11))
        shapes = [*outlines, rect(Box(box.x + 8, box.y - 3, box.w - 16, 4), "solid", 2)]
        return picked(self.scene, link, shapes, (x, box.bottom + 13))

    def _stub(self, link: Link, start: Point, outlines: list[Svg | None]) -> Drawn:
        """A degraded NVLink whose far end is not known."""
        half = pill_width(pill_label(link)) / 2
        x = max(half + 2, min(start[0], self.at.width - half - 2))
        row, _ = self.pills.take(x, x, 2 * half)
        at = (x, start[1] + _STUB + 20 + row * _PILL_ROW)
        line = path(f"M{number(start[0])} {number(start[1])}V{number(at[1])}", "cable")
        return picked(self.scene, link, [line, *outlines], at, beside=self._numbers(link))

    def _nvlink(self, link: Link, one: Point, other: Point, outlines: list[Svg | None]) -> Drawn:
        start, end = sorted((one, other), key=lambda point: point[1])
        line = sweep(start, end) if end[1] - start[1] > 1 else self._curve(Port(link, link.a))
        middle = (start[0] + end[0]) / 2
        row, _ = self.pills.take(middle, middle, pill_width(pill_label(link)))
        away = (row + 1) // 2 * _PILL_ROW * (1 if row % 2 else -1)
        at = (middle, self.at.band + BAND / 2 + away)
        drawn = [path(line, "hit"), path(line, "cable"), *outlines]
        return picked(self.scene, link, drawn, at, beside=self._numbers(link))

    def _numbers(self, link: Link) -> list[Svg | None]:
        """Numbers of the links beside the bad one, at its GPU."""
        end = next((e for e in link.ends if nvlink_index(e.interface) is not None), None)
        if end is None or end.device not in self.node.devices:
            return []
        links = self.at.nvlinks(self.node.devices[end.device])
        at = next((n for n, port in enumerate(links) if port.end is end), 0)
        shown = links[max(0, at - _NUMBERS_AROUND) : at + _NUMBERS_AROUND + 1]
        return [
            line_of_text(
                self.at.ports[port.end.component][0],
                self.at.band - 4,
                str(nvlink_index(port.end.interface)),
                "bad-number" if port.end is end else "lane-number",
                size=9.5 if port.end is end else 7.5,
                anchor="middle",
            )
            for port in shown
            if port.end is end or abs(links.index(port) - at) > 1
        ]


def _words(device: Device) -> tuple[str, list[str]]:
    """Name and lines of a device's box."""
    facts: dict[str, Any] = device.facts
    if device.kind == "gpu":
        serial = str(facts.get("serial") or "")
        place = [str(facts.get("slot") or ""), f"…{serial[-5:]}" if serial else ""]
        pci = str(facts.get("pci") or "").removeprefix("0000:")
        lines = [" ".join(part for part in place if part), pci]
        return f"GPU {facts['gpu']}" if facts.get("gpu") is not None else device.name, _some(lines)
    if device.kind == "nic":
        far = next((p.far for p in device.ports_of("nic") if p.far is not None), None)
        lead = far.interface.replace("/port-", " p") if far is not None else "far end unknown"
        return device.name, _some([lead, str(facts.get("port_label") or "")])
    links = len(device.ports_of("nvlink"))
    if device.kind == "nvswitch":
        of = f"{links} of {facts['ports']} ports" if facts.get("ports") else f"{links} links"
        return device.name.replace("nvswitch-", "NVSwitch "), [of]
    return device.name.replace("pcie-switch-", "PCIe switch "), []


def _some(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if line]


def _labelled(box: Box, label: str, lines: Sequence[str], css: str, said: str = "") -> Svg:
    """A box with a name and lines below it, in its middle."""
    top = box.cy + 4.2 - len(lines) * 6.5
    texts = [line_of_text(box.cx, top, label, "name", size=12, anchor="middle", width=box.w - 8)]
    texts += [
        line_of_text(box.cx, top + 13.5 * (n + 1), line, "unit", size=10, anchor="middle", width=box.w - 8)
        for n, line in enumerate(lines)
    ]  # fmt: skip
    return element("g", {"class": "device"}, title(said or label), rect(box, css, 6), *texts)
