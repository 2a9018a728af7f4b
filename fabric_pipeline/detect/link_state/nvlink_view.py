"""NVLink states device by device: which links are up, down, switched off, or no longer listed.

A view for the rules in `nvlink`; it draws no conclusions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from fabric_pipeline.detect.link_state.history import (
    NodeStates,
    State,
    is_nvlink,
    product_of,
    same_place,
    words_of,
)
from fabric_pipeline.model.components import device_of, natural_key, nvlink_index, port_index

_OFF_WORDS = frozenset({"disabled", "x", "off"})
_BRIDGED = re.compile(
    r"PCIe|\bNVL\b|RTX|GeForce|Quadro|TITAN|\b[AL]\d{1,2}S?\b|\bA[456]000\b|\bT4\b", re.I
)
_SOLDERED = re.compile(
    r"SXM|HBM3|\bG?B[1-3]00\b|\bGH200\b|\bH[28]00\b|\bH20\b|\bHGX\b|\bDGX\b", re.I
)
_SUPERCHIP = re.compile(r"\bGB[23]00\b|\bGH200\b", re.I)


@dataclass(slots=True)
class DeviceLinks:
    """The NVLinks of one GPU or NVSwitch as last seen.

    `up`, `down` and `off` map the link interface to its latest state (`off`: disabled on purpose).
    `since` is the first state of the present outage of a link that is down. `whole` is the sentence
    that all links are inactive, where it is the latest word. `was_up` maps links that are down or
    unlisted now to the last state in which they were up; `unlisted` are those that the latest file
    no longer lists.
    """

    device: str
    product: str = ""
    up: dict[str, State] = field(default_factory=dict)
    down: dict[str, State] = field(default_factory=dict)
    off: dict[str, State] = field(default_factory=dict)
    since: dict[str, State] = field(default_factory=dict)
    whole: State | None = None
    was_up: dict[str, State] = field(default_factory=dict)
    unlisted: list[str] = field(default_factory=list)

    @property
    def is_gpu(self) -> bool:
        """True for a GPU, False for an NVSwitch."""
        return not self.device.startswith("nvswitch")

    @property
    def all_down(self) -> bool:
        """True when the device has links and none of them is up."""
        return not self.up and (self.whole is not None or bool(self.down))

    @property
    def down_numbers(self) -> frozenset[int]:
        """Numbers of the links that are down."""
        return frozenset(link_number(interface) for interface in self.down)

    @property
    def fitting(self) -> str:
        """`soldered`: NVLinks always connected; `bridged`: only with a bridge; `unknown`."""
        if _SUPERCHIP.search(self.product):
            return "soldered"
        if _BRIDGED.search(self.product):
            return "bridged"
        return "soldered" if _SOLDERED.search(self.product) else "unknown"


def link_number(interface: str) -> int:
    """Number of a link or switch port, -1 without one."""
    number = nvlink_index(interface)
    number = port_index(interface) if number is None else number
    return -1 if number is None else number


def devices_of(states: NodeStates) -> list[DeviceLinks]:
    """NVLink devices of a node in natural order."""
    found: dict[str, DeviceLinks] = {}
    for interface in states.interfaces("link_up"):
        if is_nvlink(interface):
            device = device_of(interface) if "/" in interface else _whole_device(interface)
            view = found.setdefault(device, DeviceLinks(device))
            _place(states.node, view, interface, states.series[interface, "link_up"])
    for view in found.values():
        _settle(states.node, view)
    return sorted(found.values(), key=lambda view: natural_key(view.device))


def _whole_device(interface: str) -> str:
    """`gpu3` is itself; a short name such as `nvlink-3` belongs to a device without a name."""
    return "" if nvlink_index(interface) is not None else interface


def _place(node: str, view: DeviceLinks, interface: str, history: list[State]) -> None:
    latest = history[-1]
    view.product = product_of(latest.reading) or view.product
    if interface == view.device:
        view.whole = latest if latest.value == 0 else None
        return
    if latest.value > 0:
        view.up[interface] = latest
    elif words_of(latest.reading).lower() in _OFF_WORDS:
        view.off[interface] = latest
    else:
        view.down[interface] = latest
        view.since[interface] = _outage_start(history)
    earlier_up = [state for state in history if state.value > 0]
    if earlier_up and same_place(node, earlier_up[-1].reading, latest.reading):
        view.was_up[interface] = earlier_up[-1]


def _outage_start(history: list[State]) -> State:
    start = history[-1]
    for state in reversed(history):
        if state.value > 0:
            break
        start = state
    return start


def _settle(node: str, view: DeviceLinks) -> None:
    """Decide between the sentence for all links and rows of single links: the later one holds."""
    rows = {**view.up, **view.down, **view.off}
    last_row = max((state.order for state in rows.values()), default=-1)
    if view.whole is not None and view.whole.order > last_row:
        view.up.clear()
    elif rows:
        view.whole = None
        _find_unlisted(node, view, rows)
    if view.whole is not None:
        gone = {
            i for i, s in view.was_up.items() if same_place(node, s.reading, view.whole.reading)
        }
    else:
        gone = view.down.keys() | set(view.unlisted)
    view.was_up = {link: state for link, state in view.was_up.items() if link in gone}


def _find_unlisted(node: str, view: DeviceLinks, rows: dict[str, State]) -> None:
    """Links that were up in an earlier file and are absent from the one that lists this device.

    Links whose last state comes from what may be another machine are dropped: nothing is known.
    """
    latest = max(rows.values(), key=lambda state: state.order).reading
    for interface, state in list(view.up.items()):
        if state.reading.file != latest.file:
            del view.up[interface]
            if same_place(node, state.reading, latest):
                view.unlisted.append(interface)
