"""GPUs and NVSwitches by PCI address: `gpu3/nvlink-4` for `pci-0000:5d:00.0/nvlink-4`.

Tools that know a device by its address alone name its links so; which device has the address is stated
by other files of the node.
"""

from __future__ import annotations

from typing import Any

from fabric_pipeline.model.components import component_id, device_of, normalise_pci, parse_component


class PciNames:
    """Devices of all nodes by their addresses."""

    def __init__(self, nodes: dict[str, dict[str, Any]]) -> None:
        """Learn the addresses of the devices that have an index or a name."""
        self._kept: dict[tuple[str, str], str] = {}
        for name, node in nodes.items():
            for gpu in node.get("gpus") or []:
                if gpu.get("pci") and gpu.get("gpu") is not None:
                    self._learn(name, gpu["pci"], f"gpu{int(gpu['gpu'])}")
            for switch in node.get("nvswitches") or []:
                if isinstance(switch, dict) and switch.get("pci"):
                    own = str(switch.get("nvswitch") or switch.get("name") or "")
                    if own and not own.startswith("pci-"):
                        self._learn(name, switch["pci"], own)

    def __call__(self, component: str) -> str:
        """The component under the name of its device, itself when none is known."""
        if not self._kept or ":pci-" not in component:
            return component
        parsed = parse_component(component)
        device = device_of(parsed.interface)
        kept = self._kept.get((parsed.node, device))
        if kept is None:
            return component
        rest = parsed.interface[len(device) :]
        if kept.startswith("gpu"):
            return component_id(parsed.node, f"{kept}{rest or '/pcie'}", parsed.lane)
        # What nvidia-smi calls a link of the far device is a port of the switch.
        return component_id(parsed.node, f"{kept}{rest.replace('/nvlink-', '/port-')}", parsed.lane)

    def _learn(self, node: str, pci: Any, name: str) -> None:
        self._kept[node, f"pci-{normalise_pci(str(pci))}"] = name
