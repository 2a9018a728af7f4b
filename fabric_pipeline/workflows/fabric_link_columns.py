"""Links of a fabric as columns: texts as numbers into lists, one row a link, both sides alike.

What is counted and found over them is in `fabric_links`; how they are read from the lake is in
`fabric_view_sql`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fabric_pipeline.model.components import device_of, link_type_of
from fabric_pipeline.workflows.fabric_link_model import EndReading

Ints = NDArray[np.int32]
Pair = tuple[Ints, Ints]
# Names of the columns that `LinkColumns.of` takes, in the order of `LINKS_SQL`.
COLUMNS = (
    "id", "type", "node", "interface", "far_node", "far_interface", "lanes", "speed", "cable", "part", "reading",
    "far_reading",
)  # fmt: skip
NOWHERE = -1  # in place of a code: no source names the far end
_NUMBER = re.compile(r"([0-9]{1,9})$")
_NO_NUMBER = 10**9


@dataclass(slots=True)
class LinkColumns:
    """One row a link; both sides of a pair of arrays are those of `a` and `b`.

    Codes point into the lists. `lanes` is -1 and `speeds` NaN where nothing is stated.
    """

    ids: NDArray[np.object_]
    nodes: list[str]
    interfaces: list[str]
    types: list[str]
    readings: list[EndReading]
    type: Ints
    node: Pair
    interface: Pair
    reading: Pair
    lanes: NDArray[np.int64]
    speeds: NDArray[np.float64]
    cables: NDArray[np.object_]
    parts: NDArray[np.object_]

    @classmethod
    def of(cls, found: Mapping[str, Any], readings: Sequence[EndReading]) -> LinkColumns:
        """From arrays by name: `id`, `type`, `lanes`, `speed`, `cable`, `part`, and of both sides
        `node`, `interface` and `reading` (the place in `readings`), those of the far side as `far_node`...
        """
        nodes, interfaces, types = Coder(), Coder(), Coder()
        sides = [
            (nodes.codes(found[f"{side}node"]), interfaces.codes(found[f"{side}interface"]),
             np.array(found[f"{side}reading"], np.int32))
            for side in ("", "far_")
        ]  # fmt: skip
        is_open = sides[1][1] == interfaces.get("", NOWHERE)
        for codes in sides[1]:
            codes[is_open] = NOWHERE
        columns = cls(
            ids=np.asarray(found["id"], object),
            nodes=list(nodes),
            interfaces=list(interfaces),
            types=[],
            readings=list(readings),
            type=types.codes(found["type"]),
            node=(sides[0][0], sides[1][0]),
            interface=(sides[0][1], sides[1][1]),
            reading=(sides[0][2], sides[1][2]),
            lanes=np.asarray(found["lanes"], np.int64),
            speeds=np.asarray(found["speed"], np.float64),
            cables=np.asarray(found["cable"], object),
            parts=np.asarray(found["part"], object),
        )
        for at in np.flatnonzero(columns.type == types.get("", NOWHERE)):
            columns.type[at] = types[link_type_of(columns.interfaces[columns.interface[0][at]])]
        columns.types = list(types)
        return columns

    def in_order(self) -> LinkColumns:
        """The rows by node, device, number of the port, and interface."""
        devices = [device_of(interface) for interface in self.interfaces]
        node, interface = self.node[0], self.interface[0]
        numbers = np.array([port_number(text) for text in self.interfaces], np.int64)
        order = np.lexsort(
            (_places(self.interfaces)[interface], numbers[interface], _places(devices)[interface],
             _places(self.nodes)[node])
        )  # fmt: skip
        return LinkColumns(
            self.ids[order], self.nodes, self.interfaces, self.types, self.readings, self.type[order],
            (node[order], self.node[1][order]), (interface[order], self.interface[1][order]),
            (self.reading[0][order], self.reading[1][order]), self.lanes[order], self.speeds[order],
            self.cables[order], self.parts[order],
        )  # fmt: skip


class Coder(dict[str, int]):
    """Numbers texts in the order in which they are met."""

    def __missing__(self, text: str) -> int:
        """The next number."""
        self[text] = number = len(self)
        return number

    def codes(self, texts: Sequence[str]) -> Ints:
        """The numbers of many texts."""
        return np.fromiter(map(self.__getitem__, texts), np.int32, len(texts))


def port_number(interface: str) -> int:
    """The number that an interface ends with; those without one come last."""
    found = _NUMBER.search(interface)
    return int(found.group(1)) if found else _NO_NUMBER


def _places(texts: Sequence[str]) -> Ints:
    """The place of each text among all of them in order."""
    places = {text: place for place, text in enumerate(sorted(set(texts)))}
    return np.array([places[text] for text in texts], np.int32)


def texts_column(texts: Iterable[str]) -> NDArray[np.object_]:
    """Texts as a column, whatever their lengths."""
    found = list(texts)
    column = np.empty(len(found), object)
    column[:] = found
    return column
