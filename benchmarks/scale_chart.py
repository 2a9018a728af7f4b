"""The picture of docs/scale.md: how long a run takes over the number of workers, both in logarithms.

Draws what it is given as SVG text; what is simulated is decided in `scale_simulation`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from benchmarks.scale_farm import Outcome

_WIDTH, _HEIGHT = 760, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 210, 24, 52
_COLOURS = ("#1f6feb", "#b35900", "#1a7f37")
_TIMES = (
    (1, "1 s"), (10, "10 s"), (60, "1 min"), (600, "10 min"), (3600, "1 h"), (6 * 3600, "6 h"), (24 * 3600, "1 day"),
    (7 * 24 * 3600, "1 week"),
)  # fmt: skip


def chart(lines: Mapping[str, Sequence[Outcome]]) -> str:
    """One solid line for each case, dashed what so many workers would take if nothing held them up."""
    every = [run for runs in lines.values() for run in runs]
    most = max(run.workers for run in every)
    least_s = min(run.compute_s / run.workers for run in every)
    low, high = math.log10(least_s), math.log10(max(run.wall_s for run in every))

    def place(workers: float, seconds: float) -> tuple[float, float]:
        across = math.log10(workers) / math.log10(most)
        up = (math.log10(seconds) - low) / (high - low)
        return (
            _LEFT + across * (_WIDTH - _LEFT - _RIGHT),
            _HEIGHT - _BOTTOM - up * (_HEIGHT - _TOP - _BOTTOM),
        )

    drawn = [_frame(place, most, low, high)]
    for (name, runs), colour in zip(lines.items(), _COLOURS, strict=False):
        real = [place(run.workers, run.wall_s) for run in runs]
        ideal = [place(run.workers, run.compute_s / run.workers) for run in runs]
        drawn.append(_line(real, colour, ""))
        drawn.append(_line(ideal, colour, ' stroke-dasharray="3 5" opacity="0.7"'))
        drawn += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in real]
        drawn.append(_text(real[-1][0] + 10, real[-1][1] + 4, name, "start", colour))
        drawn.append(
            _text(ideal[-1][0] + 10, ideal[-1][1] + 4, "counting alone, ideal", "start", colour)
        )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12" '
        'role="img" aria-label="Time of a run over the number of workers">'
    )
    return "\n".join(
        [head, f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>', *drawn, "</svg>", ""]
    )


def _frame(place, most: int, low: float, high: float) -> str:  # type: ignore[no-untyped-def]
    parts = []
    workers = [2**power for power in range(int(math.log2(most)) + 1)] + [most]
    for number in workers:
        x, y = place(number, 10**low)
        if number in (most, 512):
            parts.append("" if number == 512 else _text(x, y + 18, f"{number:,}", "middle"))
        else:
            parts.append(_text(x, y + 18, str(number), "middle"))
    for seconds, words in _TIMES:
        if low <= math.log10(seconds) <= high:
            x, y = place(1, seconds)
            right = place(most, seconds)[0]
            parts.append(f'<path d="M{x:.1f} {y:.1f}H{right:.1f}" stroke="#d0d7de"/>')
            parts.append(_text(x - 8, y + 4, words, "end"))
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(_text(middle, _HEIGHT - 12, "workers (one core each)", "middle"))
    return "\n".join(part for part in parts if part)


def _line(points: Sequence[tuple[float, float]], colour: str, more: str) -> str:
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"{more}/>'


def _text(x: float, y: float, words: str, anchor: str, colour: str = "#57606a") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'
