"""The component grammar: `<node>:<interface>[/lane-<n>]`, and what an interface name tells by itself.

Every reader names things through this module, so that one link has one spelling everywhere.
Looking up the far end or the rack needs a topology and lives in `model.topology`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

UNKNOWN = "unknown"

_LANE = re.compile(r"/lane-(\d+)$")
_GPU = re.compile(r"^gpu(\d+)(?:/|$)")
_NVLINK = re.compile(r"(?:^|/)nvlink-(\d+)(?:/|$)")
_PORT = re.compile(r"(?:^|/)port-(\d+)(?:/|$)")
_BDF = re.compile(r"^(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})(?:\.([0-7]))?$")
_HCA_PORT = re.compile(r"^(?:mlx|hfi|bnxt|qedr|irdma|efa|rocep|ibp|ionic|hns)[\w.-]*/\d+$")
_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Component:
    """One end of a link, a port, a lane or a whole device.

    `node` is "" when the source does not say it; `interface` is "" when only the node is known.
    """

    node: str
    interface: str
    lane: int | None = None

    @property
    def id(self) -> str:
        """Text form, with `unknown` in place of what is not known."""
        lane = f"/lane-{self.lane}" if self.lane is not None else ""
        return f"{self.node or UNKNOWN}:{self.interface or UNKNOWN}{lane}"


def parse_component(text: str) -> Component:
    """Split a component id; `unknown` halves come back as "".

    The node ends at the first colon, so PCI addresses inside the interface stay whole.
    """
    node, _, interface = text.partition(":")
    lane: int | None = None
    found = _LANE.search(interface)
    if found:
        lane = int(found.group(1))
        interface = interface[: found.start()]
    return Component(
        "" if node == UNKNOWN else node, "" if interface == UNKNOWN else interface, lane
    )


def component_id(node: str, interface: str, lane: int | None = None) -> str:
    """Text form of a component; empty halves become `unknown`."""
    return Component(node, interface, lane).id


def is_unnamed(node: str, interface: str) -> bool:
    """True for a link end that only its host could tell from others, where no source states the host.

    Ports of switches are named by their fabric; a host without a device name says no more.
    """
    return not interface or (not node and "/port-" not in interface)


def gpu_index(interface: str) -> int | None:
    """GPU index named by an interface such as `gpu5/nvlink-11`, else None."""
    found = _GPU.match(interface)
    return int(found.group(1)) if found else None


def nvlink_index(interface: str) -> int | None:
    """NVLink number named by an interface such as `gpu5/nvlink-11` or `nvlink-3`, else None."""
    found = _NVLINK.search(interface)
    return int(found.group(1)) if found else None


def port_index(interface: str) -> int | None:
    """Port number named by an interface such as `nvswitch-2/port-34`, else None."""
    found = _PORT.search(interface)
    return int(found.group(1)) if found else None


def device_of(interface: str) -> str:
    """The device a link end belongs to: `gpu5` of `gpu5/nvlink-11`, `mlx5_3` of `mlx5_3/1`."""
    return interface.partition("/")[0]


def link_type_of(interface: str) -> str:
    """`nvlink`, `pcie`, `infiniband` or "" as far as the interface name alone can tell.

    `infiniband` stands for any HCA port; only the source knows whether it speaks RoCE.
    """
    if _NVLINK.search(interface) or interface.startswith("nvswitch"):
        return "nvlink"
    if interface.endswith("/pcie") or interface.startswith(("pci-", "pcie")):
        return "pcie"
    if _HCA_PORT.match(interface) or "/port-" in interface:
        return "infiniband"
    return ""


def normalise_pci(address: str) -> str:
    """Full lower-case PCI address: `0000:9c:00.0` from `9C:00.0` or `00000000:9C:00.0`.

    Xid lines carry no function digit; `.0` is the GPU's own function there.
    Returns the text unchanged (lower case) when it is no PCI address.
    """
    found = _BDF.match(address.strip())
    if not found:
        return address.strip().lower()
    domain, bus, device, function = found.groups()
    return f"{int(domain or '0', 16):04x}:{bus}:{device}.{function or 0}".lower()


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key that puts `nvlink-9` before `nvlink-11`."""
    return tuple(
        (0, int(part), "") if part.isdecimal() else (1, 0, part)
        for part in _DIGITS.split(text)
        if part
    )
