"""Films a shell: types commands in a fixed rhythm and shows line by line what they printed.

The bytes are those of the commands; only the moments at which they appear are set here.
"""

from __future__ import annotations

from playwright.sync_api import Page

from demo.film.cast import CLEAR, Cast
from demo.film.errors import FilmError
from demo.film.home import Home, check_clock
from demo.film.needs import wait_for_portal
from demo.film.pace import typed_per_tick
from demo.film.reel import HEIGHT, WIDTH, Reel, picture
from demo.film.screen import Screen, terminal_page
from demo.film.shell import Shell
from demo.film.story import Type

WHERE = "terminal"
_BEFORE_ENTER, _AFTER_ENTER = 2, 2
# More lines than these come so many at once that a command is not shown for longer.
_MOST_STEPS = 40


class TerminalCamera:
    """Films shells one after the other; each keeps running until `close`."""

    def __init__(self, page: Page, reel: Reel, cast: Cast, home: Home) -> None:
        """The page is used for drawing alone."""
        self._page, self._reel, self._cast, self._home = page, reel, cast, home
        self._shells: list[Shell] = []
        self._screen = Screen()
        page.set_content(terminal_page(WIDTH, HEIGHT))

    def new_shell(self) -> None:
        """An empty terminal with a prompt."""
        self._shells.append(Shell(self._home.environment, self._home.folder))
        self._screen = Screen()
        self._put(CLEAR + self._shells[-1].prompt, 4)

    def type(self, command: Type) -> None:
        """Type it, run it, check it, show what it printed."""
        shell = self._shells[-1]
        step = typed_per_tick(command.command)
        for at in range(0, len(command.command), step):
            self._put(command.command[at : at + step], 1)
        self._reel.hold(_BEFORE_ENTER)
        self._put("\r\n", _AFTER_ENTER)
        if command.stays:
            self._show(shell.start(command.command, command.says[0]))
            wait_for_portal()
            return
        printed = shell.run(command.command)
        missing = [words for words in command.says if words not in printed.output]
        if printed.exit_code != command.exit_code or missing:
            raise FilmError(
                f"{command.command} ended with {printed.exit_code}, expected {command.exit_code}; "
                f"not printed: {missing or 'nothing is missing'}\n{printed.output}"
            )
        check_clock(printed.output)
        self._show(printed.output)
        self._put(printed.prompt, 2)

    def close(self) -> None:
        """End all shells."""
        for shell in self._shells:
            shell.close()

    def _show(self, output: str) -> None:
        lines = output.splitlines(keepends=True)
        at_once = -(-len(lines) // _MOST_STEPS)
        for at in range(0, len(lines), at_once or 1):
            self._put("".join(lines[at : at + at_once]), 1)

    def _put(self, text: str, ticks: int) -> None:
        self._cast.send(self._reel.ticks, text)
        self._screen.feed(text)
        self._page.evaluate(
            "async (markup) => { document.getElementById('screen').innerHTML = markup;"
            " await document.fonts.ready; }",
            self._screen.markup(),
        )
        self._reel.add(picture(self._page.screenshot()), ticks, WHERE)
