"""The default engine: one shard after the other in this process, each with all of the machine.

DuckDB uses every core inside a shard but for the steps that keep the order of rows, so processes beside each
other are faster for a large drop (docs/performance.md); they take their memory each and have to be started.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fabric_pipeline.engine.base import Done, Item, Result, words_of
from fabric_pipeline.model.progress import Moment, Tell, silent


class LocalEngine:
    """Works in this process, in the order of the items."""

    name = "local"

    def map(
        self,
        work: Callable[[Item], Result],
        items: Sequence[Item],
        *,
        words: str = "",
        tell: Tell = silent,
    ) -> list[Done[Result]]:
        """See `Engine.map`."""
        done: list[Done[Result]] = []
        for number, item in enumerate(items):
            if len(items) > 1:
                tell(
                    Moment(
                        f"{words}, shard {number + 1} of {len(items)}", words, number, len(items)
                    )
                )
            done.append(_one(work, number, item))
        return done

    def __enter__(self) -> LocalEngine:
        """Nothing to start."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""


def _one(work: Callable[[Item], Result], number: int, item: Item) -> Done[Result]:
    try:
        return Done(number, work(item), worker="this process")
    except Exception as problem:  # one bad shard is reported, the others are worked on
        return Done(number, None, words_of(problem), "this process")
