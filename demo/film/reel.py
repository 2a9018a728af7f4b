"""The film while it grows: pictures with the ticks they stand, and captions with the ticks they hold.

A frame is the picture with the caption's bar below it, so that no caption covers anything.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image

from demo.film.pace import at_least_ticks

WIDTH, HEIGHT, BAR = 1440, 900, 60


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture on disk and how many ticks it stands."""

    path: Path
    ticks: int


@dataclass(frozen=True, slots=True)
class Cue:
    """One caption from a tick to a tick."""

    start: int
    end: int
    text: str


@dataclass
class Reel:
    """Frames in order. `draw_bar` makes the bar of a caption and of where we are (an address)."""

    folder: Path
    draw_bar: Callable[[str, str], Image.Image]
    frames: list[Frame] = field(default_factory=list)
    cues: list[Cue] = field(default_factory=list)
    poster: Path | None = None
    _caption: str = ""
    _since: int = 0

    @property
    def ticks(self) -> int:
        """Length so far."""
        return sum(frame.ticks for frame in self.frames)

    def begin(self, caption: str) -> None:
        """From now on this caption stands below the picture."""
        self._caption, self._since = caption, self.ticks

    def add(self, picture: Image.Image, ticks: int, where: str) -> None:
        """A picture of 1440 by 900 that stands so long."""
        frame = Image.new("RGB", (WIDTH, HEIGHT + BAR))
        frame.paste(picture, (0, 0))
        frame.paste(self.draw_bar(self._caption, where), (0, HEIGHT))
        path = self.folder / f"{len(self.frames):05d}.png"
        frame.save(path, compress_level=1)
        self.frames.append(Frame(path, ticks))

    def hold(self, ticks: int) -> None:
        """Let the last picture stand longer."""
        last = self.frames[-1]
        self.frames[-1] = Frame(last.path, last.ticks + ticks)

    def end(self, *, is_poster: bool = False) -> None:
        """The caption ends; it stands long enough to be read."""
        self.hold(max(0, self._since + at_least_ticks(self._caption) - self.ticks))
        self.cues.append(Cue(self._since, self.ticks, self._caption))
        if is_poster:
            self.poster = self.frames[-1].path


def picture(png: bytes) -> Image.Image:
    """A screenshot as a picture."""
    return Image.open(io.BytesIO(png)).convert("RGB")
