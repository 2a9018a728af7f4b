"""Rows and columns of the link-health matrix: which link stands in which cell, and what stands out.

No drawing here: the terminal and the portal give the cells their signs. A cell is one link, seen from
its own end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from fabric_pipeline.model.components import natural_key
from fabric_pipeline.workflows.fabric_view_model import (
    TROUBLE,
    End,
    FabricView,
    Link,
    rank,
)

Kind = Literal["nvlink", "nic", "pcie"]
Column = tuple[str, str]  # group and name
Natural = tuple[tuple[int, int, str], ...]
WORTH_A_LOOK = 0.02  # shares of a limit below this are grey
# A colour or a sign from each of these shares of the limit on; the last is the limit itself.
SHARE_STEPS = (WORTH_A_LOOK, 0.10, 0.25, 0.50, 1.0)

_LAST_NUMBER = re.compile(r"\d{1,6}(?:/\d{1,3})?$")
_MOST_COLUMNS = 64
_MOST_SILENT = 8


@dataclass
class Row:
    """One line: its name, `group` ("" for nodes and GPUs, `switch`), and its links by column.

    `worst_link` is kept once asked for: ask when all cells are there.
    """

    name: str
    group: str
    node: str
    cells: dict[Column, Link] = field(default_factory=dict)

    @property
    def state(self) -> str:
        """State of its worst link."""
        return self.worst_link.state

    @cached_property
    def worst_link(self) -> Link:
        """The link that stands out most: by state, then by share of its limit."""
        return max(self.cells.values(), key=_weight)

    @property
    def is_silent(self) -> bool:
        """True when none of its links gave any data."""
        return all(link.state == "no_data" for link in self.cells.values())

    @property
    def is_clean(self) -> bool:
        """True when every link was measured and none is worth a look."""
        return all(link.state == "healthy" and not stands_out(link) for link in self.cells.values())

    @property
    def stands_out(self) -> bool:
        """True when a link is worth a look."""
        return stands_out(self.worst_link)


def stands_out(link: Link) -> bool:
    """True for trouble, and for a count that is worth a look against its limit."""
    return link.state in TROUBLE or (link.share or 0.0) >= WORTH_A_LOOK


def rows_of(links: Iterable[Link], kind: Kind) -> list[Row]:
    """Rows with the worst first, then by name; rows of switches come last."""
    rows: dict[tuple[str, str], Row] = {}
    for link in links:
        end = next((end for end in link.ends if end.node), link.a) if kind == "nic" else link.a
        group = "switch" if not end.node and kind == "nic" and "/port-" in end.interface else ""
        name = end.device if group else end.node
        if kind == "nvlink" and end.device != end.interface:
            name = f"{end.node} {end.device}".strip()
        row = rows.setdefault((group, name), Row(name, group, end.node))
        row.cells[_column(end, kind, group)] = link
    return sorted(rows.values(), key=row_order)


def silent_rows(view: FabricView, rows: Iterable[Row]) -> list[tuple[Row, int]]:
    """Rows without any data, one for each node, with the number of rows each stands for."""
    known = {node.name for node in view.nodes}
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.is_silent:
            found.setdefault(row.node if row.node in known else row.name, []).append(row)
    merged = []
    for name, part in list(found.items())[:_MOST_SILENT]:
        cells = {key: link for row in part for key, link in row.cells.items()}
        merged.append((Row(name, part[0].group, part[0].node, cells), len(part)))
    return merged


def columns_of(rows: Sequence[Row], shown: Sequence[Row]) -> list[Column]:
    """Columns in order; of very many, only those with something to see in the rows shown."""
    columns = {key for row in rows for key in row.cells}
    if len(columns) > _MOST_COLUMNS:
        columns = {
            key
            for row in shown
            for key, link in row.cells.items()
            if stands_out(link) or link.state == "no_data"
        }
    return sorted(columns, key=_column_order)


def column_number(column: Column) -> str:
    """What stands above a column: the number of a link, port or device; a PCI address in short."""
    group, name = column
    if group == "PCI":
        return name[-7:]
    found = _LAST_NUMBER.search(name)
    return found.group() if found else "-"


def _column(end: End, kind: Kind, group: str) -> Column:
    """The link number, the port, or the device that a PCIe link serves."""
    last = end.interface.rpartition("/")[2]
    if group == "switch":
        return "port", last
    if kind == "nvlink":
        return ("NVLink", last) if last.startswith("nvlink") else ("port", last)
    if kind == "pcie":
        if end.device.startswith("gpu"):
            return "GPU", end.device
        if end.device.startswith("pci-"):
            return "PCI", end.interface
        if "switch" in end.device:
            return "PCIe switch", end.interface
    name = end.interface.removesuffix("/1") if kind == "nic" else end.device
    return _LAST_NUMBER.sub("", name) or "NIC", name


def _column_order(key: Column) -> tuple[int, Natural, Natural]:
    group, name = key
    place = {"NVLink": 0, "GPU": 0, "PCIe switch": 2, "PCI": 2}.get(group, 1)
    return place, natural_key(group), natural_key(name)


def row_order(row: Row) -> tuple[str, float, float, Natural]:
    """Sort key: the group, then the worst link first, then the name."""
    state, share, _ = _weight(row.worst_link)
    return row.group, -state, -share, natural_key(row.name)


def _weight(link: Link) -> tuple[int, float, bool]:
    """Trouble first, then the share of the limit; no data only where there is nothing else."""
    trouble = rank(link.state) if link.state in TROUBLE else 0
    return trouble, link.share or 0.0, link.state == "no_data"
