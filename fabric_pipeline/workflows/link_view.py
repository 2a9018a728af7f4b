"""Everything about one link of one drop, read from the lake and the ledger for a panel or a page.

The link itself comes from the fabric view, so a panel and the map show the same states. Values are in
`link_view_model`; drawing belongs to the front doors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.incidents.record import IncidentRecord, Place
from fabric_pipeline.incidents.whereabouts import cable_of, place_of
from fabric_pipeline.model.components import normalise_pci, parse_component
from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.lake import read_rows
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows import link_view_sql as sql
from fabric_pipeline.workflows.fabric_lookup_sql import COUNTERS_SQL
from fabric_pipeline.workflows.fabric_view_model import (
    Device,
    End,
    FabricView,
    Link,
    SwitchView,
)
from fabric_pipeline.workflows.lifecycle import life_of
from fabric_pipeline.workflows.link_coincidence import coincidence
from fabric_pipeline.workflows.link_counts import absent_count, bit_split, count_of, paired
from fabric_pipeline.workflows.link_view_model import Count, LinkEnd, LinkIncident, LinkView
from fabric_pipeline.workflows.present_tables import present_tables
from fabric_pipeline.workflows.topology_rows import topology_from_rows

TABLES = (
    "fabric_topology", "link_counters", "spike_detections", "straggler_correlations", "incident_records",
)  # fmt: skip
_SEPARATOR = "\0"
# States worth showing beside the nominal values, with their units.
_NOW = ("link_up", "width", "width_max", "speed_gbps", "speed_max_gbps", "pcie_gen", "pcie_gen_max", "raw_ber", "effective_ber", "symbol_ber")  # fmt: skip


def load_link(settings: Settings, view: FabricView, component: str) -> LinkView:
    """The link that ends at this component (a lane of it, or the link's id, is taken as well).

    Raises NotFoundError when the drop knows no such link.
    """
    link = find_link(view, component)
    with present_tables(settings, view.drop, TABLES) as connection:
        topology = _surroundings(connection, link)
        counted = [_counts(connection, view, link, end) for end in link.ends]
        found = LinkView(
            view.drop,
            link,
            tuple(
                LinkEnd(end, _kind(view, end), place_of(end.component, topology), now)
                for end, (_, now) in zip(link.ends, counted, strict=True)
            ),
            cable_of(link.a.component, topology),
        )
        names = [name for end in link.ends for name in spellings(view, end)]
        found.counts = paired(counted[0][0], counted[1][0] if len(counted) > 1 else ())
        bits = connection.execute(sql.BITS_SQL, {"ends": names}).fetchall()
        found.bits = bit_split(bits, found.counts)
        rows = read_rows(connection, sql.COINCIDENCE_SQL, {"ends": names})
        found.coincidences = [coincidence(row) for row in rows]
        records = connection.execute(sql.INCIDENTS_SQL, {"ids": list(link.incidents)}).fetchall()
    found.incidents = _incidents(settings, [row[1] for row in records])
    found.notes = _notes(view, found)
    return found


def find_link(view: FabricView, component: str) -> Link:
    """The link of a view by either end, by a lane of it, or by its id."""
    asked = parse_component(component)
    node, interface = _by_index(view, asked.node, asked.interface)
    found = view.links.at(node, interface) or view.links.by_id(component)
    if found is not None:
        return found
    raise NotFoundError(
        f"drop {view.drop} has no link that ends at {component[:200]!r}",
        "choose a link on the map, or search for its port",
    )


def spellings(view: FabricView, end: End) -> list[str]:
    """Every name by which the tables may have this end, as node, separator and interface."""
    return [f"{end.node}{_SEPARATOR}{name}" for name in _interfaces(view, end)]


def _interfaces(view: FabricView, end: End) -> list[str]:
    device = _holder(view, end)
    pci = device.facts.get("pci") if isinstance(device, Device) and device.kind == "gpu" else None
    if not pci:
        return [end.interface]
    alias = f"pci-{normalise_pci(str(pci))}"
    rest = end.interface[len(end.device) :]
    return [end.interface, alias + rest, *([alias] if rest == "/pcie" else [])]


def _by_index(view: FabricView, node: str, interface: str) -> tuple[str, str]:
    """A GPU named by its PCI address gets its index, as the view names it."""
    if not interface.startswith("pci-"):
        return node, interface
    alias, _, rest = interface.partition("/")
    for one in view.nodes:
        if one.name == node:
            for device in one.of_kind("gpu"):
                if f"pci-{normalise_pci(str(device.facts.get('pci') or ''))}" == alias:
                    return node, f"{device.name}/{rest or 'pcie'}"
    return node, interface


def _holder(view: FabricView, end: End) -> Device | SwitchView | None:
    if end.node:
        node = next((one for one in view.nodes if one.name == end.node), None)
        return node.devices.get(end.device) if node else None
    return next((one for one in view.switches if one.name == end.device), None)


def _kind(view: FabricView, end: End) -> str:
    holder = _holder(view, end)
    return holder.kind if isinstance(holder, Device) else "switch" if holder else "other"


def _siblings(view: FabricView, link: Link, end: End) -> list[End]:
    """Like ends: NVLinks of the same device, ports of the same switch, else those of the node."""
    holder = _holder(view, end)
    if holder is None:
        return [end]
    ports = list(holder.ports)
    if end.node and link.link_type != "nvlink":
        node = next(one for one in view.nodes if one.name == end.node)
        ports = list(node.ports())
    alike = [port.end for port in ports if port.link.link_type == link.link_type]
    return [one for one in alike if one.node == end.node]


def _surroundings(connection: Any, link: Link) -> Topology:
    owners = [end.node or end.device for end in link.ends]
    ends = [f"{end.node}{_SEPARATOR}{end.interface}" for end in link.ends]
    rows = connection.execute(sql.PLACES_SQL, {"owners": owners, "ends": ends}).fetchall()
    return topology_from_rows(rows)


def _counts(
    connection: Any, view: FabricView, link: Link, end: End
) -> tuple[list[Count], tuple[tuple[str, float, str], ...]]:
    """Counters of one end beside their limits, and its states as read last."""
    own = _interfaces(view, end)
    near = sorted({name for one in _siblings(view, link, end) for name in _interfaces(view, one)})
    given: dict[str, Any] = {"node": end.node, "near": near or own, "own": own}
    rows = read_rows(connection, COUNTERS_SQL, {**given, "lane": None})
    missing = [row[0] for row in connection.execute(sql.MISSING_SQL, given).fetchall()]
    names = {"ends": spellings(view, end)}
    peaks = {(row[0], row[1]): row[2] for row in connection.execute(sql.PEAKS_SQL, names).fetchall() if row[2] is not None}  # fmt: skip
    moved = connection.execute(sql.MOVED_SQL, names).fetchall()[0][0]
    counts = [
        count_of(row, link.link_type, moved, peaks)
        for row in rows
        if row["kind"] != "gauge" and COUNTERS[row["counter"]].role != "traffic"
    ]
    counts += [
        absent_count(name, link.link_type)
        for name in sorted(missing)
        if COUNTERS[name].role == "error"
    ]
    now = {row["counter"]: row["last_value"] for row in rows if row["kind"] == "gauge"}
    states = ((name, now.get(name)) for name in _NOW)
    return counts, tuple(
        (name, value, COUNTERS[name].unit) for name, value in states if value is not None
    )


def _incidents(settings: Settings, records: Sequence[str]) -> list[LinkIncident]:
    if not records:
        return []
    ledger = Ledger(settings.ledger)
    parsed = [IncidentRecord.model_validate_json(text) for text in records]
    names = {record.incident_id for record in parsed}
    tickets = {row.incident_id: row for row in ledger.tickets(incident_ids=names)}
    found = []
    for record in parsed:
        try:
            life = life_of(ledger, record.incident_id)
        except NotFoundError:  # watched, never accused: nobody is asked to repair it
            life = None
        found.append(LinkIncident(record, life, tickets.get(record.incident_id)))
    return found


def _notes(view: FabricView, found: LinkView) -> list[str]:
    notes = []
    if found.link.b is None:
        notes.append("No source of this drop names the far end of this link.")
    if not view.has_topology:
        notes.append("This drop states no topology: places, serials and cable are not known.")
    for end in found.ends:
        if end.end.reading.state == "no_data":
            why = end.end.reading.rule or "nothing was measured at this end"
            notes.append(f"{end.end.name}: {why}. It is not known to be healthy.")
    if not view.is_judged:
        notes.append("The diagnosis has not run on this drop.")
    return notes


def where_words(place: Place) -> list[str]:
    """Where to walk to, from the hall to the port, as far as the topology states it."""
    pairs = (
        ("", place.site), ("hall", place.hall), ("cage", place.cage), ("row", place.row), ("rack", place.rack),
        ("unit", place.unit), ("", place.face and f"{place.face} side"),
    )  # fmt: skip
    return [
        value if value.lower().startswith(word) else f"{word} {value}"
        for word, value in pairs
        if value
    ]
