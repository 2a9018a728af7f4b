"""Turns samples of node_exporter metrics into readings of ports, network devices and PCI devices.

Names are translated in `node_names`. Whether a port that is down matters is judged elsewhere.
"""

from __future__ import annotations

import re
from math import isnan

from fabric_pipeline.model.components import normalise_pci
from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.model.records import Reading, TopologyPart
from fabric_pipeline.sources.base import Hints
from fabric_pipeline.sources.prometheus.entity import Entities, Entity, host_of
from fabric_pipeline.sources.prometheus.exposition import BrokenLineError, Sample
from fabric_pipeline.sources.prometheus.gather import Gather
from fabric_pipeline.sources.prometheus.measure import (
    Measure,
    Metric,
    Outcome,
    Place,
    nothing,
    plain_outcome,
)
from fabric_pipeline.sources.prometheus.node_devices import NodeDevices
from fabric_pipeline.sources.prometheus.node_names import node_rule_for

# Series that say something of others: the name of the host, the socket of a device.
REMEMBERED = frozenset({"node_uname_info", "node_pcidevice_numa_node", "node_pcidevice_info"})
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
        self._host_at: dict[str, str] = {}
        # Readings whose labels carry the scraped address alone, and sockets by address and device.
        self._unnamed: list[tuple[Reading, Measure]] = []
        self._sockets: dict[tuple[str, str, str], int] = {}
        self._devices = NodeDevices()
        self._measures: dict[tuple[str, str], Measure | None] = {}

    def add(self, sample: Sample) -> None:
        """Use one sample; raises `BrokenLineError` for a value that its metric cannot have."""
        if sample.name in REMEMBERED:
            self._remember(sample)
            return
        key = (sample.name, sample.label_text)
        if key not in self._measures:
            self._measures[key] = self.measure(sample.name, sample.labels)
        measure = self._measures[key]
        if measure is None:
            self.metrics[sample.name] = self.metrics.get(sample.name, 0) + 1
            return
        reading = self._gather.take(
            sample, measure, outcome(measure, sample.value, sample.value_text)
        )
        if not measure.place.node:
            self._unnamed.append((reading, measure))

    def measure(self, name: str, labels: dict[str, str]) -> Measure | None:
        """What a series measures; None for one that measures no link."""
        metric = metric_of(name)
        place = self.place(metric.shape, labels) if metric else None
        return Measure(metric, place) if metric and place else None

    def place(self, shape: tuple[object, ...], labels: dict[str, str]) -> Place | None:
        """Where the series of metrics of one shape measure; None for what has no link."""
        entity = self._entities.make(labels)
        interface = _interface(str(shape[0]), entity)
        if not interface:
            return None
        instance = entity.labels.get("instance", "")
        scope = "link" if shape[1] else "lane"
        return Place(
            entity.node, interface, scope, interface, entity.origin, instance, entity.doubt
        )

    def finish(self) -> str:
        """Add what other lines say: the socket of a PCI device and the one host of the file.

        The answer is that host's name, or "" when no line or more than one host is named.
        """
        host, sockets = self.host, self.sockets()
        for reading, measure in self._unnamed:
            reading.node = self.host_of(measure.place)
        for reading in self._gather.result.readings:
            if reading.link_type == "pcie":
                reading.socket = sockets.get((reading.node, reading.interface))
            reading.node = reading.node or host
        for event in self._gather.result.events:
            event.node = event.node or host
        return host

    @property
    def host(self) -> str:
        """The one host that the file names, "" when it names none or several."""
        return next(iter(self._hosts)) if len(self._hosts) == 1 else ""

    def host_of(self, place: Place) -> str:
        """The host at the address of a series whose labels name none; "" is kept as a doubt."""
        host = self._host_at.get(place.instance, "")
        if not host:
            self.doubts.add(place.doubt)
        return host

    def sockets(self) -> dict[tuple[str, str], int]:
        """CPU socket by host ("" when unknown) and PCI device."""
        return {
            (node or self._host_at.get(instance, ""), interface): socket
            for (node, instance, interface), socket in self._sockets.items()
        }

    def topology(self) -> TopologyPart | None:
        """PCI devices of the hosts, as far as the file lists them."""

        def host_of(place: tuple[str, str]) -> str:
            node, instance = place
            return node or self._host_at.get(instance, "") or self.host

        return self._devices.topology(self.sockets(), host_of)

    def _remember(self, sample: Sample) -> None:
        if sample.name == "node_uname_info":
            host, _ = host_of({"nodename": sample.labels.get("nodename", "")})
            self._hosts |= {host} - {""}
            instance = sample.labels.get("instance", "")
            if host and self._host_at.setdefault(instance, host) != host:
                self._host_at[instance] = ""  # two hosts behind one address: neither is certain
            return
        entity = self._entities.of(sample.label_text, sample.labels)
        if sample.name == "node_pcidevice_info":
            self._devices.add((entity.node, entity.labels.get("instance", "")), entity.labels)
            return
        device = _pci(entity)
        if device and sample.value.is_integer() and 0 <= sample.value < 1024:
            place = (entity.node, entity.labels.get("instance", ""), device)
            self._sockets[place] = int(sample.value)


def metric_of(name: str) -> Metric | None:
    """What the name of a metric says; None when it does not speak of a link."""
    rule = node_rule_for(name)
    if rule is None:
        return None
    spec = COUNTERS.get(rule.counter)
    return Metric(
        family="node",
        name=name,
        link_type=_LINK_TYPES.get(rule.place, ""),
        counter=rule.counter,
        kind=rule.kind,
        what=name,
        shape=(rule.place, rule.lane is None),
        lane=rule.lane,
        decode=rule.decode,
        divisor=rule.divisor,
        ceiling=spec.ceiling if rule.ceiling and spec else None,
    )


def outcome(measure: Measure, value: float, value_text: str) -> Outcome:
    """What one value of a node_exporter series says; raises `BrokenLineError`."""
    decode = measure.metric.decode
    if isnan(value):
        return nothing(measure, f"the value is {value_text[:40]}")
    if decode in ("state", "physical_state"):
        return _port_state(measure, value)
    if decode.startswith("pci_"):
        return _pci_level(measure, value, value_text)
    if decode == "carrier" and value not in (0.0, 1.0):
        raise BrokenLineError("a carrier is 0 or 1")
    if not 0 <= value < float("inf"):
        raise BrokenLineError("a counter or rate is a number from 0 up")
    return plain_outcome(measure, value)


def _interface(place: str, entity: Entity) -> str:
    device = entity.labels.get("device", "")
    if place == "pci":
        return _pci(entity)
    if place == "hca":
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


def _port_state(measure: Measure, value: float) -> Outcome:
    words, up = (_STATES, (4, 5)) if measure.metric.decode == "state" else (_PHYSICAL_STATES, (5,))
    if value == 0:
        return nothing(measure, "the state is 0, which states no state")
    if not value.is_integer() or int(value) not in words:
        raise BrokenLineError("the number stands for no known state of a port")
    return Outcome(1.0 if int(value) in up else 0.0, measure.metric.counter, words[int(value)])


def _pci_level(measure: Measure, value: float, value_text: str) -> Outcome:
    if measure.metric.decode == "pci_width":
        if not 0 < value <= _WIDEST:
            return nothing(
                measure, f"a width of {value_text[:40]} says that there is no link to read"
            )
        return Outcome(value, measure.metric.counter)
    generation = _GENERATIONS.get(round(value / 1e9, 3))
    if generation is None:
        return nothing(
            measure, f"a speed of {value_text[:40]} transfers per second is no PCIe speed"
        )
    return Outcome(float(generation), measure.metric.counter)
