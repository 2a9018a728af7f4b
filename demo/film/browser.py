"""Films the portal in a browser: one screenshot for each state, never in real time.

Controls are found by role and name, clicked where the pointer is drawn, and after each step the words of
the story must be seen; a console error or a request to another machine ends the film.
"""

from __future__ import annotations

from playwright.sync_api import Error, Locator, Page, expect

from demo.film.errors import FilmError
from demo.film.home import check_clock
from demo.film.pointer import Pointer
from demo.film.reel import HEIGHT, Reel, picture
from demo.film.story import PORTAL, Brush, Click, Look, Open, Write

STATE_LIMIT_MS = 90_000
_TYPED_STEPS = 6
_MOST_TRIES = 5
# A place at which the element is what a click hits: along its lines if it is drawn, else inside its box.
_PLACE = """element => {
    const shares = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.1, 0.9], places = [];
    const lines = [...element.querySelectorAll("path, line, polyline, polygon, rect, circle")];
    for (const line of lines) for (const share of shares) {
        const at = line.getPointAtLength(line.getTotalLength() * share);
        const seen = new DOMPoint(at.x, at.y).matrixTransform(line.getScreenCTM());
        places.push([seen.x, seen.y]);
    }
    const box = element.getBoundingClientRect();
    for (const down of shares) for (const along of shares)
        places.push([box.left + box.width * along, box.top + box.height * down]);
    return places.find(([x, y]) => element.contains(document.elementFromPoint(x, y))) ?? null;
}"""
_STILL = """async () => {
    await document.fonts.ready;
    for (let turn = 0; turn < 3; turn += 1) await new Promise(requestAnimationFrame);
}"""


class BrowserCamera:
    """Films one page."""

    def __init__(self, page: Page, reel: Reel) -> None:
        """Nothing is opened yet."""
        self._page, self._reel = page, reel
        self._pointer = Pointer()
        self._wrong: list[str] = []
        page.set_default_timeout(STATE_LIMIT_MS)
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self._wrong.append(str(error)))
        page.on("request", lambda sent: self._ask(sent.url))

    def open(self, action: Open) -> None:
        """Go to an address."""
        self._page.goto(f"http://{PORTAL}{action.path}")
        self._see(action.shows)
        self._shoot(4)

    def click(self, action: Click) -> None:
        """Move to the control, press it, wait for what must be seen then."""
        self._press(self._page.get_by_role(action.role, name=action.name).first)
        self._see(action.shows)
        self._shoot(6)

    def write(self, action: Write) -> None:
        """Type into a field, in a few steps."""
        field = self._page.get_by_label(action.label, exact=True).first
        self._press(field)
        before = field.input_value() if action.appends else ""
        if action.appends:
            self._page.keyboard.press("Control+End")
        else:
            self._page.keyboard.press("Control+A")
        step = max(1, -(-len(action.text) // _TYPED_STEPS))
        for at in range(0, len(action.text), step):
            self._page.keyboard.insert_text(action.text[at : at + step])
            self._shoot(1, hidden=True)
        if field.input_value() != before + action.text:
            raise FilmError(f"the field {action.label!r} holds {field.input_value()!r}")
        self._shoot(3, hidden=True)

    def brush(self, action: Brush) -> None:
        """Drag over the upper chart; the time that is shown must change."""
        region = self._page.get_by_role("region", name=action.region)
        since = region.get_by_label("From", exact=True)
        chart = region.locator(".u-over").first
        chart.wait_for()
        before, box = since.input_value(), chart.bounding_box()
        if box is None or not 0 < box["y"] < HEIGHT - box["height"]:
            raise FilmError(f"the chart to brush is not on the picture: {box}")
        height = box["y"] + box["height"] * 0.45
        self._move(box["x"] + box["width"] * action.start, height)
        self._page.mouse.down()
        for x, y in self._pointer.path_to(box["x"] + box["width"] * action.end, height):
            self._page.mouse.move(x, y)
            self._shoot(1, pressed=True)
        self._shoot(4, pressed=True)
        self._page.mouse.up()
        expect(since).not_to_have_value(before)
        self._page.wait_for_load_state("networkidle")
        self._shoot(4)

    def look(self, action: Look) -> None:
        """Scroll in steps."""
        start = self._page.evaluate("() => window.scrollY")
        end = 0
        if action.heading:
            box = self._page.get_by_role("heading", name=action.heading).first.bounding_box()
            if box is None:
                raise FilmError(f"there is no heading {action.heading!r}")
            end = max(0, start + box["y"] - action.margin)
        for share in (0.16, 0.5, 0.84, 1.0):
            self._page.evaluate("(y) => window.scrollTo(0, y)", start + (end - start) * share)
            self._shoot(1)

    def check(self) -> None:
        """FilmError when the page complained since the last time."""
        if self._wrong:
            raise FilmError(f"the page complained: {self._wrong}")

    def _press(self, target: Locator) -> None:
        """Press where the control is when the pointer has come: pages still settle meanwhile."""
        target.wait_for()
        for _ in range(_MOST_TRIES):
            target.scroll_into_view_if_needed()
            self._page.evaluate(_STILL)
            place = target.evaluate(_PLACE)
            if place is None:
                raise FilmError(f"{target} is covered: nobody could click it")
            if self._pointer.is_at(*place):
                break
            self._move(*place)
        self._shoot(2, pressed=True)
        self._page.mouse.down()
        self._page.mouse.up()

    def _move(self, x: float, y: float) -> None:
        for at_x, at_y in self._pointer.path_to(x, y):
            self._page.mouse.move(at_x, at_y)
            self._shoot(1)

    def _see(self, words: str) -> None:
        try:
            seen = self._page.locator("body").get_by_text(words).filter(visible=True).first
            expect(seen).to_be_visible(timeout=STATE_LIMIT_MS)
            self._page.wait_for_load_state("networkidle")
        except (AssertionError, Error) as error:
            said = self._page.locator("body").inner_text()[:1500]
            raise FilmError(f"{self._page.url} does not show {words!r} but:\n{said}") from error
        check_clock(self._page.locator("body").inner_text())

    def _shoot(self, ticks: int, *, pressed: bool = False, hidden: bool = False) -> None:
        """One picture; the pointer is hidden where it would stand on what is typed."""
        self._page.evaluate(_STILL)
        shot = picture(self._page.screenshot())
        if not hidden:
            shot = self._pointer.draw_on(shot, pressed=pressed)
        where = self._page.url.removeprefix("http://").partition("?")[0]
        self._reel.add(shot, ticks, where)

    def _hear(self, said: object) -> None:
        kind, text = getattr(said, "type", ""), getattr(said, "text", "")
        # A browser notes the refusal of the story (409) as an error of its own.
        if kind == "error" and "status of 409" not in text:
            self._wrong.append(text)

    def _ask(self, url: str) -> None:
        if not url.startswith((f"http://{PORTAL}/", "data:", "about:", "blob:")):
            self._wrong.append(f"asked for {url}")
