"""Where pictures are printed: how wide, with which signs, and whether a person or a program reads.

A terminal gets its own width and colour (none with NO_COLOR or a dumb terminal). A pipe gets no escape
code, drawings of 100 columns and lists of whole lines, so that `grep` finds an item with its facts.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console

from fabric_pipeline.cli.fabric_style import Glyphs, glyphs
from fabric_pipeline.cli.text_layout import Lines, picture

_PIPE_DRAWING = 100
# Longer than any line of a list: names and sentences are limited before.
_PIPE_LINE = 4_000


@dataclass(frozen=True, slots=True)
class Screen:
    """What stdout can show. `width` is for drawings, `list_width` for lists and sentences."""

    console: Console
    unicode: bool
    width: int
    list_width: int

    @property
    def is_terminal(self) -> bool:
        """True when a person looks at it, or colours are forced."""
        return self.console.is_terminal

    @property
    def signs(self) -> Glyphs:
        """The character set that the encoding allows."""
        return glyphs(self.unicode)

    def show(self, lines: Lines) -> None:
        """Print finished lines."""
        self.console.print(picture(lines, max(self.width, self.list_width)))


def screen() -> Screen:
    """The screen on stdout as it is now."""
    console = Console(highlight=False)
    width, list_width = console.width, console.width
    if not console.is_terminal:
        width, list_width = _PIPE_DRAWING, _PIPE_LINE
        console = Console(highlight=False, width=_PIPE_LINE)
    return Screen(console, console.encoding.lower().startswith("utf"), width, list_width)


@contextmanager
def one_large_value() -> Iterator[None]:
    """For a command that builds one large picture and ends: no search for garbage in between.

    With 170,000 links it takes a third of the time, and there is none to be found.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
