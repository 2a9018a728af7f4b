"""The five drops of the life of two incidents: one cluster, boards that move with serial and UUID."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.synth import generate
from fabric_pipeline.synth.life_series import (
    LIFE_SERIES,
    NEW_BOARD,
    OLD_BOARD_GPU,
    OLD_BOARD_NODE,
    OTHER_GPU,
    OTHER_NODE,
)
from fabric_pipeline.synth.scenario_model import PutIn, Scenario
from fabric_pipeline_tests.synth.conftest import small_scenario


def written(scenario: Scenario, folder: Path) -> tuple[list[Any], dict[str, Any]]:
    generate(scenario, folder / scenario.name, seed=7, answer_key=folder / "key.json")
    topology = json.loads((folder / scenario.name / "topology.json").read_text())
    return topology["nodes"], json.loads((folder / "key.json").read_text())


def test_boards_are_exchanged_and_move_while_the_cluster_stays(tmp_path: Path) -> None:
    first, key = written(LIFE_SERIES["life-1-found"](), tmp_path)
    last, last_key = written(LIFE_SERIES["life-5-board-moved"](), tmp_path)
    old = first[OLD_BOARD_NODE]["gpus"][OLD_BOARD_GPU]
    new, moved = last[OLD_BOARD_NODE]["gpus"][OLD_BOARD_GPU], last[OTHER_NODE]["gpus"][OTHER_GPU]
    assert new["serial"] == NEW_BOARD.serial
    assert new["uuid"] not in (old["uuid"], "")
    assert (moved["serial"], moved["uuid"]) == (old["serial"], old["uuid"])
    assert (new["slot"], new["pci"]) == (old["slot"], old["pci"])
    assert [node["serial"] for node in first] == [node["serial"] for node in last]
    assert (len(key["faults"]), len(last_key["faults"])) == (2, 1)


def test_the_days_follow_each_other_and_clean_days_last_half_an_hour() -> None:
    days = [make() for make in LIFE_SERIES.values()]
    starts = [day.grid.start for day in days]
    assert starts == sorted(starts)
    assert all(day.grid.minutes >= 30 for day in days)
    assert {day.cluster for day in days} == {days[0].cluster}


def test_a_board_that_does_not_exist_is_said_so(tmp_path: Path) -> None:
    scenario = small_scenario()
    for wrong in (PutIn(9, 0, "x"), PutIn(0, 0, taken_from=(0, 99))):
        with pytest.raises(NotFoundError, match="no GPU"):
            generate(
                Scenario("s", "", scenario.grid, scenario.jobs, cluster=scenario.cluster, put_in=(wrong,)),
                tmp_path / "s", seed=1, answer_key=tmp_path / "k.json",
            )  # fmt: skip
