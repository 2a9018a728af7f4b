"""The link-health matrix as a grid of bytes: one row a node or switch, one column a link.

Made from a `FabricView`; worst rows come first, clean rows last, so that a page can fold them away. What
colour a byte gets is decided where it is drawn.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from fabric_pipeline.model.components import component_id, gpu_index, natural_key
from fabric_pipeline.workflows.fabric_view_model import (
    DOWN,
    LINK_KINDS,
    STATES,
    TROUBLE,
    End,
    FabricView,
    Link,
)
from fabric_pipeline.workflows.matrix_rows import (
    SHARE_STEPS,
    Column,
    Natural,
    Row,
    row_order,
    stands_out,
)

# A cell is one byte: the level in the low four bits, the state (0 quiet, 1 watch, 2 warning, 3 critical)
# in the two above. Levels 1 to 5 are the steps of `SHARE_STEPS`.
QUIET, UNLIMITED, NO_DATA, LITTLE, NO_LINK = 0, 6, 7, 8, 15
_STATE_BITS = {state: place << 4 for place, state in enumerate(TROUBLE, 1)}
# A fabric of 5,000 nodes with 176 links each stays below this; of more, the worst rows are drawn.
MAX_CELLS = 1_000_000
MAX_COLUMNS = 1_024
MAX_NOTES = 4_000
# Nodes that all fit on a screen are all shown; clean ones of more are folded.
FOLDED_ABOVE = 16

_PORT_INTERFACE = re.compile(r"^[^/]+/port-")
_GROUPS = ("GPU", "NVLink", "PCIe", "Network", "Other")


@dataclass
class Section:
    """Nodes, or switches. Cell of row r and column c: `cells[r * len(columns) + c]`.

    `open_rows` come before those that are clean. `notes` are links with something to tell, by cell;
    `prefix` of a row before the name of a column is a component id.
    """

    noun: str
    rows: list[Row]
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

    def prefix(self, row: Row) -> str:
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


def matrix_grid(view: FabricView, kind: str = "") -> MatrixGrid:
    """The grid of a fabric, of all links or of one kind of `LINK_KINDS`."""
    wanted = LINK_KINDS[kind] if kind else None
    links = [link for link in view.links if wanted is None or link.link_type in wanted]
    rows: dict[tuple[str, str], Row] = {}
    for link in links:
        end = link.a if link.a.node or link.b is None or not link.b.node else link.b
        group, name = ("", end.node) if end.node else _owner_of(end)
        row = rows.get((group, name))
        if row is None:
            row = rows[group, name] = Row(name, group, end.node)
        column = _column(bool(end.node), end.interface, link.link_type)
        known = row.cells.get(column)
        if known is None or _code(known) < _code(link):
            row.cells[column] = link
    nodes = [row for row in rows.values() if not row.group]
    switches = [row for row in rows.values() if row.group]
    parts = [_section("node", nodes), _section("switch", switches)]
    return MatrixGrid([part for part in parts if part.rows], counts_of(view))


def counts_of(view: FabricView) -> dict[str, Counter[str]]:
    """Links by kind and state; kinds without links are left out."""
    kinds = {name: kind for kind, names in LINK_KINDS.items() for name in names}
    found: dict[str, Counter[str]] = {}
    for link in view.links:
        found.setdefault(kinds.get(link.link_type, "other"), Counter())[link.state] += 1
    return {kind: found[kind] for kind in (*LINK_KINDS, "other") if kind in found}


def worst_links(view: FabricView, kind: str = "", most: int = 50) -> tuple[list[Link], int]:
    """Links that stand out, the worst first and `most` of them, and how many there are in all."""
    wanted = LINK_KINDS[kind] if kind else None
    found = [
        link
        for link in view.links
        if stands_out(link) and (wanted is None or link.link_type in wanted)
    ]
    found.sort(key=lambda link: (-STATES.index(link.state), -(link.share or 0.0), link.link_id))
    return found[:most], len(found)


def level_of(link: Link) -> int:
    """The level of a cell: a step of its share, or one of the named levels."""
    if link.state == "no_data":
        return NO_DATA
    if link.share is None:
        return UNLIMITED if any(end.reading.counter for end in link.ends) else QUIET
    if link.share < SHARE_STEPS[0]:
        return LITTLE if link.share > 0 else QUIET
    return max(step for step, limit in enumerate(SHARE_STEPS, 1) if link.share >= limit)


def _code(link: Link) -> int:
    return level_of(link) | _STATE_BITS.get(link.state, 0)


def _owner_of(end: End) -> tuple[str, str]:
    """Group and name of the row that a link end outside the nodes belongs to."""
    return ("switch", end.device) if _PORT_INTERFACE.match(end.interface) else ("", "")


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


def _section(noun: str, rows: list[Row]) -> Section:
    columns = sorted({column for row in rows for column in row.cells}, key=_column_order)
    kept = columns[:MAX_COLUMNS]
    ordered = sorted(rows, key=lambda row: (row.is_clean, not row.stands_out, row_order(row)))
    fitting = ordered[: MAX_CELLS // max(1, len(kept))]
    is_open = len(fitting) <= FOLDED_ABOVE
    clean = 0 if is_open else sum(row.is_clean for row in fitting)
    cells = bytearray([NO_LINK]) * (len(fitting) * len(kept))
    section = Section(noun, fitting, kept, len(fitting) - clean, b"")
    _fill(cells, section)
    section.cells = bytes(cells)
    section.rows_left_out = len(ordered) - len(fitting)
    section.columns_left_out = len(columns) - len(kept)
    return section


def _fill(cells: bytearray, section: Section) -> None:
    places = {column: place for place, column in enumerate(section.columns)}
    width = len(section.columns)
    for number, row in enumerate(section.rows):
        for column, link in row.cells.items():
            place = places.get(column)
            if place is None:
                continue
            at = number * width + place
            cells[at] = code = _code(link)
            if len(section.notes) < MAX_NOTES and (code not in (QUIET, NO_DATA) or _is_down(link)):
                section.notes[at] = link


def _is_down(link: Link) -> bool:
    return any(end.reading is DOWN for end in link.ends)


def groups_of(columns: Sequence[Column]) -> Iterable[tuple[str, list[str]]]:
    """Columns by their heading, in order."""
    found: dict[str, list[str]] = {}
    for group, name in columns:
        found.setdefault(group, []).append(name)
    return found.items()
