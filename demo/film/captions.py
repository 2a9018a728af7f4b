"""Captions: the bar below the picture, drawn by the browser in our own font, and the WebVTT file."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence

from PIL import Image
from playwright.sync_api import Page

from demo.film.pace import TICKS_PER_S
from demo.film.reel import BAR, WIDTH, Cue, picture
from demo.film.screen import font_faces

_STYLE = (
    f"body{{margin:0;width:{WIDTH}px;height:{BAR}px;box-sizing:border-box;background:#05080c;"
    "border-top:2px solid #5aaeff;display:flex;align-items:center;gap:24px;padding:0 24px;overflow:hidden}"
    "#said{flex:1;font:550 22px Inter;color:#fff;white-space:nowrap}"
    "#where{font:400 14px 'JetBrains Mono';color:#8b9bae;white-space:nowrap}"
)
_TIMING = re.compile(r"(\d+):(\d\d):(\d\d)\.(\d{3}) --> (\d+):(\d\d):(\d\d)\.(\d{3})")


def bar_drawer(page: Page) -> Callable[[str, str], Image.Image]:
    """A function that draws the bar on this page; each bar is drawn once."""
    page.set_viewport_size({"width": WIDTH, "height": BAR})
    page.set_content(
        f"<!doctype html><style>{font_faces()}{_STYLE}</style><div id='said'></div><div id='where'></div>"
    )
    drawn: dict[tuple[str, str], Image.Image] = {}

    def draw(said: str, where: str) -> Image.Image:
        if (said, where) not in drawn:
            page.evaluate(
                """async ([said, where]) => {
                    document.getElementById("said").textContent = said;
                    document.getElementById("where").textContent = where;
                    await document.fonts.ready;
                }""",
                [said, where],
            )
            drawn[said, where] = picture(page.screenshot())
        return drawn[said, where]

    return draw


def as_vtt(cues: Sequence[Cue]) -> str:
    """The captions as WebVTT."""
    blocks = [
        f"{_stamp(cue.start)} --> {_stamp(cue.end)}\n{html.escape(cue.text, quote=False)}\n"
        for cue in cues
    ]
    return "\n".join(["WEBVTT\n", *blocks])


def read_vtt(text: str) -> list[Cue]:
    """The captions of such a file; ValueError when it is none."""
    head, *blocks = text.strip().split("\n\n")
    if head != "WEBVTT":
        raise ValueError("no WebVTT file")
    cues = []
    for block in blocks:
        timing, said = block.split("\n", 1)
        found = _TIMING.fullmatch(timing)
        if found is None:
            raise ValueError(f"no timing: {timing}")
        numbers = [int(one) for one in found.groups()]
        cues.append(Cue(_ticks(*numbers[:4]), _ticks(*numbers[4:]), html.unescape(said)))
    return cues


def _stamp(ticks: int) -> str:
    whole, tenths = divmod(ticks, TICKS_PER_S)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}.{tenths}00"


def _ticks(hours: int, minutes: int, seconds: int, thousandths: int) -> int:
    return (hours * 3600 + minutes * 60 + seconds) * TICKS_PER_S + thousandths // 100
