"""The link-health matrix as bytes: what a cell says, which rows come first, what is folded and bounded."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline.workflows import matrix_grid as module
from fabric_pipeline.workflows.fabric_view import load_fabric_view
from fabric_pipeline.workflows.fabric_view_model import (
    NO_DATA,
    QUIET,
    End,
    EndReading,
    FabricView,
    Link,
    Links,
)
from fabric_pipeline.workflows.matrix_grid import (
    LITTLE,
    MatrixGrid,
    counts_of,
    groups_of,
    level_of,
    matrix_grid,
    worst_links,
)
from fabric_pipeline_tests.workflows.fabric_lake import (
    Lake,
    all_ends,
    incident,
    spike,
    topology,
)

LOUD = ("ada-02", "gpu1/nvlink-3")


def reading(value: float | None, limit: float | None = 100.0, state: str = "healthy") -> EndReading:
    return EndReading(state, "replay", None, value, value, limit, "per hour")


def link(node: str, interface: str, told: EndReading, far: EndReading = QUIET) -> Link:
    ends = (
        End(node, interface, interface.partition("/")[0], told),
        End(node, "nvswitch-0/port-1", "nvswitch-0", far),
    )
    return Link(f"{node}:{interface}", "nvlink", *ends)


def fabric(nodes: int, bad: int = 0) -> FabricView:
    """A fabric in memory: per node what one H100 server has."""
    links = []
    for number in range(nodes):
        told = reading(250.0, state="critical") if number < bad else QUIET
        links.append(link(f"n{number:04d}", "gpu0/nvlink-0", told))
        links += [
            link(f"n{number:04d}", f"gpu{n // 18}/nvlink-{n % 18}", QUIET) for n in range(1, 144)
        ]
        links += [
            Link("x", "pcie", End(f"n{number:04d}", f"gpu{gpu}/pcie", f"gpu{gpu}", QUIET), None)
            for gpu in range(8)
        ]
        links += [
            Link(
                "x",
                "infiniband",
                End(f"n{number:04d}", f"mlx5_{nic}/1", f"mlx5_{nic}", QUIET),
                None,
            )
            for nic in range(8)
        ]
    return FabricView("d1", has_topology=True, is_judged=True, links=Links.of(links))


def cell(grid: MatrixGrid, name: str, interface: str) -> int:
    section = grid.sections[0]
    row = next(n for n, row in enumerate(section.rows) if row.name == name)
    column = next(n for n, column in enumerate(section.columns) if column[1] == interface)
    return section.cells[row * len(section.columns) + column]


@pytest.mark.parametrize(
    ("told", "level"),
    [
        (QUIET, 0), (NO_DATA, 7), (reading(0.0), 0), (reading(1.9), LITTLE), (reading(2.0), 1), (reading(9.9), 1),
        (reading(10.0), 2), (reading(25.0), 3), (reading(50.0), 4), (reading(99.0), 4), (reading(100.0), 5),
        (reading(1e9), 5), (reading(7.0, limit=None), 6),
    ],
)  # fmt: skip
def test_the_level_of_a_cell_is_a_step_of_its_share(told: EndReading, level: int) -> None:
    far = NO_DATA if told is NO_DATA else QUIET
    assert level_of(link("a", "gpu0/nvlink-0", told, far)) == level


def test_every_stated_link_has_its_cell_and_the_worst_node_is_first(tmp_path: Path) -> None:
    part = topology()
    lake = Lake(tmp_path).topology(part).counters(all_ends(part))
    lake.spikes(spike(LOUD, "replay", 5_000)).incidents(incident(1, ":".join(LOUD), "CRITICAL"))
    view = load_fabric_view(lake.settings, "d1")
    grid = matrix_grid(view)
    nodes, switches = grid.sections
    assert nodes.rows[0].name == LOUD[0]
    assert cell(grid, *LOUD) == 5 | 3 << 4
    assert cell(grid, "ada-01", LOUD[1]) == 0
    assert sum(code != 15 for section in grid.sections for code in section.cells) == len(view.links)
    assert [row.name for row in switches.rows] == ["leaf-0"]
    assert switches.prefix(switches.rows[0]) + switches.columns[0][1] == "unknown:leaf-0/port-33"
    assert nodes.prefix(nodes.rows[0]) + LOUD[1] == "ada-02:gpu1/nvlink-3"
    assert [name for name, _ in groups_of(nodes.columns)] == [
        "GPU 0",
        "GPU 1",
        "GPU 2",
        "GPU 3",
        "PCIe",
        "Network",
    ]
    assert [one.link_id for one in nodes.notes.values()] == [":".join(LOUD)]


def test_one_kind_alone_has_only_its_columns_and_counts_stay_whole() -> None:
    view = fabric(3, bad=1)
    grid = matrix_grid(view, "pcie")
    assert {group for group, _ in grid.sections[0].columns} == {"PCIe"}
    assert grid.counts["nvlink"]["critical"] == 1
    assert counts_of(view)["nic"].total() == 24
    assert worst_links(view, "pcie") == ([], 0)
    assert worst_links(view)[1] == 1


def test_clean_nodes_fold_when_there_are_many_and_silent_ones_never() -> None:
    small, large = matrix_grid(fabric(16, bad=1)), matrix_grid(fabric(17, bad=1))
    assert (small.sections[0].open_rows, small.sections[0].clean_rows) == (16, 0)
    assert (large.sections[0].open_rows, large.sections[0].clean_rows) == (1, 16)
    view = fabric(20)
    view.links = Links.of([link("n0000", "gpu0/nvlink-0", NO_DATA, NO_DATA), *view.links[1:]])
    section = matrix_grid(view).sections[0]
    assert section.open_rows == 1
    assert section.rows[0].name == "n0000"


def test_a_thousand_nodes_are_one_byte_a_link() -> None:
    grid = matrix_grid(fabric(1000, bad=12))
    section = grid.sections[0]
    assert len(section.cells) == 160_000
    assert section.open_rows == 12
    assert section.rows_left_out == section.columns_left_out == 0


def test_a_grid_is_bounded_and_says_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_COLUMNS", 10)
    monkeypatch.setattr(module, "MAX_CELLS", 45)
    section = matrix_grid(fabric(6, bad=2)).sections[0]
    assert len(section.cells) == 40
    assert (section.rows_left_out, section.columns_left_out) == (2, 150)
    assert [row.name for row in section.rows[:2]] == ["n0000", "n0001"]


def test_a_view_without_links_has_no_section() -> None:
    assert matrix_grid(FabricView("d1")).sections == []
