"""One `map` on a Dask cluster: as many items under way as there are threads, the rest waits here.

Items wait with the client because Dask blames a worker's death on everything that it was given, begun or
not. How a cluster is reached or started is decided in `dask_engine`.
"""

from __future__ import annotations

import uuid
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import count
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, Generic

from distributed import KilledWorker
from distributed.comm.core import CommClosedError

from fabric_pipeline.engine.base import Done, Item, Result
from fabric_pipeline.engine.dask_worker import TOPIC, Answer, Order, answer, versions_here
from fabric_pipeline.errors import EngineError
from fabric_pipeline.model.progress import Moment, Tell

_LOOK_S = 0.5
_GATHER_S = 10.0
_CANCEL_S = 2.0
_GONE = (CancelledError, CommClosedError, ConnectionError)


class DaskMap(Generic[Item, Result]):
    """The items of one call and what became of them. `run` is called once."""

    def __init__(
        self,
        client: Any,
        place: str,
        work: Callable[[Item], Result],
        items: Sequence[Item],
        *,
        words: str,
        tell: Tell,
        wait_s: float,
    ) -> None:
        """`client` is Dask's; `place` names its cluster in messages, which may be without a worker for `wait_s`."""
        self._client, self._place, self._work, self._items = client, place, work, items
        self._words, self._tell, self._wait_s = words, tell, wait_s
        self._run, self._sent = uuid.uuid4().hex, count()
        self._waiting = deque(range(len(items)))
        self._suspects: deque[int] = deque()
        self._alone: int | None = None
        self._flying: dict[Any, int] = {}
        self._ended: SimpleQueue[Any] = SimpleQueue()
        self._begun: Counter[int] = Counter()
        self._done: dict[int, Done[Result]] = {}
        self._threads, self._looked_at, self._had_workers_at = 0, 0.0, monotonic()

    def run(self) -> list[Done[Result]]:
        """Results in the order of the items. Raises EngineError when the cluster cannot be used."""
        self._client.subscribe_topic(TOPIC, self._hear_begun)
        try:
            self._say()
            while len(self._done) < len(self._items):
                self._look()
                self._send()
                with suppress(Empty):
                    self._take(self._ended.get(timeout=_LOOK_S))
        except _GONE:
            raise self._lost() from None
        finally:
            self._let_go()
        return [self._done[number] for number in range(len(self._items))]

    def _hear_begun(self, event: tuple[float, dict[str, Any]]) -> None:
        if event[1]["run"] == self._run:
            self._begun[event[1]["number"]] += 1

    def _look(self) -> None:
        """How many threads there are now: workers come and go."""
        now = monotonic()
        if now - self._looked_at < _LOOK_S:
            return
        if self._client.status != "running":
            raise self._lost()
        self._threads = self._client.scheduler_info(n_workers=0)["total_threads"]
        self._looked_at = now
        if self._threads:
            self._had_workers_at = now
        elif now - self._had_workers_at > self._wait_s:
            raise EngineError(
                f"{self._place} has had no worker for {self._wait_s:.0f} s",
                f"start some: dask worker {self._client.scheduler.address}",
            )
        else:
            self._say("waiting for a worker")

    def _send(self) -> None:
        while self._waiting and len(self._flying) < self._threads:
            self._submit(self._waiting.popleft())
        if not self._waiting and not self._flying and self._suspects and self._threads:
            self._alone = self._suspects.popleft()
            self._submit(self._alone)

    def _submit(self, number: int) -> None:
        order = Order(self._run, number, self._items[number], versions_here())
        key = f"fabric-shard-{self._run}-{next(self._sent)}"
        # What fails with an exception fails again; only what is lost with its worker is done again.
        future = self._client.submit(answer, self._work, order, key=key, pure=False, retries=0)
        self._flying[future] = number
        future.add_done_callback(self._ended.put)

    def _take(self, future: Any) -> None:
        number = self._flying[future]
        try:
            got: Answer[Result] = future.result(timeout=_GATHER_S)
        except TimeoutError:  # lost with its worker after it was done, and being done again
            future.add_done_callback(self._ended.put)
            return
        except KilledWorker:
            self._lose(number)
        except _GONE:
            raise
        except Exception as problem:
            self._refuse(number, problem)
        else:
            self._keep(number, got)
        del self._flying[future]
        if number == self._alone:
            self._alone = None

    def _lose(self, number: int) -> None:
        """Suspects are tried again when all others are done, alone: another may have killed their worker."""
        if number != self._alone:
            self._suspects.append(number)
            return
        tries = max(self._begun[number], 1)
        problem = (
            f"{tries} workers died while they worked on this shard, the last times on it alone; "
            "it may need more memory than a worker has: give workers more, or make shards smaller"
        )
        self._end(Done(number, None, problem, tries=tries))

    def _refuse(self, number: int, problem: Exception) -> None:
        """What the worker could not even begin, or could not send back."""
        if isinstance(problem, ModuleNotFoundError) and "fabric_pipeline" in str(problem):
            raise EngineError(
                f"a worker of {self._place} has no fabric_pipeline ({problem})",
                "install the same version of it with the extra `cluster` where workers run",
            ) from None
        words = f"{type(problem).__name__}: {str(problem)[:400]}; report this fault"
        self._end(Done(number, None, words, tries=max(self._begun[number], 1)))

    def _keep(self, number: int, got: Answer[Result]) -> None:
        if got.versions is not None:
            raise EngineError(
                f"worker {got.worker} has {got.versions}, and this process has {versions_here()}",
                "results would not be comparable: install the same versions on both",
            )
        tries = max(self._begun[number], 1)
        self._end(Done(number, got.result, got.problem, got.worker, tries))

    def _end(self, done: Done[Result]) -> None:
        self._done[done.number] = done
        self._say()

    def _say(self, but: str = "") -> None:
        done, total = len(self._done), len(self._items)
        where = but or f"{done} of {total} shards done on {self._threads} threads of {self._place}"
        self._tell(Moment(f"{self._words}, {where}", self._words, done, total))

    def _lost(self) -> EngineError:
        return EngineError(
            f"{self._place} was lost while shards were under way ({len(self._done)} of "
            f"{len(self._items)} were done)",
            "start its scheduler again, or use --engine local, and run the command again",
        )

    def _let_go(self) -> None:
        """Nothing of this run is begun any more. What a worker has in hand it brings to its end."""
        with suppress(Exception):  # there may be nobody left to tell
            self._client.unsubscribe_topic(TOPIC)
            if self._flying:
                cancel = self._client._cancel(list(self._flying), force=True)
                self._client.sync(lambda: cancel, callback_timeout=_CANCEL_S)
        self._flying.clear()
