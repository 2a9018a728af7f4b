"""The ready-made scenarios by name.

`SCENARIOS` maps names to them; `SHIPPED` are those whose drops lie in `data/drops`, made
with `SHIPPED_SEED`. Turning a scenario into files is in `generate`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from fabric_pipeline.synth.confounders import (
    BenignBursts,
    Congestion,
    CounterReset,
    LostSamples,
    MissingNode,
    SlowCompute,
)
from fabric_pipeline.synth.faults import MarginalIbCable, MultiBitCrcLane, PcieReplayStorm
from fabric_pipeline.synth.life_series import LIFE_SERIES
from fabric_pipeline.synth.rows import Layout
from fabric_pipeline.synth.scenario_model import Scenario
from fabric_pipeline.synth.states import LinkFlap, WidthDowngrade
from fabric_pipeline.synth.timegrid import TimeGrid
from fabric_pipeline.synth.timings import Sampling
from fabric_pipeline.synth.workload import LLAMA_70B, MIXTRAL_8X7B, OLMO_32B, QWEN_72B, Job

__all__ = ["SCENARIOS", "SHIPPED", "SHIPPED_SEED", "Scenario"]

SHIPPED_SEED = 20261120


def _grid(hour: int, minutes: int) -> TimeGrid:
    return TimeGrid(datetime(2026, 11, 20, hour, tzinfo=UTC), minutes)


def _jobs(tag: str, minutes: int, change: float) -> tuple[Job, ...]:
    """The usual day: a long run on four nodes, two shorter ones, then a flat run on three."""
    return (
        Job(f"llama31-70b-{tag}", LLAMA_70B, (0, 1, 2, 3), 0, minutes),
        Job(f"mixtral-8x7b-{tag}", MIXTRAL_8X7B, (4, 5), 0, change),
        Job(f"qwen25-72b-{tag}", QWEN_72B, (6, 7), 0, change),
        Job(f"olmo2-32b-{tag}", OLMO_32B, (5, 6, 7), change + 2, minutes, flat=True),
    )


def healthy() -> Scenario:
    """Nothing wrong; a few old counts and two links with harmless bursts."""
    return Scenario(
        "healthy",
        "No fault: old counts and two links with corrected errors that slow nothing",
        _grid(8, 45),
        _jobs("0801", 45, 25),
        (BenignBursts(links=2, longest_bins=2, errors_per_bin=4.0),),
        Layout("wide", lean=False),
    )


def crc_multibit_lane() -> Scenario:
    """One NVLink lane with multi-bit CRC errors; a few harmless bursts elsewhere."""
    return Scenario(
        "crc-multibit-lane",
        "Multi-bit CRC errors, replays and recoveries on one NVLink lane slow one node",
        _grid(10, 60),
        _jobs("1003", 60, 34),
        (
            MultiBitCrcLane(
                node=2, gpu=5, nvlink=11, lane=1, periods=((9, 14.5), (23, 31), (42, 53.5))
            ),
            BenignBursts(links=5, spare=((2, "gpu5/nvlink-11"),)),
        ),
        Layout("long", quiet_every=120),
    )


def ib_marginal_cable() -> Scenario:
    """A marginal InfiniBand cable among harmless bursts; two jobs feel it one after the other."""
    return Scenario(
        "ib-marginal-cable",
        "Single-bit bursts and resends on one InfiniBand cable slow one rail of two jobs",
        _grid(13, 60),
        _jobs("1305", 60, 30),
        (
            MarginalIbCable(node=5, gpu=2, periods=((6, 12), (18.5, 25), (37, 44), (50, 57))),
            BenignBursts(links=8, bursts_per_link=4, errors_per_bin=40.0, spare=((5, "mlx5_4/1"),)),
        ),
        Layout("wide", lean=False),
    )


def missing_data() -> Scenario:
    """Lost samples, one counter reset and a silent node, but no bad link."""
    return Scenario(
        "missing-data",
        "No fault: samples are missing, counters of one GPU start again, one node is silent",
        _grid(16, 50),
        _jobs("1602", 50, 28),
        (
            CounterReset(node=1, gpu=6, at_minute=21),
            MissingNode(node=7),
            LostSamples(share=0.18, gaps=((3, 30, 36),)),
            BenignBursts(links=4, errors_per_bin=6.0, spare_nodes=(7,)),
        ),
        Layout("wide", "jsonl", quiet_every=50),
    )


def pcie_replay_storm() -> Scenario:
    """Replays above 1000/h on one GPU's PCIe link, with a slow rail."""
    return Scenario(
        "pcie-replay-storm",
        "Replays on one GPU's PCIe link slow its rail",
        _grid(18, 60),
        _jobs("1804", 60, 34),
        (
            PcieReplayStorm(node=3, gpu=1, periods=((12, 26), (38, 50))),
            BenignBursts(links=4, spare=((3, "gpu1/pcie"),)),
        ),
    )


def link_flap() -> Scenario:
    """An InfiniBand port that goes down five times."""
    return Scenario(
        "link-flap",
        "One InfiniBand port goes down and comes back five times",
        _grid(19, 60),
        _jobs("1906", 60, 34),
        (LinkFlap(node=1, gpu=7, at_minutes=(8.2, 19.1, 27.6, 41.3, 52.7)),),
    )


def width_downgrade() -> Scenario:
    """A NIC's PCIe link at half width, without any error."""
    return Scenario(
        "width-downgrade",
        "The PCIe link of one NIC runs at half width; no counter shows it",
        _grid(20, 60),
        _jobs("2001", 60, 34),
        (WidthDowngrade(node=0, gpu=4, interface="mlx5_6/pcie", lanes=8, periods=((17, 60),)),),
    )


def slow_compute() -> Scenario:
    """One GPU comes late; every link is clean but for harmless bursts."""
    return Scenario(
        "slow-compute",
        "One GPU computes slowly and comes late; no link is bad",
        _grid(21, 60),
        _jobs("2104", 60, 34),
        (
            SlowCompute(node=2, gpu=3, periods=((10, 22), (35, 47))),
            BenignBursts(links=4),
        ),
        sampling=Sampling(ranks_of_every=4),
    )


def congestion() -> Scenario:
    """One rail without credits; all jobs on it slow down."""
    return Scenario(
        "congestion",
        "One rail is congested: ports wait for credits, no errors",
        _grid(22, 60),
        _jobs("2207", 60, 34),
        (Congestion(rail=6, periods=((11, 19), (40, 49))), BenignBursts(links=3)),
    )


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "healthy": healthy,
    "crc-multibit-lane": crc_multibit_lane,
    "ib-marginal-cable": ib_marginal_cable,
    "missing-data": missing_data,
    "pcie-replay-storm": pcie_replay_storm,
    "link-flap": link_flap,
    "width-downgrade": width_downgrade,
    "slow-compute": slow_compute,
    "congestion": congestion,
    **LIFE_SERIES,
}
SHIPPED = ("healthy", "crc-multibit-lane", "ib-marginal-cable", "missing-data")
