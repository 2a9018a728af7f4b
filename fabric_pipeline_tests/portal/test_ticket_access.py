"""Pages of incidents, queue and tickets for everybody: checked by axe in both themes, and on a telephone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.portal.conftest import THEMES
from fabric_pipeline_tests.portal.ticket_homes import INCIDENT, TICKET, portal

PAGES = (
    "/incidents",
    f"/incidents/{INCIDENT}",
    f"/incidents/{INCIDENT}/figure/counts.replay",
    "/queue",
    f"/tickets/{TICKET}",
    f"/tickets/{TICKET}/edit",
)
# Some of what is folded; all of it takes the checker long and looks the same.
OPEN_SOME = """() => {
    for (const fold of [...document.querySelectorAll("details")].slice(-4)) fold.open = true;
}"""


@pytest.mark.parametrize("browser_page", THEMES, indirect=True)
def test_everybody_can_use_the_pages(
    browser_page: Page, axe: Callable[[Page], None], home: Settings
) -> None:
    with portal(home) as url:
        for path in PAGES:
            browser_page.goto(url + path)
            browser_page.evaluate(OPEN_SOME)
            axe(browser_page)


@pytest.mark.parametrize("path", PAGES)
def test_nothing_sticks_out_on_a_telephone(browser_page: Page, home: Settings, path: str) -> None:
    browser_page.set_viewport_size({"width": 390, "height": 844})
    with portal(home) as url:
        browser_page.goto(url + path)
        wide = browser_page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
