"""A written fleet: readable by the pipeline, equal to its arrays, and silent about the truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fabric_pipeline.cli.main import app
from fabric_pipeline.errors import UsageError
from fabric_pipeline.synth.fleet import (
    FleetScenario,
    FleetSpec,
    answer_of,
    generate_fleet,
    write_fleet_drop,
)

SPEC = FleetSpec(nodes=2, bins=20, fault="nic_leaf", dirty=True, per_rank=True)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[FleetScenario, Path, Path]:
    base = tmp_path_factory.mktemp("fleet")
    scenario = generate_fleet(SPEC, 11)
    write_fleet_drop(scenario, base / "drop", base / "answers" / "key.json")
    return scenario, base / "drop", base / "answers" / "key.json"


def test_the_pipeline_reads_every_file(written: tuple[FleetScenario, Path, Path]) -> None:
    done = CliRunner().invoke(app, ["inspect", str(written[1]), "--json"])
    assert done.exit_code == 0, done.output
    report: dict[str, Any] = json.loads(done.stdout)
    read = {file["path"]: file["rejected_lines"] for file in report["inputs"]}
    files = {path.name for path in written[1].iterdir()} - {"drop.yaml"}
    assert read == dict.fromkeys(files, 0)
    reset = {
        confounder["node"]
        for confounder in written[0].confounders
        if confounder["kind"] == "counter_reset"
    }
    names = {f"{written[0].node_names[node]}:unknown" for node in reset}
    assert {fact["component"] for fact in report["unknown"]} == names, "resets are said once a node"


def test_the_folder_does_not_tell_the_truth(written: tuple[FleetScenario, Path, Path]) -> None:
    scenario, folder, key = written
    assert sorted(path.name for path in folder.iterdir()) in (
        ["collectives.csv", "counters.csv", "drop.yaml", "runs.jsonl", "topology.json"],
        [
            "collectives.csv",
            "counters.csv",
            "drop.yaml",
            "events.jsonl",
            "runs.jsonl",
            "topology.json",
        ],
    )
    text = "".join(path.read_text("utf-8") for path in folder.iterdir()).lower()
    for word in ("guilty", "truth", "harmless", "confound", "nic_leaf", "seed", "fault"):
        assert word not in text
    assert json.loads(key.read_text("utf-8")) == json.loads(json.dumps(answer_of(scenario)))
    ends = answer_of(scenario)["guilty"][0]["ends"]
    assert len(ends) == 2


def test_the_growth_in_the_file_is_that_of_the_arrays(
    written: tuple[FleetScenario, Path, Path],
) -> None:
    scenario, folder, _ = written
    frame = pd.read_csv(folder / "counters.csv", keep_default_na=True)
    frame["node"] = frame["node"].fillna("")
    got = grown(frame, scenario.counters)
    links, inc = scenario.links, scenario.increments
    link, side = np.divmod(inc.end, 2)
    node = np.where(side == 0, links.near_node[link], links.far_node[link])
    interface = np.where(side == 0, links.near_interface[link], links.far_interface[link])
    expected = {
        (node[n], interface[n], scenario.counters[inc.counter[n]], int(inc.bin[n])): (
            inc.delta[n],
            inc.elapsed_s[n],
        )
        for n in range(len(node))
        if not inc.is_reset[n]
    }
    same = [got.get(place) == value for place, value in expected.items()]
    assert len(same) > 20
    assert all(same)


def grown(
    frame: pd.DataFrame, counters: tuple[str, ...]
) -> dict[tuple[str, str, str, int], tuple[float, float]]:
    """(node, interface, counter, bin) -> growth since the sample before, and the time between."""
    time = pd.to_datetime(frame["ts"])
    changes = frame.groupby(["node", "link"])[list(counters)].transform("nunique").max(axis=1) > 1
    frame = frame.assign(t=(time - time.min()).dt.total_seconds())[changes]
    found = {}
    for (node, interface), rows in frame.groupby(["node", "link"]):
        elapsed = rows["t"].diff()
        for counter in counters:
            delta = rows[counter].diff()
            for place in np.flatnonzero(delta > 0):
                bin_ = round(rows["t"].iloc[place] / SPEC.step_s) - 1
                value = (float(delta.iloc[place]), float(elapsed.iloc[place]))
                found[str(node), str(interface), counter, bin_] = value
    return found


def test_samples_in_the_file_are_as_many_as_the_arrays_say(
    written: tuple[FleetScenario, Path, Path],
) -> None:
    scenario, folder, _ = written
    frame = pd.read_csv(folder / "counters.csv")
    frame["node"] = frame["node"].fillna("")
    rows = frame.groupby(["node", "link"]).size()
    links = scenario.links
    for end in np.unique(scenario.increments.end):
        near = end % 2 == 0
        node = (links.near_node if near else links.far_node)[end // 2]
        interface = (links.near_interface if near else links.far_interface)[end // 2]
        assert rows[node, interface] == scenario.samples[end] + 1


def test_rank_records_agree_with_the_arrays(written: tuple[FleetScenario, Path, Path]) -> None:
    scenario, folder, _ = written
    frame = pd.read_csv(folder / "collectives.csv")
    assert scenario.pure_us is not None
    for number, group in enumerate(scenario.groups):
        rows = frame[(frame["run"] == group.run) & (frame["comm"] == group.name)]
        spans = rows.groupby("seq")["duration_us"].agg(["min", "max"])
        bins = spans.index.to_numpy() - 1 + group.first_bin
        assert np.allclose(spans["min"], scenario.pure_us[number, bins], atol=0.11)
        assert np.allclose(spans["max"], scenario.whole_us[number, bins], atol=0.11)


def test_bad_places_are_refused(written: tuple[FleetScenario, Path, Path], tmp_path: Path) -> None:
    scenario, folder, _ = written
    with pytest.raises(UsageError):
        write_fleet_drop(scenario, tmp_path / "drop", tmp_path / "drop" / "key.json")
    with pytest.raises(UsageError):
        write_fleet_drop(scenario, folder, tmp_path / "key.json")


def test_a_large_fleet_lists_only_some_silent_ends(tmp_path: Path) -> None:
    scenario = generate_fleet(FleetSpec(nodes=17, bins=20, fault="none"), 4)
    write_fleet_drop(scenario, tmp_path / "drop", tmp_path / "key.json")
    frame = pd.read_csv(tmp_path / "drop" / "counters.csv", usecols=["node", "link"])
    listed = len(frame.drop_duplicates())
    counting = len(np.unique(scenario.increments.end))
    assert counting <= listed < 2 * len(scenario.links.gpu) * 0.9
