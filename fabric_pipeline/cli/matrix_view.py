"""The link-health matrix in text: one row a GPU or node, one column a link, cell = share of its limit.

Worst rows first; rows in which nothing stands out are folded into one line with their count. Pure: a
`FabricView` and a width in, rich text out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from rich.cells import cell_len
from rich.console import Group
from rich.text import Text

from fabric_pipeline.cli.fabric_style import (
    COLOURS,
    MUTED,
    TITLE,
    Glyphs,
    counter_text,
    figure,
    glyphs,
    plural,
    span_text,
    word,
)
from fabric_pipeline.cli.link_list import LinkList, state_counts
from fabric_pipeline.cli.text_layout import Lines, packed, padded, picture, text, wrapped
from fabric_pipeline.detect.spikes.thresholds import SpikeLimits
from fabric_pipeline.model.components import natural_key
from fabric_pipeline.workflows.fabric_view_model import (
    LINK_KINDS,
    TROUBLE,
    FabricView,
    Link,
    rank,
    worst,
)

Kind = Literal["nvlink", "nic", "pcie"]
_TITLES = {"nvlink": "NVLink", "nic": "Network links", "pcie": "PCIe"}
_ROWS = {"nvlink": "GPU", "nic": "node", "pcie": "node"}
# Below the first figure a share is grey (portal: grey below 2 %); then one sign of the ramp each.
_STEPS = (0.02, 0.10, 0.25, 0.50, 1.0)
_RAMP_COLOURS = (MUTED, "yellow", "yellow", "bold yellow", "bold red")
_NUMBER = re.compile(r"\d{1,6}(?:/\d{1,3})?$")
_MOST_ROWS = 200
_MOST_SILENT = 8


@dataclass(slots=True)
class Row:
    """One line of the matrix: its name, and its links by (column group, column name)."""

    name: str
    group: str
    node: str
    cells: dict[tuple[str, str], Link] = field(default_factory=dict)

    @property
    def state(self) -> str:
        """Worst state of its links."""
        return worst(link.state for link in self.cells.values())

    @property
    def worst_link(self) -> Link:
        """The link that stands out most."""
        return max(self.cells.values(), key=_weight)

    @property
    def is_silent(self) -> bool:
        """True when none of its links gave any data."""
        return all(link.state == "no_data" for link in self.cells.values())

    @property
    def stands_out(self) -> bool:
        """True when a link has trouble or has counted a share of its limit worth a look."""
        return any(
            link.state in TROUBLE or (_share(link) or 0.0) >= _STEPS[0]
            for link in self.cells.values()
        )


def render_matrix(view: FabricView, *, kind: Kind, width: int, unicode: bool = True) -> Group:
    """The matrix of one kind of link, no line wider than `width` columns."""
    signs = glyphs(unicode)
    links = [link for link in view.links if link.link_type in LINK_KINDS[kind]]
    lines = _heading(view, links, kind, signs, width)
    if not links:
        lines += wrapped(f"No {_TITLES[kind]} is stated or measured in this drop.", width)
        return picture(lines, width)
    rows = _rows(links, kind)
    for group in dict.fromkeys(row.group for row in rows):
        lines += _table([row for row in rows if row.group == group], kind, signs, width)
    lines += [text(), *_legend(kind, signs, width)]
    silent = [node for node in view.nodes if node.state == "no_data"]
    lines += LinkList(view, signs, width).silent(silent)
    return picture(lines, width)


def _heading(
    view: FabricView, links: Sequence[Link], kind: Kind, signs: Glyphs, width: int
) -> Lines:
    title = text((f"{_TITLES[kind]}, share of the limit", TITLE))
    drop = text("drop ", (signs.name(view.drop), TITLE))
    when = text(span_text(view.window_start, view.window_end))
    lines = packed([title, drop, when], width)
    lines += packed([text((plural(len(links), "link"), MUTED)), *state_counts(links, signs)], width)
    for note in view.notes:
        lines += wrapped(note, width, style=COLOURS["watch"])
    return [*lines, text()]


def _rows(links: Sequence[Link], kind: Kind) -> list[Row]:
    """Rows with the worst first, then by name."""
    rows: dict[tuple[str, str], Row] = {}
    for link in links:
        end = next((end for end in link.ends if end.node), link.a) if kind == "nic" else link.a
        name, group = end.node, ""
        if kind == "nvlink":
            name = f"{end.node} {end.device}" if end.device != end.interface else end.node
        elif not end.node:
            name, group = end.device, "switch"
        row = rows.setdefault((group, name), Row(name, group, end.node))
        row.cells[_column(end.device, end.interface, kind, group)] = link
    return sorted(
        rows.values(),
        key=lambda row: (
            row.group,
            *(-part for part in _weight(row.worst_link)),
            natural_key(row.name),
        ),
    )


def _column(device: str, interface: str, kind: Kind, group: str) -> tuple[str, str]:
    """Column group and column: the link number, the port, or the device that a PCIe link serves."""
    if kind == "nvlink":
        return "link", interface.rpartition("/")[2]
    if group == "switch":
        return "port", interface.rpartition("/")[2]
    if kind == "nic":
        return "NIC", interface.removesuffix("/1")
    if device.startswith("gpu"):
        return "GPU", device
    if device.startswith("pci-"):
        return "PCI", device
    return ("switch", device) if "switch" in device else ("NIC", device)


def _share(link: Link) -> float | None:
    shares = [end.reading.share for end in link.ends if end.reading.share is not None]
    return max(shares, default=None)


def _weight(link: Link) -> tuple[float, float, float]:
    events = max((end.reading.events or 0.0 for end in link.ends), default=0.0)
    return rank(link.state), _share(link) or 0.0, events


def _table(rows: Sequence[Row], kind: Kind, signs: Glyphs, width: int) -> Lines:
    shown = [row for row in rows if row.stands_out][:_MOST_ROWS]
    shown += _silent_rows(rows, kind)
    columns = sorted({key for row in rows for key in row.cells}, key=_column_order)
    lines: Lines = []
    if shown:
        names = [signs.name(row.name, 32) or "(name not known)" for row in shown]
        label = 2 + min(max(map(cell_len, names)), max(8, width // 3))
        for part in _parts(columns, width - label - 2):
            lines += _header(part, label, signs)
            for row, name in zip(shown, names, strict=True):
                line = _row_line(row, name, part, label, signs)
                is_last = part[-1] == columns[-1]
                lines.append(_explained(line, row, signs, width) if is_last else line)
            lines.append(text())
    return lines + _folded(rows, shown, kind, signs, width)


def _column_order(key: tuple[str, str]) -> tuple[int, tuple[tuple[int, int, str], ...]]:
    order = {"GPU": 0, "NIC": 1, "PCI": 3}
    return order.get(key[0], 2), natural_key(key[1])


def _silent_rows(rows: Sequence[Row], kind: Kind) -> list[Row]:
    """Hatched rows for what gave no data at all, one a node."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.is_silent:
            found.setdefault(row.node or row.name, []).append(row)
    merged = []
    for name, part in list(found.items())[:_MOST_SILENT]:
        counted = f", {plural(len(part), _ROWS[kind])}" if len(part) > 1 else ""
        cells = {key: link for row in part for key, link in row.cells.items()}
        merged.append(Row(f"{name}{counted}", part[0].group, name, cells))
    return merged


def _parts(columns: Sequence[tuple[str, str]], room: int) -> list[list[tuple[str, str]]]:
    """Columns in as few bands as the room allows; each column takes two characters."""
    fitting = max(1, (room - 2 * len({group for group, _ in columns})) // 2)
    return [list(columns[start : start + fitting]) for start in range(0, len(columns), fitting)]


def _header(columns: Sequence[tuple[str, str]], label: int, signs: Glyphs) -> Lines:
    """Group names, then the number of each column written downwards."""
    numbers = [_number(*key) for key in columns]
    height = max(map(len, numbers))
    top = text(" " * (label + 1))
    below = [text(" " * (label + 1)) for _ in range(height)]
    before = None
    for (group, name), number in zip(columns, numbers, strict=True):
        if group != before:
            top.append(" " * max(0, below[0].cell_len + 1 - top.cell_len)).append(
                _group_title(group, name, signs), MUTED
            )
            for line in below:
                line.append(" ")
            before = group
        for place, line in enumerate(below):
            line.append(number.rjust(height)[place] + " ", MUTED)
    return [top, *below]


def _number(group: str, name: str) -> str:
    """What stands above a column: the number of a link, port or device; a PCI address in short."""
    if group == "PCI":
        return name[-7:]
    found = _NUMBER.search(name)
    return found.group() if found else "-"


def _group_title(group: str, name: str, signs: Glyphs) -> str:
    """`NVLink`, `GPU`, or for NICs the part of the name before the number, such as `mlx5_`."""
    if group == "NIC":
        return signs.name(_NUMBER.sub("", name), 16) or "NIC"
    return {"link": "NVLink", "switch": "PCIe switch", "PCI": "PCI address"}.get(group, group)


def _row_line(
    row: Row, name: str, columns: Sequence[tuple[str, str]], label: int, signs: Glyphs
) -> Text:
    """State and name of the row, then a sign per column."""
    state = row.state
    colour = COLOURS[state] if state != "healthy" else ""
    line = padded(text((f"{signs.states[state]} ", COLOURS[state]), (name, colour)), label)
    line.append(" ")
    before = None
    for key in columns:
        line.append(" " if key[0] != before else "")
        before = key[0]
        line.append_text(_cell(row.cells.get(key), signs)).append(" ")
    return line


def _explained(line: Text, row: Row, signs: Glyphs, width: int) -> Text:
    """The row with its worst link in words, as many as there is room for."""
    if not row.stands_out:
        return line
    link = row.worst_link
    end = max(link.ends, key=lambda end: (end.reading.share or 0.0, end.reading.events or 0.0))
    counted = counter_text(end.reading, signs)
    named = f"{_short(link.a.interface)} {counted}"
    at_far = f"{named} (far end)" if end is link.b else named
    colour = COLOURS[row.state] if row.state in TROUBLE else MUTED
    for said in (at_far, named, counted, counted.rpartition(", ")[2]):
        if cell_len(said) <= width - line.cell_len - 1:
            return line.append(f" {signs.name(said, 160)}", colour)
    return line


def _short(interface: str) -> str:
    """`nvlink-11` of `gpu5/nvlink-11`; other names as they are."""
    device, _, rest = interface.partition("/")
    return rest if rest.startswith("nvlink") and device.startswith("gpu") else interface


def _cell(link: Link | None, signs: Glyphs) -> Text:
    """One sign: hatch, state, ramp, or `+` for errors of a counter without a fixed limit."""
    if link is None:
        return text(" ")
    state, share = link.state, _share(link)
    if state == "no_data":
        return text((signs.states[state], COLOURS[state]))
    if share is None or share < _STEPS[0]:
        if state in TROUBLE:
            return text((signs.states[state], COLOURS[state]))
        counted = share is None and any(end.reading.counter for end in link.ends)
        return text(("+" if counted else signs.states["healthy"], MUTED))
    step = max(number for number, limit in enumerate(_STEPS) if share >= limit)
    return text((signs.ramp[step], _RAMP_COLOURS[step]))


def _folded(
    rows: Sequence[Row], shown: Sequence[Row], kind: Kind, signs: Glyphs, width: int
) -> Lines:
    """Rows without anything to see, counted: clean, partly without data, wholly without data."""
    noun = "switch" if rows[0].group else _ROWS[kind]
    many = "switches" if rows[0].group else ""
    seen = {id(row) for row in shown}
    rest = [row for row in rows if id(row) not in seen]
    clean = [r for r in rest if all(link.state == "healthy" for link in r.cells.values())]
    silent = [row for row in rest if row.is_silent]
    capped = [row for row in rest if row.stands_out]
    gone = {id(row) for row in (*clean, *silent, *capped)}
    partly = [row for row in rest if id(row) not in gone]
    below = f"below {_STEPS[0] * 100:.0f} % of the limit"
    said = (
        ("watch", capped, "stand out as well: see --json"),
        ("healthy", clean, f"with every link measured and {below}"),
        ("no_data", partly, f"with some links without data, the others {below}"),
        ("no_data", silent, "without any data"),
    )
    lines: Lines = []
    for state, part, words in said:
        if part:
            counted = plural(len(part), noun, many)
            if any(row.stands_out for row in shown):
                counted = counted.replace(" ", " more ", 1)
            first, *others = wrapped(f"{counted} {words}", width - 2)
            lines.append(text((f"{signs.states[state]} ", COLOURS[state])).append_text(first))
            lines += [text("  ").append_text(line) for line in others]
    return lines


def _legend(kind: Kind, signs: Glyphs, width: int) -> Lines:
    shares = [text((signs.states["healthy"], MUTED), f" below {_STEPS[0] * 100:.0f} %")]
    for number, (sign, step) in enumerate(zip(signs.ramp, _STEPS, strict=True)):
        end = "of the limit and above" if number == len(_STEPS) - 1 else ""
        shares.append(text((sign, _RAMP_COLOURS[number]), f" {step * 100:.0f} % {end}".rstrip()))
    states = [
        text((signs.states[state], COLOURS[state]), f" {word(state)}")
        for state in (*TROUBLE, "no_data")
    ]
    states.append(text(("+", MUTED), " counted, no fixed limit"))
    lines = [*packed(shares, width), *packed(states, width)]
    return lines + wrapped(f"Limits: {_limits(kind)}.", width, style=MUTED)


def _limits(kind: Kind) -> str:
    limits = SpikeLimits()
    per_hour = f"replays {figure(limits.replay_per_hour)}/h"
    retrains = f"retrains {figure(limits.recoveries_per_day)}"
    totals = f"totals without a time span {figure(limits.snapshot_severe)}"
    said = {
        "nvlink": (per_hour, f"CRC {figure(limits.crc_per_second * 3600)}/h", retrains),
        "pcie": (per_hour, retrains),
        "nic": (
            f"errors past correction {limits.ber_failed:g} per bit",
            f"CRC {figure(limits.crc_per_second * 3600)}/h",
            f"{retrains} and link downs {figure(limits.link_downs)}",
        ),
    }
    return "; ".join((*said[kind], totals))
