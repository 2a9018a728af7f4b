"""InfiniBand and Ethernet link rates: lane rates, generation names, widths and rate texts.

All speeds are nominal data rates in Gb/s as vendors and `ibstat` name them (4X HDR = 200), so that
tools that print line coding rates (53.125 per lane) and tools that print totals agree.
Sources: InfiniBand Architecture 1.7 link rates; rdma-core libibmad dump.c for the printed values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Nominal data rate of one lane, by generation name.
LANE_GBPS = {
    "SDR": 2.5,
    "DDR": 5.0,
    "QDR": 10.0,
    "FDR10": 10.0,
    "FDR": 14.0,
    "EDR": 25.0,
    "HDR": 50.0,
    "NDR": 100.0,
    "XDR": 200.0,
    "GDR": 400.0,
}
# Line rate as printed by libibmad -> nominal lane rate.
_LINE_GBPS = {
    2.5: 2.5,
    5.0: 5.0,
    10.0: 10.0,
    10.3125: 10.0,
    14.0625: 14.0,
    25.78125: 25.0,
    26.5625: 25.0,
    53.125: 50.0,
    106.25: 100.0,
    212.5: 200.0,
    425.0: 400.0,
}

_RATE = re.compile(
    r"^\s*(?P<total>[0-9]{1,5}(?:\.[0-9]{1,4})?)\s*(?:Gb/sec|Gb/s|Gbps)?\s*"
    r"(?:\((?P<width>[0-9]{1,2})X(?:\s+(?P<name>\w{2,6}))?\))?\s*$",
    re.IGNORECASE,
)
_WIDTH = re.compile(r"^\s*([0-9]{1,2})\s*[xX]\s*$")
_ETHERNET = re.compile(r"^(?:BaseTx)?(\d{1,4})G(?:b?E|_(\d)X)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rate:
    """A link rate: total in Gb/s, lanes and generation name as far as the text says."""

    total_gbps: float
    width: int | None = None
    name: str = ""


def nominal_lane_gbps(line_gbps: float) -> float:
    """Nominal data rate of a lane from its printed line rate (53.125 -> 50)."""
    for line, nominal in _LINE_GBPS.items():
        if abs(line - line_gbps) < 0.02:
            return nominal
    return line_gbps


def lane_name(lane_gbps: float) -> str:
    """Generation of a nominal lane rate, "" when none fits."""
    for name, rate in LANE_GBPS.items():
        if rate == lane_gbps:
            return name
    return ""


def parse_width(text: str) -> int | None:
    """Lanes of a text such as `4x`."""
    found = _WIDTH.match(text)
    return int(found.group(1)) if found else None


def parse_rate(text: str) -> Rate | None:
    """A rate text such as `200 Gb/sec (4X HDR)`; None when it is cut or no rate."""
    found = _RATE.match(text)
    if not found:
        return None
    width = found.group("width")
    return Rate(
        float(found.group("total")),
        int(width) if width else None,
        (found.group("name") or "").upper(),
    )


def parse_speed_name(text: str, width: int | None) -> float | None:
    """Total Gb/s of a speed name such as `IB-EDR`, `HDR`, `100G`, `25GbE` or `200G_4X`.

    InfiniBand names state the lane rate, so they need the width; Ethernet names state the total.
    """
    name = text.strip().removeprefix("IB-").upper()
    if name in LANE_GBPS:
        return LANE_GBPS[name] * width if width else None
    found = _ETHERNET.match(name)
    return float(found.group(1)) if found else None
