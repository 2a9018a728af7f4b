"""Horizontal tracks for degraded cables, so that no two of them and no two pills lie on each other.

Cables between two tiers leave upright, cross in a track of their own, and arrive upright, like in a
cable tray. Only places are dealt out here; drawing is done by the layouts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

_HEIGHT, _GAP = 25.0, 10.0


@dataclass(slots=True)
class Tracks:
    """Rows of one band. Intervals that do not touch share a row; `scale` is that of the pills."""

    scale: float = 1.0
    _rows: list[list[tuple[float, float]]] = field(default_factory=list)

    def take(self, x1: float, x2: float, pill: float) -> tuple[int, float]:
        """A row for a cable from x1 to x2 with a pill of that width; gives the row and the pill's middle."""
        left, right = min(x1, x2), max(x1, x2)
        half, gap = pill * self.scale / 2, _GAP * self.scale
        # On a short cable the pill stays at the first end, clear of the lanes at the other.
        middle = (left + right) / 2 if right - left > 2 * half else x1
        left, right = min(left, middle - half), max(right, middle + half)
        for number, row in enumerate(self._rows):
            if all(right + gap < a or b + gap < left for a, b in row):
                row.append((left, right))
                return number, middle
        self._rows.append([(left, right)])
        return len(self._rows) - 1, middle

    @property
    def height(self) -> float:
        """Height that the rows need."""
        return len(self._rows) * _HEIGHT * self.scale

    def offset(self, row: int) -> float:
        """Middle of a row below the top of the band."""
        return (row + 0.5) * _HEIGHT * self.scale
