"""One node as a small card: its GPUs with a tick for every NVLink, its NICs and its PCIe links.

`topology_view` sets the cards into racks; one node in full is `node_view`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.text import Text

from fabric_pipeline.cli.fabric_style import COLOURS, MUTED, TITLE, Glyphs, word
from fabric_pipeline.cli.text_layout import Lines, beside, packed, text
from fabric_pipeline.workflows.fabric_view_model import TROUBLE, Device, NodeView, Port

_NARROWEST = 30
_WIDEST_ROW = 60


def node_card(node: NodeView, signs: Glyphs, width: int) -> Lines:
    """One node: where it is, its GPUs with their NVLinks, its NICs and its PCIe links."""
    gpus = [gpu for gpu in node.of_kind("gpu") if gpu.ports_of("nvlink") or gpu.reading]
    rows = [_gpu_row(gpu, signs) for gpu in gpus]
    lines = [_card_head(node, signs, width)]
    half = (len(rows) + 1) // 2
    widest = max((row.cell_len for row in rows), default=0)
    if len(rows) > 1 and 2 * widest + 2 <= width:
        lines += beside([rows[:half], rows[half:]], widest, 2)
    else:
        lines += [line for row in rows for line in _broken(row, width)]
    rest = packed(_other_parts(node, signs), width, gap=2)
    return lines + [line for row in rest for line in _broken(row, width)]


def ticks(ports: Iterable[Port], signs: Glyphs) -> Text:
    """One sign per port, runs of the same state as one piece."""
    line = text()
    run = ""
    style = ""
    for port in ports:
        state = port.state
        if COLOURS[state] != style:
            line.append(run, style)
            run, style = "", COLOURS[state]
        run += signs.states[state]
    return line.append(run, style)


def by_far_device(ports: Sequence[Port]) -> list[list[Port]]:
    """Ports in groups of the same far device, as long as they stand together and all are known."""
    if any(port.far is None for port in ports):
        return [list(ports)]
    groups: list[list[Port]] = []
    before = None
    for port in ports:
        far = port.far.device if port.far else ""
        if not groups or far != before:
            groups.append([])
        groups[-1].append(port)
        before = far
    return groups if len(groups) <= len(ports) / 2 else [list(ports)]


def card_width(nodes: Sequence[NodeView], signs: Glyphs, width: int) -> int:
    """Wide enough for two GPUs side by side and the node's name, where the terminal allows it."""
    rows = [_gpu_row(gpu, signs).cell_len for node in nodes for gpu in node.of_kind("gpu")]
    rest = [row.cell_len for node in nodes for row in _other_parts(node, signs)]
    heads = [
        cell_len(node_name(node, signs)) + cell_len(node.unit) + 2
        + sum(note.cell_len + 2 for note in _card_notes(node, signs)[:3])
        for node in nodes
    ]  # fmt: skip
    two = 2 * max(rows, default=0) + 2
    wanted = max(
        [two if two <= width else max(rows), *heads, min(_WIDEST_ROW, max(rest, default=0))]
    )
    return min(width, max(_NARROWEST, wanted))


def node_name(node: NodeView, signs: Glyphs) -> str:
    """The node's name as it can be shown."""
    return signs.name(node.name) or "(name not known)"


def name_style(state: str) -> str:
    """How a name is set off: only for real trouble, a watch leaves it plain."""
    return COLOURS[state] if state in ("warning", "critical") else ""


def _card_head(node: NodeView, signs: Glyphs, width: int) -> Text:
    """Unit and name, and at the right what stands out, as far as there is room."""
    head = text((f"{signs.name(node.unit, 8)} ", MUTED) if node.unit else "")
    head.append(node_name(node, signs), name_style(node.state) or TITLE)
    note = text()
    for part in _card_notes(node, signs):
        if head.cell_len + note.cell_len + part.cell_len + 2 <= width:
            note = text(note, "  ", part) if note.cell_len else part
    room = width - head.cell_len - note.cell_len
    return head.append(" " * max(1, room)).append_text(note) if note.cell_len else head


def _card_notes(node: NodeView, signs: Glyphs) -> list[Text]:
    """Links in each state, the worst first, then devices with trouble of their own."""
    if node.state == "no_data":
        return [text((f"{signs.states['no_data']} {word('no_data')}", COLOURS["no_data"]))]
    links = {id(port.link): port.link for port in node.ports()}.values()
    counted = [(state, sum(link.state == state for link in links)) for state in reversed(TROUBLE)]
    notes = [
        text((f"{signs.states[state]} {number}", COLOURS[state]))
        for state, number in counted
        if number
    ]
    named = [("node", node.reading), *((d.name, d.reading) for d in node.devices.values())]
    for name, reading in named:
        if reading is not None and reading.state in TROUBLE:
            sign = (signs.states[reading.state], COLOURS[reading.state])
            notes.append(text((f"{signs.name(name, 20)} ", MUTED), sign))
    return notes


def _gpu_row(gpu: Device, signs: Glyphs) -> Text:
    number = gpu.facts.get("gpu")
    label = str(number) if number is not None else signs.name(gpu.name, 20)
    own = gpu.reading.state if gpu.reading else "healthy"
    row = text((label, COLOURS[own]), " ")
    groups = by_far_device(gpu.ports_of("nvlink"))
    row.append_text(text(" ").join(ticks(group, signs) for group in groups))
    if gpu.reading is not None and not groups:
        row.append("sum ", MUTED).append(signs.states[own], COLOURS[own])
    return row


def _broken(row: Text, width: int) -> Lines:
    """A row of ticks in pieces of the width; no tick may fall off the edge."""
    pieces = [text()]
    for at in range(row.cell_len):
        if at and at % max(1, width) == 0:
            pieces.append(text())
        pieces[-1].append_text(row[at])
    return pieces if row.cell_len > width else [row]


def _other_parts(node: NodeView, signs: Glyphs) -> list[Text]:
    """NICs, PCIe links by what they serve, and NVLinks whose GPU is not known."""
    devices = node.devices.values()
    nic = [port for device in devices for port in device.ports_of("nic")]
    pcie: dict[str, list[Port]] = {"gpu": [], "nic": [], "": []}
    for port in (port for device in devices for port in device.ports_of("pcie")):
        if port.end is port.link.a:
            kind = node.devices[port.end.device].kind
            pcie[kind if kind in pcie else ""].append(port)
    loose = [
        port for device in devices if device.kind != "gpu" for port in device.ports_of("nvlink")
    ]
    gpus = {device.name for device in node.of_kind("gpu")}
    loose = [port for port in loose if port.far is None or port.far.device not in gpus]
    rows = []
    for name, parts in (("nic", [nic]), ("pcie", list(pcie.values())), ("nvlink", [loose])):
        if any(parts):
            drawn = text(" ").join(ticks(part, signs) for part in parts if part)
            rows.append(text((f"{name} ", MUTED)).append_text(drawn))
    return rows
