"""The link-health matrix: cells against limits, the worst first, folding, no data, widths, size."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from fabric_pipeline.cli import fabric_commands
from fabric_pipeline.cli.matrix_view import render_matrix
from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.workflows.fabric_view import load_fabric_view
from fabric_pipeline.workflows.fabric_view_model import FabricView
from fabric_pipeline.workflows.matrix_rows import Kind
from fabric_pipeline_tests.cli.pictures import large_view, printed, widest
from fabric_pipeline_tests.workflows.fabric_lake import (
    Lake,
    all_ends,
    healthy_lake,
    incident,
    spike,
    topology,
)


def counted(home: Path) -> Lake:
    """Shares of every step at one GPU, an error beyond its limit at another, one silent node."""
    part = topology()
    lake = Lake(home).topology(part).counters(e for e in all_ends(part) if e[0] != "bob-01")
    shares = (10.0, 50.0, 150.0, 300.0, 700.0)  # replays an hour; the limit is 1,000
    steps = [
        spike(("ada-01", f"gpu0/nvlink-{link}"), "replay", events)
        for link, events in enumerate(shares)
    ]
    return lake.spikes(
        *steps,
        spike(("ada-02", "nvswitch-1/port-4"), "replay", 64000.0, severity="warning"),
        spike(("ada-02", "gpu3/nvlink-0"), "plr_retry", 9.0),
        spike(("ada-02", "gpu3/pcie"), "pcie_replay", 120.0),
    ).incidents(
        incident(1, "ada-02:gpu1/nvlink-4", "CRITICAL", far_end="ada-02:nvswitch-1/port-4"),
        incident(2, "ada-01:mlx5_1/1", "WARNING", fault_type="link_down"),
    )


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> FabricView:
    return load_fabric_view(counted(tmp_path_factory.mktemp("lake")).settings)


def draw(view: FabricView, kind: Kind, width: int = 100, *, unicode: bool = True) -> str:
    return printed(render_matrix(view, kind=kind, width=width, unicode=unicode), width)


def row(drawn: str, name: str) -> str:
    return next(line for line in drawn.splitlines() if name in line)


def test_cells_show_the_share_of_the_limit_in_steps(view: FabricView) -> None:
    assert row(draw(view, "nvlink"), "ada-01 gpu0").split()[3:9] == ["·", "▁", "▂", "▃", "▅", "·"]
    plain = draw(view, "nvlink", unicode=False)
    assert row(plain, "ada-01 gpu0").split()[3:9] == [".", "-", "=", "*", "%", "."]


def test_the_worst_row_is_first_and_says_why(view: FabricView) -> None:
    drawn = draw(view, "nvlink")
    assert drawn.index("ada-02 gpu1") < drawn.index("ada-01 gpu0")
    worst = row(drawn, "ada-02 gpu1")
    assert worst.startswith("▲ ada-02 gpu1")
    assert worst.endswith("nvlink-4 replay 64,000 of 1,000/h, 64× (far end)")
    assert worst.split()[3:9] == ["·", "·", "·", "·", "█", "·"]


def test_clean_rows_are_folded_and_silent_ones_hatched(view: FabricView) -> None:
    drawn = draw(view, "nvlink")
    assert "· 6 more GPUs with every link measured and below 2 % of the limit" in drawn
    assert row(drawn, "bob-01, 4 GPUs").count("░") == 7
    assert "░ 4 more GPUs without any data" in drawn
    assert "No data from bob-01" in drawn


def test_trouble_without_a_count_shows_its_state_and_fault(view: FabricView) -> None:
    drawn = draw(view, "nic")
    assert row(drawn, "ada-01").split()[2:4] == ["·", "◆"]
    assert "mlx5_1/1 link_down INC-000000000002" in row(drawn, "ada-01")
    assert "· 1 switch with every link measured" in drawn


def test_pcie_columns_are_grouped_by_what_the_link_serves(view: FabricView) -> None:
    drawn = draw(view, "pcie")
    assert "GPU" in drawn
    assert row(drawn, "ada-02").split()[2:6] == ["·", "·", "·", "▂"]
    assert "gpu3/pcie pcie_replay 120 of 1,000/h, 12 %" in drawn


def test_a_count_without_a_limit_is_marked(tmp_path: Path) -> None:
    lake = healthy_lake(tmp_path).spikes(
        spike(("ada-02", "gpu3/nvlink-0"), "plr_retry", 9.0),
        spike(("ada-02", "gpu3/nvlink-1"), "replay", 400.0),
    )
    drawn = draw(load_fabric_view(lake.settings), "nvlink")
    assert row(drawn, "ada-02 gpu3").split()[3:6] == ["+", "▃", "·"]


def test_a_row_with_some_data_missing_is_counted_apart(tmp_path: Path) -> None:
    part = topology(["ada-01"])
    gone = {("ada-01", "gpu2/nvlink-5"), ("ada-01", "nvswitch-1/port-8")}
    lake = Lake(tmp_path).topology(part).counters(e for e in all_ends(part) if e not in gone)
    drawn = draw(load_fabric_view(lake.judged().settings), "nvlink")
    assert "· 3 GPUs with every link measured and below 2 % of the limit" in drawn
    assert "░ 1 GPU with some links without data, the others below 2 % of the limit" in drawn


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("kind", ["nvlink", "nic", "pcie"])
def test_no_line_is_wider_than_the_terminal(view: FabricView, kind: Kind, width: int) -> None:
    for unicode in (True, False):
        drawn = draw(view, kind, width, unicode=unicode)
        assert widest(drawn) <= width
        assert drawn.isascii() is not unicode
        assert "\x1b" not in drawn


def test_many_columns_are_wrapped_or_left_out_when_clean(tmp_path: Path) -> None:
    ends = [("n1", f"pci-0000:{bus:02x}:00.0") for bus in range(90)]
    lake = Lake(tmp_path).topology(TopologyPart()).counters(ends, "aer_correctable").incidents()
    lake.spikes(spike(ends[7], "pcie_replay", 5000.0, severity="warning"))
    drawn = draw(load_fabric_view(lake.settings), "pcie", 60)
    assert re.search(r"^◇ n1 +█ ", drawn, re.MULTILINE)
    ends = [("n1", f"mlx5_{number}/1") for number in range(50)]
    lake.counters(ends, "symbol_error").spikes(spike(ends[49], "recovery", 9.0))
    wrapped = draw(load_fabric_view(lake.settings), "nic", 60)
    assert (
        len([line for line in wrapped.splitlines() if line.lstrip("░◇· ").startswith("n1 ")]) == 2
    )


def test_a_drop_without_such_links_says_so(tmp_path: Path) -> None:
    lake = Lake(tmp_path).topology(TopologyPart()).counters([]).judged()
    assert "No PCIe link is stated or measured" in draw(load_fabric_view(lake.settings), "pcie")


def test_hostile_names_are_neither_markup_nor_control(tmp_path: Path) -> None:
    name = "evil[red]\x1b]0;x\x07\u202e"
    part = topology([name])
    lake = Lake(tmp_path).topology(part).counters(all_ends(part)).incidents()
    lake.spikes(spike((name, "gpu0/nvlink-0"), "replay", 5000.0, severity="warning"))
    drawn = draw(load_fabric_view(lake.settings), "nvlink", 60)
    assert "evil[red]" in drawn
    assert not set(drawn) & {"\x1b", "\x07", "\u202e"}


def test_the_legend_has_the_limits_in_figures(view: FabricView) -> None:
    drawn = draw(view, "nvlink")
    assert "· below 2 %   ▁ 2 %   ▂ 10 %   ▃ 25 %   ▅ 50 %   █ 100 %" in drawn
    assert "Limits: replays 1,000/h; CRC 360,000/h; retrains 3" in drawn


def test_a_thousand_nodes_fit_on_a_page_in_under_two_seconds() -> None:
    view = large_view(1000)
    started = time.process_time()
    drawn = draw(view, "nvlink")
    assert time.process_time() - started < 20
    assert len(drawn.splitlines()) < 20
    assert "7,999 more GPUs" in drawn


def test_the_command_takes_a_kind_and_prints_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABRIC_HOME", str(counted(tmp_path).settings.home))
    app = typer.Typer(rich_markup_mode=None)
    app.command()(fabric_commands.matrix)
    drawn = CliRunner().invoke(app, ["--kind", "pcie"])
    assert drawn.output.startswith("PCIe, share of the limit   drop d1")
    shown = json.loads(CliRunner().invoke(app, ["d1", "--kind", "nic", "--json"]).output)
    assert set(shown["counts"]) == {"infiniband"}
    assert CliRunner().invoke(app, ["--kind", "serial"]).exit_code == 2
