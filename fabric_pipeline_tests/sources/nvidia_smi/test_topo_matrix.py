"""Topology matrices: whole, damaged, cut; sockets and direct links."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline.sources.nvidia_smi.topo_matrix import TopoMatrixReader
from fabric_pipeline_tests.sources.nvidia_smi.files import JUNK, read, source

READER = TopoMatrixReader()


def matrix(cells: list[list[str]], heads: list[str], mark: str = "\t") -> str:
    rows = [mark + mark.join(heads), *(mark.join(row) for row in cells)]
    return "\n".join(rows) + "\n\nLegend:\n\n  X    = Self\n  NV#  = bonded set of # NVLinks\n"


HEADS = ["GPU0", "GPU1", "NIC0", "NIC1", "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]
CELLS = [
    ["GPU0", " X ", "NV6", "PIX", "SYS", "0-15,32-47", "0", "N/A"],
    ["GPU1", "NV6", " X ", "SYS", "NODE", "16-31,48-63", "1", "N/A"],
    ["NIC0", "PIX", "SYS", " X ", "SYS"],
    ["NIC1", "SYS", "NODE", "SYS", " X "],
]


@pytest.mark.parametrize("mark", ["\t", "   "])
def test_gpus_nics_and_sockets(tmp_path: Path, mark: str) -> None:
    text = matrix(CELLS, HEADS, mark) + "\nNIC Legend:\n\n  NIC0: mlx5_2\n  NIC1: mlx5_5\n"
    result = read(READER, tmp_path, text)
    assert result.topology is not None
    (node,) = result.topology.nodes
    assert node["gpus"][1] == {"gpu": 1, "numa": 1, "socket": 1, "cpus": "16-31,48-63"}
    assert node["nics"] == [
        {"hca": "mlx5_2", "near_gpus": [0], "socket": 0},
        {"hca": "mlx5_5", "socket": 1},
    ]
    (link,) = result.topology.links
    assert (link["a"]["port"], link["b"]["port"], link["count"]) == ("gpu0", "gpu1", 6)
    assert result.rejected == []
    assert result.unknown == []


def test_counts_beyond_the_own_links_mean_a_switch(tmp_path: Path) -> None:
    heads = ["GPU0", "GPU1", "GPU2", "GPU3", "CPU Affinity", "NUMA Affinity"]
    cells = [
        [f"GPU{r}", *(" X " if r == c else "NV18" for c in range(4)), "0-63", "0"] for r in range(4)
    ]
    result = read(READER, tmp_path, matrix(cells, heads))
    assert result.topology is not None
    assert result.topology.links == []
    assert result.facts["topology_matrix"][0]["nvlinks_between"] == {"every pair": 18}


def test_many_numa_nodes_are_no_sockets(tmp_path: Path) -> None:
    cells = [[*row[:6], str(n + 2), "N/A"] if n < 2 else row for n, row in enumerate(CELLS)]
    topology = read(READER, tmp_path, matrix(cells, HEADS)).topology
    assert topology is not None
    assert all("socket" not in gpu and gpu["numa"] >= 2 for gpu in topology.nodes[0]["gpus"])


def test_affinity_that_lost_its_first_characters(tmp_path: Path) -> None:
    heads = ["GPU0", "GPU1", "GPU2", "CPU Affinity", "NUMA Affinity"]
    cells = [
        ["GPU0", " X ", "NV4", "NV4", "-15,32-47", "0"],
        ["GPU1", "NV4", " X ", "NV4", "16-31", "1"],
        ["GPU2", "NV4", "NV4", " X ", "6-31", "1"],
    ]
    cells.append(["GPU3", *cells[1][1:]])
    result = read(READER, tmp_path, matrix(cells, heads))
    assert result.topology is not None
    assert [gpu.get("cpus") for gpu in result.topology.nodes[0]["gpus"]] == [
        None,
        "16-31",
        None,
        "16-31",
    ]
    assert [refused.line for refused in result.rejected] == [2, 4]
    assert {fact.interface for fact in result.unknown} == {"gpu0", "gpu2"}


def test_cells_that_ran_together(tmp_path: Path) -> None:
    cells = [["GPU0", " X ", "NV6", "PIX", "SY0-15", "0"], *CELLS[1:]]
    result = read(READER, tmp_path, matrix(cells, HEADS))
    assert result.topology is not None
    assert result.topology.nodes[0]["gpus"][0] == {"gpu": 0}
    assert "SY0-15" in result.rejected[0].rule


def test_missing_cell_shifts_the_row(tmp_path: Path) -> None:
    cells = [CELLS[0], ["GPU1", " X ", "SYS", "NODE", "SYS", "16-31", "1", "N/A"], *CELLS[2:]]
    assert "X of GPU1" in read(READER, tmp_path, matrix(cells, HEADS)).rejected[0].rule


def test_missing_rows_and_old_nic_names(tmp_path: Path) -> None:
    heads = ["GPU0", "GPU1", "mlx5_0", "CPU Affinity", "NUMA Affinity"]
    text = matrix([["GPU0", " X ", "SYS", "PIX", "0-7", "0"]], heads)
    result = read(READER, tmp_path, "\x1b[4m" + text.replace("\t", "\x1b[0m\t", 1))
    assert [fact.interface for fact in result.unknown] == ["gpu1"]
    assert result.topology is not None
    assert result.topology.nodes[0]["nics"] == [{"hca": "mlx5_0", "near_gpus": [0], "socket": 0}]


@pytest.mark.parametrize("junk", JUNK)
def test_junk_is_nobodys(tmp_path: Path, junk: bytes) -> None:
    file = source(tmp_path, junk)
    assert READER.score(file) == 0
    topology = READER.read(file).topology
    assert topology is not None
    assert topology.nodes == []
