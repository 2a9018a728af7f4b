"""What is known of each port: its present levels, the best it had before, and under which names.

Built from state readings in the order of captures. A capture is a file; files are ordered by the
times in them where every file has one, else as they were given. A device is recognised across
captures by the PCI address or port GUID of its `port_identity` reading, otherwise by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fabric_pipeline.detect.port_state.link_ends import device_id
from fabric_pipeline.detect.port_state.thresholds import JUDGED_LINK_TYPES
from fabric_pipeline.detect.state_words import state_words
from fabric_pipeline.model.components import Component
from fabric_pipeline.model.findings import EvidenceRef
from fabric_pipeline.model.records import Reading

LEVELS = ("link_up", "width", "width_max", "speed_gbps", "speed_max_gbps")
# levels that show that a port was configured or used once
MARKS = ("base_lid", "sm_lid", "carrier_up_count", "carrier_down_count")
IDENTITY = "port_identity"

_PCI = re.compile(r"([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])/(?:infiniband|net)/")
_GUID = re.compile(r"\bguid (0x[0-9a-f]{16})\b")
_TYPE = re.compile(r"\((MT\w{1,10})\)")

Key = tuple[str, ...]
_MAX_REFS = 60  # a finding about a whole fabric need not quote each of its ports
_NEVER_ASSIGNED = frozenset({0.0, 65535.0})  # LIDs of a port that no subnet manager has set up


@dataclass(slots=True)
class PortView:
    """One port over all captures.

    `now` holds the latest reading by counter, `before` the highest one of earlier captures or
    times, `since` the first one of the present spell below the highest. A speed that is known per lane only stands under `lane_gbps` and `lane_max_gbps`.
    """

    key: Key
    component: str
    link_type: str
    pci: str = ""
    device_type: str = ""
    tool: str = ""
    now: dict[str, Reading] = field(default_factory=dict)
    before: dict[str, Reading] = field(default_factory=dict)
    since: dict[str, Reading] = field(default_factory=dict)
    marks: dict[str, Reading] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    @property
    def device(self) -> str:
        """The host or switch it belongs to."""
        return device_id(self.component)

    @property
    def is_netdev(self) -> bool:
        """True for a network interface (`ib4`), which is no port of its own."""
        return "/" not in self.component.partition(":")[2]

    @property
    def is_up(self) -> bool:
        """True when it carries traffic, or has a width or speed and no state at all."""
        state = self.now.get("link_up")
        if state is None:
            return any(name in self.now for name in ("width", "speed_gbps", "lane_gbps"))
        return state.value == 1.0

    @property
    def was_up(self) -> bool:
        """True when an earlier capture saw it active."""
        state = self.before.get("link_up")
        return state is not None and state.value == 1.0

    @property
    def words(self) -> str:
        """State words in lower case."""
        state = self.now.get("link_up")
        return state.state.lower() if state else ""

    def value(self, name: str, earlier: bool = False) -> float | None:
        """Present or earlier value of a level."""
        reading = (self.before if earlier else self.now).get(name)
        return reading.value if reading else None

    def mark(self, name: str) -> float:
        """Value of a mark, 0 when it was not read."""
        reading = self.marks.get(name)
        return reading.value or 0.0 if reading else 0.0


@dataclass(slots=True)
class Captures:
    """All ports, and which devices each capture covers.

    `covered[file]` maps (tool, device) to the keys seen in it.
    """

    views: dict[Key, PortView]
    files: list[str]
    covered: dict[str, dict[tuple[str, str], set[Key]]]

    def by_device(self) -> dict[str, list[PortView]]:
        """Ports, without network interfaces, by host or switch."""
        devices: dict[str, list[PortView]] = {}
        for view in self.views.values():
            if not view.is_netdev:
                devices.setdefault(view.device, []).append(view)
        return devices


def build(readings: Sequence[Reading], names: Mapping[str, str]) -> Captures:
    """Gather state readings of judged link types; `names` maps GUID and LID ids to port names."""
    judged = [r for r in readings if r.link_type in JUDGED_LINK_TYPES]
    relevant = [reading for reading in judged if _is_relevant(reading)]
    identities = _identities(judged)
    files = _file_order(relevant)
    captures = Captures({}, files, {file: {} for file in files})
    for reading in _in_order(relevant, files):
        place = (reading.file, Component(reading.node, reading.interface).id)
        identity = identities.get(place) or identities.get(("", place[1])) or _NO_IDENTITY
        view = _view_of(reading, identity, names, captures)
        _take(view, reading)
        if reading.counter == "link_up" and identity.tool:
            scope = (identity.tool, view.device)
            captures.covered[reading.file].setdefault(scope, set()).add(view.key)
    return captures


@dataclass(frozen=True, slots=True)
class _Identity:
    """What a tool says of the hardware behind a port name."""

    tool: str
    text: str


_NO_IDENTITY = _Identity("", "")


def _identities(readings: Iterable[Reading]) -> dict[tuple[str, str], _Identity]:
    """By file and component; under file "" the latest one, for captures that repeat none."""
    found: dict[tuple[str, str], _Identity] = {}
    for reading in readings:
        if reading.counter == IDENTITY:
            tool, _, text = reading.state.partition(": ")
            component = Component(reading.node, reading.interface).id
            found[(reading.file, component)] = found[("", component)] = _Identity(tool, text)
    return found


def linked_views(captures: Captures) -> list[PortView]:
    """Ports that carry traffic."""
    return [view for view in captures.views.values() if not view.is_netdev and view.is_up]


def netdev_of(view: PortView, captures: Captures) -> PortView | None:
    """The network interface over a port, by PCI address."""
    if not view.pci:
        return None
    key: Key = ("pci", view.key[1], view.pci, "net", "")
    return captures.views.get(key)


def keeps_lid(view: PortView) -> bool:
    """True for an InfiniBand port that holds LIDs only a subnet manager could have given it."""
    lids = (view.mark("base_lid"), view.mark("sm_lid"))
    return view.link_type == "infiniband" and all(lid not in _NEVER_ASSIGNED for lid in lids)


def evidence(readings: Iterable[Reading | None]) -> list[EvidenceRef]:
    """References to the first readings, without doubles and gaps."""
    refs: dict[EvidenceRef, None] = {}
    read = [reading for reading in readings if reading is not None]
    most: dict[tuple[str, str], float] = {}
    for one in read:
        place = (one.interface, one.counter)
        most[place] = max(most.get(place, 0.0), one.value or 0.0)
    for reading in read:
        if len(refs) < _MAX_REFS:
            of = most[(reading.interface, reading.counter)]
            shown = state_words(reading, of if of > (reading.value or 0.0) else None)
            text = f"{reading.interface}: {shown}".removeprefix(": ")
            refs[EvidenceRef(reading.file, reading.line, excerpt=text[:300])] = None
    return list(refs)


def _is_relevant(reading: Reading) -> bool:
    if reading.quality == "not_supported" or reading.value is None:
        return False
    if reading.scope not in ("link", "lane"):
        return False
    return reading.counter in LEVELS or reading.counter in MARKS


def _file_order(readings: Sequence[Reading]) -> list[str]:
    first: dict[str, Reading] = {}
    for reading in readings:
        first.setdefault(reading.file, reading)
    timed = [(reading.time, file) for file, reading in first.items() if reading.time is not None]
    if len(timed) == len(first):
        return [file for _, file in sorted(timed, key=lambda pair: pair[0])]
    return list(first)


def _in_order(readings: Sequence[Reading], files: list[str]) -> list[Reading]:
    place = {file: number for number, file in enumerate(files)}
    by_file: dict[int, list[Reading]] = {}
    for reading in readings:
        by_file.setdefault(place[reading.file], []).append(reading)
    ordered: list[Reading] = []
    for number in sorted(by_file):
        group = by_file[number]
        timed = [(reading.time, reading) for reading in group if reading.time is not None]
        if len(timed) == len(group):
            group = [reading for _, reading in sorted(timed, key=lambda pair: pair[0])]
        ordered += group
    return ordered


def _view_of(
    reading: Reading, identity: _Identity, names: Mapping[str, str], captures: Captures
) -> PortView:
    raw = Component(reading.node, reading.interface).id
    component = names.get(raw, raw)
    pci, guid = _PCI.search(identity.text), _GUID.search(identity.text)
    device, _, port = reading.interface.rpartition("/")
    if pci:
        kind = "port" if device else "net"
        key: Key = ("pci", reading.node, pci.group(1), kind, port if device else "")
    elif guid:
        key = ("guid", reading.node, guid.group(1))
    else:
        key = ("name", component)
    view = captures.views.get(key)
    if view is None:
        view = captures.views[key] = PortView(key, component, reading.link_type)
        view.pci = pci.group(1) if pci else ""
    view.tool = identity.tool or view.tool
    found = _TYPE.search(identity.text)
    view.device_type = found.group(1) if found else view.device_type
    view.component = component
    if component not in view.names:
        view.names.append(component)
    return view


def _take(view: PortView, reading: Reading) -> None:
    if not view.files or view.files[-1] != reading.file:
        view.files.append(reading.file)
    if reading.counter not in LEVELS:
        view.marks[reading.counter] = reading
        return
    name = reading.counter
    if reading.scope == "lane":
        name = {"speed_gbps": "lane_gbps", "speed_max_gbps": "lane_max_gbps"}.get(name, name)
    old = view.now.get(name)
    if old is not None and (old.file, old.time) != (reading.file, reading.time):
        best = view.before.get(name)
        if best is None or (old.value or 0.0) >= (best.value or 0.0):
            view.before[name] = old
    if _begins(reading, old, view.before.get(name)):
        view.since[name] = reading
    view.now[name] = reading


def _begins(new: Reading, old: Reading | None, best: Reading | None) -> bool:
    """True when a spell begins: the first reading, back at the highest level, or the first one below it."""
    if old is None:
        return True
    top = max(old.value or 0.0, best.value or 0.0 if best else 0.0)
    return new.value != old.value and (old.value == top or (new.value or 0.0) >= top)
