"""One node in full: sockets, PCIe switches, GPUs and NICs, and which NVSwitch port each NVLink meets.

Pure, like `topology_view`. The tick of a link stands on its wire.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Group
from rich.text import Text

from fabric_pipeline.cli.fabric_style import (
    COLOURS,
    MUTED,
    TITLE,
    Glyphs,
    glyphs,
    place_text,
    span_text,
)
from fabric_pipeline.cli.link_list import LinkList, state_counts
from fabric_pipeline.cli.node_card import by_far_device, ticks
from fabric_pipeline.cli.text_layout import (
    Lines,
    grid,
    packed,
    padded,
    picture,
    text,
    wrapped,
)
from fabric_pipeline.cli.topology_view import legend_signs
from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.model.components import nvlink_index, port_index
from fabric_pipeline.workflows.fabric_view_model import (
    TROUBLE,
    Device,
    FabricView,
    Link,
    NodeView,
    Port,
)

_COLUMN_GAP = (2, 8)
_SEVERAL = "far device:port"


def find_node(view: FabricView, name: str) -> NodeView:
    """The node of that name; NotFoundError names those most like it."""
    names = [node.name for node in view.nodes]
    for node in view.nodes:
        if node.name == name:
            return node
    near = difflib.get_close_matches(name, names, n=5, cutoff=0.5) or sorted(names)[:5]
    raise NotFoundError(
        f"drop {view.drop} has no node {name!r}",
        f"nodes there are: {', '.join(near)}" + (" ..." if len(names) > len(near) else ""),
    )


def render_node(view: FabricView, name: str, *, width: int, unicode: bool = True) -> Group:
    """One node, no line wider than `width` columns; NotFoundError when the view has no such node."""
    lines = node_lines(view, find_node(view, name), glyphs(unicode), width=width, list_width=width)
    return picture(lines, width)


def node_lines(
    view: FabricView,
    node: NodeView,
    signs: Glyphs,
    *,
    width: int,
    list_width: int,
    fresh: Sequence[Text] = (),
) -> Lines:
    """One node as lines: the drawing in `width` columns, the lists under it in `list_width`."""
    name = node.name
    links = list({id(port.link): port.link for port in node.ports()}.values())
    lines = [*_heading(view, node, links, signs, width), *fresh]
    lines += _sockets(node, signs, width)
    lines += _nvlinks(node, signs, width)
    lines += _nvswitches(node, signs, width)
    lines += _others(node, signs, width)
    lines += [text(), *legend_signs(signs, width)]
    said = "The sign on a wire is its link; a figure after a sign is the port at the far end."
    lines += wrapped(said, width, style=MUTED)
    listed = LinkList(view, signs, list_width)
    bad = [link for link in view.degraded() if any(end.node == name for end in link.ends)]
    here = [
        i for i in view.incidents if i.state and _is_of_node(i.component, name, bad, i.incident_id)
    ]
    for title, body in (
        ("Degraded links", listed.degraded(bad)),
        ("Incidents on no link", listed.elsewhere(here)),
        ("", listed.silent([node] if node.state == "no_data" else [])),
    ):
        lines += [text(), *([text((title, TITLE))] if title else []), *body] if body else []
    return lines


def _is_of_node(component: str, name: str, bad: Sequence[Link], incident_id: str) -> bool:
    carried = any(incident_id in link.incidents for link in bad)
    return component.startswith(f"{name}:") and not carried


def _heading(
    view: FabricView, node: NodeView, links: Sequence[Link], signs: Glyphs, width: int
) -> Lines:
    place = [
        place_text(node.rack, node.unit, signs),
        f"row {signs.name(node.row, 12)}" if node.row else "",
    ]
    serial = f"serial {signs.name(node.serial, 40)}" if node.serial else ""
    pieces = [piece for piece in (*place, serial, signs.name(view.site)) if piece]
    lines = packed(
        [text((signs.name(node.name), TITLE)), *(text(piece) for piece in pieces)], width
    )
    drop = [f"drop {signs.name(view.drop)}", span_text(view.window_start, view.window_end)]
    lines += packed([text((piece, MUTED)) for piece in drop], width)
    return lines + packed(state_counts(links, signs), width)


def _sockets(node: NodeView, signs: Glyphs, width: int) -> Lines:
    """The PCIe tree of each socket, sockets side by side where they fit."""
    devices = [d for d in node.devices.values() if d.kind in ("gpu", "nic", "pcie_switch")]
    sockets = sorted(
        {_socket(device, node) for device in devices}, key=lambda s: (s is None, s or 0)
    )
    blocks = [_socket_block(node, socket, signs) for socket in sockets]
    widest = max((line.cell_len for block in blocks for line in block), default=0)
    body = grid(blocks, min(widest, width), width, _COLUMN_GAP)
    return [text(), *body] if body else []


def _socket(device: Device, node: NodeView) -> int | None:
    stated = device.facts.get("socket")
    if isinstance(stated, int):
        return stated
    above = node.devices.get(str(device.facts.get("pcie_switch") or ""))
    found = above.facts.get("socket") if above else None
    return found if isinstance(found, int) else None


def _socket_block(node: NodeView, socket: int | None, signs: Glyphs) -> Lines:
    title = "Socket not stated" if socket is None else f"Socket {socket}"
    lines = [text((title, TITLE))]
    members = [d for d in node.devices.values() if _socket(d, node) == socket]
    below: dict[str, list[Device]] = {}
    for device in members:
        if device.kind in ("gpu", "nic"):
            below.setdefault(_switch_of(device), []).append(device)
    switches = [device for device in members if device.kind == "pcie_switch"]
    for switch in switches:
        lines.append(
            _wire(signs.wire, _pcie(switch, uplink=True), signs).append_text(_label(switch, signs))
        )
        lines += _branches(below.pop(switch.name, []), signs, " ")
    for loose in below.values():
        lines += _branches(loose, signs, "")
    return lines


def _branches(devices: Sequence[Device], signs: Glyphs, indent: str) -> Lines:
    lines = []
    for number, device in enumerate(devices):
        joint = signs.last if number == len(devices) - 1 else signs.branch
        line = text(indent * 3).append_text(_wire(joint, _pcie(device, uplink=False), signs))
        line.append_text(_label(device, signs))
        for port in device.ports_of("nic"):
            line.append(" ").append_text(_wire(signs.wire, port, signs))
            line.append(signs.name(port.far.name, 40) if port.far else "far end not known")
        lines.append(line)
    return lines


def _switch_of(device: Device) -> str:
    """Name of the PCIe switch above a device: from its link, else as stated."""
    port = _pcie(device, uplink=False)
    far = port.far.device if port is not None and port.far is not None else ""
    return far or str(device.facts.get("pcie_switch") or "")


def _pcie(device: Device, *, uplink: bool) -> Port | None:
    ports = device.ports_of("pcie")
    if uplink:
        ports = [port for port in ports if port.end is port.link.a]
    return ports[0] if ports else None


def _wire(joint: str, port: Port | None, signs: Glyphs) -> Text:
    """A wire with the sign of its link on it; blank where no link is known."""
    if port is None:
        return text((joint, MUTED), "   ")
    return text(
        (joint, MUTED), (signs.states[port.state], COLOURS[port.state]), (signs.rule, MUTED), " "
    )


def _label(device: Device, signs: Glyphs) -> Text:
    facts = device.facts
    name = signs.name(device.name, 24)
    if device.kind == "gpu" and facts.get("gpu") is not None:
        name = f"GPU {facts['gpu']}"
    state = device.reading.state if device.reading else ""
    line = text(
        (name, COLOURS[state] if state in TROUBLE else TITLE if device.kind == "gpu" else "")
    )
    said = [
        facts.get("slot") or facts.get("port_label"),
        facts.get("pci") if device.kind == "gpu" else None,
    ]
    for piece in said:
        if piece:
            line.append(f" {signs.name(str(piece), 24)}", MUTED)
    if state in TROUBLE:
        line.append(f" {signs.states[state]}", COLOURS[state])
    return line


def _nvlinks(node: NodeView, signs: Glyphs, width: int) -> Lines:
    """Every NVLink of every GPU with the port at its far end, one block per NVSwitch."""
    gpus = [gpu for gpu in node.of_kind("gpu") if gpu.ports_of("nvlink")]
    blocks: dict[str, dict[int, dict[str, Port]]] = {}
    for gpu in gpus:
        for group in by_far_device(gpu.ports_of("nvlink")):
            columns = blocks.setdefault(_far_name(group), {})
            for port in group:
                columns.setdefault(nvlink_index(port.end.interface) or 0, {})[gpu.name] = port
    if not blocks:
        return []
    names = [signs.name(gpu.name, 16) for gpu in gpus]
    label = max(map(cell_len, names))
    drawn = [
        block
        for far, columns in blocks.items()
        for block in _nvlink_blocks(far, columns, gpus, signs, width - label - 2)
    ]
    said = "  link number above, far port in the cell"
    return [text(), text(("NVLink", TITLE), (said, MUTED)), *_bands(drawn, names, label, width)]


def _far_name(group: Sequence[Port]) -> str:
    """What stands above a block: the one far device, or how the cells name several."""
    far = {port.far.device if port.far else "" for port in group}
    if len(far) > 1:
        return _SEVERAL
    return far.pop() or "far end not known"


def _nvlink_blocks(
    far: str,
    columns: dict[int, dict[str, Port]],
    gpus: Sequence[Device],
    signs: Glyphs,
    room: int,
) -> list[Lines]:
    """The links to one far device; in several blocks when they are wider than the room."""
    ends = {
        id(p): _far_text(p, far == _SEVERAL, signs) for c in columns.values() for p in c.values()
    }
    widest = max(2, *map(cell_len, ends.values()), *(len(str(number)) for number in columns))
    cell = min(widest + 2, max(2, room))
    numbers = sorted(columns)
    fitting = max(1, room // cell)
    blocks = []
    for start in range(0, len(numbers), fitting):
        part = numbers[start : start + fitting]
        head = text(("".join(str(number).ljust(cell) for number in part), MUTED))
        lines = [text(signs.name(far, max(4, head.cell_len - 1))), head]
        for gpu in gpus:
            cells = [_cell(columns[number].get(gpu.name), ends, signs) for number in part]
            lines.append(text().join(padded(one, cell) for one in cells))
        blocks.append(lines)
    return blocks


def _cell(port: Port | None, ends: dict[int, str], signs: Glyphs) -> Text:
    if port is None:
        return text()
    colour = COLOURS[port.state]
    return text((signs.states[port.state], colour), (ends[id(port)], colour))


def _far_text(port: Port, with_device: bool, signs: Glyphs) -> str:
    """Number of the far port or far NVLink, after its device where several are in one block."""
    if port.far is None:
        return ""
    number = port_index(port.far.interface)
    number = nvlink_index(port.far.interface) if number is None else number
    shown = "" if number is None else str(number)
    return f"{signs.name(port.far.device, 12)}:{shown}" if with_device else shown


def _bands(blocks: Sequence[Lines], names: Sequence[str], label: int, width: int) -> Lines:
    """Blocks beside each other behind the GPU names, as many as fit, then the next band."""
    bands: list[list[Lines]] = []
    used = 0
    for block in blocks:
        need = max(line.cell_len for line in block) + 2
        if not bands or used + need > width - label:
            bands.append([])
            used = 0
        bands[-1].append(block)
        used += need
    lines: Lines = []
    for number, band in enumerate(bands):
        lines += [text()] if number else []
        for row in range(len(names) + 2):
            line = padded(text((names[row - 2] if row > 1 else "", MUTED)), label)
            for block in band:
                block_width = max(part.cell_len for part in block)
                line.append("  ").append_text(padded(block[row], block_width))
            lines.append(line)
    return lines


def _nvswitches(node: NodeView, signs: Glyphs, width: int) -> Lines:
    """The NVSwitches with a tick for each port that a link ends at, in the order of the ports."""
    rows = []
    names = [signs.name(device.name, 24) for device in node.of_kind("nvswitch")]
    label = max(map(cell_len, names), default=0)
    for device, name in zip(node.of_kind("nvswitch"), names, strict=True):
        state = device.reading.state if device.reading else ""
        row = padded(text((name, COLOURS[state] if state in TROUBLE else "")), label).append(" ")
        room = max(8, width - label - 1)
        for start in range(0, len(device.ports), room):
            row.append_text(ticks(device.ports[start : start + room], signs))
            rows.append(row)
            row = text(" " * (label + 1))
    title = text(("NVSwitch ports", TITLE), ("  one sign a port, as seen at the switch end", MUTED))
    return [text(), title, *rows] if rows else []


def _others(node: NodeView, signs: Glyphs, width: int) -> Lines:
    """Link ends whose device is not known, such as an `nvlink-3` without its GPU."""
    loose = [
        text(
            (f"{signs.states[port.state]} ", COLOURS[port.state]),
            signs.name(port.end.interface, 40),
        )
        for device in node.of_kind("other")
        for port in device.ports
        if port.end is port.link.a
    ]
    return [text(), text(("Other link ends", TITLE)), *packed(loose, width)] if loose else []
