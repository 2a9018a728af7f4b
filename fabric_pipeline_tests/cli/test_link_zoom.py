"""Zooming in: a rack, a link with its counters and its clock; pairs of GPUs; two drops compared."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fabric_pipeline.cli.clock_chart import clock_lines
from fabric_pipeline.cli.fabric_style import glyphs
from fabric_pipeline.cli.freshness_line import freshness_lines
from fabric_pipeline.cli.link_card import bar, link_lines
from fabric_pipeline.cli.text_layout import picture
from fabric_pipeline.settings import Settings
from fabric_pipeline.workflows.fabric_series import Clock, FabricSeries, RunSeries, Slow, Strip
from fabric_pipeline.workflows.fabric_view import load_fabric_view
from fabric_pipeline.workflows.fabric_view_model import FabricView
from fabric_pipeline.workflows.link_view import load_link
from fabric_pipeline_tests.cli.calls import Shell
from fabric_pipeline_tests.cli.pictures import printed, widest
from fabric_pipeline_tests.workflows.fabric_lake import START, Lake, all_ends, incident, topology
from fabric_pipeline_tests.workflows.test_link_view import FAR, LINK, NEAR, readings
from fabric_pipeline_tests.workflows.test_pair_matrix import all_pairs

WIDTHS = (40, 60, 90, 100, 200)
NOON = datetime(2031, 5, 6, 12, 0, tzinfo=UTC)


def series() -> FabricSeries:
    """Ten minutes: slow in the third and fourth, one link that errs then, one that was not read at the end."""
    clock = Clock(NOON.timestamp(), 60.0, 10, 60.0)
    at = NOON.timestamp()
    latency = [1.0, 1.0, 4.0, 4.0, 1.0, 1.0, 1.0, 1.0, None, None]
    run = RunSeries("run-7", "all_reduce", 1 << 20, "collective", latency, latency, 1.0, 300.0, [Slow(at + 120, at + 239, 300.0, 1)])  # fmt: skip
    errors = [0.0, 0.0, 90.0, 45.0, 0.0, 0.0, 0.0, None, None, None]
    multi = [0.0, 0.0, 9.0, 0.0, 0.0, 0.0, 0.0, None, None, None]
    bad = Strip("a:gpu1/nvlink-2", "a:gpu1/nvlink-2", "critical", errors, multi, 135.0, overlap=(2, 2))  # fmt: skip
    return FabricSeries("d1", clock, [run], strips=[bad], chosen=0, more_strips=3)


def lines_of(chart: str, name: str) -> str:
    return next(line for line in chart.splitlines() if name in line)


def test_errors_stand_under_the_slow_time_they_fall_into() -> None:
    signs = glyphs(True)
    chart = printed(picture(clock_lines(series(), signs, 100, is_split=True), 100), 100)
    slow = lines_of(chart, "slow time ")
    errors, multi = lines_of(chart, "▲"), lines_of(chart, "multi-bit alone")
    marked = [place for place, sign in enumerate(slow) if sign == "━"]
    assert marked
    assert {errors[place] for place in marked} == {"█", "▅"}
    assert {place for place, sign in enumerate(errors) if sign in "▅█"} == set(marked)
    assert "░" in errors  # not read is hatched
    assert multi.count("▁") == errors.count("█")  # on the scale of all errors
    assert "|12:00" in chart
    assert "+300 %" in chart
    assert "135 err." in errors
    assert "3 more links" in chart


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("unicode", [True, False])
def test_a_chart_fits_its_terminal(width: int, unicode: bool) -> None:
    chart = printed(picture(clock_lines(series(), glyphs(unicode), width), width), width)
    assert widest(chart) <= width
    assert unicode or chart.isascii()


def test_nothing_without_times_is_put_on_a_clock() -> None:
    bare = series()
    bare.clock = None
    assert "carries a time" in printed(picture(clock_lines(bare, glyphs(True), 80), 80), 80)
    assert clock_lines(FabricSeries("d1", None), glyphs(True), 80) == []


@pytest.fixture
def counted(tmp_path: Path) -> Lake:
    """One link with errors at both ends, one counter lost at the far end; a second drop without it."""
    lake = Lake(tmp_path).topology(topology())
    rows = readings(lake, NEAR, "replay", [0.0, 60.0, 0.0, 20.0]) + readings(lake, FAR, "replay", [0.0, 5.0, 0.0, 1.0])  # fmt: skip
    rows += readings(lake, NEAR, "crc_multi_bit", [0.0, 6.0, 0.0, 2.0], error_class="corrected_multi", class_basis="reported")  # fmt: skip
    rows += readings(lake, NEAR, "crc_single_bit", [0.0, 2.0, 0.0, 0.0], error_class="corrected_single", class_basis="reported")  # fmt: skip
    lake.write("link_counters", rows)
    lake.write("collective_timings", all_pairs(slow=("n2", 3)))
    other = Lake(tmp_path, "d0").topology(topology()).counters(all_ends(topology())).judged()
    assert other.settings == lake.settings
    return lake.spikes().incidents(
        incident(1, LINK, "CRITICAL", far_end="ada-01:nvswitch-0/port-5", reasoning=["it errs"],
                 alternatives=[{"explanation": "congestion", "why_set_aside": "no load"}])
    )  # fmt: skip


def card(settings: Settings, width: int, *, unicode: bool = True) -> str:
    view = load_fabric_view(settings, "d1")
    link = load_link(settings, view, LINK)
    fresh = freshness_lines(view, NOON, glyphs(unicode), width)
    lines = link_lines(link, series(), glyphs(unicode), width=width, list_width=width, fresh=fresh)
    return printed(picture(lines, width), width)


def test_a_link_has_both_ends_its_counters_and_their_limits(counted: Lake) -> None:
    said = card(counted.settings, 120)
    assert said.startswith("▲ CRITICAL  NVLink 2 of GPU 1 to nvswitch-0 port 5")
    assert "INC-000000000001" in said
    assert "OLD DATA: data to 2031-05-06 07:02 UTC, 297 min old" not in said
    assert "4 h old; it says nothing of the present" in said
    assert "┌ ada-01:gpu1/nvlink-2" in said
    assert "└ ada-01:nvswitch-0/port-5" in said
    assert "rack A, unit U02" in said
    assert "near 80 (2,400/h)   far 6 (180/h)" in said
    assert "2.4× of 1,000/h" in said
    assert "far not counted" in said
    assert "80 % multi-bit, 20 % single-bit (8 and 2; reported" in said
    assert "congestion: no load" in said
    assert "No run was compared" in said


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("unicode", [True, False])
def test_a_link_card_fits_its_terminal(counted: Lake, width: int, unicode: bool) -> None:
    said = card(counted.settings, width, unicode=unicode)
    assert widest(said) <= width
    assert unicode or said.isascii()


def test_a_bar_is_full_only_at_the_whole_and_never_empty_above_nothing() -> None:
    signs = glyphs(True)
    shares = (0.0, 0.001, 0.5, 0.999, 1.0)
    assert [bar(share, 4, signs, "").plain.count("█") for share in shares] == [0, 1, 2, 3, 4]


def test_old_data_is_said_to_be_old_and_is_never_green(counted: Lake) -> None:
    view = load_fabric_view(counted.settings, "d1")
    old = printed(picture(freshness_lines(view, NOON + timedelta(days=9), glyphs(True), 80), 80), 80, colour=True)  # fmt: skip
    assert "OLD DATA" in old
    assert "9 days old" in old
    fresh = printed(picture(freshness_lines(view, START + timedelta(minutes=9), glyphs(True), 80), 80), 80, colour=True)  # fmt: skip
    assert "7 min old" in fresh
    assert "32m" not in old + fresh  # no green
    timeless = printed(picture(freshness_lines(FabricView("d1"), NOON, glyphs(True), 80), 80), 80)
    assert "how old it is, is not known" in timeless


def test_levels_of_zoom_by_command(
    shell: Shell, counted: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABRIC_HOME", str(counted.settings.home))
    rack = shell("topology", "d1", "--rack", "A")
    assert "2 nodes in 1 rack" in rack.out
    assert "bob-01" not in rack.out
    assert f"--link {LINK}" in rack.err
    names = shell("topology", "d1", "--rack", "A", "--json").json
    assert {node["node"] for one in names["racks"] for node in one["nodes"]} == {"ada-01", "ada-02"}
    link = shell("topology", "d1", "--link", f"{LINK}/lane-1", "--all").out
    # A pipe gets each item whole on one line.
    assert "far 6 (180/h)" in lines_of(link, "near 80")
    assert "operators' plain rule" in lines_of(link, "near 80")
    assert "without data" not in lines_of(link, "Counters beside") + link.partition("Coincidence")[2]  # fmt: skip
    found = shell("topology", "d1", "--link", LINK, "--json").json
    assert found["component"] == LINK
    assert found["bits"]["multi_share"] == 0.8
    replay = next(one for one in found["counters"] if one["counter"] == "replay")
    assert (replay["a"]["events"], replay["b"]["events"]) == (80.0, 6.0)
    assert found["incidents"][0]["record"]["incident_id"] == "INC-000000000001"
    assert shell("topology", "--rack", "A", "--link", LINK).code == 2


def test_pairs_of_gpus_are_a_grid_with_the_slow_ones_in_words(
    shell: Shell, counted: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABRIC_HOME", str(counted.settings.home))
    drawn = shell("matrix", "d1", "--kind", "p2p").out
    row = next(line for line in drawn.splitlines() if line.startswith("n2:gpu3"))
    assert row.count("█") == 3
    assert "▲ 3.00×  n1:gpu0 to n2:gpu3: 180 µs, cross rail" in drawn
    pairs = shell("matrix", "d1", "--kind", "p2p", "--json").json["pairs"]
    assert (len(pairs), pairs[0]["ratio"]) == (28, 3.0)
    assert "no pair can be compared" in shell("matrix", "d0", "--kind", "p2p").out
    assert shell("matrix", "d0", "--kind", "p2p", "--json").json["pairs"] == []


def test_two_drops_compared(shell: Shell, counted: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABRIC_HOME", str(counted.settings.home))
    said = shell("compare", "d0", "d1").out
    assert "What changed   from d0" in said
    assert f"▲ new          INC-000000000001  {LINK}" in said
    assert "Lost data" in said
    found = shell("compare", "d0", "d1", "--json").json
    assert found["counts"]["new"] == 1
    assert found["incidents"][0]["incident_id"] == "INC-000000000001"
    assert shell("compare", "d0", "d0").code == 2


def test_find_names_the_command_that_shows_a_hit(
    shell: Shell, counted: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABRIC_HOME", str(counted.settings.home))
    answer = shell("find", "SER1", "--drop", "d1")
    assert [line.split()[:2] for line in answer.out.splitlines()[2:]] == [["node", "ada-02"]]
    assert answer.err == "look at the first: fabric-pipeline topology d1 --node ada-02\n"
    (hit,) = (one for one in shell("find", "CAB-11", "--drop", "d1", "--json").json if one["kind"] == "link")  # fmt: skip
    assert hit["command"] == "fabric-pipeline topology d1 --link ada-02:mlx5_1/1"
    assert shell("find", "nothing like it").code == 4
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "ada-02" in shell("find", "SER1", "--drop", "d1").out
