"""Turns samples of node_exporter metrics into readings of ports, network devices and PCI devices.

Names are translated in `node_names`. Whether a port that is down matters is judged elsewhere.
"""

from __future__ import annotations

import re
from math import isnan

from fabric_pipeline.model.components import normalise_pci
from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.model.records import Reading
from fabric_pipeline.sources.base import Hints
from fabric_pipeline.sources.prometheus.entity import Entities, Entity, host_of
from fabric_pipeline.sources.prometheus.exposition import BrokenLineError, Sample
from fabric_pipeline.sources.prometheus.gather import Gather
from fabric_pipeline.sources.prometheus.node_names import NodeRule, node_rule_for

# Whether RoCE runs over a network device is not stated.
_LINK_TYPES = {"hca": "infiniband", "pci": "pcie"}
# Kernel port states; a deferred port has been active and waits for its partner.
_STATES = {1: "Down", 2: "Initialize", 3: "Armed", 4: "Active", 5: "ActiveDefer"}
_PHYSICAL_STATES = {
    1: "Sleep",
    2: "Polling",
    3: "Disabled",
    4: "PortConfigurationTraining",
    5: "LinkUp",
    6: "LinkErrorRecovery",
    7: "PhyTest",
}
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6, 128.0: 7}  # GT/s
_WIDEST = 32  # lanes; sysfs shows 63 or 255 when no link is there
# Devices of software: they have no link of their own.
_VIRTUAL = re.compile(
    r"lo|(?:veth|docker|br-|virbr|cali|cni|flannel|tun|tap|vxlan|dummy|kube|lxc).*"
)


class NodeSeries:
    """Feeds the node_exporter samples of one file into a `Gather`."""

    def __init__(self, gather: Gather, hints: Hints) -> None:
        self.metrics: dict[str, int] = {}
        self.doubts: set[str] = set()
        self._gather = gather
        self._entities = Entities(hints.node)
        self._hosts: set[str] = set()
        # Hosts by the address that was scraped, and readings whose labels carry that address alone.
        self._host_at: dict[str, str] = {}
        self._unnamed: list[tuple[Reading, Entity]] = []
        self._sockets: dict[tuple[str, str], int] = {}

    def add(self, sample: Sample) -> None:
        """Use one sample; raises `BrokenLineError` for a value that its metric cannot have."""
        if sample.name in ("node_uname_info", "node_pcidevice_numa_node"):
            self._remember(sample)
            return
        rule = node_rule_for(sample.name)
        entity = self._entities.of(sample.label_text, sample.labels)
        interface = _interface(rule, entity) if rule else ""
        if rule is None or not interface:
            self.metrics[sample.name] = self.metrics.get(sample.name, 0) + 1
            return
        reading = self._reading(sample, rule, entity, interface)
        if not entity.node:
            self._unnamed.append((reading, entity))

    def finish(self) -> str:
        """Add what other lines say: the socket of a PCI device and the one host of the file.

        The answer is that host's name, or "" when no line or more than one host is named.
        """
        result = self._gather.result
        for reading, entity in self._unnamed:
            reading.node = self._host_at.get(entity.labels.get("instance", ""), "")
            if not reading.node:
                self.doubts.add(entity.doubt)
        for reading in result.readings:
            if reading.link_type == "pcie":
                reading.socket = self._sockets.get((reading.node, reading.interface))
        if len(self._hosts) != 1:
            return ""
        host = next(iter(self._hosts))
        for reading in result.readings:
            reading.node = reading.node or host
        for event in result.events:
            event.node = event.node or host
        return host

    def _remember(self, sample: Sample) -> None:
        if sample.name == "node_uname_info":
            host, _ = host_of({"nodename": sample.labels.get("nodename", "")})
            self._hosts |= {host} - {""}
            instance = sample.labels.get("instance", "")
            if host and self._host_at.setdefault(instance, host) != host:
                self._host_at[instance] = ""  # two hosts behind one address: neither is certain
            return
        entity = self._entities.of(sample.label_text, sample.labels)
        if sample.value.is_integer() and 0 <= sample.value < 1024:
            self._sockets[entity.node, _pci(entity)] = int(sample.value)

    def _reading(self, sample: Sample, rule: NodeRule, entity: Entity, interface: str) -> Reading:
        time, instant = self._gather.instant(sample)
        reading = Reading(
            line=sample.line,
            counter_text=sample.name,
            value_text=sample.value_text,
            entity_text=entity.text,
            time_text=sample.time_text,
            node=entity.node,
            interface=interface,
            link_type=_LINK_TYPES.get(rule.place, ""),
            counter=rule.counter,
            kind=rule.kind,
            scope="link" if rule.lane is None else "lane",
            lane=rule.lane,
            time=time,
        )
        reason = _decode(reading, rule, sample.value)
        if reason:
            reading.quality = "not_supported"
            self._gather.unknown(entity.node, interface, sample.name, reason)
        self._gather.add(reading, instant, entity.origin)
        return reading


def _interface(rule: NodeRule, entity: Entity) -> str:
    device = entity.labels.get("device", "")
    if rule.place == "pci":
        return _pci(entity)
    if rule.place == "hca":
        port = entity.labels.get("port", "1")
        return f"{device}/{port}" if device else ""
    return "" if _VIRTUAL.fullmatch(device) else device


def _pci(entity: Entity) -> str:
    """`pci-<bdf>` of the labels segment, bus, device and function."""
    parts = [entity.labels.get(name, "") for name in ("segment", "bus", "device", "function")]
    if not all(parts[1:]):
        return ""
    segment, bus, device, function = parts
    address = f"{segment or '0000'}:{bus.rjust(2, '0')}:{device.rjust(2, '0')}.{function}"
    return f"pci-{normalise_pci(address)}"


def _decode(reading: Reading, rule: NodeRule, value: float) -> str:
    """Set value, state and quality; the answer is why nothing was measured, or ""."""
    if isnan(value):
        return f"the value is {reading.value_text[:40]}"
    if rule.decode in ("state", "physical_state"):
        return _port_state(reading, rule.decode, value)
    if rule.decode.startswith("pci_"):
        return _pci_level(reading, rule.decode, value)
    if rule.decode == "carrier" and value not in (0.0, 1.0):
        raise BrokenLineError("a carrier is 0 or 1")
    if not 0 <= value < float("inf"):
        raise BrokenLineError("a counter or rate is a number from 0 up")
    reading.value = round(value * rule.factor, 6) if rule.factor != 1.0 else value
    spec = COUNTERS.get(rule.counter)
    if rule.ceiling and spec and value == spec.ceiling:
        reading.quality = "saturated"
    return ""


def _port_state(reading: Reading, decode: str, value: float) -> str:
    words, up = (_STATES, (4, 5)) if decode == "state" else (_PHYSICAL_STATES, (5,))
    if value == 0:
        return "the state is 0, which states no state"
    if not value.is_integer() or int(value) not in words:
        raise BrokenLineError("the number stands for no known state of a port")
    reading.value = 1.0 if int(value) in up else 0.0
    reading.state = words[int(value)]
    return ""


def _pci_level(reading: Reading, decode: str, value: float) -> str:
    if decode == "pci_width":
        if not 0 < value <= _WIDEST:
            return f"a width of {reading.value_text[:40]} says that there is no link to read"
        reading.value = value
        return ""
    generation = _GENERATIONS.get(round(value / 1e9, 3))
    if generation is None:
        return f"a speed of {reading.value_text[:40]} transfers per second is no PCIe speed"
    reading.value = float(generation)
    return ""
