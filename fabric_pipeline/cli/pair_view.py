"""The matrix of GPU pairs in text: how many times slower than its like each measured pair was.

A pair is compared within its class alone (`workflows.pair_matrix`). The slow pairs stand in words under
the grid, and a grid that is too wide shows only the ends of slow pairs.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from fabric_pipeline.cli.fabric_style import COLOURS, MUTED, TITLE, Glyphs, figure, plural
from fabric_pipeline.cli.text_layout import Lines, packed, padded, text, wrapped
from fabric_pipeline.workflows.pair_matrix import CLASSES, STEPS, Pair, PairMatrix

_LEVEL_STYLES = (MUTED, "yellow", "yellow", "bold yellow", "bold yellow", "bold red")
_NOT_MEASURED = 7
_MOST_PAIRS = 20
_NONE = "No collective between exactly two placed ranks was measured in this drop, so no pair can be compared."


def pair_lines(
    drop: str,
    pairs: PairMatrix | None,
    signs: Glyphs,
    width: int,
    list_width: int,
    fresh: Sequence[Text] = (),
) -> Lines:
    """Heading, grid, legend and the slow pairs in words; `fresh` stands under the heading."""
    title = text(("GPU to GPU, times the median of like pairs", TITLE))
    head = packed([title, text("drop ", (signs.name(drop), TITLE))], width)
    if pairs is None:
        return [*head, *fresh, *wrapped(_NONE, list_width)]
    said = [signs.name(pairs.source, 200), plural(len(pairs.pairs), "pair")]
    said += [signs.name(f"{CLASSES[kind]} {median}") for kind, median in pairs.medians.items()]
    lines = [*head, *packed([text((one, MUTED)) for one in said], width), *fresh, text()]
    lines += _grid(pairs, signs, width)
    lines += [text(), *_legend(signs, width)]
    return lines + _slow(pairs, signs, list_width)


def _grid(pairs: PairMatrix, signs: Glyphs, width: int) -> Lines:
    """All ends where they fit, else those of the slow pairs; [] when even these do not."""
    chosen = list(range(len(pairs.names)))
    label = 2 + min(max(map(cell_len, pairs.names), default=0), width // 3)
    if label + 2 * len(chosen) + len(pairs.groups) > width:
        slow = {name for pair in pairs.worst(_MOST_PAIRS) for name in (pair.one, pair.other)}
        chosen = [place for place, name in enumerate(pairs.names) if name in slow]
        kept = f"{plural(len(pairs.names) - len(chosen), pairs.noun)} without a slow pair not drawn"
        if not chosen or label + 3 * len(chosen) > width:
            return [
                text(
                    (
                        f"{len(pairs.names):,} {pairs.noun}s are too many to draw here; --json has all",
                        MUTED,
                    )
                )
            ]
        return [*_rows(pairs, chosen, label, signs), text((kept, MUTED))]
    return _rows(pairs, chosen, label, signs)


def _rows(pairs: PairMatrix, chosen: Sequence[int], label: int, signs: Glyphs) -> Lines:
    group_of = {name: number for number, (_, names) in enumerate(pairs.groups) for name in names}
    heads, below = text(" " * label), text(" " * label)
    lines: Lines = []
    before = None
    for place in chosen:
        name = pairs.names[place]
        node, _, gpu = name.rpartition(":gpu")
        if group_of.get(name) != before and node:
            before = group_of.get(name)
            below.append(" ")
            heads.append(" " * max(0, below.cell_len - heads.cell_len)).append(
                f"{signs.name(node, 24)} ", MUTED
            )
        below.append(f"{(gpu or str(place))[-1:]} ", MUTED)
    lines += [heads, below]
    for row in chosen:
        line = padded(text(signs.name(pairs.names[row], label - 1)), label)
        before = None
        for place in chosen:
            group = group_of.get(pairs.names[place])
            if ":gpu" in pairs.names[place] and group != before:
                before = group
                line.append(" ")
            line.append_text(text(_cell(pairs, row, place, signs), " "))
        lines.append(line)
    return lines


def _cell(pairs: PairMatrix, row: int, place: int, signs: Glyphs) -> tuple[str, str]:
    if row == place:
        return " ", ""
    level = pairs.cells[row * len(pairs.names) + place] & 15
    if level == _NOT_MEASURED:
        return signs.states["no_data"], COLOURS["no_data"]
    if not level:
        return signs.states["healthy"], MUTED
    return signs.ramp[level - 1], _LEVEL_STYLES[level]


def _legend(signs: Glyphs, width: int) -> Lines:
    keys = [text((signs.states["healthy"], MUTED), f" below {STEPS[0]:g}{signs.times}")]
    keys += [
        text((signs.ramp[number], _LEVEL_STYLES[number + 1]), f" {step:g}{signs.times}")
        for number, step in enumerate(STEPS)
    ]
    keys.append(text((signs.states["no_data"], MUTED), " not measured as a pair"))
    return packed(keys, width)


def _slow(pairs: PairMatrix, signs: Glyphs, width: int) -> Lines:
    worst = pairs.worst(_MOST_PAIRS)
    if not worst:
        said = f"No measured pair is {STEPS[0]:g} times slower than its like."
        return [text(), text((said, TITLE))]
    lines: Lines = [text(), text(("Slow pairs", TITLE))]
    for pair in worst:
        lines += _said(pair, signs, width)
    if pairs.left_out:
        lines += wrapped(f"{pairs.left_out:,} ends left out", width, style=MUTED)
    return lines


def _said(pair: Pair, signs: Glyphs, width: int) -> Lines:
    state = "critical" if pair.ratio >= STEPS[-1] else "warning"
    sign = text((f"{signs.states[state]} {pair.ratio:.2f}{signs.times}", COLOURS[state]), "  ")
    names = f"{signs.name(pair.one, 80)} to {signs.name(pair.other, 80)}"
    value = f"{figure(pair.value)} {signs.name(pair.unit)}"
    said = f"{names}: {value}, {CLASSES[pair.kind]}"
    first, *rest = wrapped(said, width - sign.cell_len)
    return [sign.append_text(first), *(text(" " * 4).append_text(one) for one in rest)]
