"""`synth`: what can be made, where the answer key goes, what is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fabric_pipeline.synth import generate
from fabric_pipeline.synth.fleet import SUITES
from fabric_pipeline.synth.scenario import SCENARIOS
from fabric_pipeline_tests.cli.calls import Shell


def test_scenarios_are_listed_with_what_happens_in_them(shell: Shell) -> None:
    rows = shell("synth", "list", "--json").json
    assert [row["scenario"] for row in rows] == [*SCENARIOS, *(f"fleet:{name}" for name in SUITES)]
    assert all(row["says"] for row in rows)
    listed = shell("synth", "list").out
    assert all(name in listed for name in SCENARIOS)


def test_an_unknown_scenario_names_those_that_exist(shell: Shell, tmp_path: Path) -> None:
    answer = shell("synth", "gremlins", tmp_path / "out")
    assert answer.code == 2
    assert "crc-multibit-lane" in answer.err
    assert not (tmp_path / "out").exists()


def test_a_folder_has_to_be_named(shell: Shell) -> None:
    assert "SCENARIO FOLDER" in shell("synth", "healthy").err


def test_the_answer_key_may_not_lie_in_the_drop(shell: Shell, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = shell("synth", "healthy", out, "--answer-key", out / "truth.json")
    assert answer.code == 2
    assert not out.exists()


def test_a_drop_is_made_where_asked(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[dict[str, object]] = []
    monkeypatch.setattr(
        sys.modules[generate.__module__],
        "generate",
        lambda scenario, out, **options: made.append(
            {"name": scenario.name, "out": out, **options}
        ),
    )
    answer = shell("synth", "link-flap", tmp_path / "out", "--seed", 7, "--json")
    assert answer.json == {"drop": str(tmp_path / "out"), "scenario": "link-flap", "seed": 7}
    assert made == [{"name": "link-flap", "out": tmp_path / "out", "seed": 7, "answer_key": None}]


def test_a_random_fleet_is_a_drop_with_its_answer_key_beside(shell: Shell, tmp_path: Path) -> None:
    answer = shell("synth", "fleet:slow_sampling", tmp_path / "out", "--seed", 3, "--json")
    assert (answer.code, answer.json["seed"]) == (0, 3)
    assert (tmp_path / "out" / "topology.json").is_file()
    assert (tmp_path / "answers" / "out.json").is_file()
    assert shell("synth", "fleet:gremlins", tmp_path / "other").code == 2
