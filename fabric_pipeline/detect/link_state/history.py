"""State readings put in order: per node and link the latest value and what stood before it.

Ordering only. Times decide where every reading of a node has one, else the order of the files,
which are given earlier first.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from fabric_pipeline.detect.state_words import state_words
from fabric_pipeline.model.components import device_of, link_type_of
from fabric_pipeline.model.counters import STATE_COUNTERS
from fabric_pipeline.model.findings import EvidenceRef
from fabric_pipeline.model.records import Reading

_OTHER_FABRICS = frozenset({"infiniband", "roce", "ethernet"})
_PRODUCT = re.compile(r"\[(?P<name>[^\[\]]{1,120})\]$")
_NO_TIME = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class State:
    """One state reading with its place in the order of its node."""

    order: int
    reading: Reading

    @property
    def value(self) -> float:
        """The value; states without one are not kept."""
        return self.reading.value or 0.0


@dataclass(slots=True)
class NodeStates:
    """All states of one node: (interface, counter) -> states in order, never empty."""

    node: str
    series: dict[tuple[str, str], list[State]] = field(default_factory=dict)

    def latest(self, interface: str, counter: str) -> State | None:
        """The last known state, or None."""
        states = self.series.get((interface, counter))
        return states[-1] if states else None

    def value(self, interface: str, counter: str) -> float | None:
        """The last known value, or None."""
        state = self.latest(interface, counter)
        return None if state is None else state.value

    def interfaces(self, counter: str) -> list[str]:
        """Interfaces that have a state of this counter, in order of appearance."""
        return [interface for interface, name in self.series if name == counter]


def nodes_of(readings: Iterable[Reading]) -> list[NodeStates]:
    """The usable state readings by node; blanks, lanes and other fabrics are left out."""
    by_node: dict[str, list[Reading]] = defaultdict(list)
    for reading in readings:
        if _is_usable(reading):
            by_node[reading.node].append(reading)
    return [_ordered(node, found) for node, found in by_node.items()]


def _is_usable(reading: Reading) -> bool:
    if reading.counter not in STATE_COUNTERS or reading.value is None:
        return False
    if not reading.interface and reading.link_type != "nvlink":
        return False
    if reading.quality == "not_supported" or reading.lane is not None:
        return False
    kind = reading.link_type or link_type_of(reading.interface)
    return kind not in _OTHER_FABRICS


def _ordered(node: str, readings: Sequence[Reading]) -> NodeStates:
    ordered = list(readings)
    if all(reading.time is not None for reading in ordered):
        ordered.sort(key=lambda reading: reading.time or _NO_TIME)
    states = NodeStates(node)
    for order, reading in enumerate(ordered):
        key = (reading.interface, reading.counter)
        states.series.setdefault(key, []).append(State(order, reading))
    return states


def product_of(reading: Reading) -> str:
    """The product behind the state words (`<inactive> [NVIDIA H100 PCIe]`), else ""."""
    found = _PRODUCT.search(reading.state) if reading.state else None
    return found["name"].strip() if found else ""


def words_of(reading: Reading) -> str:
    """The state words alone, without brackets or product."""
    return _PRODUCT.sub("", reading.state).strip().strip("<>").strip()


def same_place(node: str, earlier: Reading, later: Reading) -> bool:
    """True when both readings can be of one link.

    Two captures without a host may be of two machines: then the GPU must be the same, or at least
    no two different ones may be named. On a known host the place is the same even when the GPU in
    it was exchanged.
    """
    products = {product_of(earlier), product_of(later)} - {""}
    if node:
        return True
    uuids = {earlier.gpu_uuid, later.gpu_uuid} - {""}
    return len(uuids) < 2 and len(products) < 2


def since_of(history: Sequence[State], best: float) -> State:
    """First of the last states in a row that stay below the best value; the first of all when none does."""
    start = history[-1]
    for state in reversed(history):
        if state.value >= best > history[-1].value:
            break
        start = state
    return start


def evidence_of(states: Iterable[State | None], of: float | None = None) -> list[EvidenceRef]:
    """Where the states stand, each place once and at most twenty; `of` is the most a level may have."""
    places: dict[tuple[str, int | None], EvidenceRef] = {}
    for state in states:
        if state is not None:
            reading = state.reading
            where = reading.entity_text or reading.interface
            excerpt = f"{where}: {state_words(reading, of)}".removeprefix(": ")[:300]
            ref = EvidenceRef(reading.file, reading.line, reading.line, excerpt)
            places.setdefault((reading.file, reading.line), ref)
    return list(places.values())[:20]


def is_nvlink(interface: str) -> bool:
    """True for an NVLink end, an NVSwitch port or a whole GPU (which stands for all its links).

    "" is a GPU that the capture does not name.
    """
    device = device_of(interface)
    is_device = interface == device and device[:3] in ("gpu", "")
    return is_device or link_type_of(interface) == "nvlink"
