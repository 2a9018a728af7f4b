"""Slow runs that a link's state explains: a lost width, a lower speed, a link that is down or flaps.

Such a fault may count no error at all, so it has no coincidence test; it is held responsible for a slow
run only when it is the one accused link in that run's path and their times do not contradict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from fabric_pipeline.detect.stragglers.evaluate import Straggler
from fabric_pipeline.model.components import parse_component
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.topology import Topology

# A state is sampled now and then, so its change may be seen up to this much after the slowdown.
_SLACK = timedelta(minutes=5)


def explain_by_state(
    findings: Sequence[Finding],
    stragglers: Sequence[Straggler],
    explained: set[str],
    topology: Topology,
) -> set[str]:
    """Attach unexplained slow runs to the one state fault in their path; returns the runs explained now."""
    accused = [f for f in findings if f.accuses and f.is_link and "p_value" not in f.numbers]
    found = set()
    for run, slow in _unexplained(stragglers, explained).items():
        fitting = [
            f for f in accused if _in_path(f, slow[0].nodes, topology) and _fits_in_time(f, slow)
        ]
        if len({topology.link_key(f.component) for f in fitting}) == 1:
            _attach(fitting[0], run, slow)
            found.add(run)
    return found


def _unexplained(
    stragglers: Sequence[Straggler], explained: set[str]
) -> Mapping[str, list[Straggler]]:
    by_run: dict[str, list[Straggler]] = {}
    for straggler in stragglers:
        if straggler.run not in explained and straggler.kind != "late_rank":
            by_run.setdefault(straggler.run, []).append(straggler)
    return by_run


def _in_path(finding: Finding, nodes: Sequence[str], topology: Topology) -> bool:
    ends = (finding.component, finding.far_end or topology.far_end(finding.component))
    return any(parse_component(end).node in nodes for end in ends if end)


def _fits_in_time(finding: Finding, slow: Sequence[Straggler]) -> bool:
    """False only when known times exclude each other."""
    starts, ends = [s.start_ts for s in slow if s.start_ts], [s.end_ts for s in slow if s.end_ts]
    if finding.first_seen is None or not starts or not ends:
        return True
    last_seen = finding.last_seen or finding.first_seen
    return finding.first_seen - _SLACK <= max(ends) and last_seen + _SLACK >= min(starts)


def _attach(finding: Finding, run: str, slow: Sequence[Straggler]) -> None:
    worst = max(slow, key=lambda s: s.deviation_pct)
    finding.reason += (
        f" {run} runs over this link and was slow at that time, up to {worst.latency_us:.0f} us against a baseline of "
        f"{worst.baseline_us:.0f} us ({worst.deviation_pct:.1f} % more); no other link in its path is accused."
    )
    known = finding.numbers
    if worst.deviation_pct > (known.get("degradation_pct") or 0.0):
        known |= {
            "degradation_pct": worst.deviation_pct,
            "latency_us": worst.latency_us,
            "baseline_us": worst.baseline_us,
        }
    known["runs"] = sorted({*(known.get("runs") or ()), run})
    known["lost_gpu_s"] = (known.get("lost_gpu_s") or 0.0) + sum(
        s.lost_s * (s.gpus or 0) for s in slow
    )
