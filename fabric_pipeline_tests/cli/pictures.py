"""Printing a picture as a terminal or a pipe would get it, and an invented fabric of any size."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterator, Mapping
from math import nan
from typing import Any

from rich.cells import cell_len
from rich.console import Console, RenderableType

from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.model.topology import Topology
from fabric_pipeline.workflows.fabric_view_build import Builder, columns_of_rows
from fabric_pipeline.workflows.fabric_view_model import EndReading, FabricView, RackView
from fabric_pipeline.workflows.fabric_view_state import FabricState


def printed(picture: RenderableType, width: int, *, colour: bool = False) -> str:
    """The picture as text; with `colour` as a terminal with colours gets it."""
    system = "truecolor" if colour else None
    console = Console(
        file=io.StringIO(), width=width, highlight=False, force_terminal=colour, color_system=system
    )
    console.print(picture)
    stream = console.file
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


def widest(text: str) -> int:
    """Columns of the widest line."""
    return max(cell_len(line) for line in text.splitlines())


@functools.lru_cache(maxsize=2)
def large_view(nodes: int) -> FabricView:
    """Eight GPUs with 18 NVLinks each and eight NICs a node, eight nodes a rack; all measured.

    From 1,000 nodes on, calc-0777:gpu5/nvlink-11 is critical and calc-0003:mlx5_2/1 on watch.
    """
    bad = {
        ("calc-0777", "gpu5/nvlink-11"): EndReading("critical", "replay", None, 9e4, 9e4, 1e3, "per hour"),
        ("calc-0003", "mlx5_2/1"): EndReading("watch"),
    }  # fmt: skip
    names = [f"calc-{number:04d}" for number in range(nodes)]
    stated: list[dict[str, Any]] = [
        {"node": name, "rack": f"r{n // 8:03d}", "unit": f"U{n % 8 * 4 + 1:02d}", "gpus": [{"gpu": g} for g in range(8)]}
        for n, name in enumerate(names)
    ]  # fmt: skip
    builder = Builder(FabricState(readings=bad if nodes >= 1000 else {}), is_judged=True)
    builder.place(Topology([TopologyPart(nodes=stated)]))
    view = FabricView("large", has_topology=True, is_judged=True)
    view.links = builder.links(columns_of_rows(_links(names, builder.marked)))
    racks: dict[str, RackView] = {}
    for node in sorted(builder.sorted_nodes(), key=lambda node: node.name):
        racks.setdefault(node.rack, RackView(node.rack, node.row)).nodes.append(node)
    view.racks, view.switches = list(racks.values()), builder.sorted_switches()
    return view


def _links(names: list[str], marked: Mapping[tuple[str, str], int]) -> Iterator[tuple[Any, ...]]:
    for place, name in enumerate(names):
        for gpu in range(8):
            for link in range(18):
                near, far = f"gpu{gpu}/nvlink-{link}", f"nvswitch-{link * 4 // 18}"
                yield (near, "nvlink", name, near, name, f"{far}/port-{gpu * 5 + link % 5}", 2, nan, "", "", marked.get((name, near), 1), 1)  # fmt: skip
            near, far = f"mlx5_{gpu}", f"leaf-{place // 32 * 8 + gpu}"
            port = f"{near}/1"
            yield (near, "infiniband", name, port, "", f"{far}/port-{place % 32}", 4, nan, "", "", marked.get((name, port), 1), 1)  # fmt: skip
