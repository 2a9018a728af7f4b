"""The fabric as a rack drawing in text: switches above, racks side by side, a tick for every link.

Pure: a `FabricView` and a width in, rich text out. A large fabric is drawn as a floor plan with one
sign a node, and only nodes with trouble are opened. One node in full is `node_view`'s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Group
from rich.text import Text

from fabric_pipeline.cli.fabric_style import (
    COLOURS,
    MUTED,
    TITLE,
    Glyphs,
    glyphs,
    plural,
    span_text,
)
from fabric_pipeline.cli.link_list import LinkList, on_no_link, state_sums
from fabric_pipeline.cli.node_card import card_width, name_style, node_card, ticks
from fabric_pipeline.cli.text_layout import (
    Lines,
    flow,
    grid,
    packed,
    padded,
    picture,
    text,
    wrapped,
)
from fabric_pipeline.workflows.fabric_link_columns import NOWHERE
from fabric_pipeline.workflows.fabric_view_model import (
    STATES,
    TROUBLE,
    FabricView,
    NodeView,
    Port,
    RackView,
    SwitchView,
    rank,
    worst,
)

_OPEN_NODES = 16  # more nodes than this are drawn as a floor plan
_OPEN_TROUBLED = 6
_OPEN_SWITCHES = 24
_CARD_GAP = (2, 6)


def render_topology(view: FabricView, *, width: int, unicode: bool = True) -> Group:
    """The whole fabric, no line wider than `width` columns."""
    return picture(topology_lines(view, glyphs(unicode), width=width, list_width=width), width)


def topology_lines(
    view: FabricView,
    signs: Glyphs,
    *,
    width: int,
    list_width: int,
    fresh: Sequence[Text] = (),
    chart: Sequence[Text] = (),
) -> Lines:
    """The fabric as lines: the drawing in `width` columns, the list under it in `list_width`.

    `fresh` stands under the heading, `chart` between the drawing and the list.
    """
    lines = [*heading(view, signs, width), *fresh, *_switches(view, signs, width)]
    if len(view.nodes) <= _OPEN_NODES:
        lines += [text(), *_racks(view.racks, signs, width)]
    else:
        lines += _floor(view, signs, width)
    lines += [text(), *legend(signs, width)]
    if chart:
        lines += [text(), *chart]
    return lines + troubles(view, signs, list_width)


def heading(view: FabricView, signs: Glyphs, width: int) -> Lines:
    """Site, drop and time, what there is, and how many links are in which state."""
    nodes = view.nodes
    gpus = sum(len(node.of_kind("gpu")) for node in nodes)
    lines = packed(
        [
            text((signs.name(view.site) or "Fabric", TITLE)),
            text("drop ", (signs.name(view.drop), TITLE)),
            text(span_text(view.window_start, view.window_end)),
        ],
        width,
    )
    racks = sum(bool(rack.name) for rack in view.racks)
    said = [
        plural(len(nodes), "node") + (f" in {plural(racks, 'rack')}" if racks else ""),
        plural(gpus, "GPU"),
        plural(len(view.switches), "switch", "switches"),
        plural(len(view.links), "link"),
    ]
    lines += packed([text((piece, MUTED)) for piece in said], width)
    lines += packed([*state_sums(_states(view), signs), *_one_sided(view)], width)
    for note in view.notes:
        lines += wrapped(note, width, style=COLOURS["watch"])
    return lines


def legend(signs: Glyphs, width: int) -> Lines:
    """The signs, and what one tick stands for."""
    said = "One tick is one link. GPU rows: NVLink 0, 1, 2 and on, a gap where the next NVSwitch begins; nic: network ports; pcie: GPUs, NICs, switches."
    return [*legend_signs(signs, width), *wrapped(said, width, style=MUTED)]


def legend_signs(signs: Glyphs, width: int) -> Lines:
    """The sign of each state."""
    words = {"no_data": "no data at this end"}
    order = sorted(STATES, key=lambda state: (state == "no_data", rank(state)))
    keys = [
        text((signs.states[state], COLOURS[state]), f" {words.get(state, state)}")
        for state in order
    ]
    return packed(keys, width)


def troubles(view: FabricView, signs: Glyphs, width: int) -> Lines:
    """The lists under the picture: degraded links, other incidents, nodes without data."""
    listed = LinkList(view, signs, width)
    sections = [
        ("Degraded links", listed.degraded(view.degraded())),
        ("Incidents on no link of this picture", listed.elsewhere(on_no_link(view))),
        ("", listed.silent([node for node in view.nodes if node.state == "no_data"])),
    ]
    lines: Lines = []
    for title, body in sections:
        if body:
            lines += [text(), *([text((title, TITLE))] if title else []), *body]
    if lines:
        return lines
    said = "No measured link stands out." if view.links else "This drop names no link."
    return [text(), text((said, TITLE))]


def _states(view: FabricView) -> Counter[str]:
    return sum(view.links.counts().values(), Counter())


def _one_sided(view: FabricView) -> list[Text]:
    """How many links gave data at one end alone; over columns, for there may be 170,000."""
    silent = STATES.index("no_data")
    near, far = view.links.end_states
    has_far = view.links.columns.reading[1] != NOWHERE
    is_half = (view.links.states != silent) & ((near == silent) | ((far == silent) & has_far))
    number = int(is_half.sum())
    return [text((f"({number:,} measured at one end only)", MUTED))] if number else []


def _switches(view: FabricView, signs: Glyphs, width: int) -> Lines:
    lines: Lines = []
    tiers = sorted(
        {switch.tier for switch in view.switches}, key=lambda tier: (_height(tier), tier)
    )
    for tier in tiers:
        all_of = [switch for switch in view.switches if switch.tier == tier]
        shown = all_of
        if len(all_of) > _OPEN_SWITCHES:
            shown = [switch for switch in all_of if switch.state in TROUBLE][:_OPEN_SWITCHES]
        title = f"{(signs.name(tier, 10) or 'switch').upper():<7} "
        lines.append(text())
        lines += flow(_switch_tiles(shown, signs, width - len(title)), width, first=title)
        if len(shown) < len(all_of):
            lines.append(_hidden_switches(all_of, shown, "" if shown else title, signs))
    return lines


def _height(tier: str) -> int:
    return {"core": 0, "spine": 1, "leaf": 2}.get(tier, 3)


def _hidden_switches(
    all_of: Sequence[SwitchView], shown: Sequence[SwitchView], title: str, signs: Glyphs
) -> Text:
    hidden = [switch.state for switch in all_of if switch not in shown]
    line = text((title or " " * 8, TITLE))
    more = "more " if shown else ""
    line.append(f"{len(hidden):,} {more}without trouble", MUTED)
    silent = hidden.count("no_data")
    if silent:
        line.append(
            f", {silent:,} of them without data {signs.states['no_data']}", COLOURS["no_data"]
        )
    return line


def _switch_tiles(switches: Sequence[SwitchView], signs: Glyphs, room: int) -> list[Text]:
    """Name, place and a tick for each port; of more ports than there is room for, the sums."""
    names = [signs.name(switch.name, 24) for switch in switches]
    places = [
        " ".join(signs.name(p, 12) for p in (switch.rack, switch.unit) if p) for switch in switches
    ]
    widest = max((cell_len(name) for name in names), default=0)
    place_width = max((cell_len(place) for place in places), default=0)
    tiles = []
    for switch, name, place in zip(switches, names, places, strict=True):
        tile = padded(text((name, name_style(switch.state))), widest).append(" ")
        tile.append_text(padded(text((place, MUTED)), place_width)).append(
            " " if place_width else ""
        )
        drawn = text(" ").join(ticks(group, signs) for group in by_far_tier(switch.ports))
        if tile.cell_len + drawn.cell_len > room:
            sums = state_sums(Counter(port.state for port in switch.ports), signs)
            drawn = text("  ").join([text((plural(len(switch.ports), "port"), MUTED)), *sums])
        tile.append_text(drawn)
        tiles.append(tile)
    width = max((tile.cell_len for tile in tiles), default=0)
    return [padded(tile, width) for tile in tiles]


def by_far_tier(ports: Sequence[Port]) -> list[list[Port]]:
    """Ports to nodes, then ports to other switches; empty groups are left out."""
    down = [port for port in ports if port.far is None or port.far.node]
    up = [port for port in ports if port.far is not None and not port.far.node]
    return [group for group in (down, up) if group]


def _racks(racks: Sequence[RackView], signs: Glyphs, width: int) -> Lines:
    """Racks side by side; nodes without a stated rack have no place, so they only fill the width."""
    stated = [rack for rack in racks if rack.name]
    wide = card_width([node for rack in stated for node in rack.nodes], signs, width)
    blocks = []
    for rack in stated:
        block = [_rack_head(rack, signs, wide)]
        for number, node in enumerate(rack.nodes):
            block += [text()] if number else []
            block += node_card(node, signs, wide)
        blocks.append(block)
    lines = grid(blocks, wide, width, _CARD_GAP)
    loose = [node for rack in racks if not rack.name for node in rack.nodes]
    if loose:
        wide = card_width(loose, signs, width)
        lines += [text()] if lines else []
        lines.append(_rack_head(RackView("", ""), signs, width))
        cards = [node_card(node, signs, wide) for node in loose]
        lines += grid(cards, wide, width, _CARD_GAP)
    return lines


def _rack_head(rack: RackView, signs: Glyphs, width: int) -> Text:
    name = f" rack {signs.name(rack.name, 20)} " if rack.name else " rack not stated "
    row = f" row {signs.name(rack.row, 12)} " if rack.row else ""
    line = text((signs.rule * 2, MUTED), (name, TITLE))
    if row:
        line.append(signs.rule * 2, MUTED).append(row)
    return line.append(signs.rule * max(0, width - line.cell_len), MUTED)


def _floor(view: FabricView, signs: Glyphs, width: int) -> Lines:
    """One sign a node, rack by rack, then the cards of the nodes with real trouble."""
    lines = [
        text(),
        text(("Floor", TITLE), ("  one sign is one node, racks in order, nodes by unit", MUTED)),
    ]
    lines += flow(_rack_tiles(view.racks, signs, width), width, gap=2)
    bad = _troubled_nodes(view)
    if bad:
        shown = bad[:_OPEN_TROUBLED]
        more = f", the first {len(shown)} of {len(bad)}" if len(bad) > len(shown) else ""
        lines += [text(), text((f"Nodes with trouble{more}", TITLE))]
        racks = [RackView(node.rack, node.row, [node]) for node in shown]
        lines += _racks(racks, signs, width)
    return lines


def _troubled_nodes(view: FabricView) -> list[NodeView]:
    """Nodes above watch, those with the worst link first."""
    places: dict[str, int] = {}
    for number, link in enumerate(view.degraded()):
        for end in link.ends:
            places.setdefault(end.node, number)
    bad = [node for node in view.nodes if node.state in ("warning", "critical")]
    return sorted(bad, key=lambda node: (-rank(node.state), places.get(node.name, len(places))))


def _rack_tiles(racks: Sequence[RackView], signs: Glyphs, width: int) -> list[Text]:
    names = [signs.name(rack.name, 16) or "(none)" for rack in racks]
    widest = max(map(cell_len, names), default=0)
    room = max(1, width - widest - 1)
    tiles = []
    for rack, name in zip(racks, names, strict=True):
        states = [node.state for node in rack.nodes]
        for start in range(0, len(states), room):
            style = name_style(worst(states)) or MUTED
            tile = padded(text((name if start == 0 else "", style)), widest).append(" ")
            for state in states[start : start + room]:
                tile.append(signs.states[state], COLOURS[state])
            tiles.append(tile)
    tile_width = max((tile.cell_len for tile in tiles), default=0)
    return [padded(tile, tile_width) for tile in tiles]
