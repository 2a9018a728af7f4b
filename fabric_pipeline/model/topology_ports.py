"""Ports that are one because they are at the far end of the same port: labels beside driver names.

A port has one far end. Where two sources name it in two manners (`ib0` and `mlx5_0/1`, `IB1/3/1` and
`port-5`, a GUID and a name), both mean the same port. Two names in one manner (`port-5` and `port-6`)
are two ports, so the sources contradict each other; that is said when the links are merged.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence

from fabric_pipeline.model.components import Component, link_type_of, parse_component
from fabric_pipeline.model.topology_links import as_guid, split_port

_DIGITS = re.compile(r"\d+")
_SWITCH_PORT = re.compile(r"/port-\d+$")
_ROUNDS = 2
_MOST_NAMES = 4
Pair = tuple[str, str]


class PortAliases:
    """Component -> the component under which the same port is kept."""

    def __init__(self, sources: Sequence[Sequence[Pair]], switches: Collection[str]) -> None:
        """Learn from the pairs of ends of each source; two rounds, because each end can name the other.

        `switches` are the names that some source calls a switch.
        """
        self._kept: dict[str, str] = {}
        self._devices: dict[str, str] = {}
        self._switches = switches
        if len(sources) < 2:
            return
        for number in range(_ROUNDS):
            if not self._learn(self._renamed(sources)) and not number:
                break
        self._learn_only_links(self._renamed(sources))

    def __call__(self, component: str) -> str:
        """The kept name of a port; names of devices that stand for another are replaced, too."""
        if not self._kept and not self._devices:
            return component
        for _ in range(_ROUNDS + 1):
            component = self._kept.get(component, component)
            if self._devices and component.startswith("unknown:"):
                parsed = parse_component(component)
                device, slash, rest = split_port(parsed.interface)
                if device in self._devices:
                    renamed = f"{self._devices[device]}{slash}{rest}"
                    component = Component("", renamed, parsed.lane).id
        return component

    def __bool__(self) -> bool:
        """True when any name stands for another."""
        return bool(self._kept or self._devices)

    def _renamed(self, sources: Sequence[Sequence[Pair]]) -> Sequence[Sequence[Pair]]:
        if not self:
            return sources
        return [[(self(a), self(b)) for a, b in source] for source in sources]

    def _learn(self, sources: Sequence[Sequence[Pair]]) -> bool:
        """One round; True when it taught anything."""
        first: dict[str, tuple[str, int]] = {}
        several: dict[str, dict[str, int]] = {}
        for number, pairs in enumerate(sources):
            for pair in pairs:
                for end, far in (pair, pair[::-1]):
                    known = first.setdefault(end, (far, number))
                    if known[0] != far:
                        several.setdefault(end, dict([known])).setdefault(far, number)
        ports, devices = _Votes(), _Votes()
        for named in several.values():
            for one, other in _couples(named):
                self._vote(one, other, ports, devices)
        before = len(self._kept) + len(self._devices)
        self._kept.update(ports.certain())
        self._devices.update(devices.certain())
        return len(self._kept) + len(self._devices) > before

    def _vote(self, kept: str, alias: str, ports: _Votes, devices: _Votes) -> None:
        one, other = parse_component(kept), parse_component(alias)
        near, far = (split_port(text.interface) for text in (one, other))
        if one.node == other.node and (one.node or near[0] == far[0]):
            if _manner(kept) != _manner(alias):
                ports.add(kept, alias)
        elif other.node or not _is_number(far[0]):
            return
        elif one.node:
            if far[0] not in self._switches:  # an adapter without a host, under its GUID
                ports.add(kept, alias)
        elif not _is_number(near[0]) and near[2] == far[2]:
            devices.add(near[0], far[0])

    def _learn_only_links(self, sources: Sequence[Sequence[Pair]]) -> None:
        """The only link between two machines in one source is the only one between them in another.

        Said of links with an end that a source names in a manner of its own, as a plan with labels does.
        If the other ends then differ, the sources contradict each other, which is told later.
        """
        stated: dict[Pair, set[int]] = defaultdict(set)
        for number, source in enumerate(sources):
            for a, b in source:
                stated[(a, b) if a <= b else (b, a)].add(number)
        labelled = {
            _machines(pair)
            for pair, told in stated.items()
            if len(told) == 1 and any(_telling(end) < 2 for end in pair)
        }
        between: dict[Pair, list[Pair]] = defaultdict(list)
        for pair in stated if labelled else ():
            if (machines := _machines(pair)) in labelled and all(machines):
                between[machines].append(pair)
        votes = _Votes()
        for pairs in between.values():
            if len(pairs) == 2 and not stated[pairs[0]] & stated[pairs[1]]:
                for one, other in zip(*map(_in_order, pairs), strict=True):
                    if _manner(one) != _manner(other):
                        votes.add(*_kept_first(one, other))
        self._kept.update(votes.certain())


class _Votes:
    """Which name stands for which; a name that would stand for two stands for none."""

    def __init__(self) -> None:
        self._for: dict[str, Counter[str]] = defaultdict(Counter)

    def add(self, kept: str, alias: str) -> None:
        """One link says that `alias` is `kept`."""
        self._for[alias][kept] += 1

    def certain(self) -> dict[str, str]:
        """Alias -> kept name, where all links say the same."""
        found = {alias: next(iter(kept)) for alias, kept in self._for.items() if len(kept) == 1}
        return {alias: kept for alias, kept in found.items() if found.get(kept, kept) == kept}


def _couples(named: dict[str, int]) -> Iterator[Pair]:
    """The most telling name with each one of another source; many names for one far end are a mess."""
    if 1 < len(named) <= _MOST_NAMES:
        best = max(named, key=_telling)  # of several the first
        yield from ((best, other) for other, source in named.items() if source != named[best])


def _in_order(pair: Pair) -> Pair:
    """The ends of a link in the order of their machines, so that two statements can be laid together."""
    return pair if (_machine(pair[0]), pair[0]) <= (_machine(pair[1]), pair[1]) else pair[::-1]


def _machines(pair: Pair) -> Pair:
    near, far = sorted((_machine(pair[0]), _machine(pair[1])))
    return (near, far) if near != far else ("", "")


def _kept_first(one: str, other: str) -> Pair:
    return (one, other) if _telling(one) >= _telling(other) else (other, one)


def _telling(component: str) -> int:
    """Drivers and port numbers say most, a GUID or LID least."""
    interface = parse_component(component).interface
    if _is_number(split_port(interface)[0]):
        return 0
    return 2 if link_type_of(interface) or _SWITCH_PORT.search(interface) else 1


def _is_number(device: str) -> bool:
    return bool(as_guid(device)) or device.startswith("lid-")


def _manner(component: str) -> str:
    """A name without its numbers: names in one manner tell ports apart."""
    parsed = parse_component(component)
    named = parsed.interface if parsed.node else split_port(parsed.interface)[2]
    return _DIGITS.sub("#", named)


def _machine(component: str) -> str:
    """The node, or the switch, that a port belongs to."""
    parsed = parse_component(component)
    return parsed.node or split_port(parsed.interface)[0]
