"""Statements about links that name no single one, laid beside the links: bundles of NVLinks, switches of nodes.

`nvidia-smi topo -m` says how many NVLinks two GPUs share, Slurm below which switch a node stands. Both
can confirm or contradict the cables; neither is a cable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fabric_pipeline.model.components import component_id, device_of, gpu_index, parse_component
from fabric_pipeline.model.topology_conflicts import Conflicts
from fabric_pipeline.model.topology_links import Link, split_port

Ends = frozenset[str]


def alone(
    bundles: Iterable[tuple[Link, str]],
    links: Iterable[Link],
    source_of: Callable[[Link], str],
    conflicts: Conflicts,
) -> list[tuple[Link, str]]:
    """Bundles, each once with its file, whose links no source lists one by one; other counts are told."""
    bundles = list(bundles)
    single = _between_gpus(links) if bundles else {}
    said: dict[Ends, tuple[Link, str]] = {}
    for bundle, source in bundles:
        ends = frozenset((bundle.a, bundle.b))
        count = bundle.attributes["count"]
        if listed := single.get(ends):
            known, first = len(listed), source_of(listed[0])
        elif ends in said:
            known, first = said[ends][0].attributes["count"], said[ends][1]
        else:
            said[ends] = bundle, source
            continue
        if known != count:
            what = f"number of NVLinks between {bundle.a} and {bundle.b}"
            conflicts.differ(what, (known, first), (count, source))
    return list(said.values())


def node_switches(links: Iterable[Link]) -> tuple[dict[str, dict[str, Link]], set[str]]:
    """Node -> switch -> a link between them, and all switches that links end at."""
    cabled: dict[str, dict[str, Link]] = {}
    switches: set[str] = set()
    for link in links:
        for end, far in ((link.a, link.b), (link.b, link.a)):
            near, other = parse_component(end), parse_component(far)
            if other.node:
                continue
            switches.add(split_port(other.interface)[0])
            if near.node:
                cabled.setdefault(near.node, {}).setdefault(split_port(other.interface)[0], link)
    return cabled, switches


def _between_gpus(links: Iterable[Link]) -> dict[Ends, list[Link]]:
    found: dict[Ends, list[Link]] = {}
    for link in links:
        ends = frozenset(_gpu_of(end) for end in (link.a, link.b))
        if link.link_type == "nvlink" and len(ends) == 2 and "" not in ends:
            found.setdefault(ends, []).append(link)
    return found


def _gpu_of(component: str) -> str:
    """`n07:gpu3` of `n07:gpu3/nvlink-4`, "" for other devices."""
    parsed = parse_component(component)
    is_gpu = gpu_index(parsed.interface) is not None
    return component_id(parsed.node, device_of(parsed.interface)) if is_gpu else ""
