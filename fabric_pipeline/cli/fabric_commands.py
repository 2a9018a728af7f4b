"""Commands `topology` and `matrix`: pictures of the fabric of one drop, or the same as JSON.

A terminal gets its own width and colour; a pipe gets 100 columns without any escape code.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from fabric_pipeline.cli.output import put_json

if TYPE_CHECKING:
    from rich.console import Console

_PIPE_WIDTH = 100


class LinkKind(StrEnum):
    """Which links the matrix shows."""

    nvlink = "nvlink"
    nic = "nic"
    pcie = "pcie"


_Drop = Annotated[
    str | None, typer.Argument(help="Id of the drop; the one read last when left out.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print the same as JSON.")]


def topology(
    drop: _Drop = None,
    node: Annotated[str | None, typer.Option("--node", help="Show one node in full.")] = None,
    json: _Json = False,
) -> None:
    """Draw the fabric: racks, switches, and the state of every link."""
    from fabric_pipeline.cli.node_view import find_node, render_node
    from fabric_pipeline.cli.topology_view import render_topology
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.workflows.fabric_view import load_fabric_view
    from fabric_pipeline.workflows.fabric_view_json import view_as_json

    view = load_fabric_view(load_settings(), drop)
    if json:
        name = find_node(view, node).name if node is not None else None
        put_json(view_as_json(view, node=name))
        return
    console, unicode = _console()
    if node is None:
        console.print(render_topology(view, width=console.width, unicode=unicode))
    else:
        console.print(render_node(view, node, width=console.width, unicode=unicode))


def matrix(
    drop: _Drop = None,
    kind: Annotated[LinkKind, typer.Option("--kind", help="Which links.")] = LinkKind.nvlink,
    json: _Json = False,
) -> None:
    """Draw how near each link is to its error limit, the worst first."""
    from fabric_pipeline.cli.matrix_view import render_matrix
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.workflows.fabric_view import load_fabric_view
    from fabric_pipeline.workflows.fabric_view_json import view_as_json

    view = load_fabric_view(load_settings(), drop)
    if json:
        put_json(view_as_json(view, kind=kind.value))
        return
    console, unicode = _console()
    console.print(render_matrix(view, kind=kind.value, width=console.width, unicode=unicode))


def _console() -> tuple[Console, bool]:
    """The console on stdout, and whether its encoding has the signs of the pictures."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_PIPE_WIDTH)
    return console, console.encoding.lower().startswith("utf")
