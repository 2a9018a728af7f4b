"""What a link panel says: names, ends, facts and coincidence of one link in words for people.

Takes a `LinkView` and gives plain strings; templates put them in order, nothing here is markup.
"""

from __future__ import annotations

from collections.abc import Sequence

from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.model.components import gpu_index, nvlink_index, port_index
from fabric_pipeline.workflows.fabric_view_model import End
from fabric_pipeline.workflows.figure_words import number, percent
from fabric_pipeline.workflows.link_view import where_words
from fabric_pipeline.workflows.link_view_model import Coincidence, LinkEnd, LinkView

_KINDS = {"nvlink": "NVLink", "pcie": "PCIe link", "infiniband": "InfiniBand link", "roce": "RoCE link", "ethernet": "Ethernet link"}  # fmt: skip
_STATES = {
    "link_up": "link", "width": "width", "width_max": "width both allow", "speed_gbps": "speed", "speed_max_gbps": "speed both allow",
    "pcie_gen": "PCIe generation", "pcie_gen_max": "generation both allow", "raw_ber": "bit errors before FEC",
    "effective_ber": "bit errors after FEC", "symbol_ber": "symbol errors after FEC",
}  # fmt: skip
# State, what both ends allow, and the unit.
_BOUNDED = (
    ("width", "width_max", "lanes"),
    ("speed_gbps", "speed_max_gbps", "Gb/s"),
    ("pcie_gen", "pcie_gen_max", "PCIe generation"),
)
Fact = tuple[str, str]


def link_title(view: LinkView) -> str:
    """Such as `NVLink 11 of GPU 5 to nvswitch-2 port 30`, as far as names tell."""
    link = view.link
    near = _end_words(link.a)
    far = f" to {_end_words(link.b)}" if link.b is not None else ""
    kind = _KINDS.get(link.link_type, "Link")
    nvlink = nvlink_index(link.a.interface)
    gpu = gpu_index(link.a.interface)
    if link.link_type == "nvlink" and nvlink is not None and gpu is not None:
        return clean(f"NVLink {nvlink} of GPU {gpu}{far}", 160)
    return clean(f"{kind} of {near}{far}", 160)


def _end_words(end: End) -> str:
    port = port_index(end.interface)
    if port is not None and "/" in end.interface:
        return f"{end.device} port {port}"
    gpu = gpu_index(end.interface)
    if gpu is not None:
        return f"GPU {gpu}"
    return end.interface.removesuffix("/pcie") or end.node


def end_facts(end: LinkEnd) -> list[Fact]:
    """Where to go and what to read off there, from the topology alone."""
    place = end.place
    serial = place.gpu_serial or place.nic_serial
    pairs = [
        ("Place", ", ".join(where_words(place))),
        ("Port label", place.port_label),
        ("Slot", place.gpu_slot or place.slot),
        ("GPU serial" if place.gpu_serial else "Adapter serial", serial),
        ("Switch serial" if not end.end.node else "Node serial", place.node_serial),
    ]
    return [(label, clean(value, 160)) for label, value in pairs if value]


def more_end_facts(end: LinkEnd) -> list[Fact]:
    """What else the topology says of the device at this end."""
    place = end.place
    pairs = [
        ("Part no.", place.gpu_part_number or place.nic_part_number),
        ("UUID", place.gpu_uuid),
        ("PCI address", place.pci),
        ("Socket", "" if place.socket is None else str(place.socket)),
        ("Asset tag", place.asset_tag),
    ]
    return [(label, clean(value, 160)) for label, value in pairs if value]


def end_states(end: LinkEnd) -> list[Fact]:
    """States as read last: up or down, width, speed, error rates."""
    said = []
    for name, value, unit in end.now:
        words = ("up" if value else "down") if name == "link_up" else f"{number(value)} {unit}"
        said.append((_STATES.get(name, name), words.removesuffix(" generation")))
    return said


def link_facts(view: LinkView) -> list[Fact]:
    """What the topology states of the link and its cable."""
    link, cable = view.link, view.cable
    length = "" if cable.length_m is None else f"{cable.length_m:g} m"
    pairs = [
        ("Type", _KINDS.get(link.link_type, link.link_type)),
        ("Link id", link.link_id if link.link_id != view.component else ""),
        ("Cable", link.cable_id),
        ("Cable kind", ", ".join(filter(None, (cable.medium, length, cable.connector, cable.colour)))),
        ("Cable serial", cable.serial),
        ("Cable part no.", cable.part_number),
        ("Part", link.part),
        ("Lanes", "" if link.lanes is None else str(link.lanes)),
        ("Nominal speed", "" if link.speed_gbps is None else f"{link.speed_gbps:g} Gb/s"),
    ]  # fmt: skip
    return [(label, clean(value, 160)) for label, value in pairs if value]


def degraded_states(view: LinkView) -> list[str]:
    """Width or speed below what both ends allow, in words."""
    said = []
    for end in view.ends:
        now = {name: value for name, value, _ in end.now}
        for name, most, unit in _BOUNDED:
            value, limit = now.get(name), now.get(most)
            if value is not None and limit is not None and value < limit:
                said.append(
                    f"{clean(end.end.name, 120)} runs at {number(value)} of {number(limit)} {unit}"
                )
    return said


def coincidence_words(one: Coincidence) -> list[str]:
    """The weighing of one run in sentences with their figures."""
    run = clean(one.run, 120) or "the run"
    overlap = (
        f"{one.overlap_bins} of {one.error_bins} intervals with errors fall into slow time of {run}"
    )
    said = [f"{overlap}; chance alone gives {one.expected_bins:.1f}."]
    if one.covered_share:
        said.append(f"They cover {percent(one.covered_share)} of its slow time.")
    if one.share_slow is not None:
        said.append(
            f"While the link errs {percent(one.share_slow)} of the collectives that cross it are slow, "
            f"{percent(one.slow_anyway)} otherwise."
        )
    if one.in_path == "no":
        said.append("The run does not use this link's node.")
    return said


def life_words(view: LinkView) -> str:
    """Where the incident stands, "" when nothing is accused."""
    incident = view.incident
    if incident is None or incident.life is None:
        return ""
    return clean(incident.life.reason, 300)


def weights_words(weights: Sequence[tuple[str, float]]) -> str:
    """Facts with the log odds that they add, as one line."""
    return "; ".join(f"{words} {weight:+.1f}" for words, weight in weights)
