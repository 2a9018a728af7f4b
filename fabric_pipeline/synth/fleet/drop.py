"""Writes a scenario as a normalized drop (design section 10), and its answer key outside of it.

Counters and collectives are worked out in `drop_counters` and `drop_collectives`; nothing in the
folder tells the truth.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from fabric_pipeline.errors import UsageError
from fabric_pipeline.model.components import component_id
from fabric_pipeline.synth.fleet.drop_collectives import (
    Row,
    iso_utc,
    nodes_of_runs,
    time_of,
    write_collectives,
)
from fabric_pipeline.synth.fleet.drop_counters import write_counters
from fabric_pipeline.synth.fleet.scenario import FleetScenario

NODE_PATTERN = r"^gpu-(?P<rack>r\d+)-(?P<node>n\d+)$"


def write_fleet_drop(scenario: FleetScenario, folder: Path, answer_key: Path) -> None:
    """Write the drop into a new or empty folder and the key beside, never inside it."""
    if answer_key.resolve().is_relative_to(folder.resolve()):
        raise UsageError("the answer key would lie inside the drop", "name a place outside of it")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty", "name a folder that does not exist yet")
    folder.mkdir(parents=True, exist_ok=True)
    answer_key.parent.mkdir(parents=True, exist_ok=True)
    (folder / "drop.yaml").write_text(_header(scenario), encoding="utf-8")
    topology = json.dumps(scenario.topology(), separators=(",", ":"))
    (folder / "topology.json").write_text(topology + "\n", encoding="utf-8")
    write_counters(scenario, folder / "counters.csv")
    write_collectives(scenario, folder / "collectives.csv")
    _write_jsonl(folder / "runs.jsonl", _runs(scenario))
    _write_jsonl(folder / "events.jsonl", _events(scenario))
    answer_key.write_text(json.dumps(answer_of(scenario), indent=2) + "\n", encoding="utf-8")


def answer_of(scenario: FleetScenario) -> dict[str, Any]:
    """The answer key: specification, seed, guilty links with their times, all confounders."""
    return {
        "spec": asdict(scenario.spec),
        "seed": scenario.seed,
        "guilty": [
            {
                "ends": _ends_of(scenario, one.link),
                "link_type": scenario.links.link_type[one.link],
                "first_seen": iso_utc(time_of(scenario, one.first_bin)),
                "last_seen": iso_utc(time_of(scenario, one.last_bin)),
                "active_bins": np.flatnonzero(one.active).tolist(),
                "effect": round(one.effect, 4),
                "silent": one.silent,
                "felt": one.felt,
            }
            for one in scenario.truth
        ],
        "confounders": [_named(scenario, one) for one in scenario.confounders],
    }


def _named(scenario: FleetScenario, confounder: dict[str, Any]) -> dict[str, Any]:
    """A confounder with names in place of link and node numbers."""
    named = dict(confounder)
    if "link" in named:
        named["link"] = _ends_of(scenario, named["link"])
    if "links" in named:
        named["links"] = [_ends_of(scenario, link) for link in named["links"]]
    if "node" in named:
        named["node"] = scenario.node_names[named["node"]]
    return named


def _ends_of(scenario: FleetScenario, link: int) -> list[str]:
    links = scenario.links
    ends = [
        (links.near_node[link], links.near_interface[link]),
        (links.far_node[link], links.far_interface[link]),
    ]
    return [component_id(node, interface) for node, interface in ends if interface]


def _header(scenario: FleetScenario) -> str:
    window = iso_utc(scenario.start), iso_utc(time_of(scenario, scenario.spec.bins))
    lines = (
        'cluster: "fleet"',
        'timezone: "UTC"',
        f"node_pattern: {json.dumps(NODE_PATTERN)}",
        f'window: {{start: "{window[0]}", end: "{window[1]}"}}',
    )
    return "\n".join(lines) + "\n"


def _runs(scenario: FleetScenario) -> Iterator[Row]:
    spans = {group.run: (group.first_bin, group.last_bin) for group in scenario.groups}
    for run, nodes in nodes_of_runs(scenario).items():
        first, last = spans[run]
        yield {
            "run": run,
            "nodes": [scenario.node_names[node] for node in nodes],
            "start": iso_utc(time_of(scenario, first)),
            "end": iso_utc(time_of(scenario, last)),
        }


def _events(scenario: FleetScenario) -> Iterator[Row]:
    """Throttling as the driver reports it, when it starts and when it ends."""
    events = []
    for node, gpu, first, last in scenario.throttled:
        place = {"node": scenario.node_names[node], "component": f"gpu{gpu}"}
        texts = ((first, "clocks slowed: thermal slowdown active"), (last, "clocks restored"))
        kinds = ("clock_throttle", "clock_throttle_end")
        for (bin_, text), kind in zip(texts, kinds, strict=True):
            ts = iso_utc(time_of(scenario, bin_))
            events.append({"ts": ts, **place, "kind": kind, "text": f"GPU {gpu} {text}"})
    yield from sorted(events, key=lambda event: event["ts"])


def _write_jsonl(path: Path, rows: Iterable[Row]) -> None:
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    if text:
        path.write_text(text, encoding="utf-8")
