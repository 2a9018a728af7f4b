"""Present width and rate of a port in words and figures, the same in every finding."""

from __future__ import annotations

from fabric_pipeline.detect.port_state.views import PortView


def describe(view: PortView) -> str:
    """Present width and rate in words: `4X at 25 Gb/s a lane, 100 Gb/s in all`."""
    total, width = view.value("speed_gbps"), view.value("width")
    lane = view.value("lane_gbps")
    if lane is not None:
        return f"{lane:g} Gb/s a lane"
    if total is None:
        return f"{width:g}X" if width else "an unknown rate"
    if width:
        return f"{width:g}X at {total / width:g} Gb/s a lane, {total:g} Gb/s in all"
    return f"{total:g} Gb/s"


def rate_numbers(view: PortView) -> dict[str, float]:
    """The figures of `describe`."""
    total, width, lane = (view.value(name) for name in ("speed_gbps", "width", "lane_gbps"))
    numbers = {"speed_gbps": total, "width": width, "lane_gbps": lane}
    if total is not None and width:
        numbers["lane_gbps"] = total / width
    return {name: value for name, value in numbers.items() if value is not None}
