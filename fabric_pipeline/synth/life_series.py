"""Five drops of one small cluster over three weeks: two faults, their repairs, a return, a part that moves on.

Between the drops a person is supposed to do what the tickets say; the scenarios show what telemetry looks
like afterwards. Turning a scenario into files is in `generate`.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from fabric_pipeline.synth.confounders import BenignBursts
from fabric_pipeline.synth.effects import Plant
from fabric_pipeline.synth.faults import MarginalIbCable, MultiBitCrcLane
from fabric_pipeline.synth.scenario_model import PutIn, Scenario
from fabric_pipeline.synth.timegrid import TimeGrid
from fabric_pipeline.synth.topology import ClusterSpec
from fabric_pipeline.synth.workload import LLAMA_70B, OLMO_32B, Job

MINUTES = 45
CLUSTER = ClusterSpec(nodes=4, cluster="rowan", site="kiruna-4", row="C", first_rack=21, seed=815)
# GPU board that is put in on the fourth day, and the one that was taken out and turns up in another node.
NEW_BOARD = PutIn(node=1, gpu=5, serial="1659900000017")
OLD_BOARD_NODE, OLD_BOARD_GPU = 1, 5
OTHER_NODE, OTHER_GPU = 3, 2

_LANE = MultiBitCrcLane(node=1, gpu=5, nvlink=11, lane=1, periods=((8, 14), (21, 29), (34, 40)))
_CABLE = MarginalIbCable(node=2, gpu=3, periods=((5, 12), (18, 26), (33, 41)))
_MOVED = MultiBitCrcLane(
    node=OTHER_NODE, gpu=OTHER_GPU, nvlink=6, lane=0, periods=((6, 13), (19, 27), (33, 42))
)


def life_found() -> Scenario:
    """Day 1: an NVLink lane and an InfiniBand cable are bad."""
    return _day(
        "life-1-found", "Day 1: a bad NVLink lane and a bad InfiniBand cable", 3, _LANE, _CABLE
    )


def life_repaired() -> Scenario:
    """Day 2, after the first repairs: nothing is wrong."""
    return _day("life-2-repaired", "Day 2, after the first repairs: no fault", 4)


def life_back() -> Scenario:
    """Day 5: the NVLink lane is bad again, the cable is not."""
    return _day("life-3-back", "Day 5: the NVLink lane is bad again", 7, _LANE)


def life_board_replaced() -> Scenario:
    """Day 6, with another GPU board in place: nothing is wrong."""
    says = "Day 6, with another GPU board in the slot: no fault"
    return _day("life-4-board-replaced", says, 8, put_in=(NEW_BOARD,))


def life_moved() -> Scenario:
    """Day 18: the board that was taken out sits in another node, where its link is bad."""
    says = "Day 18: the board that was taken out is bad in another node"
    moved = PutIn(OTHER_NODE, OTHER_GPU, taken_from=(OLD_BOARD_NODE, OLD_BOARD_GPU))
    return _day("life-5-board-moved", says, 20, _MOVED, put_in=(moved, NEW_BOARD))


LIFE_SERIES: dict[str, Callable[[], Scenario]] = {
    "life-1-found": life_found,
    "life-2-repaired": life_repaired,
    "life-3-back": life_back,
    "life-4-board-replaced": life_board_replaced,
    "life-5-board-moved": life_moved,
}


def _day(
    name: str, says: str, day: int, *faults: Plant, put_in: tuple[PutIn, ...] = ()
) -> Scenario:
    return Scenario(
        name,
        says,
        TimeGrid(datetime(2025, 3, day, 13, tzinfo=UTC), MINUTES),
        (
            Job(f"llama31-70b-{day:02d}03", LLAMA_70B, (0, 1), 0, MINUTES),
            Job(f"olmo2-32b-{day:02d}03", OLMO_32B, (2, 3), 0, MINUTES, flat=True),
        ),
        (*faults, BenignBursts(links=2, spare=_SPARED)),
        cluster=CLUSTER,
        put_in=put_in,
    )


# Links of the story stay free of harmless bursts, so that each day shows one thing.
_SPARED = ((1, "gpu5/nvlink-11"), (2, "mlx5_5/1"), (3, "gpu2/nvlink-6"))
