"""Named suites: rules that give the specification of the n-th scenario of a benchmark.

A suite rotates through the fault classes so that each has an equal share, and draws the laws of
each scenario from the set that training or judging uses.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fabric_pipeline.errors import NotFoundError, UsageError
from fabric_pipeline.synth.fleet.spec import CLASSES, LAWS, FleetSpec

_LARGE = FleetSpec(nodes=1000, bins=120, step_s=60.0, confounder_scale=10.0)
_MEDIUM = FleetSpec(nodes=128, bins=120, step_s=60.0, confounder_scale=3.0)
_NVL72 = FleetSpec(nodes=36, platform="nvl72")
_DAYS = FleetSpec(bins=864, step_s=300.0)

# Suites that rotate through the ten classes.
_ROTATING: dict[str, FleetSpec] = {
    "base": FleetSpec(),
    "hard": FleetSpec(hard=True),
    "one_job": FleetSpec(one_job=True),
    "gpu_totals": FleetSpec(gpu_totals=True),
    "dirty": FleetSpec(dirty=True),
    "nodes_128": _MEDIUM,
    "nodes_1000": _LARGE,
    "a100": FleetSpec(platform="a100"),
    "nvl72": _NVL72,
    "fast_sampling": FleetSpec(bins=720, step_s=10.0),
    "slow_sampling": FleetSpec(bins=120, step_s=60.0),
    "miswired": FleetSpec(miswired=True),
    "wrong_baseline": FleetSpec(wrong_baseline=True),
}
# Suites of one class each.
_SINGLE: dict[str, FleetSpec] = {
    "flaps_days": replace(_DAYS, fault="flap"),
    "drift": FleetSpec(fault="drift"),
    "idle_errors": FleetSpec(fault="idle_errors"),
    "quiet_128": replace(_MEDIUM, fault="none"),
    "quiet_1000": replace(_LARGE, fault="none"),
}
_QUIET = ("base", "hard", "one_job", "dirty")
SUITES = (*_ROTATING, *_SINGLE, "quiet")
# What a suite is about, in a few words.
SUITE_SAYS = {
    "base": "8 H100 nodes, ten classes of fault in turn, harmless bursts, late hosts, congestion",
    "hard": "harmless errors look like guilty ones, effects are small",
    "one_job": "one flat all-reduce over all nodes",
    "gpu_totals": "NVLink counters per GPU only",
    "dirty": "much is lost, reset and skewed",
    "nodes_128": "128 nodes, three times the confounders",
    "nodes_1000": "1,000 nodes, ten times the confounders (a large drop)",
    "a100": "8 A100 nodes, 12 NVLinks a GPU",
    "nvl72": "racks of 18 nodes that share one NVLink domain",
    "fast_sampling": "counters every 10 s",
    "slow_sampling": "counters every 60 to 120 s",
    "miswired": "the topology file has two cables swapped",
    "wrong_baseline": "stated baselines are off",
    "flaps_days": "a link that flaps again and again over three days",
    "drift": "a link that gets slowly worse",
    "idle_errors": "errors only while no job runs: nobody is guilty",
    "quiet_128": "128 nodes, nobody is guilty",
    "quiet_1000": "1,000 nodes, nobody is guilty",
    "quiet": "8 nodes, nobody is guilty",
}


def suite(name: str, laws: str = "train") -> Callable[[int], FleetSpec]:
    """The rule that gives the specification of each scenario of a suite by its index."""
    if name not in SUITES:
        raise NotFoundError(f"there is no suite {name!r}", f"take one of {list(SUITES)}")
    if laws not in LAWS:
        raise UsageError(f"there is no set of laws {laws!r}", f"take one of {list(LAWS)}")

    def spec_of(index: int) -> FleetSpec:
        rng = np.random.default_rng([zlib.crc32(f"{name}/{laws}".encode()), index])
        drawn: dict[str, Any] = {
            kind: str(rng.choice(choices)) for kind, choices in LAWS[laws].items()
        }
        return replace(_plain(name, index, rng), **drawn)

    return spec_of


def _plain(name: str, index: int, rng: np.random.Generator) -> FleetSpec:
    if name == "quiet":
        return replace(_ROTATING[_QUIET[index % len(_QUIET)]], fault="none")
    if name in _SINGLE:
        return _SINGLE[name]
    spec = replace(_ROTATING[name], fault=CLASSES[index % len(CLASSES)])
    if name == "slow_sampling" and rng.random() < 0.5:
        spec = replace(spec, bins=80, step_s=float(rng.choice((90.0, 120.0))))
    return spec
