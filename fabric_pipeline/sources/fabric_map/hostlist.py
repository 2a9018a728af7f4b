"""Slurm's host lists: `rack[01-04]n[1-8],login1` stands for the names it spells out.

Only expansion lives here; which file may hold such a list is the business of the readers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

# Slurm itself refuses more than 65,536 names in one expression (MAX_RANGE of its hostlist.c).
MAX_NAMES = 65_536
_MAX_TEXT = 200_000
_PIECE = re.compile(r"\[(?P<ranges>[0-9,\- ]{1,2000})\]|(?P<plain>[^\[\]\s,]{1,300})")
_RANGE = re.compile(r"^(?P<low>\d{1,9})(?:-(?P<high>\d{1,9}))?$")


class BadHostListError(ValueError):
    """The text is no host list; the message is the rule in words."""


def expand(text: str, limit: int = MAX_NAMES) -> list[str]:
    """The names of a host list in their order, each once.

    Raises BadHostListError for brackets that do not close, ranges that run backwards, and lists of
    more than `limit` names.
    """
    if len(text) > _MAX_TEXT:
        raise BadHostListError(f"a host list longer than {_MAX_TEXT:,} characters")
    names: dict[str, None] = {}
    for part in _parts(text):
        pieces = list(_pieces(part, limit))
        total = 1
        for piece in pieces:
            total *= len(piece)
            if total > limit:
                raise BadHostListError(f"a host list of more than {limit:,} names")
        for words in product(*pieces):
            names["".join(words)] = None
        if len(names) > limit:
            raise BadHostListError(f"a host list of more than {limit:,} names")
    return list(names)


def _parts(text: str) -> Iterator[str]:
    """Split at commas outside brackets."""
    depth, start = 0, 0
    for at, char in enumerate(text):
        if char == "[":
            depth += 1
        elif char == "]":
            depth -= 1
        elif char == "," and depth == 0:
            yield from filter(None, (text[start:at].strip(),))
            start = at + 1
        if depth not in (0, 1):
            raise BadHostListError("a host list whose brackets do not match")
    if depth:
        raise BadHostListError("a host list whose brackets do not close")
    yield from filter(None, (text[start:].strip(),))


def _pieces(part: str, limit: int) -> Iterator[list[str]]:
    """A name cut into fixed text and lists of numbers, each as what may stand there."""
    at = 0
    while at < len(part):
        found = _PIECE.match(part, at)
        if found is None:
            raise BadHostListError("a host list with text that names nothing")
        if found["plain"] is not None:
            yield [found["plain"]]
        else:
            yield list(_numbers(found["ranges"], limit))
        at = found.end()


def _numbers(ranges: str, limit: int) -> Iterator[str]:
    """`01-03,7` -> 01 02 03 7; the width of the first number is kept."""
    for one in ranges.split(","):
        found = _RANGE.match(one.strip())
        if found is None:
            raise BadHostListError("a host list with a range that is none")
        low, high = found["low"], found["high"] or found["low"]
        if not int(low) <= int(high) < int(low) + limit:
            raise BadHostListError("a host list with a range that runs backwards or is too long")
        for number in range(int(low), int(high) + 1):
            yield f"{number:0{len(low)}}"
