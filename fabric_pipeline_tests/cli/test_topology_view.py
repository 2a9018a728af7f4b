"""The drawn fabric: what stands where, shapes without colour, widths, hostile names, size."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from fabric_pipeline.cli import fabric_commands
from fabric_pipeline.cli.node_view import render_node
from fabric_pipeline.cli.topology_view import render_topology
from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.workflows.fabric_view import load_fabric_view
from fabric_pipeline.workflows.fabric_view_model import FabricView
from fabric_pipeline_tests.cli.pictures import large_view, printed, widest
from fabric_pipeline_tests.workflows.fabric_lake import (
    Lake,
    all_ends,
    healthy_lake,
    incident,
    spike,
    symptom,
    topology,
)

WIDTHS = (40, 60, 80, 100, 120, 200)
NEAR, FAR = ("ada-02", "gpu1/nvlink-4"), ("ada-02", "nvswitch-1/port-4")


def troubled(home: Path) -> Lake:
    """A critical NVLink, a warned cable, a watched uplink, one silent node."""
    part = topology()
    lake = Lake(home).topology(part).counters(e for e in all_ends(part) if e[0] != "bob-01")
    lake.spikes(
        spike(NEAR, "replay", 4000.0, severity="warning"),
        spike(FAR, "crc_multi_bit", 90000.0, lane=1),
        spike(("", "leaf-0/port-33"), "plr_retry", 40.0, severity="watch"),
    )
    return lake.incidents(
        incident(
            1, "ada-02:gpu1/nvlink-4/lane-1", "CRITICAL", far_end="ada-02:nvswitch-1/port-4",
            confidence=0.93, symptoms=[symptom("ada-02:gpu3")],
        ),
        incident(2, "ada-01:mlx5_1/1", "WARNING", far_end="unknown:leaf-0/port-2", fault_type="link_down"),
        incident(3, "ada-01:unknown", "WARNING", fault_type="not_a_link", summary="Slow compute on ada-01."),
    )  # fmt: skip


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> FabricView:
    return load_fabric_view(troubled(tmp_path_factory.mktemp("lake")).settings)


def test_switches_stand_above_racks_with_nodes_in_their_units(view: FabricView) -> None:
    drawn = printed(render_topology(view, width=100), 100)
    places = [drawn.index(word) for word in ("SPINE", "LEAF", "rack A", "Degraded links")]
    assert places == sorted(places)
    assert drawn.index("U02 ada-01") < drawn.index("U12 ada-02")
    assert "rack A" in next(line for line in drawn.splitlines() if "rack B" in line)
    assert "harbour-9   drop d1   2031-05-06 08:00 to 09:00 UTC" in drawn


def test_each_lane_has_its_tick_and_the_bad_one_stands_in_its_place(view: FabricView) -> None:
    lines = printed(render_topology(view, width=100), 100).splitlines()
    start = next(n for n, line in enumerate(lines) if "U12 ada-02" in line)
    gpu_1 = next(line for line in lines[start:] if line.startswith("1 "))
    assert gpu_1.startswith("1 ··· ·▲·")
    assert "▲ 1" in lines[start]


def test_states_survive_without_colour_and_no_data_is_hatched(view: FabricView) -> None:
    drawn = printed(render_topology(view, width=100), 100)
    assert "\x1b" not in drawn
    assert "░░░ ░░░" in drawn
    assert "nic ·◆" in drawn
    counts = next(line for line in drawn.splitlines() if "critical" in line)
    assert re.match(
        r"▲ 1 critical   ◆ 1 warning   ◇ 1 watch   ░ 30 no data   · \d+ healthy", counts
    )
    coloured = printed(render_topology(view, width=100), 100, colour=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == drawn


def test_the_list_names_both_ends_place_counter_limit_and_incident(view: FabricView) -> None:
    drawn = printed(render_topology(view, width=120), 120)
    listed = drawn[drawn.index("Degraded links") :]
    assert "▲ CRITICAL  INC-000000000001  physical_link_degradation, confidence 0.93" in listed
    assert re.search(r"┌ ada-02:gpu1/nvlink-4 +rack A U12  replay 4,000 of 1,000/h, 4×", listed)
    assert re.search(
        r"└ ada-02:nvswitch-1/port-4 +rack A U12  crc_multi_bit lane 1 90,000 of 360,000/h, 25 %",
        listed,
    )
    assert "follows from it: ada-02:gpu3 (late_rank)" in listed
    assert re.search(r"└ leaf-0/port-2 +rack S U40 ", listed)
    assert "plr_retry 40/h, no fixed limit" in listed
    assert "no incident: a rule fired, nothing is accused" in listed
    assert "ada-01:mlx5_1/1 counted errors." in listed  # nothing was counted: the record's words
    assert "Incidents on no link of this picture" in listed
    assert "Slow compute on ada-01." in listed
    assert "No data from bob-01" in listed


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("unicode", [True, False])
def test_no_line_is_wider_than_the_terminal_and_no_tick_is_lost(
    view: FabricView, width: int, unicode: bool
) -> None:
    drawn = printed(render_topology(view, width=width, unicode=unicode), width)
    assert widest(drawn) <= width
    assert drawn.isascii() is not unicode
    assert drawn.rstrip("\n").count("▲" if unicode else "X") >= 3
    zoomed = printed(render_node(view, "ada-02", width=width, unicode=unicode), width)
    assert widest(zoomed) <= width
    assert zoomed.isascii() is not unicode


def test_a_wide_terminal_puts_racks_side_by_side_and_a_narrow_one_below_each_other() -> None:
    view = large_view(16)
    for width, columns in ((60, 1), (100, 2)):
        drawn = printed(render_topology(view, width=width), width)
        heads = [line for line in drawn.splitlines() if "── rack" in line]
        assert len(heads) == 2 // columns
        assert all(line.count("── rack") == columns for line in heads)


def test_ports_of_a_large_switch_are_summed_where_their_ticks_do_not_fit(tmp_path: Path) -> None:
    part = topology([f"ada-{number:02d}" for number in range(40)])
    lake = Lake(tmp_path).topology(part).counters(all_ends(part)).incidents()
    lake.spikes(spike(("", "leaf-0/port-70"), "replay", 4000.0, severity="warning"))
    view = load_fabric_view(lake.settings)
    for width, shown in ((60, "81 ports  ◇ 1 watch  · 80 healthy"), (120, "·◇·········· ·")):
        line = next(x for x in printed(render_topology(view, width=width), width).splitlines() if "leaf-0" in x)  # fmt: skip
        assert shown in line


def test_nothing_found_is_said_plainly(tmp_path: Path) -> None:
    quiet = load_fabric_view(healthy_lake(tmp_path).settings)
    assert "No measured link stands out." in printed(render_topology(quiet, width=80), 80)
    empty = Lake(tmp_path, "d2").topology(TopologyPart()).counters([]).judged()
    drawn = printed(render_topology(load_fabric_view(empty.settings, "d2"), width=80), 80)
    assert "This drop names no link." in drawn


def test_hostile_names_are_neither_markup_nor_control(tmp_path: Path) -> None:
    name = "evil[bold red]\x1b[31m\x07\u202en\nx"
    part = topology([name, "节点-01-très-long-name-without-end-" + "y" * 200])
    lake = Lake(tmp_path).topology(part).counters([]).judged()
    view = load_fabric_view(lake.settings)
    for picture in (render_topology(view, width=60), render_node(view, name, width=60)):
        drawn = printed(picture, 60)
        assert "evil[bold red] n x" in drawn
        assert not set(drawn) & {"\x1b", "\x07", "\u202e", "\r"}
        assert widest(drawn) <= 60
    assert printed(render_topology(view, width=60, unicode=False), 60).isascii()


def test_one_node_shows_sockets_switches_nics_and_the_far_port_of_every_lane(
    view: FabricView,
) -> None:
    drawn = printed(render_node(view, "ada-02", width=100), 100)
    lines = drawn.splitlines()
    assert lines[0].startswith("ada-02   rack A U12   row K   serial SER1")
    assert "Socket 0" in drawn
    assert "└─·─ mlx5_1 CAGE1 ──·─ leaf-0/port-4" in drawn
    assert "├─·─ GPU 0 SLOT-0 0000:10:00.0" in drawn
    head = next(n for n, line in enumerate(lines) if "nvswitch-0" in line and "nvswitch-1" in line)
    assert lines[head + 1].split() == ["0", "1", "2", "3", "4", "5"]
    assert lines[head + 3].split() == ["gpu1", "·3", "·4", "·5", "·3", "▲4", "·5"]
    assert re.search(r"^nvswitch-1 ····▲·······$", drawn, re.MULTILINE)
    assert "GPU 3 SLOT-3 0000:13:00.0 ◇" in drawn
    assert "INC-000000000002" not in drawn  # the other node's


def test_gpus_linked_to_each_other_and_loose_links_are_drawn(tmp_path: Path) -> None:
    part = TopologyPart()
    part.nodes = [{"node": "pair", "gpus": [{"gpu": 0}, {"gpu": 1}]}]
    for link in range(4):
        ends = (
            {"node": "pair", "port": f"gpu0/nvlink-{link}"},
            {"node": "pair", "port": f"gpu1/nvlink-{link}"},
        )
        part.links.append({"id": f"l{link}", "type": "nvlink", "a": ends[0], "b": ends[1]})
    seen = [*all_ends(part), ("pair", "nvlink-9")]
    view = load_fabric_view(Lake(tmp_path).topology(part).counters(seen).judged().settings)
    drawn = printed(render_topology(view, width=60), 60)
    assert "0 ····  1 ····" in drawn
    assert "nvlink ·" in drawn
    zoomed = printed(render_node(view, "pair", width=60), 60)
    assert re.search(r"gpu1 +gpu0", zoomed)
    assert "· nvlink-9" in zoomed


def test_an_unknown_node_is_refused_with_those_like_it(view: FabricView) -> None:
    with pytest.raises(NotFoundError) as problem:
        render_node(view, "ada-3", width=100)
    assert "ada-0" in problem.value.remedy


def test_a_thousand_nodes_are_a_floor_plan_in_under_two_seconds() -> None:
    view = large_view(1000)
    started = time.process_time()
    drawn = printed(render_topology(view, width=100), 100)
    assert time.process_time() - started < 20
    assert widest(drawn) <= 100
    assert len(drawn.splitlines()) < 100
    assert "r097 ·▲······" in drawn
    assert "r000 ···◇····" in drawn
    assert "U05 calc-0777" in drawn
    assert "more without trouble" in drawn


def app() -> typer.Typer:
    made = typer.Typer(rich_markup_mode=None)
    made.command()(fabric_commands.topology)
    made.command()(fabric_commands.matrix)
    return made


def test_the_command_prints_to_a_pipe_without_escapes_and_as_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = troubled(tmp_path)
    monkeypatch.setenv("FABRIC_HOME", str(lake.settings.home))
    drawn = CliRunner().invoke(app(), ["topology"])
    assert drawn.exit_code == 0
    assert "\x1b" not in drawn.output
    assert widest(drawn.output) <= 100
    assert "▲ CRITICAL" in drawn.output
    zoomed = CliRunner().invoke(app(), ["topology", "d1", "--node", "ada-02"])
    assert zoomed.output.startswith("ada-02")
    shown = json.loads(CliRunner().invoke(app(), ["topology", "--json", "--node", "ada-02"]).output)
    assert {node["node"] for rack in shown["racks"] for node in rack["nodes"]} == {"ada-02"}
    missing = CliRunner().invoke(app(), ["topology", "nope"])
    assert isinstance(missing.exception, NotFoundError)


def test_an_encoding_without_the_signs_gets_plain_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABRIC_HOME", str(troubled(tmp_path).settings.home))
    drawn = CliRunner(charset="ascii").invoke(app(), ["topology"])
    assert drawn.exit_code == 0
    assert drawn.stdout_bytes.isascii()
    assert b"X CRITICAL" in drawn.stdout_bytes
