"""Facts of the synthetic site that stand on a ticket: hall, cage, asset tags, cabling, desk, spares.

All of it is invented and carries no part number that no vendor publishes; what a link is and where it
ends is decided in `synth.topology`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fabric_pipeline.synth import hardware as hw

Json = dict[str, Any]

# A role, not a person; levels are in the words of a site, because that is what a topology states.
SERVICE: Json = {
    "contact": "dc-operations desk",
    "schedule": "any day 06:00 to 22:00 local time; at night on call",
    "customer_reference": "LARCH-FABRIC",
    "sla": {
        "urgent": "on site within 4 hours",
        "high": "on site within 8 hours",
        "normal": "next working day",
        "low": "next planned visit",
    },
}
# Lengths that fibre is sold in, within a row and across it.
_RAIL_LENGTHS_M = (10, 15, 20, 25)
_UPLINK_LENGTHS_M = (20, 30, 40)


def site_place() -> Json:
    """Hall, cage, and the side of the rack that machines are mounted at."""
    return {"hall": "hall-2", "cage": "cage-C", "face": "front"}


def spares(site: str) -> list[Json]:
    """The store of the site, for the parts that its links are made of."""
    store = f"{site} store"
    return [
        {"part": "gpu-module-h100", "fits": hw.PART_BASEBOARD, "location": f"{store}, cage S1, shelf 2", "quantity": 1},
        {"part": hw.PART_RAIL_OPTICS, "location": f"{store}, drawer D3", "quantity": 6},
        {"part": "mpo-fibre", "fits": hw.PART_RAIL_OPTICS, "location": f"{store}, drawer D7", "quantity": 12},
        {"part": hw.PART_UPLINK_OPTICS, "location": f"{store}, drawer D4", "quantity": 4},
    ]  # fmt: skip


class Cabling:
    """Asset tags and cable facts, in the order in which machines and links are listed."""

    def __init__(self, rng: np.random.Generator) -> None:
        """`rng` is used for nothing else."""
        self._rng = rng
        self._tags = 0

    def tagged(self, machine: Json) -> Json:
        """The machine with its asset tag."""
        self._tags += 1
        return {**machine, "asset_tag": f"LA-{4000 + self._tags}"}

    def laid(self, link: Json) -> Json:
        """The link with medium, length, connector, colour and serial, when a fibre carries it."""
        if link["cable"] is None:
            return link
        is_rail = link["part"] == hw.PART_RAIL_OPTICS
        lengths = _RAIL_LENGTHS_M if is_rail else _UPLINK_LENGTHS_M
        serial = "".join(str(digit) for digit in self._rng.integers(0, 10, 6))
        return {
            **link,
            "medium": "MMF" if is_rail else "SMF",
            "length_m": int(self._rng.choice(lengths)),
            "connector": hw.CONNECTOR,
            "colour": "aqua" if is_rail else "yellow",
            "cable_serial": f"FB{serial}",
        }
