"""Takes the story scene by scene: sets the clock, lets each action happen before its camera, checks it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from playwright.sync_api import BrowserContext, Error, sync_playwright

from demo.film.browser import BrowserCamera
from demo.film.captions import bar_drawer
from demo.film.cast import Cast
from demo.film.errors import FilmError
from demo.film.home import Home
from demo.film.reel import HEIGHT, WIDTH, Reel
from demo.film.story import (
    PORTAL,
    Action,
    Brush,
    Click,
    Hold,
    Look,
    NewShell,
    Open,
    Scene,
    Type,
    Write,
)
from demo.film.terminal import TerminalCamera

_ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--font-render-hinting=none", "--force-color-profile=srgb",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Set:
    """Everything that a scene is filmed with."""

    home: Home
    reel: Reel
    terminal: TerminalCamera
    browser: BrowserCamera


def film(story: Sequence[Scene], home: Home, frames: Path) -> tuple[Reel, Cast]:
    """Take all scenes; pictures go to the folder `frames`."""
    cast = Cast()
    with _context() as context:
        reel = Reel(frames, bar_drawer(context.new_page()))
        terminal = TerminalCamera(context.new_page(), reel, cast, home)
        made = Set(home, reel, terminal, BrowserCamera(context.new_page(), reel))
        try:
            for scene in story:
                _take(scene, made)
        finally:
            terminal.close()
    return reel, cast


def _take(scene: Scene, made: Set) -> None:
    if scene.minute:
        made.home.set_clock(scene.minute)
    made.reel.begin(scene.caption)
    try:
        for action in scene.actions:
            _act(action, made)
        made.browser.check()
    except (FilmError, AssertionError, Error) as error:
        raise FilmError(f"in the scene {scene.caption!r}:\n{error}") from error
    made.reel.end(is_poster=scene.is_poster)


def _act(action: Action, made: Set) -> None:
    match action:
        case NewShell():
            made.terminal.new_shell()
        case Type():
            made.terminal.type(action)
        case Open():
            made.browser.open(action)
        case Click():
            made.browser.click(action)
        case Write():
            made.browser.write(action)
        case Brush():
            made.browser.brush(action)
        case Look():
            made.browser.look(action)
        case Hold():
            made.reel.hold(action.ticks)


@contextmanager
def _context() -> Iterator[BrowserContext]:
    """A chromium of its own, dark, in UTC, without movement."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=which("chromium"), args=list(_ARGUMENTS)
        )
        context = chromium.new_context(
            viewport={"width": WIDTH, "height": HEIGHT},
            reduced_motion="reduce", color_scheme="dark", timezone_id="UTC", locale="en-GB",
        )  # fmt: skip
        context.add_cookies([{"name": "theme", "value": "dark", "url": f"http://{PORTAL}"}])
        yield context
        chromium.close()
