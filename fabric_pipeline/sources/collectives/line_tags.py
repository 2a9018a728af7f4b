"""What launchers and terminals put in front of, or into, the lines of a program's output.

Removes colour codes and the rank tags of `mpirun --tag-output`, `srun -l` and hand-made launchers.
Reading the line that remains belongs to each reader.
"""

from __future__ import annotations

import re

MAX_LINE = 4000  # characters of a line that are looked at; tables of these tools stay below 1000

_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_TAG = re.compile(r"\[\d{1,6}(?:,\d{1,6})?\](?:<(?:stdout|stderr|stddiag)>:?)?")
_SRUN_LABEL = re.compile(r"^\s{0,8}\d{1,6}:(?=\s|$)")
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]{1,19}(?:\.[0-9]{0,12})?|\.[0-9]{1,12})(?:[eE][+-]?[0-9]{1,3})?"
)


def plain(line: str) -> str:
    """The line without colour codes, at most `MAX_LINE` characters."""
    return _COLOUR.sub("", line[:MAX_LINE])


def untagged(line: str, filler: str = "") -> str:
    """The line without colour codes and rank tags; `filler` takes the place of a tag.

    A tag such as `[3]` can stand inside a row, even between two digits; whether the digits belong
    together is for the caller to find out by trying "" and " ".
    """
    return _TAG.sub(filler, _SRUN_LABEL.sub("", plain(line)))


def number(text: str) -> float | None:
    """A plain finite decimal number, else None (`N/A`, `nan`, `inf` and hex are no numbers)."""
    return float(text) if _NUMBER.fullmatch(text) else None


def whole(text: str) -> int | None:
    """A non-negative whole number of at most 18 digits, else None."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def clipped(text: str, limit: int = 300) -> str:
    """Text shortened for a record."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
