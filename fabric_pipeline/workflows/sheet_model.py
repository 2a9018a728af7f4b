"""What a sheet consists of before it is drawn: cells, lines, blocks, and the room that a `Fit` grants.

Plain values without behaviour. `sheet_view` fills them from a ticket, `sheet_fit` measures them, the
template draws them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Fit:
    """How large the body text is (points) and how much of each kind of text a sheet may hold."""

    size_pt: float
    step: int = 400
    proves: int = 400
    prose: int = 600
    fact: int = 120
    facts: int = 12
    go: int = 60
    title: int = 140
    summary: int = 900
    claims: int = 10
    claim: int = 400
    asides: int = 8
    aside: int = 300
    records: int = 12
    record: int = 200
    safety: int = 12
    tools: int = 16
    criteria: int = 12
    criterion: int = 300
    parts: int = 8


class Cell(NamedTuple):
    """A label, its value, the letter of its origin; `mono` for identifiers, `stated` False for gaps."""

    label: str
    value: str
    origin: str
    mono: bool = False
    stated: bool = True


class Line(NamedTuple):
    """One entry of a block. `mark`: box, read (box and room for a reading), dot or none.

    `sub` stands on a second line where there is room; `code` is an identifier behind the text.
    """

    text: str
    mark: str = "none"
    sub: str = ""
    number: str = ""
    label: str = ""
    origin: str = ""
    sub_origin: str = ""
    code: str = ""


@dataclass(slots=True)
class Block:
    """A titled part of the body; `more` entries did not fit."""

    title: str
    origin: str = ""
    lines: list[Line] = field(default_factory=list)
    more: int = 0
    framed: bool = False


class End(NamedTuple):
    """What is known of one end: the rows to look at first, the rest in running text, and how much more."""

    rows: list[Cell]
    run: list[Cell]
    more: int


@dataclass(slots=True)
class View:
    """Everything of the ticket that the sheet shows."""

    ticket_id: str
    title: str
    priority: str
    shape: str
    head: list[Cell]
    go: list[Cell]
    near: End
    far: End
    cable: End
    blocks: list[Block]
    shortened: int = 0
    left_out: int = 0
