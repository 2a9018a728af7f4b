"""Finding a thing of one drop by whatever is printed on it: names, serials, GUIDs, UUIDs, cables, incidents, tickets.

Searched are the fabric view, the facts that the topology states (through `fabric_search_index`) and the
ledger's list of tickets. Where a hit leads to is decided by the front doors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from fabric_pipeline.model.components import component_id, natural_key
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger, TicketRow
from fabric_pipeline.workflows.fabric_search_index import SearchIndex, Stated, index_of
from fabric_pipeline.workflows.fabric_view_model import FabricView, Link

Kind = Literal["node", "rack", "switch", "device", "link", "incident", "ticket"]
KINDS: tuple[Kind, ...] = ("incident", "ticket", "node", "rack", "switch", "device", "link")
MOST_PER_KIND = 30
_LEAST_DIGITS = 6
# Digits of a GUID or of an address, however they are parted: 0x946dae03…, 946d:ae03:…, 94:6d:ae:…
_PARTED = re.compile(r"^(?:0x)?[0-9a-f]{2,4}(?:[:.\-_ ][0-9a-f]{2,4})+$")

# Attributes that name another thing; that one is a hit itself.
_REFERENCES = frozenset({"node", "switch", "port", "pcie_switch", "socket"})
# Where a thing stands names the place, not the thing.
_WHERE = frozenset({"hall", "cage", "row", "rack", "unit", "face", "slot", "part"})
_PLACES = {"node": "node", "switch": "switch", "link": "link"}


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing found. `key` names it for its page: a node, rack, switch, component, incident or ticket id.

    `why` says which fact matched. `is_exact` when that fact is what was asked for, letter case aside;
    `fit` is smaller the better it fits: 0 exact, 1 begins with it, 2 holds it.
    """

    kind: Kind
    key: str
    name: str
    why: str
    is_exact: bool
    node: str = ""
    fit: int = 2


def search(settings: Settings, view: FabricView, asked: str) -> list[Hit]:
    """Hits of one drop, in each kind the best first; nothing for a blank question."""
    wanted = " ".join(asked.split()).casefold()
    if not wanted:
        return []
    index = index_of(settings, view)
    found: dict[tuple[Kind, str], Hit] = {}
    for form in _forms(wanted):
        for hit in (
            *_in_view(view, form),
            *_in_tickets(settings, form),
            *_in_links(index, form),
            *_in_topology(index, form),
        ):
            known = found.get((hit.kind, hit.key))
            if known is None or hit.fit < known.fit:
                found[hit.kind, hit.key] = hit
    return sorted(found.values(), key=_rank)


def _rank(hit: Hit) -> tuple[Any, ...]:
    return KINDS.index(hit.kind), hit.fit, natural_key(hit.key)


def _forms(wanted: str) -> list[str]:
    """The question as it stands, and a GUID or address without what parts its digits."""
    bare = re.sub(r"[:.\-_ ]", "", wanted.removeprefix("0x"))
    is_parted = bool(_PARTED.match(wanted)) and len(bare) >= _LEAST_DIGITS
    unmarked = wanted.removeprefix("0x")
    forms = [wanted, unmarked if len(unmarked) >= _LEAST_DIGITS else "", bare if is_parted else ""]
    return [form for form in dict.fromkeys(forms) if form]


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


def _in_links(index: SearchIndex, wanted: str) -> Iterator[Hit]:
    for link in index.links_with(wanted):
        yield from _match("link", link.a.component, _both(link), _link_facts(link), wanted)


def _link_facts(link: Link) -> list[tuple[str, str]]:
    facts = [("cable", link.cable_id), ("link", link.link_id), ("part", link.part)]
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


def _in_topology(index: SearchIndex, wanted: str) -> Iterator[Hit]:
    for row in index.stated_with(wanted):
        facts = list(_facts(json.loads(row.attributes)))
        key = _key(row, dict(facts))
        for hit in _match(_PLACES.get(row.kind, "device"), key, key, facts, wanted):
            yield replace(hit, node=row.node)


def _key(row: Stated, facts: dict[str, str]) -> str:
    if row.kind == "link":
        return component_id(row.node, row.interface)
    if row.kind == "switch":
        return facts.get("name") or row.entity_id
    return row.node if row.kind == "node" else row.entity_id


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
    folded = text.casefold()
    is_whole = folded == wanted and fact not in _WHERE
    fit = 0 if is_whole else 1 if folded.startswith(wanted) else 2
    yield Hit(kind, key, name, f"{fact.replace('_', ' ')} {text}", fit == 0, fit=fit)


def _both(link: Link) -> str:
    return f"{link.a.name} to {link.b.name}" if link.b is not None else link.a.name
