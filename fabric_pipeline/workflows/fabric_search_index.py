"""Texts of one drop laid out for searching: facts of the topology, and names of all link ends.

Made once for a view and kept as long as it lives; finding in it takes milliseconds whatever the size of
the fabric. What a hit means is decided by `fabric_search`.
"""

from __future__ import annotations

import json
import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.duck import session
from fabric_pipeline.store.lake import attach
from fabric_pipeline.workflows.fabric_view_model import FabricView, Link, Links

MOST_ROWS = 400
# What a link states beyond the columns of a view and is printed on it or on its plugs.
_PRINTED = ("guid", "lid", "cable_serial", "cable_part_number")
_TOPOLOGY_SQL = f"""
select kind, node, interface, entity_id, attributes from fabric_topology
where kind in ('node', 'gpu', 'nic', 'nvswitch', 'pcie_switch', 'switch')
    or (kind = 'link' and ({" or ".join(f"contains(attributes, '{name}')" for name in _PRINTED)}))
order by entry
"""


class Stated(NamedTuple):
    """One row of the topology; `attributes` is JSON."""

    kind: str
    node: str
    interface: str
    entity_id: str
    attributes: str


class Texts:
    """Many texts as one, in which a part is found without looking at each."""

    def __init__(self, texts: Iterable[str]) -> None:
        """Letter case is folded here."""
        folded = [text.casefold().replace("\n", " ") for text in texts]
        self._whole = "\n".join(folded) + "\n"
        self._starts = [0, *accumulate(len(text) + 1 for text in folded)]

    def holding(self, part: str, most: int = MOST_ROWS) -> Iterator[int]:
        """Places of the texts that hold a part, which must be folded; not more than `most`."""
        at = self._whole.find(part)
        while at >= 0 and most > 0:
            place = bisect_right(self._starts, at) - 1
            yield place
            most -= 1
            at = self._whole.find(part, self._starts[place + 1])


class SearchIndex:
    """What can be searched in one drop beyond the names of its nodes and switches."""

    def __init__(self, view: FabricView, stated: Sequence[Stated]) -> None:
        """`stated` are the rows of the topology."""
        columns = view.links.columns
        self.links: Links = view.links
        self.stated = stated
        self._stated = Texts(row.attributes for row in stated)
        self._cables = Texts(
            f"{one}\x1f{cable}\x1f{part}"
            for one, cable, part in zip(columns.ids, columns.cables, columns.parts, strict=True)
        )
        self._nodes = [name.casefold() for name in columns.nodes]
        self._interfaces = [name.casefold() for name in columns.interfaces]

    def stated_with(self, part: str) -> list[Stated]:
        """Rows of the topology whose attributes hold a part, the shortest first."""
        written = json.dumps(part, ensure_ascii=False)[1:-1]
        found = [self.stated[place] for place in self._stated.holding(written)]
        return sorted(found, key=lambda row: len(row.attributes))

    def links_with(self, part: str) -> list[Link]:
        """Links whose id, cable, part or end holds a part, those with such an end first."""
        places = dict.fromkeys([*self._with_end(part), *self._cables.holding(part)])
        return [self.links[place] for place in list(places)[:MOST_ROWS]]

    def _with_end(self, part: str) -> list[int]:
        columns = self.links.columns
        fits = np.zeros(len(self.links), bool)
        whole = [at for at, name in enumerate(self._interfaces) if part in name]
        for side in (0, 1):
            fits |= np.isin(columns.interface[side], whole)
        for node_part, port_part in _splits(part):
            nodes = [at for at, name in enumerate(self._nodes) if name.endswith(node_part)]
            ports = [at for at, name in enumerate(self._interfaces) if name.startswith(port_part)]
            for side in (0, 1):
                fits |= np.isin(columns.node[side], nodes) & np.isin(columns.interface[side], ports)
        found = np.flatnonzero(fits)[: 4 * MOST_ROWS]
        return [int(at) for at in found]


def index_of(settings: Settings, view: FabricView) -> SearchIndex:
    """The index of this very view; made when first asked for."""
    with _lock:
        known = _kept.get(view)
        if known is None:
            known = _kept[view] = SearchIndex(view, _stated(settings, view.drop))
        return known


_kept: WeakKeyDictionary[FabricView, SearchIndex] = WeakKeyDictionary()
_lock = threading.Lock()


def _splits(part: str) -> Iterator[tuple[str, str]]:
    """Every way in which a part may span the colon between a node and its port."""
    for at, sign in enumerate(part):
        if sign == ":":
            yield part[:at], part[at + 1 :]


def _stated(settings: Settings, drop: str) -> list[Stated]:
    connection: Any = session()
    try:
        if not attach(connection, settings.lake, "fabric_topology", drop):
            return []
        return [Stated(*row) for row in connection.execute(_TOPOLOGY_SQL).fetchall()]
    finally:
        connection.close()
