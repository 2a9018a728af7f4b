"""Names of adapters by GUID: `node07 HCA-1` and a bare GUID become `mlx5_0` of node07 where one GUID says so.

The number in `HCA-1` is the order in which a script met the devices, not the driver's number, so it is
never counted on. Names without a common GUID stay apart here; see `topology_ports`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from fabric_pipeline.model.topology_conflicts import Conflicts, in_file, in_other
from fabric_pipeline.model.topology_links import as_guid, split_port

_GENERAL = re.compile(r"^(?:HCA-?\d+|port-\d+|0x[0-9a-f]{16}|lid-\d+)$")
Device = tuple[str, str]  # node and device


@dataclass(frozen=True, slots=True)
class _Claim:
    """A file says that a GUID is this device; `node` is "" where only the GUID is known."""

    node: str
    device: str
    source: str


class Adapters:
    """Devices that are one by their GUIDs."""

    def __init__(self, conflicts: Conflicts) -> None:
        """Empty; `learn` all files, then `settle` once."""
        self._conflicts = conflicts
        self._claims: dict[str, dict[Device, _Claim]] = defaultdict(dict)
        self._kept: dict[Device, Device] = {}
        self._told: set[tuple[_Claim, _Claim]] = set()

    def __bool__(self) -> bool:
        """True when any name stands for another."""
        return bool(self._kept)

    def learn(self, guid: str, node: str, interface: str, source: str) -> None:
        """A port with this GUID; `port-1` stands for a host that tells no adapter."""
        device = split_port(interface)[0]
        self._claims[guid].setdefault((node, device), _Claim(node, device, source))

    def learn_nic(self, node: str, nic: dict[str, Any], source: str) -> None:
        """An adapter as a topology lists it. NCCL prints the GUID of a card with its bytes reversed."""
        texts = [nic.get("guid"), *(nic.get("port_guids") or [])]
        found = [guid for text in texts if isinstance(text, str) and (guid := as_guid(text))]
        for guid in [*found, *(f"0x{bytes.fromhex(guid[2:])[::-1].hex()}" for guid in found)]:
            self.learn(guid, node, str(nic["hca"]), source)

    def settle(self) -> None:
        """Decide for every GUID which of its names is kept."""
        several: set[Device] = set()
        for guid, claims in self._claims.items():
            kept = self._kept_of(guid, list(claims.values()))
            if kept is None:
                continue
            for device in [*claims, ("", guid)]:
                if device == kept or device[0] not in ("", kept[0]) or not _is_general(device[1]):
                    continue
                if self._kept.setdefault(device, kept) != kept:
                    several.add(device)
        for device in several:  # one general name for two adapters tells neither
            del self._kept[device]

    def port(self, node: str, interface: str) -> tuple[str, str] | None:
        """Node and interface under the kept name; None when the name is kept as it is."""
        device, _, rest = split_port(interface)
        kept = self._kept.get((node, device))
        if kept is None:
            return None
        port = (device if device.startswith("port-") else rest).removeprefix("port-")
        if kept[1].startswith("port-") or not port:
            return kept
        return kept[0], f"{kept[1]}/{port}"

    def nic(self, node: str, nic: Any) -> Any:
        """An entry of `nics` under the kept name."""
        if not isinstance(nic, dict) or not isinstance(nic.get("hca"), str):
            return nic
        kept = self._kept.get((node, nic["hca"]))
        return {**nic, "hca": kept[1]} if kept is not None else nic

    def _kept_of(self, guid: str, claims: list[_Claim]) -> Device | None:
        own = [one for one in claims if one.node and not _is_general(one.device)]
        if len(own) > 1:
            other = next((one for one in own if one.node != own[0].node), None)
            if other is not None and (own[0], other) not in self._told:
                self._told.add((own[0], other))  # NCCL's spelling of the GUID would say it again
                self._conflicts.note(
                    f"the adapter {guid} is {own[0].node}:{own[0].device} {in_file(own[0].source)} "
                    f"and {other.node}:{other.device} {in_other(other.source)}"
                )
            return None  # two functions of one card share its GUID: it names neither
        own = own or [one for one in claims if one.node]
        return (own[0].node, own[0].device) if len(own) == 1 else None


def _is_general(device: str) -> bool:
    return bool(_GENERAL.match(device))
