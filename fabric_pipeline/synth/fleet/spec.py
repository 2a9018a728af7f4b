"""What a random fleet depends on besides its seed: `FleetSpec`, and the laws it may be drawn from.

Plain values only. How a law draws lives in `bursts` and `latency`, the suites in `suites`.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric_pipeline.errors import UsageError

# The ten classes of detection.md section 3.1, in the order in which suites rotate through them.
CLASSES = (
    "none",
    "nvlink",
    "nic_leaf",
    "pcie",
    "flap",
    "two_links",
    "both_ends",
    "silent_state",
    "silent_nostate",
    "leaf_spine",
)
FAULTS = (*CLASSES, "drift", "idle_errors")
PLATFORMS = ("h100", "a100", "nvl72")

# Errors come in clumps, latencies wander, and a fault is not felt alike everywhere. Methods are
# fitted on the first set and judged on the second, which keeps one law of each kind for reference.
LAWS: dict[str, dict[str, tuple[str, ...]]] = {
    "train": {
        "burst_law": ("gamma", "markov"),
        "latency_law": ("lognormal", "ar1"),
        "effect_law": ("factor", "share"),
    },
    "judge": {
        "burst_law": ("pareto", "poisson", "gamma"),
        "latency_law": ("student", "sawtooth", "lognormal"),
        "effect_law": ("factor", "ramp"),
    },
}


@dataclass(frozen=True, slots=True)
class FleetSpec:
    """Everything that a scenario depends on besides the seed.

    `hard`: harmless errors look like guilty ones and effects are small. `one_job`: one flat
    all-reduce over all nodes. `gpu_totals`: NVLink counters exist per GPU only. `dirty`: much is
    lost, reset and skewed. `miswired`: the topology states two swapped cables. `wrong_baseline`:
    stated baselines are off. `per_rank` None: drawn, half of the scenarios have rank records.
    """

    nodes: int = 8
    bins: int = 240
    step_s: float = 30.0
    platform: str = "h100"
    fault: str = "nvlink"
    burst_law: str = "gamma"
    latency_law: str = "lognormal"
    effect_law: str = "factor"
    hard: bool = False
    one_job: bool = False
    gpu_totals: bool = False
    dirty: bool = False
    miswired: bool = False
    wrong_baseline: bool = False
    per_rank: bool | None = None
    confounder_scale: float = 1.0

    def __post_init__(self) -> None:
        allowed = {
            "platform": PLATFORMS,
            "fault": FAULTS,
            **{kind: _all_of(kind) for kind in LAWS["train"]},
        }
        for name, values in allowed.items():
            if getattr(self, name) not in values:
                raise UsageError(
                    f"{name} {getattr(self, name)!r} is not known", f"take one of {list(values)}"
                )
        if self.nodes < 1 or self.bins < 20 or self.step_s <= 0:
            raise UsageError("a fleet has at least one node and 20 bins of a positive length")


def _all_of(kind: str) -> tuple[str, ...]:
    """Every law of a kind, once."""
    return tuple(dict.fromkeys(law for laws in LAWS.values() for law in laws[kind]))
