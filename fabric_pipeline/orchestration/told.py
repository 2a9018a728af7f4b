"""How far a step has come: to whoever launched the run, and now and then to the run's own log.

The launcher of the command line listens here, because Dagster hands nothing through to it. What a step
says is made in `workflows`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

import dagster as dg

from fabric_pipeline.model.pace import Pace
from fabric_pipeline.model.progress import Moment, Tell

# Each line of the log is an event in Dagster's database; a drop of thousands of files would fill it.
LOG_EVERY_S = 10.0
_ears: list[Tell] = []


@contextmanager
def heard_by(ear: Tell) -> Iterator[None]:
    """Steps that run in this process meanwhile tell `ear` every moment."""
    _ears.append(ear)
    try:
        yield
    finally:
        _ears.remove(ear)


def teller(context: dg.AssetExecutionContext) -> Tell:
    """What a step of this context calls with its moments."""
    last, pace = monotonic(), Pace()

    def tell(moment: Moment) -> None:
        nonlocal last
        pace.hear(moment)
        for ear in _ears:
            ear(moment)
        if monotonic() - last >= LOG_EVERY_S:
            last = monotonic()
            context.log.info(pace.words())

    return tell
