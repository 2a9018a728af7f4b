"""Which parts carry a link: devices at both ends, plug, cable, node and rack, by the topology.

Pure look-ups over `model.topology`. Two ports are one plug only where the topology says so or where the
labels printed on the box do; the number of an `mlx5_N` name tells nothing about plugs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fabric_pipeline.model.components import (
    device_of,
    gpu_index,
    natural_key,
    parse_component,
)
from fabric_pipeline.model.topology import Link, Topology

Part = tuple[str, str]  # kind and name

# Twin-port cages carry the cage in front of the port: OSFP1P1 and OSFP1P2 (DGX H100 user guide).
_TWIN_LABEL = re.compile(r"^(?P<cage>OSFP[A-Z]{0,4}\d{1,3})[-_/. ]?P\d$", re.IGNORECASE)
_PLUG_KEYS = ("plug", "cage", "transceiver_serial", "module_serial")
_BUNDLE_KEYS = ("cable_serial", "cartridge", "bundle", "trunk")


class SharedParts:
    """The parts of every link of a drop. `counted` are link ends with counters, known or not to the topology."""

    def __init__(self, topology: Topology, counted: Iterable[str]) -> None:
        """Index the links once; a counted end that no topology states is a link of its own."""
        self._topology = topology
        self._parts: dict[str, frozenset[Part]] = {}
        self._links: dict[Part, list[str]] = {}
        for link in topology.links:
            self._add(min(link.a, link.b), frozenset(self._parts_of_link(link)))
        for end in counted:
            key = topology.link_key(end)
            if key not in self._parts:
                self._add(key, frozenset(self._parts_of_end(key)))

    def key_of(self, component: str) -> str:
        """Key of the link that this component ends or is a lane of, "" when the drop knows no such link."""
        key = self._topology.link_key(self._topology.resolve(component))
        return key if key in self._parts else ""

    def links_of(self, part: Part) -> Sequence[str]:
        """Keys of the links that the part carries."""
        return self._links.get(part, ())

    def shared_by(self, keys: Iterable[str]) -> dict[Part, list[str]]:
        """Parts that at least two of these links have in common, with those links in natural order."""
        carried: dict[Part, list[str]] = {}
        for key in sorted(set(keys), key=natural_key):
            for part in self._parts.get(key, ()):
                carried.setdefault(part, []).append(key)
        return {part: links for part, links in carried.items() if len(links) > 1}

    def _add(self, key: str, parts: frozenset[Part]) -> None:
        self._parts[key] = parts
        for part in parts:
            self._links.setdefault(part, []).append(key)

    def _parts_of_link(self, link: Link) -> Iterator[Part]:
        if link.cable_id:
            yield "cable", link.cable_id
        for key in _BUNDLE_KEYS:
            if _is_stated(link.attributes.get(key)):
                yield "cable", f"{key.replace('_', ' ')} {link.attributes[key]}"
        for end, stated in ((link.a, link.attributes.get("a")), (link.b, link.attributes.get("b"))):
            yield from self._parts_of_end(end)
            yield from self._plug(end, stated if isinstance(stated, dict) else {})

    def _parts_of_end(self, end: str) -> Iterator[Part]:
        parsed = parse_component(end)
        device = device_of(parsed.interface)
        yield from self._places(end, parsed.node)
        if not device:
            return
        kind = self._kind(parsed.node, device)
        if kind == "nic":
            yield "nic", self._card(end, parsed.node, device)
        elif kind:
            yield kind, _named(parsed.node, device)
        if kind == "nic" or parsed.interface.endswith("/pcie"):
            behind = self._topology.device(end).get("pcie_switch")
            if _is_stated(behind):
                yield "pcie_switch", _named(parsed.node, str(behind))

    def _kind(self, node: str, device: str) -> str:
        """Kind of a device by its name in the grammar, else by the list of the topology it stands in."""
        if gpu_index(device) is not None:
            return "gpu"
        stated = self._topology.nodes.get(node, {})
        tier = str(self._topology.switches.get(device, {}).get("tier") or "")
        if device.startswith("nvswitch") or "nvswitch" in tier.lower():
            return "nvswitch"
        if device.startswith(("pcie-switch", "pcie_switch")):
            return "pcie_switch"
        if any(
            isinstance(nic, dict) and nic.get("hca") == device for nic in stated.get("nics") or []
        ):
            return "nic"
        if not node or device in self._topology.switches:
            return "switch"
        return "" if device.startswith("pci-") else "nic"

    def _card(self, end: str, node: str, device: str) -> str:
        """The card by its serial where one is stated: two ports of one card are two devices."""
        serial = self._topology.device(end).get("serial")
        same = [
            str(nic["hca"])
            for nic in self._topology.nodes.get(node, {}).get("nics") or []
            if isinstance(nic, dict)
            and _is_stated(serial)
            and nic.get("serial") == serial
            and nic.get("hca")
        ]
        return _named(node, "+".join(sorted(same, key=natural_key)) if len(same) > 1 else device)

    def _plug(self, end: str, stated: dict[str, Any]) -> Iterator[Part]:
        parsed = parse_component(end)
        facts = {**self._topology.device(end), **stated}
        if parsed.interface.endswith("/pcie"):
            return
        owner = parsed.node or device_of(parsed.interface)
        for key in _PLUG_KEYS:
            if _is_stated(facts.get(key)):
                yield "twin_port_plug", _named(owner, str(facts[key]))
                return
        label = str(stated.get("port_label") or self._topology.port_label(end))
        twin = _TWIN_LABEL.match(label.strip())
        if twin:
            yield "twin_port_plug", _named(owner, twin["cage"].upper())

    def _places(self, end: str, node: str) -> Iterator[Part]:
        if node:
            yield "node", node
        place = self._topology.place(end)
        if _is_stated(place.get("rack")):
            row = f"row {place['row']}, " if _is_stated(place.get("row")) else ""
            yield "rack", f"{row}rack {place['rack']}"


def _named(owner: str, part: str) -> str:
    return f"{owner}:{part}" if owner else part


def _is_stated(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip() != ""
