"""Makes spikes, slow intervals, latency series and correlations for the tests of the diagnosis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from fabric_pipeline.detect.spikes.evaluate import Spike
from fabric_pipeline.detect.spikes.rules import RuleHit
from fabric_pipeline.detect.stragglers.evaluate import Straggler
from fabric_pipeline.detect.stragglers.series import LatencySeries
from fabric_pipeline.diagnose.correlate import Correlation
from fabric_pipeline.model.components import parse_component
from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.model.topology import Topology

START = datetime(2031, 5, 6, 7, 0, 0, tzinfo=UTC)
Increment = tuple[str, str, datetime, float, float]


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def hit(rule_id: str, severity: str) -> RuleHit:
    return RuleHit(rule_id, severity, f"{rule_id} fired", "9", "3", "test")


def spike(
    component: str, counter: str = "crc_flit", events: float = 500.0, **changes: Any
) -> Spike:
    """An interval of ten minutes with one warning; `at_s=None` makes it a snapshot."""
    parsed = parse_component(component)
    at_s = changes.pop("at_s", 600.0)
    made = Spike(
        parsed.node, parsed.interface, parsed.lane, "nvlink", counter, "", "link", COUNTERS[counter].error_class, COUNTERS[counter].class_basis, 1,
        None if at_s is None else at(at_s), None if at_s is None else at(at_s + 600), events, None if at_s is None else 600.0,
        0.0 if at_s is None else events, 3600.0,
        0.1, 30.0, 17, 0.0, "burst", False, [hit("replay_plain_limit", "warning")], "counters.csv", 12, 30,
    )  # fmt: skip
    return replace(made, **changes)


def straggler(run: str = "r1", **changes: Any) -> Straggler:
    made = Straggler(
        run, "world", "all_reduce", 1024, 1, at(600), at(1200), "whole_collective", "transient", 60, 2000.0, 1000.0, "learnt", [], [],
        ["n1", "n2"], 16, 0.06, "collectives.csv", 40, 99,
    )  # fmt: skip
    return replace(made, **changes)


def correlation(component: str, run: str = "r1", **changes: Any) -> Correlation:
    """A good match over a long run, held responsible: it covers the first slow bins, as many as its share says."""
    made = Correlation(
        run,
        "world",
        component,
        "",
        "yes",
        120,
        20,
        20,
        19,
        0,
        0.95,
        0.95,
        100.0,
        0.02,
        0.02,
        8.0,
        1,
    )
    made = replace(made, **{"verdict": "responsible", "confidence": 0.95, **changes})
    if "covered_bins" not in changes:
        made.covered_bins = list(range(round(made.covered_share * made.slow_bins)))
    return made


def series(
    slow: Iterable[int], rows: int = 120, step_s: float = 30.0, factor: float = 2.0, **changes: Any
) -> LatencySeries:
    """One collective per step of 1 ms; those in `slow` take `factor` times as long."""
    duration_us = np.full(rows, 1000.0)
    slow = list(slow)
    duration_us[slow] *= factor
    deviation = np.log(duration_us / 1000.0)
    is_slow = np.zeros(rows, dtype=bool)
    is_slow[slow] = True
    made = LatencySeries(
        "r1", "world", "all_reduce", 1024, "collective", ["n1", "n2"], 16, [{"ts": at(n * step_s)} for n in range(rows)], duration_us, 1000.0,
        "learnt", deviation, is_slow, 0.05, 1000.0,
    )  # fmt: skip
    return replace(made, **changes)


def increments(
    component: str, samples: Iterable[int], step_s: float = 30.0, delta: float = 10.0
) -> list[Increment]:
    """Errors counted in the samples of these numbers; sample n ends where bin n ends."""
    parsed = parse_component(component)
    return [(parsed.node, parsed.interface, at((n + 1) * step_s), step_s, delta) for n in samples]


def topology(*pairs: tuple[str, str], **more: Any) -> Topology:
    """Links between pairs of component ids."""
    return Topology([TopologyPart(links=[_link(a, b) for a, b in pairs], **more)])


def _link(a: str, b: str) -> dict[str, Any]:
    return {"id": f"{a}-{b}", "type": "nvlink", "a": _end(a), "b": _end(b)}


def _end(component: str) -> dict[str, Any]:
    parsed = parse_component(component)
    if parsed.node:
        return {"node": parsed.node, "port": parsed.interface}
    switch, _, port = parsed.interface.partition("/port-")
    return {"switch": switch, "port": port}


def components(found: Sequence[Any]) -> list[str]:
    return [one.component for one in found]
