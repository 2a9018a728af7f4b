"""One port, several names: PCI address, network device, RDMA device. Learns which belong together.

The network device is the name operators use, then the RDMA port, then the PCI address. Also tells
virtual interfaces from physical ones, which is a matter of naming habits and nothing else.
"""

from __future__ import annotations

import re

from fabric_pipeline.model.components import normalise_pci

_BDF = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
_RENAMED = re.compile(
    rf"\bmlx[45]_(?:core|en)\s+({_BDF}):?\s+([\w.-]{{1,15}}): renamed from ([\w.-]{{1,15}})"
)
_VIRTUAL = re.compile(
    r"^(?:lo|veth|cali|docker|br-|virbr|lxc|cni|flannel|vxlan|tun|tap|bond|team|wg|dummy|cilium|kube|"
    r"nerdctl|vnet|macv|ipvlan|vlan|geneve|gre|sit|tailscale|nodelocaldns|ovn|ovs|vmbr|fwbr|fwpr|fwln)",
    re.IGNORECASE,
)
_FABRIC_NAME = re.compile(r"^(?:ib\w*\d|\w+np\d+$|mlx\w*|rdma\d+|roce\w*)", re.IGNORECASE)


def is_virtual(netdev: str) -> bool:
    """True for names of bridges, bonds, tunnels and container interfaces."""
    return bool(_VIRTUAL.match(netdev))


class PortNames:
    """Names that were seen on one line belong to one port; kept for each node."""

    def __init__(self) -> None:
        self._netdev: dict[tuple[str, str], str] = {}
        self._rdma: dict[tuple[str, str], str] = {}
        self._pci: dict[tuple[str, str], str] = {}

    def learn(self, node: str, message: str) -> None:
        """Take note of a renaming; other lines call `join`."""
        if "renamed from" in message and (found := _RENAMED.search(message)):
            self.join(node, normalise_pci(found.group(1)), found.group(2), "")

    def join(self, node: str, pci: str, netdev: str, rdma: str) -> None:
        """Names of one line. A bonded RDMA device stands for two ports and joins none."""
        if not pci or "bond" in rdma:
            return
        if netdev:
            self._netdev[(node, pci)] = netdev
            self._pci[(node, netdev)] = pci
        if rdma:
            self._rdma[(node, pci)] = rdma
            self._pci[(node, rdma)] = pci

    def name(self, node: str, bdf: str = "", netdev: str = "", rdma: str = "") -> str:
        """The name under which events of the port are filed, "" when nothing is known."""
        pci = bdf if "bond" not in rdma else ""
        pci = pci or self._pci.get((node, netdev or rdma), "")
        known = self._netdev.get((node, pci)) or netdev or self._rdma.get((node, pci)) or rdma
        return known or (f"pci-{bdf}" if bdf else "")

    def is_fabric(self, node: str, name: str) -> bool | None:
        """True when a fabric driver or naming habit speaks for the port, else None."""
        if (node, name) in self._pci or _FABRIC_NAME.match(name):
            return True
        return None

    def other_names(self, node: str, name: str) -> dict[str, str]:
        """PCI address and RDMA port of a network device, as far as the file tells."""
        pci = self._pci.get((node, name), "")
        names = {"pci": pci, "rdma": self._rdma.get((node, pci), "")}
        return {key: value for key, value in names.items() if value and value != name}
