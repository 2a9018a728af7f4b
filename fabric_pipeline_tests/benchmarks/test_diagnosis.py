"""The benchmark command on few scenarios, and what it counts apart."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import detect_time
from benchmarks.causes import CONGESTION, HOST_CAUSE, LINK, NONE, RANKED_HOST, true_cause
from benchmarks.ceiling import FOLDS, card, folds_of, left_out
from benchmarks.diagnosis import JUDGE_SEEDS, chosen_methods, main, tag_seed
from benchmarks.fleet_window import observe
from benchmarks.judging import OURS, link_of
from fabric_pipeline.diagnose.localise.scorecard import TERMS
from fabric_pipeline.errors import UsageError
from fabric_pipeline.model.components import component_id
from fabric_pipeline.synth.fleet import FleetScenario, FleetSpec, generate_fleet

SCENARIO = generate_fleet(FleetSpec(nodes=4, bins=60, fault="nic_leaf", per_rank=False), 4)
HOST = {"kind": "late_host", "node": 0, "first_bin": 0, "last_bin": 60}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Page and figures of two scenarios."""
    folder = tmp_path_factory.mktemp("benchmark")
    words = ["--suites", "base", "--scenarios", "2", "--processes", "1", "--methods", "ours"]
    files = ["--out", str(folder / "page.md"), "--json", str(folder / "figures.json")]
    assert main([*words, *files]) == 0
    return folder


def test_the_page_says_how_it_was_made(written: Path) -> None:
    page = (written / "page.md").read_text("utf-8")
    assert "No real fleet was measured" in page
    assert "python -m benchmarks.diagnosis --suites base --scenarios 2" in page
    assert f"Seeds from {JUDGE_SEEDS} on" in page
    assert str(written) not in page, "where results go is no part of how they were made"
    assert "## Beside other methods" not in page
    assert re.search(r"^\| base \| 2 \| 1 \| ", page, re.MULTILINE)


def test_tables_of_the_page_are_tables(written: Path) -> None:
    width = 0
    for line in (written / "page.md").read_text("utf-8").splitlines():
        bars = line.count("|") if line.startswith("|") else 0
        assert not (width and bars) or bars == width, line
        width = bars


def test_figures_for_machines_agree_with_the_single_outcomes(written: Path) -> None:
    figures = json.loads((written / "figures.json").read_text("utf-8"))
    assert [one["index"] for one in figures["scenarios"]] == [0, 1]
    guilty = figures["scenarios"][1]["outcomes"][OURS]["guilty"]
    named = [one["link"] for one in figures["scenarios"][1]["outcomes"][OURS]["answers"]]
    assert figures["suites"]["base"][OURS]["recall"] == (1.0 if set(guilty) <= set(named) else 0.0)
    assert figures["suites"]["base"][OURS]["scenarios_without_guilty"] == 1


def test_unknown_suites_and_methods_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--suites", "base,nowhere"]) == 2
    assert "nowhere" in capsys.readouterr().err
    with pytest.raises(UsageError, match="oracle"):
        chosen_methods("ours,oracle")


def test_methods_are_chosen_by_name() -> None:
    assert chosen_methods("Pearson+state,ours") == (OURS, "Pearson + state")
    assert OURS not in chosen_methods("all")
    assert len(chosen_methods("ours,all")) == 11


def test_seeds_of_a_release_follow_from_its_tag() -> None:
    assert tag_seed("v1.2.0") == tag_seed("v1.2.0")
    assert tag_seed("v1.2.0") != tag_seed("v1.2.1")
    assert tag_seed("v1.2.0") > JUDGE_SEEDS * 2


def test_a_naming_lasts_when_no_later_look_misses_the_link() -> None:
    assert detect_time.lasting([True] * 8) == 1
    assert detect_time.lasting([True, False, True, True]) == 3
    assert detect_time.lasting([True, True, False]) is None
    assert detect_time.lasting([]) is None


def test_nothing_later_than_the_look_is_seen() -> None:
    early = observe(SCENARIO, 20)
    latest = SCENARIO.start + timedelta(seconds=20 * SCENARIO.spec.step_s)
    assert early.scenario.increments.bin.max() < 20
    assert all(spike.end_ts is None or spike.end_ts <= latest for spike in early.spikes)
    assert early.built is not None
    assert early.built.window.bins <= 20


def test_with_swapped_cables_either_end_of_the_guilty_one_counts() -> None:
    scenario = _miswired()
    guilty = scenario.truth[0].link
    assert scenario.miswired is not None
    other = next(link for link in scenario.miswired if link != guilty)
    seen, links = observe(scenario), scenario.links
    for link in (guilty, other):
        near = component_id(links.near_node[link], links.near_interface[link])
        assert link_of(seen, near) == guilty


def _miswired() -> FleetScenario:
    """The first scenario in which the guilty cable is one of the swapped ones."""
    spec = FleetSpec(nodes=4, bins=60, fault="nic_leaf", miswired=True)
    scenarios = (generate_fleet(spec, seed) for seed in range(20))
    return next(one for one in scenarios if one.truth and one.truth[0].link in (one.miswired or ()))


def caused(links: bool, *notes: dict[str, Any]) -> FleetScenario:
    truth = SCENARIO.truth if links else []
    return replace(SCENARIO, truth=truth, confounders=list(notes))


def test_the_one_cause_that_was_felt() -> None:
    congestion = {**HOST, "kind": "congestion", "leaves": "all"}
    assert SCENARIO.truth[0].felt
    assert true_cause(caused(True)) == LINK
    assert true_cause(caused(False)) == NONE
    assert true_cause(caused(False, HOST)) == HOST_CAUSE
    assert true_cause(caused(False, congestion)) == CONGESTION
    assert true_cause(caused(True, HOST)) is None
    assert true_cause(caused(False, {**HOST, "last_bin": 0})) == NONE
    ranked = replace(caused(False, HOST), pure_us=SCENARIO.whole_us)
    assert true_cause(ranked) == RANKED_HOST


def test_congestion_elsewhere_is_not_felt() -> None:
    nowhere = {**HOST, "kind": "congestion", "leaves": [10_000]}
    assert true_cause(caused(False, nowhere)) == NONE


def test_folds_keep_the_candidates_of_a_scenario_together() -> None:
    scenario = np.repeat(np.arange(40), 3)
    folds = folds_of(scenario)
    assert all(len(set(folds[scenario == one])) == 1 for one in range(40))
    assert set(folds) == set(range(FOLDS))


def test_the_card_is_fitted_without_the_rows_it_is_judged_on() -> None:
    labels = np.tile([0.0, 1.0], 40)
    facts = np.zeros((80, len(TERMS)))
    facts[:, 0] = labels
    chances = left_out(card, facts, labels, folds_of(np.arange(80)))
    assert chances[labels == 1].min() > 0.8
    assert chances[labels == 0].max() < 0.2
