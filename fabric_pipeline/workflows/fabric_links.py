"""All links of a fabric in columns; a `Link` is made when it is asked for, and then kept.

A fabric of 1,000 nodes has some 170,000 links, of which a page shows a few hundred: counting, colouring
and finding go over numpy arrays. Reading the columns from the lake is `fabric_view`'s.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from fabric_pipeline.model.components import device_of
from fabric_pipeline.workflows.fabric_link_columns import (
    NOWHERE,
    Coder,
    LinkColumns,
    port_number,
    texts_column,
)
from fabric_pipeline.workflows.fabric_link_model import (
    JOINED,
    NO_DATA,
    STATES,
    TROUBLE,
    End,
    EndReading,
    Link,
    Port,
    overall,
)

_SILENT, _TROUBLE = STATES.index("no_data"), STATES.index(TROUBLE[0])
_JOINED = np.array(
    [[STATES.index(JOINED[near, far]) for far in STATES] for near in STATES], np.int8
)


class Ports(Sequence[Port]):
    """Link ends of one device or switch in the order of their numbers.

    `count` and `state` are known before any of them is made.
    """

    def __init__(
        self,
        made: Iterable[Port] = (),
        make: Callable[[], list[Port]] | None = None,
        count: int = 0,
        state: str = "",
    ) -> None:
        """Given ready, or to be made by `make`, with how many they are and the worst state of them."""
        self._made = list(made) if make is None else None
        self._make, self._count, self._state = make, count, state

    def __len__(self) -> int:
        """How many link ends."""
        return len(self._made) if self._made is not None else self._count

    @overload
    def __getitem__(self, at: int) -> Port: ...
    @overload
    def __getitem__(self, at: slice) -> list[Port]: ...
    def __getitem__(self, at: int | slice) -> Port | list[Port]:
        """One or some of them."""
        return self._ready()[at]

    def __iter__(self) -> Iterator[Port]:
        """All of them."""
        return iter(self._ready())

    @property
    def state(self) -> str:
        """The worst state of all link ends that gave data."""
        return self._state or overall(port.state for port in self._ready())

    def _ready(self) -> list[Port]:
        if self._made is None:
            self._made = self._make() if self._make else []
        return self._made


@dataclass(slots=True)
class _Holders:
    """Which rows belong to which device: `rows[starts[n]:starts[n + 1]]`, far sides counted from `count` on."""

    numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    starts: list[int] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    first: list[int] = field(default_factory=list)


class Links(Sequence[Link]):
    """The links of a view. Asking twice gives the same `Link`."""

    def __init__(self, columns: LinkColumns, made: Sequence[Link] = ()) -> None:
        """`made` are the links themselves where they exist already."""
        self.columns = columns
        self._made: list[Link | None] = list(made) or [None] * len(columns.ids)
        self._lock = threading.RLock()
        states = np.array([STATES.index(one.state) for one in columns.readings], np.int8)
        shares = np.array(
            [np.nan if one.share is None else one.share for one in columns.readings], np.float64
        )
        near, far = columns.reading
        is_open = far == NOWHERE
        self.end_states = states[near], np.where(is_open, _SILENT, states[far]).astype(np.int8)
        self.end_shares = shares[near], np.where(is_open, np.nan, shares[far])
        self.states: NDArray[np.int8] = _JOINED[self.end_states[0], self.end_states[1]]
        self.shares: NDArray[np.float64] = np.fmax(*self.end_shares)

    @classmethod
    def of(cls, links: Sequence[Link]) -> Links:
        """Columns over links that are there already."""
        far = [link.b or End("", "", "", NO_DATA) for link in links]
        near = [link.a for link in links]
        readings: list[EndReading] = [end.reading for end in (*near, *far)]
        count = len(links)
        found = {
            "id": texts_column(link.link_id for link in links),
            "type": [link.link_type for link in links],
            "node": [end.node for end in near],
            "interface": [end.interface for end in near],
            "reading": np.arange(count),
            "far_node": [end.node for end in far],
            "far_interface": [end.interface for end in far],
            "far_reading": np.arange(count, 2 * count),
            "lanes": [-1 if link.lanes is None else link.lanes for link in links],
            "speed": [np.nan if link.speed_gbps is None else link.speed_gbps for link in links],
            "cable": texts_column(link.cable_id for link in links),
            "part": texts_column(link.part for link in links),
        }
        return cls(LinkColumns.of(found, readings), links)

    def __len__(self) -> int:
        """How many links."""
        return len(self._made)

    @overload
    def __getitem__(self, at: int) -> Link: ...
    @overload
    def __getitem__(self, at: slice) -> list[Link]: ...
    def __getitem__(self, at: int | slice) -> Link | list[Link]:
        """One or some of the links."""
        if isinstance(at, slice):
            return [self._link(place) for place in range(len(self))[at]]
        return self._link(range(len(self))[at])

    def __iter__(self) -> Iterator[Link]:
        """All links; makes every one of them."""
        return map(self._link, range(len(self)))

    @property
    def made(self) -> int:
        """How many have been asked for so far."""
        return sum(link is not None for link in self._made)

    def in_trouble(self) -> list[Link]:
        """Links with trouble, in order."""
        return [self._link(int(at)) for at in np.flatnonzero(self.states >= _TROUBLE)]

    def counts(self) -> dict[str, Counter[str]]:
        """Links by type and state."""
        types, many = self.columns.types, len(STATES)
        numbers = np.bincount(
            self.columns.type * many + self.states, minlength=len(types) * many
        ).reshape(-1, many)
        return {
            name: Counter({state: int(n) for state, n in zip(STATES, row, strict=True) if n})
            for name, row in zip(types, numbers, strict=True)
        }

    def count_of(self, reading: EndReading) -> int:
        """How many ends have this very reading."""
        places = [n for n, one in enumerate(self.columns.readings) if one is reading]
        return sum(int(np.isin(side, places).sum()) for side in self.columns.reading)

    def at(self, node: str, interface: str) -> Link | None:
        """The first link with that end, None when there is none."""
        names = self._codes
        wanted = names[0].get(node), names[1].get(interface)
        if None in wanted:
            return None
        fits = [
            (self.columns.node[side] == wanted[0]) & (self.columns.interface[side] == wanted[1])
            for side in (0, 1)
        ]
        found = np.flatnonzero(fits[0] | fits[1])
        return self._link(int(found[0])) if len(found) else None

    def by_id(self, link_id: str) -> Link | None:
        """The first link of that id, None when there is none."""
        found = np.flatnonzero(self.columns.ids == link_id)
        return self._link(int(found[0])) if len(found) else None

    def worst_shares(self) -> dict[str, float]:
        """By node the largest share of an error limit; nodes without any data are left out."""
        found = np.full(len(self.columns.nodes), -1.0)
        for side in (0, 1):
            heard = self.end_states[side] != _SILENT
            shares = np.nan_to_num(self.end_shares[side][heard])
            np.maximum.at(found, self.columns.node[side][heard], shares)
        return {
            node: float(share)
            for node, share in zip(self.columns.nodes, found, strict=True)
            if share >= 0
        }

    def devices(self) -> list[tuple[str, str, str, str]]:
        """Every device with link ends once: node, device, its first interface, type of that link."""
        columns, count = self.columns, len(self)
        found = []
        for (node, device), number in self._holders.numbers.items():
            side, row = divmod(self._holders.first[number], count)
            interface = columns.interfaces[columns.interface[side][row]]
            found.append((node, device, interface, columns.types[columns.type[row]]))
        return found

    def ports(self, node: str, device: str) -> Ports:
        """Link ends of one device."""
        holders = self._holders
        number = holders.numbers.get((node, device))
        if number is None:
            return Ports()
        start, end = holders.starts[number : number + 2]
        return Ports(
            make=lambda: self._ports(holders.rows[start:end]),
            count=end - start,
            state=holders.states[number],
        )

    def _ports(self, rows: NDArray[np.int64]) -> list[Port]:
        count = len(self)
        ports = []
        for side, row in (divmod(int(at), count) for at in rows):
            link = self._link(row)
            end = link.b if side else link.a
            if end is not None:
                ports.append(Port(link, end))
        return sorted(ports, key=lambda port: (port_number(port.end.interface), port.end.interface))

    def _link(self, at: int) -> Link:
        made = self._made[at]
        if made is not None:
            return made
        with self._lock:  # two makers would give one link two identities
            made = self._made[at]
            if made is None:
                made = self._made[at] = self._new(at)
        return made

    def _new(self, at: int) -> Link:
        columns = self.columns
        lanes, speed = int(columns.lanes[at]), float(columns.speeds[at])
        is_open = columns.interface[1][at] == NOWHERE
        return Link(
            columns.ids[at],
            columns.types[columns.type[at]],
            self._end(0, at),
            None if is_open else self._end(1, at),
            None if lanes < 0 else lanes,
            None if speed != speed else speed,
            columns.cables[at],
            columns.parts[at],
        )

    def _end(self, side: int, at: int) -> End:
        columns = self.columns
        interface = columns.interfaces[columns.interface[side][at]]
        node = columns.nodes[columns.node[side][at]]
        return End(
            node, interface, device_of(interface), columns.readings[columns.reading[side][at]]
        )

    @cached_property
    def _codes(self) -> tuple[dict[str, int], dict[str, int]]:
        return (
            {name: code for code, name in enumerate(self.columns.nodes)},
            {name: code for code, name in enumerate(self.columns.interfaces)},
        )

    @cached_property
    def _holders(self) -> _Holders:
        columns = self.columns
        if not len(self):
            return _Holders()
        names = Coder()
        device = names.codes([device_of(interface) for interface in columns.interfaces])
        keys = np.concatenate(
            [columns.node[side].astype(np.int64) * len(names) + device[columns.interface[side]] for side in (0, 1)]
        )  # fmt: skip
        heard = np.concatenate([np.where(own == _SILENT, -1, own) for own in self.end_states])
        trouble = np.where(self.states >= _TROUBLE, self.states, -1)
        states = np.maximum(heard, np.tile(trouble, 2))  # trouble of a link shows at both ends
        known = np.concatenate([np.ones(len(self), bool), columns.interface[1] != NOWHERE])
        rows = np.flatnonzero(known)
        rows = rows[np.argsort(keys[rows], kind="stable")]
        found, starts = np.unique(keys[rows], return_index=True)
        worst = np.maximum.reduceat(states[rows], starts)
        texts = list(names)
        return _Holders(
            {
                (columns.nodes[key // len(texts)], texts[key % len(texts)]): number
                for number, key in enumerate(found.tolist())
            },
            rows,
            [*starts.tolist(), len(rows)],
            ["no_data" if state < 0 else STATES[state] for state in worst.tolist()],
            rows[starts].tolist(),
        )
