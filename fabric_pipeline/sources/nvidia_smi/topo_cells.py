"""The cells of a `nvidia-smi topo -m` matrix: the words they may hold, and how damage shows.

Pure text work on one table; what the table means for GPUs and sockets stands in `topo_matrix`.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

RELATION = re.compile(r"^(?:X|NV\d{1,2}|PIX|PXB|PHB|NODE|SYS|SOC|OK|NS|CNS|GNS|TNS|DR|U)$")
_CPU_LIST = re.compile(r"^\d{1,5}(?:-\d{1,5})?(?:,\d{1,5}(?:-\d{1,5})?){0,200}$")
_NUMA = re.compile(r"^(?:\d{1,3}(?:[-,]\d{1,3}){0,8}|N/A)$")
_DEVICE = re.compile(r"^[A-Za-z][\w.-]{0,40}$")
_AFFINITY_HEADS = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")


@dataclass(frozen=True, slots=True)
class Header:
    """Column names: devices first, then which of the affinity columns the driver prints."""

    devices: tuple[str, ...]
    tails: tuple[str, ...]


@dataclass(slots=True)
class Row:
    """One row: relations to the devices that could be read, and the affinity texts by column.

    `damage` says in words what could not be read; cells behind damage are left out.
    """

    line: int
    name: str
    text: str
    relations: dict[str, str] = field(default_factory=dict)
    tails: dict[str, str] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)


def parse_header(text: str) -> Header | None:
    """The header of a matrix, or None when the line is none."""
    rest, tails = text, []
    for name in _AFFINITY_HEADS:
        pattern = re.compile(re.sub(" ", r"\\s+", name), re.I)
        if pattern.search(rest):
            tails.append(name)
            rest = pattern.sub(" ", rest, count=1)
    words = rest.split()
    if not words or not words[0].startswith("GPU") or len(set(words)) != len(words):
        return None
    if not all(_DEVICE.match(word) for word in words) or any(RELATION.match(w) for w in words):
        return None
    gpus = [word for word in words if re.match(r"^GPU\d{1,3}$", word)]
    return Header(tuple(words), tuple(tails)) if gpus else None


def parse_row(line: int, text: str, header: Header) -> Row | None:
    """A row of the matrix, or None when the line does not begin with a device name and cells."""
    words = text.split()
    if len(words) < 2 or not _DEVICE.match(words[0]) or "=" in words[1] or words[0].endswith(":"):
        return None
    known = words[0] in header.devices or re.match(r"^(?:GPU|NIC)\d{1,3}$|^mlx\d", words[0])
    if not known or not (RELATION.match(words[1]) or words[0].startswith(("GPU", "NIC"))):
        return None
    row = Row(line, words[0], text)
    rest = _read_relations(row, words[1:], header)
    if not row.damage:
        _read_tails(row, rest, header)
    return row


def _read_relations(row: Row, cells: list[str], header: Header) -> list[str]:
    for position, device in enumerate(header.devices):
        if position >= len(cells):
            row.damage.append(f"the row of {row.name} ends before its cell for {device}")
            return []
        if not RELATION.match(cells[position]):
            row.damage.append(
                f"the cell of {row.name} for {device} reads {cells[position][:40]!r}, which is no "
                "relation; cells ran together or are missing, so the rest of the row is not read"
            )
            return []
        row.relations[device] = cells[position]
    if row.name in row.relations and row.relations[row.name] != "X":
        row.damage.append(f"the X of {row.name} stands in another column, so a cell is missing")
        row.relations.clear()
    return cells[len(header.devices) :]


def _read_tails(row: Row, cells: list[str], header: Header) -> None:
    if not cells:
        if row.name.startswith("GPU") and header.tails:
            row.damage.append(f"the row of {row.name} has no {' and no '.join(header.tails)}")
        return
    for name, cell in zip(header.tails, cells, strict=False):
        good = _is_cpu_list(cell) if name == "CPU Affinity" else bool(_NUMA.match(cell))
        if good or cell == "N/A":
            row.tails[name] = cell
        else:
            row.damage.append(
                f"the {name} of {row.name} reads {cell[:60]!r}, which is no list of numbers"
            )
    missing = [name for name in header.tails[len(cells) :] if name != "GPU NUMA ID"]
    if missing:
        row.damage.append(f"the row of {row.name} ends before its {' and '.join(missing)}")


def _is_cpu_list(cell: str) -> bool:
    if not _CPU_LIST.match(cell):
        return False
    ranges = [part.split("-") for part in cell.split(",")]
    return all(int(part[0]) <= int(part[-1]) for part in ranges)


def reject_shortened(rows: list[Row]) -> None:
    """Withdraw CPU lists that are the tail of what the others of the same NUMA node read.

    Such a list looks well formed (`2-63,96-127`) but has lost its first characters.
    """
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if "CPU Affinity" in row.tails and row.tails.get("NUMA Affinity", "N/A") != "N/A":
            groups.setdefault(row.tails["NUMA Affinity"], []).append(row)
    for numa, members in groups.items():
        usual, count = Counter(r.tails["CPU Affinity"] for r in members).most_common(1)[0]
        for row in members:
            cell = row.tails["CPU Affinity"]
            if cell != usual and usual.endswith(cell) and count > 1:
                del row.tails["CPU Affinity"]
                row.damage.append(
                    f"the CPU Affinity of {row.name} reads {cell!r}, the end of {usual!r} that the "
                    f"other GPUs of NUMA node {numa} have: its first characters are missing"
                )
