"""Small hand-planted drops: one or two nodes of the usual cluster, few counters, known faults.

They hold what the scenarios of `synth` do not: single kinds of counters, states without errors, events
of several links at once, totals without times. Same specification, same bytes.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fabric_pipeline.model.components import parse_component
from fabric_pipeline.synth import hardware as hw
from fabric_pipeline.synth.topology import ClusterSpec, build_topology

START = datetime(2026, 10, 3, 5, 0, tzinfo=UTC)
SAMPLES, STEP_S = 40, 60
HEADER = ("ts", "node", "socket", "gpu", "link_type", "link", "lane", "counter", "value")
# What is read of each kind of link end; cumulative but for states.
_READ = {
    "nvlink": ("crc_flit", "replay", "recovery"),
    "pcie": ("pcie_replay", "aer_correctable"),
    "infiniband": ("symbol_error", "link_error_recovery", "link_downed", "rx_errors"),
}
# GPUs of a node of which NVLinks are read: enough for siblings, few enough to be quick.
_GPUS = (2, 5)

Growth = Callable[[int], float]


def steady(per_sample: float, first: int = 8) -> Growth:
    """Counts that begin at a sample and grow by the same amount in each one."""
    return lambda sample: per_sample * max(0, sample - first + 1)


def level(normal: float, after: float, first: int = 10) -> Growth:
    """A state that changes once."""
    return lambda sample: normal if sample < first else after


@dataclass(frozen=True, slots=True)
class Series:
    """One counter or state of one link end that is not zero all the time."""

    component: str
    counter: str
    value: Growth


@dataclass(frozen=True, slots=True)
class SmallDrop:
    """What is planted. `has_times` False: one total for each counter, without a time."""

    series: tuple[Series, ...] = ()
    events: tuple[dict[str, Any], ...] = ()
    nodes: int = 1
    has_times: bool = True
    extra: dict[str, str] = field(default_factory=dict)

    def write(self, out: Path) -> None:
        """The drop as files of the normalized form."""
        spec = ClusterSpec(nodes=self.nodes)
        out.mkdir(parents=True)
        topology = build_topology(spec)
        (out / "topology.json").write_text(json.dumps(topology), encoding="utf-8")
        with (out / "counters.csv").open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(HEADER)
            writer.writerows(self._rows(spec))
        if self.events:
            lines = [json.dumps(event) + "\n" for event in self.events]
            (out / "events.jsonl").write_text("".join(lines), encoding="utf-8")
        for name, text in self.extra.items():
            (out / name).write_text(text, encoding="utf-8")

    def _rows(self, spec: ClusterSpec) -> Iterable[tuple[Any, ...]]:
        planted = {(one.component, one.counter): one.value for one in self.series}
        ends = [end for number in range(spec.nodes) for end in _ends(spec.node_name(number))]
        ends += [one for one in planted if one not in ends]
        for sample in range(SAMPLES) if self.has_times else (SAMPLES - 1,):
            at = START + timedelta(seconds=STEP_S * sample)
            stamp = f"{at:%Y-%m-%dT%H:%M:%SZ}" if self.has_times else ""
            for component, counter in ends:
                growth = planted.get((component, counter))
                value = growth(sample) if growth else 0.0
                yield _row(stamp, component, counter, value)


def event(minute: float, component: str, kind: str, text: str, **more: Any) -> dict[str, Any]:
    """One line of events.jsonl."""
    at = START + timedelta(minutes=minute)
    node = parse_component(component).node
    return {"ts": f"{at:%Y-%m-%dT%H:%M:%S.%fZ}", "node": node, "component": component, "kind": kind, "text": text, **more}  # fmt: skip


def _ends(node: str) -> list[tuple[str, str]]:
    links = [(f"gpu{gpu}/nvlink-{n}", "nvlink") for gpu in _GPUS for n in range(hw.NVLINKS_PER_GPU)]
    links += [(f"gpu{gpu}/pcie", "pcie") for gpu in range(hw.GPUS_PER_NODE)]
    links += [(f"{hca}/1", "infiniband") for hca in hw.HCAS]
    return [(f"{node}:{link}", counter) for link, kind in links for counter in _READ[kind]]


def _row(stamp: str, component: str, counter: str, value: float) -> tuple[Any, ...]:
    place = parse_component(component)
    gpu = place.interface.partition("/")[0].removeprefix("gpu")
    is_nvlink = "nvlink" in place.interface or "nvswitch" in place.interface
    kind = "nvlink" if is_nvlink else "pcie" if place.interface.endswith("/pcie") else "infiniband"
    lane = "" if place.lane is None else place.lane
    known = gpu if gpu.isdecimal() else ""
    return stamp, place.node, "", known, kind, place.interface, lane, counter, f"{value:g}"
