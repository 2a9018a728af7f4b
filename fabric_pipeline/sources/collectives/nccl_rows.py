"""Grammar of one nccl-tests table: header line, result row, device line.

Works on single lines without launcher tags and knows every column layout since 2017. Runs, files and
events belong to the reader.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from fabric_pipeline.sources.collectives.line_tags import number, whole

# Type names of nccl-tests, rccl-tests and their forks, with their widths in bytes.
TYPE_BYTES = {
    **dict.fromkeys(("char", "int8", "uint8"), 1),
    **dict.fromkeys(("half", "bfloat16", "bf16", "float16"), 2),
    **dict.fromkeys(("int", "float", "float32", "int32", "uint32"), 4),
    **dict.fromkeys(("double", "float64", "int64", "uint64"), 8),
}
_FLOAT8 = re.compile(r"(?:f|fp|float)8_?e[45]m[23]")
VARIANTS = ("out_of_place", "in_place")
_NOT_MEASURED = frozenset(("N/A", "n/a", "nan", "-nan", "NaN", "inf"))
_TIME = frozenset(("time", "cputime"))
_HEADER = re.compile(r"#\s{0,30}(size|bytes)\s{1,30}(count|N)\s{1,30}type\b")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d(?:\.\d{1,9})?")
_DEVICE = re.compile(
    r"Rank\s{1,9}(\d{1,7})\s{1,9}(?:Group\s{1,9}\d{1,7}\s{1,9})?Pid\s{1,12}(\d{1,9})\s{1,9}on"
    r"\s{1,30}(\S{1,253})\s{1,9}device\s{1,9}(\d{1,3})(?:\s{1,9}\[([0-9a-fA-Fx:.]{2,16})\])?(.{0,120})"
)


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns of one table: how many words stand between type and the first time, and the blocks.

    A block is `time algbw busbw errors`, 4 columns, or 8 with per-iteration figures (`-I 1`).
    `time_us` is the unit of the time column in microseconds; the first releases printed ms.
    `counts_wrong` is False for the older `error` column, a rounding difference and no count.
    """

    middle: int | None = None
    width: int = 4
    blocks: int = 2
    time_us: float = 1.0
    counts_wrong: bool = True


@dataclass(slots=True)
class Block:
    """One measurement of a row. `busbw_gbs` is None when the table says N/A."""

    variant: str
    duration_us: float
    algbw_gbs: float | None
    busbw_gbs: float | None
    wrong: int = 0


@dataclass(slots=True)
class Row:
    """One message size. `cut` is True when the line ends inside a block."""

    bytes: int
    count: int
    type_name: str
    redop: str
    blocks: list[Block] = field(default_factory=list)
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Device:
    """One line of the list `Using devices`."""

    rank: int
    node: str
    device: int
    bus: str
    name: str


def parse_header(text: str) -> Layout | None:
    """The layout a header line states, or None when the line is no header."""
    found = _HEADER.search(text)
    if not found:
        return None
    names = text[found.start() :].lstrip("#").split()
    first_time = next((i for i, name in enumerate(names) if name in _TIME), len(names))
    blocks = sum(1 for name in names if name in _TIME)
    return Layout(
        middle=max(first_time - 3, 0),
        width=8 if "i_min" in names else 4,
        blocks=max(blocks, 1),
        time_us=1000.0 if found.group(1) == "bytes" else 1.0,
        counts_wrong="error" not in names and "res" not in names,
    )


def parse_device(text: str) -> Device | None:
    """A line such as `#  Rank  3 Group  0 Pid 811 on node7 device  3 [0000:5d:00] NVIDIA ...`."""
    found = _DEVICE.search(text)
    if not found:
        return None
    rank, _, node, device, bus, name = found.groups()
    return Device(int(rank), node, int(device), bus or "", name.strip())


def parse_row(text: str, layout: Layout) -> Row | None:
    """The result row inside `text`, or None when there is none.

    Words before the size (labels, time stamps) are skipped.
    """
    words = text.split()
    start = _size_index(words)
    if start is None:
        return None
    values = words[start + 3 :]
    while values and _STAMP.fullmatch(values[-1]):
        values.pop()
    middle = _middle(values, layout)
    size, count = whole(words[start]), whole(words[start + 1])
    if middle is None or size is None or count is None:
        return None
    redop = values[0] if middle and number(values[0]) is None else ""
    row = Row(size, count, words[start + 2], redop)
    _fill(row, values[middle:], layout)
    return row if row.blocks or row.cut else None


def is_consistent(row: Row) -> bool:
    """True when size, time and algorithm bandwidth agree, so that no digits were torn apart.

    Bandwidths are printed with two decimals and times with three or four digits; 3 % and 0.02 GB/s
    cover both roundings.
    """
    for block in row.blocks:
        if block.algbw_gbs is None or block.duration_us <= 0:
            continue
        expected = row.bytes / block.duration_us / 1000.0
        if abs(expected - block.algbw_gbs) > 0.02 + 0.03 * expected:
            return False
    width = TYPE_BYTES.get(row.type_name)
    return width is None or row.count == 0 or row.bytes % (width * row.count) == 0


def looks_like_row(text: str) -> bool:
    """True for a line that can only be (part of) a result row: numbers and a type, or only numbers."""
    words = text.split()
    if len(words) < 4 or len(words) > 40:
        return False
    numbers = sum(1 for word in words if number(word) is not None)
    if any(map(_is_type, words)):
        return numbers >= 3
    return numbers >= 4 and all(number(w) is not None or w in _NOT_MEASURED for w in words)


def _is_type(word: str) -> bool:
    return word in TYPE_BYTES or _FLOAT8.fullmatch(word) is not None


def _size_index(words: list[str]) -> int | None:
    """Where the size stands: two whole numbers followed by a type name."""
    for index in range(min(len(words) - 2, 12)):
        named = _is_type(words[index + 2])
        if named and whole(words[index]) is not None and whole(words[index + 1]) is not None:
            return index
    return None


def _middle(values: list[str], layout: Layout) -> int | None:
    """Number of words before the first time, from the header or from the words themselves."""
    if layout.middle is not None:
        whole_row = layout.width * layout.blocks
        if len(values) == whole_row and number(values[0]) is not None:
            return 0  # tables with validation off print blanks below redop and root
        return layout.middle if len(values) > layout.middle else None
    if not values:
        return None
    if number(values[0]) is not None:
        return len(values) % 4 % 2  # a lone root stands in front of whole blocks in old broadcasts
    return 2 if len(values) > 2 and re.fullmatch(r"-?\d{1,7}", values[1]) else 1


def _fill(row: Row, values: list[str], layout: Layout) -> None:
    width = 8 if layout.middle is None and len(values) == 16 else layout.width
    for start in range(0, min(len(values), width * len(VARIANTS)), width):
        part = values[start : start + width]
        if len(part) < 3 or (len(part) < width and start):
            row.cut = True
            return
        if part[0] in _NOT_MEASURED:
            continue
        block = _block(part, VARIANTS[start // width], layout)
        if block is None:
            row.cut = True
            return
        row.blocks.append(block)
        row.cut = row.cut or len(part) < width


def _block(part: list[str], variant: str, layout: Layout) -> Block | None:
    duration = number(part[0])
    if duration is None or not math.isfinite(duration):
        return None
    wrong = number(part[3]) if len(part) > 3 and layout.counts_wrong else None
    return Block(
        variant,
        duration * layout.time_us,
        number(part[1]),
        number(part[2]),
        int(wrong) if wrong is not None and 0 < wrong < 1e18 else 0,
    )
