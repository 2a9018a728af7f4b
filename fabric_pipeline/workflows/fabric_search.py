"""Finding a thing of one drop by whatever is printed on it: names, serials, GUIDs, UUIDs, cables, incidents, tickets.

Facts that only the topology states are searched by SQL in its attributes, everything else in the fabric
view and in the ledger's list of tickets. Where a hit leads to is decided by the front doors.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fabric_pipeline.model.components import component_id
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.duck import connect
from fabric_pipeline.store.lake import attach
from fabric_pipeline.store.ledger import Ledger, TicketRow
from fabric_pipeline.workflows.fabric_view_model import FabricView, Link

Kind = Literal["node", "rack", "switch", "device", "link", "incident", "ticket"]
KINDS: tuple[Kind, ...] = ("incident", "ticket", "node", "rack", "switch", "device", "link")
MOST_PER_KIND = 30
_MOST_ROWS = 400

# Attributes are JSON: what is asked for is looked up in the form in which it would stand there.
_TOPOLOGY_SQL = f"""
select kind, node, interface, entity_id, attributes from fabric_topology
where contains(lower(attributes), lower(?)) and kind in ('node', 'gpu', 'nic', 'nvswitch', 'pcie_switch', 'switch', 'link')
order by length(attributes), entry limit {_MOST_ROWS}
"""
# Attributes that name another thing; that one is a hit itself.
_REFERENCES = frozenset({"node", "switch", "port", "pcie_switch", "socket"})
_PLACES = {"node": "node", "switch": "switch", "link": "link"}


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing found. `key` names it for its page: a node, rack, switch, component, incident or ticket id.

    `why` says which fact matched. `is_exact` when that fact is what was asked for, letter case aside.
    """

    kind: Kind
    key: str
    name: str
    why: str
    is_exact: bool
    node: str = ""


def search(settings: Settings, view: FabricView, asked: str) -> list[Hit]:
    """Hits of one drop, exact ones first in each kind; nothing for a blank question."""
    wanted = " ".join(asked.split())
    if not wanted:
        return []
    found: dict[tuple[Kind, str], Hit] = {}
    small = wanted.casefold()
    for hit in (
        *_in_view(view, small),
        *_in_tickets(settings, small),
        *_in_topology(settings, view, wanted),
    ):
        known = found.get((hit.kind, hit.key))
        if known is None or (hit.is_exact and not known.is_exact):
            found[hit.kind, hit.key] = hit
    return sorted(found.values(), key=lambda hit: (KINDS.index(hit.kind), not hit.is_exact))


def _in_view(view: FabricView, wanted: str) -> Iterator[Hit]:
    for rack in view.racks:
        if rack.name:
            yield from _match("rack", rack.name, f"Rack {rack.name}", [("name", rack.name)], wanted)
        for node in rack.nodes:
            facts = [("name", node.name), ("serial", node.serial)]
            yield from _match("node", node.name, node.name, facts, wanted)
    for switch in view.switches:
        facts = [("name", switch.name), ("serial", switch.serial)]
        yield from _match("switch", switch.name, switch.name, facts, wanted)
    for incident in view.incidents:
        facts = [("incident", incident.incident_id), ("component", incident.component)]
        yield from _match("incident", incident.incident_id, incident.summary, facts, wanted)
    yield from _in_links(view, wanted)


def _in_links(view: FabricView, wanted: str) -> Iterator[Hit]:
    found = 0
    for link in view.links:
        for hit in _match("link", link.a.component, _both(link), _link_facts(link), wanted):
            found += not hit.is_exact
            if hit.is_exact or found <= _MOST_ROWS:
                yield hit


def _link_facts(link: Link) -> list[tuple[str, str]]:
    facts = [("cable", link.cable_id), ("link", link.link_id)]
    return facts + [
        fact for end in link.ends for fact in (("port", end.component), ("port", end.interface))
    ]


def _in_tickets(settings: Settings, wanted: str) -> Iterator[Hit]:
    tickets: Sequence[TicketRow] = (
        Ledger(settings.ledger).tickets() if settings.ledger.is_file() else []
    )
    for row in tickets:
        facts = [("ticket", row.ticket_id), ("title", row.title)]
        yield from _match("ticket", row.ticket_id, row.title, facts, wanted)


def _in_topology(settings: Settings, view: FabricView, wanted: str) -> Iterator[Hit]:
    connection = connect()
    try:
        if not attach(connection, settings.lake, "fabric_topology", view.drop):
            return
        written = json.dumps(wanted)[1:-1]
        rows = connection.execute(_TOPOLOGY_SQL, [written]).fetchall()
    finally:
        connection.close()
    for kind, node, interface, entity, attributes in rows:
        facts = dict(_facts(json.loads(attributes)))
        key = {
            "node": node,
            "switch": str(facts.get("name") or entity),
            "link": component_id(node, interface),
        }.get(kind, entity)
        for hit in _match(
            _PLACES.get(kind, "device"), key, key, list(facts.items()), wanted.casefold()
        ):
            yield Hit(hit.kind, hit.key, hit.name, hit.why, hit.is_exact, node)


def _facts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every text and number in the attributes with its name; lists of devices have rows of their own."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(inner, list) and key not in _REFERENCES:
                yield from _facts(inner, str(key))
    elif value is not None and not isinstance(value, bool):
        yield name, str(value)


def _match(
    kind: Any, key: str, name: str, facts: Sequence[tuple[str, str]], wanted: str
) -> Iterator[Hit]:
    """One hit for the fact that fits best, none when none contains what is wanted."""
    fitting = [(fact, text) for fact, text in facts if text and wanted in text.casefold()]
    if not fitting:
        return
    fact, text = min(fitting, key=lambda pair: (pair[1].casefold() != wanted, len(pair[1])))
    why = f"{fact.replace('_', ' ')} {text}"
    yield Hit(kind, key, name, why, text.casefold() == wanted)


def _both(link: Link) -> str:
    return f"{link.a.name} to {link.b.name}" if link.b is not None else link.a.name
