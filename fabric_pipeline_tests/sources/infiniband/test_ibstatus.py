"""ibstatus: one block a port, blocks that end early, rates that are cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline.sources.infiniband.ibstatus import IbstatusReader
from fabric_pipeline_tests.sources.infiniband.files import one, read, source

READER = IbstatusReader()


def block(name: str, rate: str = "200 Gb/sec (4X HDR)", state: str = "4: ACTIVE") -> str:
    return f"""Infiniband device '{name}' port 1 status:
\tdefault gid:\t fe80:0000:0000:0000:0c42:a103:0011:2233
\tbase lid:\t 0x1c
\tsm lid:\t\t 0x2
\tstate:\t\t {state}
\tphys state:\t 5: LinkUp
\trate:\t\t {rate}
\tlink_layer:\t InfiniBand

"""


def test_state_width_and_speed(tmp_path: Path) -> None:
    result = read(READER, tmp_path, block("mlx5_4") + block("mlx5_5", "100 Gb/sec (2X HDR)"))
    assert one(result, "mlx5_4/1", "speed_gbps").value == 200
    assert one(result, "mlx5_5/1", "width").value == 2
    assert one(result, "mlx5_5/1", "link_up").state == "Active/LinkUp"
    assert one(result, "mlx5_4/1", "link_up").line == 5
    assert not result.unknown


@pytest.mark.parametrize("end", ["rate:", "4X HDR", "link_layer"])
def test_cut_last_block_keeps_the_rest_and_names_the_gap(tmp_path: Path, end: str) -> None:
    text = block("mlx5_0") + block("mlx5_9")
    result = read(READER, tmp_path, text[: text.rindex(end) + 2])
    assert one(result, "mlx5_9/1", "link_up").value == 1
    assert {u.interface for u in result.unknown} == {"mlx5_9/1"}
    assert "link layer" in {u.what for u in result.unknown}


def test_cut_rate_is_refused_and_no_speed(tmp_path: Path) -> None:
    text = block("mlx5_9")
    result = read(READER, tmp_path, text[: text.index("X HDR")])
    assert [r.text for r in result.rejected] == ["200 Gb/sec (4"]
    assert not [r for r in result.readings if r.counter == "speed_gbps"]


def test_unused_port_has_no_speed(tmp_path: Path) -> None:
    result = read(READER, tmp_path, block("mlx5_1", "10 Gb/sec (4X SDR)", "1: DOWN"))
    assert one(result, "mlx5_1/1", "link_up").value == 0
    assert not [r for r in result.readings if r.counter in ("speed_gbps", "width")]


def test_empty_is_not_mine(tmp_path: Path) -> None:
    assert READER.score(source(tmp_path, "")) == 0
