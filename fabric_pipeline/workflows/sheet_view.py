"""A ticket arranged for one sheet of paper: where to go and both ends, each field with its letter.

Values are cut to the room that a `Fit` grants. The body is in `sheet_blocks`, the look in the template,
how much room all that needs in `sheet_fit`.
"""

from __future__ import annotations

from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.workflows.field_origins import letter
from fabric_pipeline.workflows.sheet_blocks import body_blocks
from fabric_pipeline.workflows.sheet_model import Cell, End, Fit, View
from fabric_pipeline.workflows.sheet_text import NOT_STATED, Cutter, one_line
from fabric_pipeline.workflows.ticket_words import gpu_label

# Shape beside the word, so that priority survives a printer without colour.
PRIORITY_SHAPES = {"urgent": "▲▲", "high": "▲", "normal": "●", "low": "○"}


def view_of(draft: TicketDraft, fit: Fit) -> View:
    """Arrange a draft within the limits of a fit."""
    cut = Cutter()
    view = View(
        ticket_id=cut.text(draft.ticket_id, 100),
        title=cut.text(draft.text.title, fit.title),
        priority=draft.priority,
        shape=PRIORITY_SHAPES[draft.priority],
        head=_head(draft, fit, cut),
        go=_go(draft, fit, cut),
        near=_near(draft, fit, cut),
        far=_far(draft, fit, cut),
        cable=_cable(draft, fit, cut),
        blocks=[b for b in body_blocks(draft, fit, cut) if b.lines or b.more],
    )
    view.shortened, view.left_out = cut.shortened, cut.left_out
    return view


class _Cells:
    """Collects cells: an empty optional field is left out, an empty field that matters says so."""

    def __init__(self, cut: Cutter, limit: int) -> None:
        self._cut, self._limit, self.cells = cut, limit, list[Cell]()

    def add(
        self,
        label: str,
        value: str | int | None,
        path: str,
        *,
        mono: bool = False,
        needed: bool = False,
    ) -> _Cells:
        text = "" if value is None else self._cut.text(str(value), self._limit)
        if text or needed:
            cell = Cell(label, text or NOT_STATED, letter(path), mono and bool(text), bool(text))
            self.cells.append(cell)
        return self


def _head(draft: TicketDraft, fit: Fit, cut: Cutter) -> list[Cell]:
    seen = [f"{moment:%Y-%m-%d %H:%M}" for moment in (draft.first_seen, draft.last_seen) if moment]
    return (
        _Cells(cut, fit.fact)
        .add("Respond within", draft.sla, "sla")
        .add("When", draft.schedule, "schedule")
        .add("Contact", draft.contact, "contact")
        .add("Customer ref.", draft.customer_reference, "customer_reference")
        .add("Seen", " to ".join(seen) + " UTC" if seen else "", "first_seen")
        .cells
    )


def _go(draft: TicketDraft, fit: Fit, cut: Cutter) -> list[Cell]:
    room = ", ".join(text for text in (draft.site, draft.hall, draft.cage) if one_line(text))
    gpu = "" if draft.gpu_index is None else f"{draft.gpu_index} {draft.gpu_slot}"
    return (
        _Cells(cut, fit.go)
        .add("Site, hall, cage", room, "site")
        .add("Row", draft.row, "row")
        .add("Rack", draft.rack, "rack", needed=True)
        .add("Unit", draft.unit, "unit", needed=True)
        .add("Face", draft.face, "face")
        .add("Node", draft.node, "node", needed=True)
        .add(gpu_label(draft).removesuffix(" index"), gpu, "gpu_index")
        .add("Port label", draft.port_label, "port_label")
        .cells
    )


def _near(draft: TicketDraft, fit: Fit, cut: Cutter) -> End:
    rows = (
        _Cells(cut, fit.fact)
        .add("Link", draft.link, "link", mono=True, needed=True)
        .add("Port label", draft.port_label, "port_label", mono=True, needed=True)
        .add("Node serial", draft.node_serial, "node_serial", mono=True, needed=True)
        .add(gpu_label(draft), draft.gpu_index, "gpu_index", needed=True)
        .cells
    )
    run = (
        _Cells(cut, fit.fact)
        .add("Lane", draft.lane, "lane")
        .add("Slot", draft.gpu_slot, "gpu_slot", mono=True)
        .add("Socket", draft.socket, "socket")
        .add("PCI", draft.pci_address, "pci_address", mono=True)
        .add("GPU serial", draft.gpu_serial, "gpu_serial", mono=True)
        .add("GPU part no.", draft.gpu_part_number, "gpu_part_number", mono=True)
        .add("Asset tag", draft.asset_tag, "asset_tag", mono=True)
        .add("UUID", draft.gpu_uuid, "gpu_uuid", mono=True)
        .cells
    )
    return End(rows, *cut.some(run, fit.facts))


def _far(draft: TicketDraft, fit: Fit, cut: Cutter) -> End:
    far = draft.far_place
    place = ", ".join(text for text in (far.site, far.row, far.rack, far.unit) if one_line(text))
    port = draft.fabric_or_switch_port
    rows = (
        _Cells(cut, fit.fact)
        .add("Far end", draft.far_end, "far_end", mono=True, needed=True)
        .add("Switch port", port, "fabric_or_switch_port", mono=True, needed=True)
        .add("Port label", far.port_label, "far_place", mono=True)
        .add("Place", place, "far_place")
        .cells
    )
    run = (
        _Cells(cut, fit.fact)
        .add("Device", far.device, "far_place", mono=True)
        .add("Slot", far.slot, "far_place", mono=True)
        .add("Port", far.port, "far_place", mono=True)
        .add("Serial", far.serial, "far_place", mono=True)
        .cells
    )
    return End(rows, *cut.some(run, fit.facts))


def _cable(draft: TicketDraft, fit: Fit, cut: Cutter) -> End:
    cable = draft.cable
    length = "" if cable.length_m is None else f"{cable.length_m:g} m"
    run = (
        _Cells(cut, fit.fact)
        .add("Cable", draft.cable_id, "cable_id", mono=True, needed=True)
        .add("Medium", cable.medium, "cable")
        .add("Length", length, "cable")
        .add("Connector", cable.connector, "cable")
        .add("Colour", cable.colour, "cable")
        .add("Serial", cable.serial, "cable", mono=True)
        .add("Part no.", cable.part_number, "cable", mono=True)
        .cells
    )
    return End([], *cut.some(run, fit.facts + 1))
