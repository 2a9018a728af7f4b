"""The numbers that an incident's reasoning states, each with the SELECT that gives it again.

The queries are for `audit.duckdb` and follow how the diagnosis came by each number. Left out, because
no query of one row gives them: bins and lags of a coincidence (counts of bins that the confidence
restates), values of fired rules (text in the JSON of a spike, with their limits in `rules`), and totals
of network ports and of sweeps, whose detectors compare whole groups of readings. Of a link that is only
suspected the chance and shares stand in the text alone, for its finding does not carry their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import isclose
from typing import Any

from fabric_pipeline.diagnose.diagnose import PORT_LINKS
from fabric_pipeline.diagnose.localise.judge import RESPONSIBLE, SUSPECT
from fabric_pipeline.diagnose.thresholds import IsolationLimits
from fabric_pipeline.incidents.record import Figure
from fabric_pipeline.model.components import device_of, gpu_index, normalise_pci, parse_component
from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.sql import sql_text
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.schemas.registry import TABLES

_SPIKES, _CORRELATIONS, _STRAGGLERS = "spike_detections", "straggler_correlations", "stragglers"
# Figures of the weighing and their units; `_OF_COINCIDENCE` are kept for accused links only.
_WEIGHED = {
    "p_value": "probability", "confidence": "probability", "share_slow": "share", "slow_anyway": "share",
    "edges_fitting": "edges", "edges_visible": "edges", "dose": "rank correlation",
}  # fmt: skip
_OF_COINCIDENCE = {"overlap_share": "share", "covered_share": "share", "effect_pct": "%"}
_BY_SCORE, _BY_OVERLAP = "score desc, run, candidate_rank", "overlap_bins desc, run, candidate_rank"
_WORST = "deviation_pct desc, run, communicator, op, bytes, interval"


def figures_of(finding: Finding, drop: str, topology: Topology) -> list[Figure]:
    """Every number of the finding that one query on the audit file returns."""
    in_drop = f'"drop" = {sql_text(drop)}'
    weighed = list(_weighed(finding, in_drop, topology))
    effect = next((one for one in weighed if one.name == "effect_pct"), None)
    return [*_counted(finding, in_drop, topology), *weighed, *_slow(finding, in_drop, effect)]


def link_ends(component: str, topology: Topology) -> list[tuple[str, str]]:
    """(node, interface) of both ends of a link under every name that the tables may have for them."""
    parsed = parse_component(component)
    key = topology.link_key(topology.resolve(component))
    ends = [(parsed.node, parsed.interface)]
    for end in (end for link in topology.links_at(key) for end in (link.a, link.b)):
        if topology.link_key(topology.resolve(end)) == key:
            one = parse_component(end)
            ends.append((one.node, one.interface))
    return list(dict.fromkeys(name for end in ends for name in _names(*end, topology)))


def _names(node: str, interface: str, topology: Topology) -> Iterator[tuple[str, str]]:
    """The end as it is, and by the PCI address of its GPU, as sources without an index name it."""
    yield node, interface
    index, rest = gpu_index(interface), interface[len(device_of(interface)) :]
    for gpu in topology.nodes.get(node, {}).get("gpus") or []:
        if rest and index is not None and gpu.get("gpu") == index and gpu.get("pci"):
            device = f"pci-{normalise_pci(str(gpu['pci']))}"
            yield node, device + rest
            if rest == "/pcie":
                yield node, device


def _counted(finding: Finding, in_drop: str, topology: Topology) -> Iterator[Figure]:
    """Counts, rate and surprise. Ends, and GPUs that were exchanged, are never added up."""
    numbers = finding.numbers
    folded = [finding.component, *(numbers.get("sympathetic") or ())]
    ends = [end for component in folded for end in link_ends(component, topology)]
    # Totals of network ports are judged by rules of their own and are in no link's count.
    ports = _listed(sorted(PORT_LINKS))
    where = f"{in_drop} and {_at(ends)} and (start_ts is not null or link_type not in ({ports}))"
    for counter, count in (numbers.get("counts") or {}).items():
        known = COUNTERS.get(counter)
        per_end = (
            f"select sum(events) as errors from {_SPIKES} where {where} and counter = {sql_text(counter)} "
            "group by node, interface, gpu_uuid"
        )
        yield Figure(
            name=f"counts.{counter}",
            value=count,
            unit="errors",
            says=f"Sum of {known.says if known else counter} at the end that counted more",
            query=f"select max(errors) from ({per_end})",
        )
    if numbers.get("counts") and numbers.get("max_rate_per_hour"):
        yield Figure(
            name="max_rate_per_hour",
            value=numbers["max_rate_per_hour"],
            unit="errors/h",
            says="Largest rate of an interval",
            query=f"select max(rate_per_hour) from {_SPIKES} where {where}",
        )
    if numbers.get("counts") and numbers.get("surprise"):
        yield Figure(
            name="surprise",
            value=numbers["surprise"],
            unit="powers of ten",
            says=_meaning(_SPIKES, "surprise"),
            query=f"select max(surprise) from {_SPIKES} where {where}",
        )


def _weighed(finding: Finding, in_drop: str, topology: Topology) -> Iterator[Figure]:
    """Figures of the row that the reasoning cites: of a link's rows the one that fits best."""
    numbers = finding.numbers
    if not finding.is_link or "confidence" not in numbers:
        return
    link = f"{in_drop} and {_at(link_ends(finding.component, topology))}"
    of_counts = any(name in numbers for name in _OF_COINCIDENCE)
    accused = f"{link} and verdict = {sql_text(RESPONSIBLE)}"
    best_of_counts = f"where {accused} and overlap_bins > 0 order by {_BY_SCORE} limit 1"
    if of_counts:
        best = best_of_counts
    elif "p_value" in numbers:  # weighed by the time of a lost state
        best = f"where {accused} order by {_BY_OVERLAP} limit 1"
    else:
        best = f"where {link} and verdict = {sql_text(SUSPECT)} and overlap_bins > 0 order by {_BY_SCORE} limit 1"
    yield from _of_row(numbers, _WEIGHED, _CORRELATIONS, best)
    yield from _of_row(numbers, _OF_COINCIDENCE, _CORRELATIONS, best_of_counts)


def _slow(finding: Finding, in_drop: str, effect: Figure | None) -> Iterator[Figure]:
    """Slowness of the worst interval of the slowed runs, and the GPU-hours lost in all of them."""
    numbers = finding.numbers
    runs = numbers.get("runs")
    condition = _slow_condition(finding)
    if not runs or not condition:
        return
    where = f"where {in_drop} and run in ({_listed(runs)}) and {condition}"
    worst = f"{where} order by {_WORST} limit 1"
    degradation = numbers.get("degradation_pct")
    if degradation is not None and _is_measured(numbers):
        yield _figure("degradation_pct", degradation, "%", _STRAGGLERS, "deviation_pct", worst)
    elif degradation and effect is not None and isclose(degradation, effect.value):
        # No slow interval was found for these runs: the effect beside the errors stands for it.
        yield effect.model_copy(update={"name": "degradation_pct"})
    yield from _of_row(numbers, {"latency_us": "us", "baseline_us": "us"}, _STRAGGLERS, worst)
    if numbers.get("lost_gpu_s"):
        yield Figure(
            name="gpu_hours_lost",
            value=numbers["lost_gpu_s"] / 3600,
            unit="GPU-hours",
            says="Time lost against the baseline in all slow intervals, times the GPUs that waited",
            query=f"select sum(lost_s * coalesce(gpus, 0)) / epoch(interval '1 hour') from {_STRAGGLERS} {where}",
        )


def _slow_condition(finding: Finding) -> str:
    """Which slow intervals of a run a finding speaks of, "" when of none."""
    link_time = "kind <> 'late_rank'"
    if finding.is_link:
        return link_time
    beyond_noise = f"deviation_pct > {IsolationLimits().noise_pct:g}"
    if "late_rank" in finding.rules:
        return f"kind = 'late_rank' and {beyond_noise}"
    if "slow_without_link_evidence" in finding.rules:
        return f"{link_time} and {beyond_noise}"
    return ""


def _is_measured(numbers: Mapping[str, Any]) -> bool:
    """True when the degradation is that of the stated latency against the stated baseline."""
    latency, baseline = numbers.get("latency_us"), numbers.get("baseline_us")
    if latency is None or not baseline:
        return False
    return isclose(numbers["degradation_pct"], (latency - baseline) * 100 / baseline, abs_tol=1e-6)


def _of_row(
    numbers: Mapping[str, Any], units: Mapping[str, str], table: str, row: str
) -> Iterator[Figure]:
    for name, unit in units.items():
        if numbers.get(name) is not None:
            yield _figure(name, numbers[name], unit, table, name, row)


def _figure(name: str, value: float, unit: str, table: str, column: str, row: str) -> Figure:
    query = f"select {column} from {table} {row}"
    return Figure(name=name, value=value, unit=unit, says=_meaning(table, column), query=query)


def _meaning(table: str, column: str) -> str:
    return next(one.description for one in TABLES[table].columns if one.name == column)


def _at(ends: Iterable[tuple[str, str]]) -> str:
    pairs = (f"({sql_text(node)}, {sql_text(interface)})" for node, interface in ends)
    return f"(node, interface) in ({', '.join(dict.fromkeys(pairs))})"


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(sql_text(text) for text in texts)
