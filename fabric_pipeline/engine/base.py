"""What an engine promises: the same work for many items, each done or failed by itself, results in order.

An engine never looks into an item or a result. Nothing here knows telemetry, tables or Dask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from fabric_pipeline.errors import FabricError
from fabric_pipeline.model.progress import Tell, silent

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Done(Generic[Result]):
    """What became of one item: its result, or in words why there is none.

    `number` is its place among the items, from 0. `worker` is where it was done. `tries` are the times it
    was begun: work that was lost with its worker is begun again.
    """

    number: int
    result: Result | None
    problem: str = ""
    worker: str = ""
    tries: int = 1

    @property
    def is_failed(self) -> bool:
        """True when there is no result."""
        return bool(self.problem)


class Engine(Protocol):
    """Runs one function over items. Use it as a context: it lets go of what it started."""

    name: str

    def map(
        self,
        work: Callable[[Item], Result],
        items: Sequence[Item],
        *,
        words: str = "",
        tell: Tell = silent,
    ) -> list[Done[Result]]:
        """Every item once, results in the order of the items.

        `work` is a function of a module, items and results are plain values: they travel to other
        processes. The same item must give the same result wherever and however often it is done. One that
        fails stops no other. `words` say in progress what is being done.
        """

    def __enter__(self) -> Engine: ...

    def __exit__(self, *_: object) -> None: ...


def words_of(problem: BaseException) -> str:
    """A failure in words: an expected one as it stands, another with its class."""
    if isinstance(problem, FabricError):
        return str(problem)
    return f"{type(problem).__name__}: {str(problem)[:400]}; report this fault"
