"""How old a picture is, in one line under its heading: old data is said to be old and is never green.

The limit and the age come from `portal.freshness`, so that the terminal and the page agree.
"""

from __future__ import annotations

from datetime import datetime

from rich.text import Text

from fabric_pipeline.cli.fabric_style import COLOURS, MUTED, Glyphs, plural
from fabric_pipeline.cli.text_layout import Lines, packed, text, wrapped
from fabric_pipeline.workflows.fabric_view_model import FabricView
from fabric_pipeline.workflows.freshness import freshness


def freshness_lines(view: FabricView, now: datetime, signs: Glyphs, width: int) -> Lines:
    """End of the data, its age, and how many nodes gave none."""
    found = freshness(view, now)
    end = f"data to {found.window_end:%Y-%m-%d %H:%M} UTC, " if found.window_end else ""
    lines: Lines = []
    pieces: list[Text] = []
    if found.is_stale:
        said = "it says nothing of the present" if end else "how old it is, is not known"
        old = f"OLD DATA: {end}{found.age}; {said}"
        lines = wrapped(old, width, style=COLOURS["warning"])
    else:
        pieces = [text((f"{end}{found.age}", MUTED))]
    if found.nodes_without_data:
        silent = f"{found.nodes_without_data:,} of {plural(found.nodes, 'node')} without data"
        pieces.append(text((f"{signs.states['no_data']} {silent}", COLOURS["no_data"])))
    return [*lines, *packed(pieces, width)]
