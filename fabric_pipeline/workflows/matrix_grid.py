"""The link-health matrix as a grid of bytes: one row a node or switch, one column a link.

Counted over the columns of a `FabricView`'s links, without making them; worst rows come first, clean rows
last, so that a page can fold them away. What colour a byte gets is decided where it is drawn.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from fabric_pipeline.model.components import component_id, device_of, gpu_index, natural_key
from fabric_pipeline.workflows.fabric_view_model import (
    DOWN,
    LINK_KINDS,
    STATES,
    TROUBLE,
    FabricView,
    Link,
    Links,
)
from fabric_pipeline.workflows.matrix_rows import SHARE_STEPS, WORTH_A_LOOK, Column, Natural

# A cell is one byte: the level in the low four bits, the state (0 quiet, 1 watch, 2 warning, 3 critical)
# in the two above. Levels 1 to 5 are the steps of `SHARE_STEPS`.
QUIET, UNLIMITED, NO_DATA, LITTLE, NO_LINK = 0, 6, 7, 8, 15
_HEALTHY, _SILENT, _TROUBLE = (STATES.index(state) for state in ("healthy", "no_data", TROUBLE[0]))
# A fabric of 5,000 nodes with 176 links each stays below this; of more, the worst rows are drawn.
MAX_CELLS = 1_000_000
MAX_COLUMNS = 1_024
MAX_NOTES = 4_000
# Nodes that all fit on a screen are all shown; clean ones of more are folded.
FOLDED_ABOVE = 16

_PORT_INTERFACE = re.compile(r"^[^/]+/port-")
_GROUPS = ("GPU", "NVLink", "PCIe", "Network", "Other")
Whole = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class GridRow:
    """One line. `group` is "" for nodes and `switch` for switches; state, share and `is_clean` are of its links.

    `share` is the one of its worst link, 0 without any; clean means all measured and nothing worth a look.
    """

    name: str
    group: str
    node: str
    state: str
    share: float
    is_clean: bool

    @property
    def order(self) -> tuple[bool, bool, int, float, Natural]:
        """Sort key: what stands out, then what has no data, then what is clean; the worst first."""
        trouble = STATES.index(self.state) if self.state in TROUBLE else 0
        stands_out = trouble > 0 or self.share >= WORTH_A_LOOK
        return self.is_clean, not stands_out, -trouble, -self.share, natural_key(self.name)


@dataclass
class Section:
    """Nodes, or switches. Cell of row r and column c: `cells[r * len(columns) + c]`.

    `open_rows` come before those that are clean. `notes` are links with something to tell, by cell;
    `prefix` of a row before the name of a column is a component id.
    """

    noun: str
    rows: list[GridRow]
    columns: list[Column]
    open_rows: int
    cells: bytes
    notes: dict[int, Link] = field(default_factory=dict)
    rows_left_out: int = 0
    columns_left_out: int = 0

    @property
    def clean_rows(self) -> int:
        """Rows in which every link was measured and nothing is worth a look."""
        return len(self.rows) - self.open_rows

    def prefix(self, row: GridRow) -> str:
        """What stands before the name of a column in the id of a component of this row."""
        start = component_id(row.node, "x")[:-1]
        return f"{start}{row.name}/" if row.group else start


@dataclass(frozen=True)
class MatrixGrid:
    """Sections that have links, and the number of links by kind and state."""

    sections: list[Section]
    counts: dict[str, Counter[str]]

    @property
    def cells(self) -> int:
        """How many cells all sections have together."""
        return sum(len(section.cells) for section in self.sections)


@dataclass(frozen=True)
class _Shown:
    """The links of a grid: their places in the view, row and column of each, and its byte."""

    links: Links
    at: Whole
    row: Whole
    column: Whole
    code: NDArray[np.uint8]
    rows: list[GridRow]
    columns: list[Column]


def matrix_grid(view: FabricView, kind: str = "") -> MatrixGrid:
    """The grid of a fabric, of all links or of one kind of `LINK_KINDS`."""
    shown = _shown(view.links, np.flatnonzero(_is_of(view.links, kind)))
    parts = [_section("node", shown, ""), _section("switch", shown, "switch")]
    return MatrixGrid([part for part in parts if part.rows], counts_of(view))


def counts_of(view: FabricView) -> dict[str, Counter[str]]:
    """Links by kind and state; kinds without links are left out."""
    kinds = {name: kind for kind, names in LINK_KINDS.items() for name in names}
    found: dict[str, Counter[str]] = {}
    for link_type, states in view.links.counts().items():
        found.setdefault(kinds.get(link_type, "other"), Counter()).update(states)
    return {kind: found[kind] for kind in (*LINK_KINDS, "other") if kind in found}


def worst_links(view: FabricView, kind: str = "", most: int = 50) -> tuple[list[Link], int]:
    """Links that stand out, the worst first and `most` of them, and how many there are in all."""
    links = view.links
    found = np.flatnonzero(_is_of(links, kind) & _stands_out(links))
    order = np.lexsort((-np.nan_to_num(links.shares[found]), -links.states[found]))
    few = [links[int(at)] for at in found[order][: 4 * most]]
    few.sort(key=lambda link: (-STATES.index(link.state), -(link.share or 0.0), link.link_id))
    return few[:most], len(found)


def level_of(link: Link) -> int:
    """The level of a cell: a step of its share, or one of the named levels."""
    return int(_levels(Links.of([link]))[0])


def _levels(links: Links) -> NDArray[np.uint8]:
    shares = links.shares
    steps = np.searchsorted(SHARE_STEPS, np.nan_to_num(shares), side="right")
    counted = np.array([bool(one.counter) for one in links.columns.readings], bool)
    near, far = links.columns.reading
    is_counted = counted[near] | (counted[far] & (far >= 0))
    levels = np.where(steps > 0, steps, np.where(np.nan_to_num(shares) > 0, LITTLE, QUIET))
    levels = np.where(np.isnan(shares), np.where(is_counted, UNLIMITED, QUIET), levels)
    return np.where(links.states == _SILENT, NO_DATA, levels).astype(np.uint8)


def _stands_out(links: Links) -> NDArray[np.bool_]:
    return np.asarray(
        (links.states >= _TROUBLE) | (np.nan_to_num(links.shares) >= WORTH_A_LOOK), np.bool_
    )


def _is_of(links: Links, kind: str) -> NDArray[np.bool_]:
    wanted = [not kind or name in LINK_KINDS[kind] for name in links.columns.types]
    return np.array(wanted, bool)[links.columns.type]


def _shown(links: Links, at: Whole) -> _Shown:
    columns = links.columns
    outside = columns.nodes.index("") if "" in columns.nodes else -1
    far_node = columns.node[1][at]
    is_far = (columns.node[0][at] == outside) & (far_node >= 0) & (far_node != outside)
    node, interface = (
        np.where(is_far, pair[1][at], pair[0][at]) for pair in (columns.node, columns.interface)
    )
    has_node = node != outside
    owners, row = _owners(links, np.where(has_node, node, ~interface))
    many = len(columns.types)
    keys, column = np.unique(
        (interface * many + columns.type[at]) * 2 + has_node, return_inverse=True
    )
    found = [
        _column(bool(key % 2), columns.interfaces[key // 2 // many], columns.types[key // 2 % many])
        for key in keys.tolist()
    ]
    distinct = sorted(set(found), key=_column_order)
    places = {each: place for place, each in enumerate(distinct)}
    column = np.array([places[each] for each in found], np.intp)[column] if found else column
    code = _levels(links)[at] | (np.maximum(links.states[at] - _SILENT, 0) << 4).astype(np.uint8)
    return _Shown(links, at, row, column, code, _rows(links, at, owners, row), distinct)


def _owners(links: Links, keys: Whole) -> tuple[list[tuple[str, str]], Whole]:
    """Group and name of the rows, and the row of each link; keys are nodes, or `~` an interface outside them."""
    columns = links.columns
    found, place = np.unique(keys, return_inverse=True)
    names = []
    for key in found.tolist():
        interface = "" if key >= 0 else columns.interfaces[~key]
        is_switch = bool(_PORT_INTERFACE.match(interface))
        names.append(
            ("", columns.nodes[key]) if key >= 0 else ("switch", device_of(interface)) if is_switch else ("", "")
        )  # fmt: skip
    distinct = list(dict.fromkeys(names))
    numbers = {name: number for number, name in enumerate(distinct)}
    return distinct, np.array([numbers[name] for name in names], np.intp)[place]


def _rows(links: Links, at: Whole, owners: Sequence[tuple[str, str]], row: Whole) -> list[GridRow]:
    """The rows with their worst link: by trouble, then by share; no data only where there is nothing else."""
    if not len(at):
        return []
    states, shares = links.states[at], np.nan_to_num(links.shares[at])
    trouble = np.where(states >= _TROUBLE, states, 0)
    order = np.lexsort((states == _SILENT, shares, trouble, row))
    ends = np.append(np.flatnonzero(np.diff(row[order])), len(at) - 1)
    worst = order[ends]
    is_good = (states == _HEALTHY) & ~_stands_out(links)[at]
    clean = np.logical_and.reduceat(is_good[order], np.append(0, ends[:-1] + 1))
    return [
        GridRow(name, group, "" if group else name, STATES[states[n]], float(shares[n]), bool(is_clean))
        for (group, name), n, is_clean in zip(owners, worst, clean, strict=True)
    ]  # fmt: skip


@lru_cache(maxsize=65_536)
def _column(has_node: bool, interface: str, link_type: str) -> Column:
    """Group for the heading and the interface; the ports of all switches share their columns."""
    if not has_node and _PORT_INTERFACE.match(interface):
        return "Port", interface.partition("/")[2]
    if link_type == "nvlink":
        gpu = gpu_index(interface)
        return ("NVLink" if gpu is None else f"GPU {gpu}"), interface
    if link_type == "pcie":
        return "PCIe", interface
    return ("Network" if link_type in LINK_KINDS["nic"] else "Other"), interface


def _column_order(column: Column) -> tuple[int, Natural, int, Natural]:
    """Links of GPUs first; among PCIe links those of GPUs, then of NICs, then of switches."""
    group, name = column
    place = 0 if group == "Port" else _GROUPS.index(group.partition(" ")[0])
    device = 0 if name.startswith("gpu") else 1 if name.startswith("mlx") else 2
    return place, natural_key(group), device, natural_key(name)


def _section(noun: str, shown: _Shown, group: str) -> Section:
    own = [number for number, row in enumerate(shown.rows) if row.group == group]
    is_own = np.isin(shown.row, own)
    columns = [shown.columns[n] for n in np.unique(shown.column[is_own])]
    kept = columns[:MAX_COLUMNS]
    ordered = sorted(own, key=lambda number: shown.rows[number].order)
    fitting = ordered[: MAX_CELLS // max(1, len(kept))]
    rows = [shown.rows[number] for number in fitting]
    clean = 0 if len(rows) <= FOLDED_ABOVE else sum(row.is_clean for row in rows)
    section = Section(noun, rows, kept, len(rows) - clean, b"")
    _fill(section, shown, fitting)
    section.rows_left_out = len(ordered) - len(fitting)
    section.columns_left_out = len(columns) - len(kept)
    return section


def _fill(section: Section, shown: _Shown, fitting: Sequence[int]) -> None:
    """Bytes and notes of a section; of several links in one cell the worst one is shown."""
    width = len(section.columns)
    row_place = _places(len(shown.rows), fitting)
    names = {column: place for place, column in enumerate(section.columns)}
    column_place = np.array([names.get(column, -1) for column in shown.columns], np.intp)
    row, column = row_place[shown.row], column_place[shown.column]
    inside = np.flatnonzero((row >= 0) & (column >= 0))
    cell = row[inside] * width + column[inside]
    order = np.lexsort((shown.code[inside], cell))
    inside, cell = inside[order], cell[order]
    last = np.append(np.diff(cell) > 0, [True] * bool(len(cell))).astype(bool)
    inside, cell = inside[last], cell[last]
    cells = np.full(len(section.rows) * width, NO_LINK, np.uint8)
    cells[cell] = shown.code[inside]
    section.cells = cells.tobytes()
    told = ~np.isin(shown.code[inside], (QUIET, NO_DATA)) | _is_down(shown.links, shown.at[inside])
    for n in np.flatnonzero(told)[:MAX_NOTES]:
        section.notes[int(cell[n])] = shown.links[int(shown.at[inside[n]])]


def _places(count: int, chosen: Sequence[int]) -> Whole:
    places = np.full(count, -1, np.intp)
    places[np.array(chosen, np.intp)] = np.arange(len(chosen))
    return places


def _is_down(links: Links, at: Whole) -> NDArray[np.bool_]:
    down = np.array([one is DOWN for one in links.columns.readings], bool)
    near, far = (side[at] for side in links.columns.reading)
    return np.asarray(down[near] | (down[far] & (far >= 0)), np.bool_)


def groups_of(columns: Sequence[Column]) -> Iterable[tuple[str, list[str]]]:
    """Columns by their heading, in order."""
    found: dict[str, list[str]] = {}
    for group, name in columns:
        found.setdefault(group, []).append(name)
    return found.items()
