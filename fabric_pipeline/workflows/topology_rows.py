"""Rows of the table fabric_topology from the parts that readers make, and the way back.

The table holds each entity as its source states it in `attributes`, so that the graph can be rebuilt
from the table alone.
"""

from __future__ import annotations

import gc
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakValueDictionary

from fabric_pipeline.model.components import component_id, normalise_pci, parse_component
from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.model.topology import Topology, end_component

_TYPES = {"nvlink", "pcie", "infiniband", "roce", "ethernet"}


def topology_rows(file: str, part: TopologyPart) -> Iterator[tuple[Any, ...]]:
    """One row per entity in the column order of fabric_topology without drop and hash."""
    stated = {"site": part.site, "service": part.service, "spares": part.spares}
    if site := {key: value for key, value in stated.items() if value}:
        yield _row(file, "site", part.site, site)
    for node in part.nodes:
        yield from _node_rows(file, node)
    for switch in part.switches:
        yield _row(file, "switch", f"unknown:{switch['name']}", switch, node=str(switch["name"]))
    for link in part.links:
        if isinstance(link.get("a"), dict) and isinstance(link.get("b"), dict):
            yield _link_row(file, link)


def places_in_names(
    pattern: re.Pattern[str], nodes: Iterable[str], known: Topology
) -> TopologyPart:
    """Rack and unit that `node_pattern` of drop.yaml reads out of node names, where no file states them."""
    part = TopologyPart()
    for node in nodes:
        found = pattern.search(node)
        groups = found.groupdict() if found else {}
        stated = known.nodes.get(node, {})
        place = {
            key: groups[key] for key in ("rack", "unit") if groups.get(key) and not stated.get(key)
        }
        if place:
            part.nodes.append({"node": node, **place})
    return part


def topology_from_rows(rows: Iterable[tuple[str, str]]) -> Topology:
    """The graph from (kind, attributes) of the table.

    As long as anybody holds a graph, the same rows give that one again: a stage and its checks ask for the
    graph of one drop several times, and that of a hundred thousand links takes seconds.
    """
    known = list(rows)
    digest = hashlib.sha256(repr(known).encode("utf-8", "surrogatepass")).digest()
    topology = _held.get(digest)
    if topology is None:
        with _without_collecting():
            topology = _graph(known)
        _held[digest] = topology
    return topology


_held: WeakValueDictionary[bytes, Topology] = WeakValueDictionary()


@contextmanager
def _without_collecting() -> Iterator[None]:
    """No search for garbage meanwhile: it would look at all entries again and again while they grow."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _graph(rows: Iterable[tuple[str, str]]) -> Topology:
    part = TopologyPart()
    sites = []
    for kind, attributes in rows:
        value = json.loads(attributes)
        if kind == "site":
            site = str(value.get("site") or "")
            sites.append(
                TopologyPart(
                    site=site, service=value.get("service") or {}, spares=value.get("spares") or []
                )
            )
        elif kind == "node":
            part.nodes.append(value)
        elif kind == "switch":
            part.switches.append(value)
        elif kind == "link":
            part.links.append(value)
    return Topology([*sites, part])


# Device kind -> list of a node that holds it, and the keys under which a device names itself.
_DEVICES = (
    ("nic", "nics", ("hca",)),
    ("nvswitch", "nvswitches", ("name", "nvswitch")),
    ("pcie_switch", "pcie_switches", ("name", "pcie_switch")),
)


def _node_rows(file: str, node: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    name = str(node["node"])
    yield _row(file, "node", component_id(name, ""), node, node=name)
    for gpu in node.get("gpus") or []:
        interface = _gpu_interface(gpu)
        yield _row(file, "gpu", component_id(name, interface), gpu, node=name, interface=interface)
    for kind, key, own_names in _DEVICES:
        for item in node.get(key) or []:
            entity = item if isinstance(item, dict) else {"name": str(item)}
            interface = str(next((entity[n] for n in (*own_names, "name") if entity.get(n)), kind))
            yield _row(
                file, kind, component_id(name, interface), entity, node=name, interface=interface
            )


def _gpu_interface(gpu: dict[str, Any]) -> str:
    if gpu.get("gpu") is None and gpu.get("pci"):
        return f"pci-{normalise_pci(str(gpu['pci']))}"
    return f"gpu{gpu.get('gpu')}"


def _link_row(file: str, link: dict[str, Any]) -> tuple[Any, ...]:
    near, far = end_component(link["a"]), end_component(link["b"])
    a, b = parse_component(near), parse_component(far)
    link_id = str(link.get("id") or f"{near}<->{far}")
    return _row(
        file, "link", link_id, link, node=a.node, interface=a.interface, far=(b.node, b.interface)
    )


def _row(
    file: str,
    kind: str,
    entity_id: str,
    value: dict[str, Any],
    *,
    node: str = "",
    interface: str = "",
    far: tuple[str, str] = ("", ""),
) -> tuple[Any, ...]:
    link_type = str(value.get("type") or "")
    return (
        file,
        kind,
        entity_id or "unknown",
        node,
        interface,
        *far,
        str(value.get("row") or ""),
        str(value.get("rack") or ""),
        str(value.get("unit") if value.get("unit") is not None else ""),
        _whole(value.get("socket")),
        _whole(value.get("gpu")),
        str(value.get("serial") or ""),
        link_type if link_type in _TYPES else "",
        _whole(value.get("lanes")),
        float(value["speed_gbps"]) if isinstance(value.get("speed_gbps"), int | float) else None,
        str(value.get("cable") or ""),
        str(value.get("part") or ""),
        json.dumps(value, sort_keys=True, ensure_ascii=False, default=str),
    )


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
