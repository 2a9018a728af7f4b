"""Small pictures for the Dagster UI: spikes and stragglers over time as inline SVG in markdown.

Plain SVG text; every name is escaped. The portal draws its own, larger pictures.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import datetime
from html import escape

_WIDTH, _ROW, _LEFT = 760, 22, 260
_MAX_NAMES = 24


def timeline(rows: Sequence[tuple[str, datetime, datetime, bool]], title: str) -> str:
    """Markdown with a picture: one line per name, a bar per interval (start, end, is it grave).

    Returns a sentence instead when there is nothing to draw.
    """
    if not rows:
        return f"{title}: none."
    first, last = min(row[1] for row in rows), max(row[2] for row in rows)
    span_s = max((last - first).total_seconds(), 1.0)
    everybody = list(dict.fromkeys(row[0] for row in rows))
    names = everybody[:_MAX_NAMES]
    cut = f" ({len(names)} of {len(everybody)} shown)" if len(everybody) > len(names) else ""
    until = f"{last:%H:%M}" if last.date() == first.date() else f"{last:%Y-%m-%d %H:%M}"
    heading = f"{title}, {first:%Y-%m-%d %H:%M} to {until} UTC{cut}"
    parts = [_text(8, 16, heading, bold=True)]
    for place, name in enumerate(names):
        top = 28 + place * _ROW
        parts.append(_text(8, top + 13, name[:38]))
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - 8}" y1="{top + 17}" y2="{top + 17}" stroke="#ccc"/>'
        )
        parts += [_bar(row, first, span_s, top) for row in rows if row[0] == name]
    height = 36 + len(names) * _ROW
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" font-family="sans-serif" font-size="11">'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>'
    )
    return f"![{title}](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})"


def _bar(
    row: tuple[str, datetime, datetime, bool], first: datetime, span_s: float, top: int
) -> str:
    _, start, end, is_grave = row
    scale = (_WIDTH - 8 - _LEFT) / span_s
    x = _LEFT + (start - first).total_seconds() * scale
    width = max((end - start).total_seconds() * scale, 2.0)
    colour = "#b3261e" if is_grave else "#8a8f98"
    return f'<rect x="{x:.1f}" y="{top + 3}" width="{width:.1f}" height="12" fill="{colour}"/>'


def _text(x: int, y: int, text: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    shown = "".join(
        sign if sign.isprintable() else "\ufffd" for sign in text
    )  # XML allows no others
    return f'<text x="{x}" y="{y}"{weight} fill="#222">{escape(shown)}</text>'
