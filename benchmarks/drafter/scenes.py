"""The drops that the evaluation set is made from: what is planted in each, and under which name.

Scenarios and fleets of `synth`, variations of one of them (`altered`) and small drops; fixed seeds only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.drafter import altered
from benchmarks.drafter.small_drops import Series, SmallDrop, event, level, steady
from fabric_pipeline.synth import hardware as hw
from fabric_pipeline.synth.faults import MarginalIbCable, MultiBitCrcLane, PcieReplayStorm
from fabric_pipeline.synth.fleet import generate_fleet, write_fleet_drop
from fabric_pipeline.synth.fleet.spec import FleetSpec
from fabric_pipeline.synth.generate import generate
from fabric_pipeline.synth.scenario import Scenario
from fabric_pipeline.synth.states import LinkFlap, WidthDowngrade
from fabric_pipeline.synth.timegrid import TimeGrid
from fabric_pipeline.synth.topology import ClusterSpec
from fabric_pipeline.synth.workload import LLAMA_70B, OLMO_32B, Job

SEED = 4
_DAY = datetime(2026, 10, 2, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Planted:
    """One planted fault: its name in the report and the components any of which names it rightly."""

    kind: str
    ends: frozenset[str]


@dataclass(frozen=True, slots=True)
class Scene:
    """One drop. `write` makes it in a folder that does not exist and tells what was planted."""

    name: str
    platform: str
    write: Callable[[Path], Sequence[Planted]]
    says: str


def planted(kind: str, *ends: str) -> Planted:
    """A fault that any of these components names."""
    return Planted(kind, frozenset(ends))


_N1, _N2, _N3 = (ClusterSpec().node_name(number) for number in range(3))


def _mixed(nodes: int, minutes: int, plants: tuple[Any, ...]) -> Scenario:
    jobs = (Job("llama31-70b-7", LLAMA_70B, tuple(range(nodes)), 0, minutes),)
    if nodes == 2:
        jobs = (Job("olmo2-32b-7", OLMO_32B, (0, 1), 0, minutes),)
    cluster = ClusterSpec(nodes=nodes)
    return Scenario("mixed", "several faults", TimeGrid(_DAY, minutes), jobs, plants, cluster=cluster)  # fmt: skip


_FIVE = _mixed(
    4,
    40,
    (
        MultiBitCrcLane(node=2, gpu=5, nvlink=11, lane=1, periods=((5, 12), (20, 30))),
        MarginalIbCable(node=1, gpu=2, periods=((3, 9), (15, 22), (30, 38))),
        PcieReplayStorm(node=3, gpu=1, periods=((12, 26),)),
        LinkFlap(node=0, gpu=7, at_minutes=(8.2, 19.1, 27.6, 33.3)),
        WidthDowngrade(node=0, gpu=4, interface="mlx5_6/pcie", lanes=8, periods=((17, 40),)),
    ),
)
_THREE = _mixed(
    2,
    30,
    (
        MultiBitCrcLane(node=0, gpu=3, nvlink=6, lane=0, periods=((4, 12), (17, 26))),
        MarginalIbCable(node=1, gpu=6, periods=((3, 9), (14, 22))),
        LinkFlap(node=1, gpu=1, at_minutes=(5.2, 11.1, 19.6, 25.3)),
    ),
)


def _synthetic(scenario: Scenario, out: Path) -> list[Planted]:
    key = out.with_name(f"{out.name}.key.json")
    generate(scenario, out, seed=SEED, answer_key=key)
    faults = json.loads(key.read_text(encoding="utf-8"))["faults"]
    return [planted(one["kind"].replace("_", " "), one["near_end"], one["far_end"]) for one in faults]  # fmt: skip


def _fleet(kind: str, spec: FleetSpec, seed: int) -> Callable[[Path], list[Planted]]:
    def write(out: Path) -> list[Planted]:
        key = out.with_name(f"{out.name}.key.json")
        write_fleet_drop(generate_fleet(spec, seed), out, key)
        guilty = json.loads(key.read_text(encoding="utf-8"))["guilty"]
        return [planted(kind, *one["ends"]) for one in guilty]

    return write


def _altered(
    change: Callable[[Path], Callable[[str], str]], kind: str = ""
) -> Callable[[Path], list[Planted]]:
    """The drop with three faults, changed as a whole; components of the truth are renamed with it."""

    def write(out: Path) -> list[Planted]:
        truth = _synthetic(_THREE, out)
        renamed = change(out)
        return [
            planted(f"{one.kind}{kind}", *(renamed(end) for end in sorted(one.ends)))
            for one in truth
        ]

    return write


def _small(drop: SmallDrop, *truth: Planted) -> Callable[[Path], list[Planted]]:
    def write(out: Path) -> list[Planted]:
        drop.write(out)
        return list(truth)

    return write


_COUNTS = _small(
    SmallDrop(
        (
            Series(f"{_N1}:gpu5/nvlink-3", "replay", steady(60)),
            Series(f"{_N1}:gpu2/nvlink-7", "recovery", steady(3)),
            Series(f"{_N2}:gpu5/nvlink-1", "crc_flit", steady(9000)),
            Series(f"{_N2}:gpu5/nvlink-1", "replay", steady(400)),
            Series(f"{_N2}:mlx5_4/1", "symbol_error", steady(50)),
            Series(f"{_N2}:gpu3/pcie", "pcie_replay", steady(50)),
            Series(f"{_N3}:mlx5_6/1", "link_downed", lambda sample: float(sample // 8)),
        ),
        nodes=3,
    ),
    planted("nvlink replay", f"{_N1}:gpu5/nvlink-3"),
    planted("nvlink recovery", f"{_N1}:gpu2/nvlink-7"),
    planted("nvlink crc", f"{_N2}:gpu5/nvlink-1"),
    planted("ib symbol errors", f"{_N2}:mlx5_4/1"),
    planted("pcie replay", f"{_N2}:gpu3/pcie"),
    planted("ib flapping", f"{_N3}:mlx5_6/1"),
)
_STATES = _small(
    SmallDrop(
        (
            *(Series(f"{_N1}:gpu5/nvlink-{n}", "link_up", level(1, float(n != 3))) for n in range(hw.NVLINKS_PER_GPU)),
            *(Series(f"{_N1}:{hca}/1", "link_up", level(1, float(hca != "mlx5_9"))) for hca in hw.HCAS),
            *(Series(f"{_N2}:{hca}/1", "width", level(4, 2 if hca == "mlx5_3" else 4)) for hca in hw.HCAS),
            *(Series(f"{_N2}:{hca}/1", "speed_gbps", level(400, 200 if hca == "mlx5_3" else 400)) for hca in hw.HCAS),
        ),
        nodes=2,
    ),
    planted("nvlink down", f"{_N1}:gpu5/nvlink-3"),
    planted("ib down", f"{_N1}:mlx5_9/1"),
    planted("ib width loss", f"{_N2}:mlx5_3/1"),
)  # fmt: skip
_TWIN = _small(
    SmallDrop(
        (
            Series(f"{_N1}:mlx5_9/1", "symbol_error", steady(50)),
            Series(f"{_N1}:mlx5_10/1", "symbol_error", steady(45)),
        )
    ),
    planted("twin-port plug", f"{_N1}:mlx5_9/1", f"{_N1}:OSFP2"),
    planted("twin-port plug", f"{_N1}:mlx5_10/1", f"{_N1}:OSFP2"),
)
_SXID = "nvidia-nvswitch1: SXid (PCI:0000:08:00.0): 19084, Fatal, Link {0} NPG egress error"
_XID = "NVRM: Xid (PCI:0000:c3:00): 74, NVLink: fatal error detected on link {0}(0x10000, 0x0, 0x0)"
_SHARED = _small(
    SmallDrop(
        events=(
            *(event(12 + n / 600, f"{_N1}:nvswitch-1/port-{20 + n}", "sxid", _SXID.format(20 + n), code=19084) for n in range(4)),
            *(event(22 + n / 600, f"{_N2}:gpu5/nvlink-{n}", "xid", _XID.format(n), code=74) for n in range(4)),
            *(event(31 + n / 600, f"unknown:leaf-2/port-{n}", "link_down", f"port {n} went down") for n in range(1, 4)),
        ),
        nodes=3,
    ),
    planted("shared nvswitch", f"{_N1}:nvswitch-1"),
    planted("shared gpu", f"{_N2}:gpu5"),
    planted("shared leaf switch", "unknown:leaf-2"),
)  # fmt: skip
_TOTALS = _small(
    SmallDrop(
        (
            Series(f"{_N1}:gpu5/nvlink-3", "crc_flit", lambda _: 48201.0),
            Series(f"{_N1}:gpu5/nvlink-3", "replay", lambda _: 8900.0),
            Series(f"{_N2}:mlx5_4/1", "symbol_error", lambda _: 52000.0),
            Series(f"{_N2}:mlx5_4/1", "link_downed", lambda _: 12.0),
            Series(f"{_N2}:gpu1/pcie", "pcie_replay", lambda _: 20000.0),
        ),
        nodes=2,
        has_times=False,
    ),
    planted("nvlink totals only", f"{_N1}:gpu5/nvlink-3"),
    planted("ib totals only", f"{_N2}:mlx5_4/1"),
    planted("pcie totals only", f"{_N2}:gpu1/pcie"),
)
_EVENTS = _small(
    SmallDrop(
        events=(
            event(9, f"{_N1}:gpu5", "gpu_lost", "NVRM: Xid (PCI:0000:c3:00): 79, GPU has fallen off the bus.", code=79),
            event(25, f"{_N1}:mlx5_5/1", "module_over_temperature", "Port module event: High Temperature"),
        )
    ),
    planted("gpu lost", f"{_N1}:gpu5"),
    planted("module too hot", f"{_N1}:mlx5_5/1"),
)  # fmt: skip


def _spec(fault: str, platform: str) -> FleetSpec:
    return FleetSpec(nodes=2, bins=40, step_s=60.0, fault=fault, platform=platform)


SCENES = (
    Scene("counts", "h100", _COUNTS, "one kind of counter a fault, no training run timed"),
    Scene("states", "h100", _STATES, "links down or narrow, no errors counted"),
    Scene("twin", "h100", _TWIN, "both ports of one twin-port plug err"),
    Scene("shared", "h100", _SHARED, "several links fail at once: NVSwitch, GPU, leaf switch"),
    Scene("totals", "h100", _TOTALS, "one total a counter, no times, so no rates"),
    Scene("events", "h100", _EVENTS, "log lines alone, no counter grows"),
    Scene("five", "h100", lambda out: _synthetic(_FIVE, out), "five faults that slow training runs"),
    Scene("no-topology", "h100", _altered(altered.without_topology, ", no topology"), "no file says where anything is"),
    Scene("hostile", "h100", _altered(altered.with_hostile_names, ", hostile names"), "orders, markup and formulas in every name"),
    Scene("roce", "h100", _altered(altered.as_roce, ", RoCE"), "Ethernet ports, no training run timed"),
    Scene("a100-nvlink", "a100", _fleet("fleet: nvlink", _spec("nvlink", "a100"), 5), "synth fleet"),
    Scene("a100-pcie", "a100", _fleet("fleet: pcie", _spec("pcie", "a100"), 7), "synth fleet"),
    Scene("nvl72-nvlink", "nvl72", _fleet("fleet: nvlink", _spec("nvlink", "nvl72"), 5), "synth fleet"),
    Scene("nvl72-rail", "nvl72", _fleet("fleet: rail cable", _spec("nic_leaf", "nvl72"), 7), "synth fleet"),
)  # fmt: skip
