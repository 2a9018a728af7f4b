"""Meaning of sysfs paths of RDMA ports, network interfaces and PCI links, whatever carried them.

The three sysfs readers turn their files into (line, path, content) items; this module makes
readings of those items. `entity_text` keeps the path in front of the attribute, because it holds
the PCI address by which captures recognise a device whose name changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from fabric_pipeline.model.components import normalise_pci
from fabric_pipeline.model.records import ReadResult, RejectedLine, UnknownFact
from fabric_pipeline.sources.infiniband.guids import split_description
from fabric_pipeline.sources.infiniband.ports import PortRef
from fabric_pipeline.sources.infiniband.rates import parse_rate
from fabric_pipeline.sources.infiniband.states import logical_state, physical_state

_RDMA = re.compile(
    r"^(?P<base>.{0,200}?(?:infiniband/)?(?P<device>[A-Za-z][\w.-]{1,40})/ports/(?P<port>\d{1,3}))/"
    r"(?P<attribute>(?:counters/|hw_counters/)?[\w.-]{1,64})$"
)
_DEVICE = re.compile(
    r"^.{0,200}?infiniband/(?P<device>[A-Za-z][\w.-]{1,40})/(?P<attribute>node_desc|hca_type)$"
)
_NETDEV = re.compile(
    r"^(?P<base>.{0,200}?net/(?P<name>[A-Za-z][\w.:@-]{0,40}))/(?P<attribute>(?:statistics/)?[\w.-]{1,64})$"
)
_PCI_LINK = re.compile(
    r"^.{0,200}?/(?P<bdf>[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])/"
    r"(?P<attribute>(?:current|max)_link_(?:speed|width))$"
)
_NUMBER = re.compile(r"^-?[0-9]{1,20}$")
_GT = re.compile(r"^(\d{1,3}(?:\.\d)?)\s*GT/s")
_PCIE_GEN = {
    "2.5": 1,
    "5": 2,
    "5.0": 2,
    "8": 3,
    "8.0": 3,
    "16": 4,
    "16.0": 4,
    "32": 5,
    "32.0": 5,
    "64": 6,
    "64.0": 6,
}
_IPOIB_TYPE = "32"  # ARPHRD_INFINIBAND (Linux include/uapi/linux/if_arp.h)
_LAYERS = {"infiniband": "infiniband", "ethernet": "roce"}
_ROCE_ONLY = ("np_cnp_sent", "np_ecn_marked_roce_packets", "rp_cnp_handled")
_NETDEV_COUNTS = ("carrier_up_count", "carrier_down_count")

PORT_PATH = re.compile(
    r"(?:^|/)[A-Za-z][\w.-]{1,40}/ports/\d{1,3}/(?:counters/|hw_counters/|state|phys_state|rate|link_layer)"
)


class Item(NamedTuple):
    """One attribute file: its line in the capture (or None), path and content."""

    line: int | None
    path: str
    content: str


@dataclass(slots=True)
class _Group:
    """All attributes of one port, interface or device."""

    base: str
    name: str
    port: str = ""
    items: dict[str, Item] = field(default_factory=dict)

    def text(self, attribute: str) -> str:
        """Content of an attribute, "" when absent."""
        item = self.items.get(attribute)
        return item.content if item else ""


def read_items(items: Iterable[Item], host: str, result: ReadResult) -> None:
    """Make readings of all items that concern ports, interfaces or PCI links."""
    ports, netdevs, devices = dict[str, _Group](), dict[str, _Group](), dict[str, _Group]()
    for item in items:
        if found := _RDMA.match(item.path):
            group = ports.setdefault(
                found.group("base"),
                _Group(found.group("base"), found.group("device"), found.group("port")),
            )
            group.items[found.group("attribute")] = item
        elif found := _DEVICE.match(item.path):
            group = devices.setdefault(found.group("device"), _Group("", found.group("device")))
            group.items[found.group("attribute")] = item
        elif found := _PCI_LINK.match(item.path):
            _emit_pci(item, found, host, result)
        elif found := _NETDEV.match(item.path):
            base, name = found.group("base"), found.group("name")
            group = netdevs.setdefault(base, _Group(base, name))
            group.items[found.group("attribute")] = item
    node = host or _host_of(devices)
    for group in ports.values():
        _emit_port(group, node, devices.get(group.name), result)
    for group in netdevs.values():
        _emit_netdev(group, node, result)
    for reading in result.readings:
        reading.node = reading.node or node


def _host_of(devices: dict[str, _Group]) -> str:
    """The host that the adapters' descriptions agree on."""
    hosts = {split_description(group.text("node_desc"))[0] for group in devices.values()}
    named = {host for host in hosts if host}
    return named.pop() if len(named) == 1 else ""


def _emit_port(group: _Group, node: str, device: _Group | None, result: ReadResult) -> None:
    kind = device.text("hca_type") if device else ""
    entity = group.base + (f" ({kind})" if kind.startswith("MT") else "")
    interface = f"{group.name}/{group.port}"
    port = PortRef(node, interface, entity, _link_type(group))
    logical, physical = group.text("state"), physical_state(group.text("phys_state"))
    if logical or physical:
        item = group.items.get("state") or group.items["phys_state"]
        result.readings += port.presence(item.line, logical, physical, "sysfs")
    else:
        result.unknown.append(
            UnknownFact(node, interface, "port state", "the capture has no state file of this port")
        )
    _emit_rate(group, port, logical_state(logical) == "Down", result)
    for attribute, item in group.items.items():
        if "counters/" in attribute:
            _emit_counter(port, attribute.rpartition("/")[2], item, result)
        elif attribute in ("lid", "sm_lid") and re.fullmatch(r"0x[0-9a-fA-F]{1,8}", item.content):
            lid = float(int(item.content, 16))
            counter = "base_lid" if attribute == "lid" else "sm_lid"
            result.readings.append(
                port.reading(item.line, attribute, item.content, counter=counter, value=lid)
            )


def _link_type(group: _Group) -> str:
    layer = _LAYERS.get(group.text("link_layer").strip().lower(), "")
    marks = (group.text(f"hw_counters/{name}") for name in _ROCE_ONLY)
    # only RoCE marks packets and answers with congestion notifications
    if not layer and any(_NUMBER.match(text) and int(text) > 0 for text in marks):
        return "roce"
    return layer or "infiniband"


def _emit_rate(group: _Group, port: PortRef, is_down: bool, result: ReadResult) -> None:
    item = group.items.get("rate")
    if item is None or item.content == "rate":
        return
    rate = parse_rate(item.content)
    if rate is None:
        result.rejected.append(RejectedLine(item.line, item.content, "a port rate that is cut"))
    elif is_down:
        result.readings.append(port.reading(item.line, "rate", item.content, value=rate.total_gbps))
    else:
        result.readings.append(
            port.level(item.line, "speed_gbps", item.content, rate.total_gbps, rate.name)
        )
        if rate.width:
            result.readings.append(port.level(item.line, "width", item.content, rate.width))


def _emit_counter(port: PortRef, name: str, item: Item, result: ReadResult) -> None:
    if name == "lifespan":  # age limit of the cached counters in ms, no counter
        return
    if _NUMBER.match(item.content):
        result.readings.append(port.count(item.line, name, item.content, float(item.content)))
    elif item.content.lower().startswith("n/a"):
        reading = port.count(item.line, name, item.content, 0.0)
        reading.value, reading.quality = None, "not_supported"
        result.readings.append(reading)
    else:
        result.rejected.append(RejectedLine(item.line, item.content, f"{name} is no number"))


def _emit_netdev(group: _Group, node: str, result: ReadResult) -> None:
    kind = group.text("type")
    is_ipoib = kind == _IPOIB_TYPE or (not kind and group.name.startswith("ib"))
    port = PortRef(node, group.name, group.base, "infiniband" if is_ipoib else "ethernet")
    state = group.text("operstate")
    if state in ("up", "down", "dormant", "lowerlayerdown"):
        item = group.items["operstate"]
        up = 1.0 if state == "up" else 0.0
        result.readings += port.seen(item.line, up, f"interface {state}", "sysfs")
    for name in _NETDEV_COUNTS:
        text = group.text(name)
        if _NUMBER.match(text):
            line = group.items[name].line
            result.readings.append(port.reading(line, name, text, counter=name, value=float(text)))
    if _NUMBER.match(group.text("speed")):
        item = group.items["speed"]
        # the driver's figure in Mb/s; it can lag behind what the port trained to
        result.readings.append(
            port.reading(item.line, "interface speed", item.content, value=float(item.content))
        )


def _emit_pci(item: Item, found: re.Match[str], host: str, result: ReadResult) -> None:
    address, attribute = normalise_pci(found.group("bdf")), found.group("attribute")
    port = PortRef(host, f"pci-{address}", item.path, "pcie")
    suffix = "_max" if attribute.startswith("max") else ""
    if attribute.endswith("width"):
        if _NUMBER.match(item.content) and 0 < int(item.content) <= 64:
            width = float(item.content)
            result.readings.append(port.level(item.line, f"width{suffix}", item.content, width))
        return
    speed = _GT.match(item.content)
    generation = _PCIE_GEN.get(speed.group(1)) if speed else None
    if generation:
        result.readings.append(
            port.level(item.line, f"pcie_gen{suffix}", item.content, float(generation))
        )
