"""The written drop: contract columns, same bytes for the same seed, key outside, whole swaps."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabric_pipeline.errors import NotFoundError, UsageError
from fabric_pipeline.model.counters import COUNTERS
from fabric_pipeline.synth import SCENARIOS, generate
from fabric_pipeline.synth.confounders import BenignBursts
from fabric_pipeline.synth.faults import MultiBitCrcLane
from fabric_pipeline.synth.rows import COUNTER_COLUMNS, Layout
from fabric_pipeline_tests.synth.conftest import small_scenario
from fabric_pipeline_tests.synth.drop_reading import counter_series, parse

FILES = {
    "drop.yaml",
    "topology.json",
    "counters.csv",
    "collectives.csv",
    "runs.jsonl",
    "events.jsonl",
}
FAULT = MultiBitCrcLane(1, 5, 11, 1, ((4, 8),))


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("layout", "file", "header"),
    [
        (
            Layout("long"),
            "counters.csv",
            "ts,node,socket,gpu,link_type,link,lane,counter,value",
        ),
        (
            Layout("long", gpu_uuid=True),
            "counters.csv",
            "ts,node,socket,gpu,gpu_uuid,link_type,link,lane,counter,value",
        ),
        (
            Layout("wide"),
            "counters.csv",
            ",".join(
                (
                    "ts,node,socket,gpu,link_type,link,lane",
                    *COUNTER_COLUMNS,
                    "state,width,speed_gbps",
                )
            ),
        ),
    ],
)
def test_counter_file_has_the_contract_columns(
    tmp_path: Path, layout: Layout, file: str, header: str
) -> None:
    generate(small_scenario(FAULT, layout=layout), tmp_path / "d", seed=1, answer_key=None)
    assert (tmp_path / "d" / file).read_text().partition("\n")[0] == header


def test_every_counter_written_is_canonical() -> None:
    assert set(COUNTER_COLUMNS) <= set(COUNTERS)


@pytest.mark.parametrize("layout", [Layout("wide"), Layout("long", "jsonl")])
def test_all_forms_tell_the_same_changes(tmp_path: Path, layout: Layout) -> None:
    plants = FAULT, BenignBursts(links=3)
    generate(small_scenario(*plants), tmp_path / "a", seed=1, answer_key=None)
    generate(small_scenario(*plants, layout=layout), tmp_path / "b", seed=1, answer_key=None)
    long, other = counter_series(tmp_path / "a"), counter_series(tmp_path / "b")
    changing = {key: values for key, values in long.items() if len(values) > 3}
    assert changing
    for key, values in changing.items():
        assert other[key] == values


def test_other_files_have_their_keys(tmp_path: Path) -> None:
    generate(small_scenario(FAULT), tmp_path / "d", seed=1, answer_key=None)
    drop = tmp_path / "d"
    assert {path.name for path in drop.iterdir()} == FILES
    header = yaml.safe_load((drop / "drop.yaml").read_text())
    assert set(header) == {"cluster", "site", "window", "timezone", "node_pattern"}
    assert parse(header["window"]["start"]) < parse(header["window"]["end"])
    topology = json.loads((drop / "topology.json").read_text())
    found = re.match(header["node_pattern"], topology["nodes"][0]["node"])
    assert found is not None
    assert found["rack"] == topology["nodes"][0]["rack"]
    columns = (drop / "collectives.csv").read_text().partition("\n")[0]
    assert columns == (
        "run,model,comm,seq,op,bytes,ts,rank,node,gpu,duration_us,arrival_us,baseline_us"
    )
    runs = [json.loads(line) for line in (drop / "runs.jsonl").read_text().splitlines()]
    assert {run["run"] for run in runs} == {"llama-a", "olmo-b"}
    slow, normal = runs
    assert slow["step_time_ms"] > 1.1 * slow["baseline_step_time_ms"]
    assert normal["step_time_ms"] == normal["baseline_step_time_ms"]
    for line in (drop / "events.jsonl").read_text().splitlines():
        assert {"ts", "node", "component", "kind", "text"} <= set(json.loads(line))


@settings(
    max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**31))
def test_same_seed_same_bytes(tmp_path: Path, seed: int) -> None:
    scenario = small_scenario(FAULT, BenignBursts(links=2))
    for name in ("a", "b"):
        generate(scenario, tmp_path / name, seed=seed, answer_key=tmp_path / f"{name}.json")
    assert bytes_of(tmp_path / "a") == bytes_of(tmp_path / "b")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    generate(scenario, tmp_path / "b", seed=seed + 1, answer_key=tmp_path / "b.json")
    assert bytes_of(tmp_path / "a")["counters.csv"] != bytes_of(tmp_path / "b")["counters.csv"]


def test_one_more_fault_leaves_the_other_faults_counts_alone(tmp_path: Path) -> None:
    more = MultiBitCrcLane(0, 1, 2, 0, ((12, 15),))
    generate(small_scenario(FAULT), tmp_path / "a", seed=1, answer_key=None)
    generate(small_scenario(FAULT, more), tmp_path / "b", seed=1, answer_key=None)
    key = ("gpu-r11-n02", "gpu5/nvlink-11", "crc_multi_bit")
    assert counter_series(tmp_path / "a")[key] == counter_series(tmp_path / "b")[key]


def test_key_goes_beside_the_drop_by_default(tmp_path: Path) -> None:
    generate(small_scenario(), tmp_path / "d", seed=1, answer_key=None)
    assert (tmp_path / "answers" / "d.json").is_file()
    assert not any("truth" in name or "answer" in name for name in bytes_of(tmp_path / "d"))


def test_key_inside_the_drop_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    inside = tmp_path / "d" / "deep" / "truth.json"
    with pytest.raises(UsageError, match="inside the drop"):
        generate(small_scenario(), tmp_path / "d", seed=1, answer_key=inside)
    assert not any(tmp_path.iterdir())


def test_earlier_drop_is_replaced_as_a_whole_and_nothing_else_is(tmp_path: Path) -> None:
    drop = tmp_path / "d"
    generate(small_scenario(layout=Layout("wide", "jsonl")), drop, seed=1, answer_key=None)
    generate(small_scenario(), drop, seed=1, answer_key=None)
    assert {path.name for path in drop.iterdir()} == FILES
    assert {path.name for path in tmp_path.iterdir()} == {"d", "answers"}
    foreign = tmp_path / "notes"
    foreign.mkdir()
    (foreign / "keep.txt").write_text("mine")
    with pytest.raises(UsageError, match="no drop"):
        generate(small_scenario(), foreign, seed=1, answer_key=None)
    assert (foreign / "keep.txt").read_text() == "mine"


def test_place_that_does_not_exist_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="nvlink-44"):
        generate(
            small_scenario(MultiBitCrcLane(0, 1, 44, 0, ((1, 2),))),
            tmp_path / "d",
            seed=1,
            answer_key=None,
        )
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_named_scenario_carries_its_name(name: str) -> None:
    assert SCENARIOS[name]().name == name
