"""Commands `topology`, `matrix` and `compare`: pictures of the fabric of a drop, or the same as JSON.

What is drawn belongs to the views; here stand the options, what is loaded for them, and which command
to try next.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast

import typer

from fabric_pipeline.cli.completion import drop_names, link_names, node_names, rack_names
from fabric_pipeline.cli.output import plain, put_json, say

if TYPE_CHECKING:
    from fabric_pipeline.cli.screen import Screen
    from fabric_pipeline.cli.text_layout import Lines
    from fabric_pipeline.settings import Settings
    from fabric_pipeline.workflows.fabric_view_model import FabricView
    from fabric_pipeline.workflows.matrix_rows import Kind


class LinkKind(StrEnum):
    """Which links the matrix shows; `p2p` is GPU to GPU."""

    nvlink = "nvlink"
    nic = "nic"
    pcie = "pcie"
    p2p = "p2p"


_Drop = Annotated[
    str | None,
    typer.Argument(
        help="Id of the drop; the one read last when left out.", autocompletion=drop_names
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="Print the same as JSON.")]


def topology(
    drop: _Drop = None,
    rack: Annotated[
        str | None, typer.Option("--rack", help="Show one rack.", autocompletion=rack_names)
    ] = None,
    node: Annotated[
        str | None, typer.Option("--node", help="Show one node in full.", autocompletion=node_names)
    ] = None,
    link: Annotated[
        str | None,
        typer.Option(
            "--link",
            help="Show one link in full: node:interface of either end, or its id.",
            autocompletion=link_names,
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="With --link: also counters at zero and without data.")
    ] = False,
    json: _Json = False,
) -> None:
    """Draw the fabric: racks, switches, and the state of every link. Zoom with --rack, --node, --link."""
    from fabric_pipeline.cli.screen import one_large_value
    from fabric_pipeline.errors import UsageError
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.workflows.fabric_view import load_fabric_view

    if sum(one is not None for one in (rack, node, link)) > 1:
        raise UsageError("one level at a time", "give one of --rack, --node and --link")
    settings = load_settings()
    with one_large_value():
        view = load_fabric_view(settings, drop)
        if link is not None:
            _link(settings, view, link, everything=everything, json=json)
        elif node is not None:
            _node(view, node, json=json)
        else:
            _fabric(settings, view, rack, json=json)


def matrix(
    drop: _Drop = None,
    kind: Annotated[
        LinkKind, typer.Option("--kind", help="Which links; p2p is GPU to GPU.")
    ] = LinkKind.nvlink,
    json: _Json = False,
) -> None:
    """Draw how near each link is to its error limit, the worst first; or GPU to GPU with --kind p2p."""
    from fabric_pipeline.cli.screen import one_large_value
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.workflows.fabric_link_model import LINK_KINDS
    from fabric_pipeline.workflows.fabric_view import load_fabric_view
    from fabric_pipeline.workflows.fabric_view_json import view_as_json

    settings = load_settings()
    if kind is LinkKind.p2p:
        _pairs(settings, drop, json=json)
        return
    wanted = cast("Kind", kind.value)
    with one_large_value():
        view = load_fabric_view(settings, drop)
        if json:
            put_json(view_as_json(view, kind=wanted))
            return
        from fabric_pipeline.cli.matrix_view import matrix_lines
        from fabric_pipeline.cli.screen import screen

        to = screen()
        to.show(matrix_lines(view, wanted, to.signs, to.width, _fresh(view, to)))
    _hint_link(view, types=LINK_KINDS[wanted])


def compare(
    earlier: Annotated[
        str | None,
        typer.Argument(
            help="Earlier drop; left out, the newest drop and the one before it of the same cluster.",
            autocompletion=drop_names,
        ),
    ] = None,
    later: Annotated[
        str | None,
        typer.Argument(help="Later drop; the newest when left out.", autocompletion=drop_names),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="List every change, not only the first of each kind.")
    ] = False,
    json: _Json = False,
) -> None:
    """Say what changed between two drops: new, worse, repaired, re-cabled, no longer measured."""
    from fabric_pipeline.cli.link_json import comparison_as_json
    from fabric_pipeline.cli.screen import one_large_value
    from fabric_pipeline.settings import load_settings
    from fabric_pipeline.workflows.drop_compare import compare_drops
    from fabric_pipeline.workflows.fabric_view import load_fabric_view

    settings = load_settings()
    with one_large_value():
        a, b = _pair_of(settings, earlier, later)
        found = compare_drops(
            settings, load_fabric_view(settings, a), load_fabric_view(settings, b)
        )
    if json:
        put_json(comparison_as_json(found))
        return
    from fabric_pipeline.cli.compare_view import compare_lines
    from fabric_pipeline.cli.screen import screen

    to = screen()
    to.show(compare_lines(found, to.signs, to.list_width, everything=everything))
    say(f"see either: fabric-pipeline topology {plain(a)}   fabric-pipeline topology {plain(b)}")


def _fabric(settings: Settings, view: FabricView, rack: str | None, *, json: bool) -> None:
    from fabric_pipeline.cli.clock_chart import clock_lines
    from fabric_pipeline.cli.fabric_parts import rack_of
    from fabric_pipeline.cli.screen import screen
    from fabric_pipeline.cli.topology_view import topology_lines
    from fabric_pipeline.workflows.fabric_series import load_series
    from fabric_pipeline.workflows.fabric_view_json import view_as_json

    shown = view if rack is None else rack_of(view, rack)
    if json:
        put_json(view_as_json(shown))
        return
    to = screen()
    chart = clock_lines(load_series(settings, shown), to.signs, to.width)
    to.show(
        topology_lines(
            shown,
            to.signs,
            width=to.width,
            list_width=to.list_width,
            fresh=_fresh(shown, to),
            chart=chart,
        )
    )
    _hint_link(shown)


def _node(view: FabricView, name: str, *, json: bool) -> None:
    from fabric_pipeline.cli.node_view import find_node, node_lines
    from fabric_pipeline.cli.screen import screen
    from fabric_pipeline.workflows.fabric_view_json import view_as_json

    node = find_node(view, name)
    if json:
        put_json(view_as_json(view, node=node.name))
        return
    to = screen()
    fresh = _fresh(view, to)
    to.show(node_lines(view, node, to.signs, width=to.width, list_width=to.list_width, fresh=fresh))
    _hint_link(view, node=node.name)


def _link(settings: Settings, view: FabricView, name: str, *, everything: bool, json: bool) -> None:
    from fabric_pipeline.cli.link_card import link_lines
    from fabric_pipeline.cli.link_json import link_as_json
    from fabric_pipeline.cli.screen import screen
    from fabric_pipeline.workflows.fabric_series import load_series
    from fabric_pipeline.workflows.link_view import load_link

    found = load_link(settings, view, name)
    series = load_series(settings, view, found.link)
    if json:
        put_json(link_as_json(view, found, series))
        return
    to = screen()
    to.show(
        link_lines(
            found,
            series,
            to.signs,
            width=to.width,
            list_width=to.list_width,
            fresh=_fresh(view, to),
            everything=everything,
        )
    )
    incident = found.incident
    if incident is not None and incident.ticket is not None:
        say(f"its repair ticket: fabric-pipeline review {incident.ticket.ticket_id}")
    if incident is not None:
        say(f"the evidence: fabric-pipeline incidents {incident.record.incident_id}")
    elif found.link.a.node:
        say(f"its node: fabric-pipeline topology {view.drop} --node {plain(found.link.a.node)}")


def _pairs(settings: Settings, drop: str | None, *, json: bool) -> None:
    from fabric_pipeline.cli.link_json import pairs_as_json
    from fabric_pipeline.workflows.drop_window import window_end
    from fabric_pipeline.workflows.fabric_view import chosen_drop
    from fabric_pipeline.workflows.fabric_view_model import FabricView
    from fabric_pipeline.workflows.pair_matrix import pair_matrix

    name = chosen_drop(settings.lake, drop)
    pairs = pair_matrix(settings, name)
    if json:
        put_json(pairs_as_json(name, pairs))
        return
    from fabric_pipeline.cli.pair_view import pair_lines
    from fabric_pipeline.cli.screen import screen

    to = screen()
    fresh = _fresh(FabricView(name, window_end=window_end(settings, name)), to)
    to.show(pair_lines(name, pairs, to.signs, to.width, to.list_width, fresh))


def _pair_of(settings: Settings, earlier: str | None, later: str | None) -> tuple[str, str]:
    """Both drops; of two left out, the newest of one cluster with the one before it."""
    from fabric_pipeline.workflows.drop_compare import pair_to_compare
    from fabric_pipeline.workflows.drop_window import window_end
    from fabric_pipeline.workflows.fabric_view import drops_with_fabric

    if earlier is not None and later is not None:
        return earlier, later
    drops = drops_with_fabric(settings.lake)
    if earlier is not None and drops:
        return earlier, next((drop for drop in drops if drop != earlier), earlier)
    return pair_to_compare(settings, [(drop, window_end(settings, drop)) for drop in drops])


def _fresh(view: FabricView, to: Screen) -> Lines:
    from fabric_pipeline.cli.freshness_line import freshness_lines

    return freshness_lines(view, datetime.now(UTC), to.signs, to.list_width)


def _hint_link(view: FabricView, *, node: str = "", types: Collection[str] = ()) -> None:
    """Name the worst link as the next thing to look at."""
    for link in view.degraded():
        if types and link.link_type not in types:
            continue
        if not node or any(end.node == node for end in link.ends):
            component = plain(link.a.component)
            say(f"look at one: fabric-pipeline topology {view.drop} --link {component}")
            return
