"""What long work says of itself while it goes on: the words, and how much of how much is done.

Shared by everything that reads for longer than a moment. How it is shown, and what rate and time left
follow from it, is decided where it is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Moment:
    """Where a piece of work stands.

    `words`: what is being done now. `files` of `of_files` and `size` of `of_size` (bytes) are done;
    a total of 0 is not known, and nobody may guess it. Counts belong to one kind of work, named by
    `work`: rates are never taken across two kinds.
    """

    words: str
    work: str = ""
    files: int = 0
    of_files: int = 0
    size: int = 0
    of_size: int = 0


Tell = Callable[[Moment], None]


def silent(_: Moment) -> None:
    """Tells nobody."""
