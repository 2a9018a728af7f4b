"""One page of one browser that serves many tests, emptied in between.

A fresh browser context costs a second of processor time, an emptied one nothing that can be measured.
Every home is served on a port of its own, so that storage of an earlier one is out of reach anyway.
"""

from __future__ import annotations

from playwright.sync_api import Browser, BrowserContext, Dialog, Page

SIZE = {"width": 1440, "height": 900}


class KeptPage:
    """The page, and what went wrong in it since it was lent out last."""

    def __init__(self) -> None:
        """Nothing is opened before it is asked for."""
        self.wrong: list[str] = []
        self._page: Page | None = None
        self._is_left = True

    def fresh(self, browser: Browser, theme: str) -> Page:
        """The page as a new visitor of that theme finds it; another one if the last test broke it."""
        page = self._page
        if page is None or page.is_closed() or not self._is_left:
            if page is not None:
                page.context.close()
            page = self._page = self._opened(browser)
        context = page.context
        context.clear_cookies()
        context.add_cookies([{"name": "theme", "value": theme, "domain": "127.0.0.1", "path": "/"}])
        page.set_viewport_size({"width": SIZE["width"], "height": SIZE["height"]})
        self.wrong.clear()
        self._is_left = False
        return page

    def leave(self) -> None:
        """Stop what the test has left running."""
        page = self._page
        if page is None or page.is_closed():
            return
        for other in page.context.pages:
            if other is not page:
                other.close()
        page.unroute_all(behavior="ignoreErrors")
        page.emulate_media(media="screen")
        page.mouse.move(0, 0)
        page.set_default_timeout(10_000)
        page.goto("about:blank")
        self._is_left = True

    def _opened(self, browser: Browser) -> Page:
        context: BrowserContext = browser.new_context(
            viewport={"width": SIZE["width"], "height": SIZE["height"]},
            reduced_motion="reduce",
            locale="en-US",
            timezone_id="UTC",
        )
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda said: self._note(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self._note(str(error)))
        page.on("dialog", self._answer)
        page.on("request", lambda sent: None if is_here(sent.url) else self._note(sent.url))
        return page

    def _answer(self, dialog: Dialog) -> None:
        """No page of ours opens a dialog; a form with words in it may ask whether to leave."""
        if dialog.type == "beforeunload":
            dialog.accept()
            return
        self._note(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def _note(self, text: str) -> None:
        self.wrong.append(text)


def is_here(url: str) -> bool:
    """True for addresses that no other machine answers."""
    return url.startswith(("http://127.0.0.1:", "about:", "blob:http://127.0.0.1:", "data:"))
