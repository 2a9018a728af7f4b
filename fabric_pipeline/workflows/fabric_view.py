"""The fabric of one drop as a value, read from the lake: what is where, and the state of every link end.

Both command-line pictures and the portal draw from it. Where a drop has no topology, the picture is
built from the link ends that were measured; a link end without a reading has no data and is never
healthy. Drawing belongs to the front doors, the values to `fabric_view_model`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.model.components import natural_key, normalise_pci
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.columns import insert_columns
from fabric_pipeline.store.duck import session
from fabric_pipeline.store.lake import attach, part_path, written_at
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows import fabric_view_sql as sql
from fabric_pipeline.workflows.expired import expired_words
from fabric_pipeline.workflows.fabric_view_build import Builder
from fabric_pipeline.workflows.fabric_view_model import DOWN, FabricView, NodeView, RackView
from fabric_pipeline.workflows.fabric_view_state import fabric_state
from fabric_pipeline.workflows.topology_rows import topology_from_rows

_TABLES = ("fabric_topology", "link_counters", "spike_detections", "incident_records")
_SHOWN_DROPS = 20
_NOT_MEASURED = "This drop has no link counters: no link end was measured."


def load_fabric_view(settings: Settings, drop: str | None = None) -> FabricView:
    """The fabric of the given drop, else of the one that was read last.

    Raises NotFoundError, naming the drops there are, when the lake has no such drop.
    """
    name = chosen_drop(settings.lake, drop)
    connection = session()
    try:
        there = {table: attach(connection, settings.lake, table, name) for table in _TABLES}
        view = _view(connection, name, there)
        if not there["link_counters"]:
            _tell_expired(settings, view)
        return view
    finally:
        connection.close()


def _tell_expired(settings: Settings, view: FabricView) -> None:
    """Of a drop whose readings are gone by policy: that they are, and from when they were."""
    words = expired_words(settings, view.drop, ["link_counters"])
    if not words:
        return
    told = f"{words[:1].upper()}{words[1:]}: no link is called healthy."
    view.notes = [told, *(note for note in view.notes if note != _NOT_MEASURED)]
    span = Ledger(settings.ledger).spans().get(view.drop)
    if span is not None:
        view.window_start, view.window_end = span.first, span.last


def drops_with_fabric(lake: Path) -> list[str]:
    """Ids of the drops that can be drawn, the one read last first."""
    written = {table: written_at(lake, table) for table in _TABLES}
    found = {drop for table in _TABLES[:2] for drop in written[table]}

    def read_at(drop: str) -> int:
        return max(times.get(drop, 0) for times in written.values())

    return sorted(found, key=lambda drop: (-read_at(drop), drop))


def view_signature(lake: Path, drop: str) -> int:
    """A number that changes whenever a table behind the view of this drop is written again."""
    return _read_at(lake, drop)


def chosen_drop(lake: Path, drop: str | None) -> str:
    """The drop that is meant: the one asked for, else the one read last; NotFoundError as above."""
    there = drops_with_fabric(lake)
    if not there:
        raise NotFoundError(
            f"no drop has been read into {lake}", "run `fabric-pipeline run` on a drop first"
        )
    if drop is None:
        return there[0]
    if drop not in there:
        shown = ", ".join(there[:_SHOWN_DROPS])
        more = f" and {len(there) - _SHOWN_DROPS} more" if len(there) > _SHOWN_DROPS else ""
        raise NotFoundError(f"there is no drop {drop!r}", f"drops there are: {shown}{more}")
    return drop


def _read_at(lake: Path, drop: str) -> int:
    """When the last of the drop's tables was written, in nanoseconds."""
    parts = [part_path(lake, table, drop) for table in _TABLES]
    return max((part.stat().st_mtime_ns for part in parts if part.is_file()), default=0)


def _view(connection: Any, drop: str, there: dict[str, bool]) -> FabricView:
    topology = _places(connection) if there["fabric_topology"] else Topology()
    _prepare(connection, topology, there)
    state = fabric_state(connection, topology, there["spike_detections"], there["incident_records"])
    view = FabricView(
        drop,
        site=topology.site,
        has_topology=bool(topology) or _has_rows(connection, "stated"),
        is_judged=there["spike_detections"],
        incidents=state.incidents,
    )
    builder = Builder(state, is_judged=view.is_judged)
    builder.place(topology)
    marked = [(node, interface, place) for (node, interface), place in builder.marked.items()]
    columns = [("node", "VARCHAR"), ("interface", "VARCHAR"), ("place", "INTEGER")]
    insert_columns(connection, "marked", columns, marked)
    found = {
        name: np.ma.getdata(column)
        for name, column in connection.execute(sql.LINKS_SQL).fetchnumpy().items()
    }
    view.links = builder.links(found, connection.execute(sql.DEVICES_SQL).fetchall())
    view.window_start, view.window_end = connection.execute(sql.WINDOW_SQL).fetchall()[0]
    view.racks, view.switches = _racks(builder.sorted_nodes()), builder.sorted_switches()
    view.notes = _notes(view, there, _has_rows(connection, "ends"))
    return view


def _places(connection: Any) -> Topology:
    """Nodes and switches with their devices; the many links are joined in SQL instead."""
    rows = connection.execute(
        "select kind, attributes from fabric_topology where kind in ('site', 'node', 'switch') order by entry"
    ).fetchall()
    return topology_from_rows(rows)


def _prepare(connection: Any, topology: Topology, there: dict[str, bool]) -> None:
    """The tables `pci_alias`, `marked`, `stated` and `ends`, empty where the drop has no such rows."""
    connection.execute("create temp table marked (node varchar, interface varchar, place integer)")
    connection.execute("create temp table pci_alias (node varchar, alias varchar, device varchar)")
    aliases = [
        (name, f"pci-{normalise_pci(str(gpu['pci']))}", f"gpu{gpu['gpu']}")
        for name, node in topology.nodes.items()
        for gpu in node.get("gpus") or []
        if isinstance(gpu, dict) and gpu.get("pci") and gpu.get("gpu") is not None
    ]
    columns = [(column, "VARCHAR") for column in ("node", "alias", "device")]
    insert_columns(connection, "pci_alias", columns, aliases)
    connection.execute(sql.STATED_SQL if there["fabric_topology"] else sql.NO_STATED_SQL)
    if not there["link_counters"]:
        connection.execute(sql.no_counters_sql())
    connection.execute(sql.ENDS_SQL)
    if aliases and connection.execute(sql.HAS_ALIASES_SQL).fetchall()[0][0]:
        connection.execute(sql.NAMED_SQL)


def _has_rows(connection: Any, table: str) -> bool:
    return bool(connection.execute(f"select count(*) > 0 from {table}").fetchall()[0][0])


def _racks(nodes: list[NodeView]) -> list[RackView]:
    racks: dict[tuple[str, str], RackView] = {}
    for node in nodes:
        racks.setdefault((node.row, node.rack), RackView(node.rack, node.row)).nodes.append(node)
    return sorted(
        racks.values(),
        key=lambda rack: (not rack.name, natural_key(rack.row), natural_key(rack.name)),
    )


def _notes(view: FabricView, there: dict[str, bool], is_measured: bool) -> list[str]:
    notes = []
    if not view.has_topology:
        notes.append(
            "This drop states no topology: racks and far ends are unknown, links are those measured."
        )
    if not there["link_counters"] or not is_measured:
        notes.append(_NOT_MEASURED)
    if not view.racks and not view.switches:
        notes.append("This drop names no node and no switch: there is nothing to draw.")
    down = view.links.count_of(DOWN)
    if down:
        ends = "1 link end is" if down == 1 else f"{down:,} link ends are"
        notes.append(f"{ends} down without an incident; drawn as no data, not as healthy.")
    if not view.is_judged:
        notes.append("The diagnosis has not run on this drop: no link is called healthy.")
    elif not there["incident_records"]:
        notes.append("No incidents are recorded for this drop: states come from the rules alone.")
    return notes
