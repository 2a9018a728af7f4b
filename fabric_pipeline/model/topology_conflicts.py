"""What sources of a topology state differently, in sentences that name both files.

The first statement holds: of `topology.json`, then of the files of tools in their order, then of plans
(NetBox, Slurm). Nothing is averaged and nothing is chosen by how likely it is.
"""

from __future__ import annotations

from typing import Any

_MOST = 500  # sentences kept; where two whole plans differ, the rest is counted


class Conflicts:
    """The sentences in the order in which they were found, each once."""

    def __init__(self) -> None:
        self._texts: dict[str, None] = {}
        self._more = 0

    @property
    def texts(self) -> list[str]:
        """All sentences; the last one counts what was left out."""
        more = f"{self._more:,} more statements of the sources differ"
        return [*self._texts, *([more] if self._more else [])]

    def note(self, text: str) -> None:
        """Keep a sentence, unless it was said before."""
        if text in self._texts:
            return
        if len(self._texts) < _MOST:
            self._texts[text] = None
        else:
            self._more += 1

    def differ(self, what: str, first: tuple[Any, str], second: tuple[Any, str]) -> None:
        """`what` is the value of the first source in one and that of the second in another."""
        self.note(
            f"{what} is {first[0]!r} {in_file(first[1])} and {second[0]!r} {in_other(second[1])}"
        )


def in_file(source: str) -> str:
    """Where the first statement stands."""
    return f"in {source}" if source else "in one source"


def in_other(source: str) -> str:
    """Where the second statement stands."""
    return f"in {source}" if source else "in another"
