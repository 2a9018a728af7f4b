"""The drawn pointer: where it is, how it moves, and the ring that shows a click."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from PIL import Image, ImageDraw

_SHAPE = ((0, 0), (0, 21), (5, 16), (9, 25), (13, 23), (9, 15), (16, 15))
_FINE = 4
_SIZE = 60
_STEPS = 5


@dataclass
class Pointer:
    """Its tip in CSS pixels of the page."""

    x: float = 720.0
    y: float = 470.0

    def path_to(self, x: float, y: float) -> Iterator[tuple[float, float]]:
        """Places on the way, slow at both ends; the pointer is left at each."""
        from_x, from_y = self.x, self.y
        for step in range(1, _STEPS + 1):
            share = step / _STEPS
            share = share * share * (3 - 2 * share)
            self.x, self.y = from_x + (x - from_x) * share, from_y + (y - from_y) * share
            yield self.x, self.y

    def is_at(self, x: float, y: float) -> bool:
        """True when the tip is less than a pixel away."""
        return abs(self.x - x) < 1 and abs(self.y - y) < 1

    def draw_on(self, picture: Image.Image, *, pressed: bool = False) -> Image.Image:
        """The picture with the pointer on it."""
        half = _SIZE // 2
        sheet = Image.new("RGBA", (_SIZE * _FINE, _SIZE * _FINE))
        pen = ImageDraw.Draw(sheet)
        middle = half * _FINE
        if pressed:
            ring = 18 * _FINE
            box = (middle - ring, middle - ring, middle + ring, middle + ring)
            pen.ellipse(box, fill=(90, 174, 255, 70), outline=(90, 174, 255, 255), width=2 * _FINE)
        outline = [(middle + x * _FINE, middle + y * _FINE) for x, y in _SHAPE]
        pen.polygon(outline, fill=(255, 255, 255, 255), outline=(0, 0, 0, 255), width=_FINE + 2)
        small = sheet.resize((_SIZE, _SIZE), Image.Resampling.LANCZOS)
        drawn = picture.copy()
        drawn.paste(small, (round(self.x) - half, round(self.y) - half), small)
        return drawn
