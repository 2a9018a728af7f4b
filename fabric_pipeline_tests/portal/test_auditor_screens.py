"""Matrix and auditor's pages for everybody: accessible in both themes, whole on a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Page

from fabric_pipeline_tests.portal.auditor_homes import portal, troubled_home
from fabric_pipeline_tests.portal.conftest import THEMES

PAGES = (
    "/matrix", "/matrix/p2p", "/audit", "/data", "/data/ledger_drafts", "/dossiers",
    "/audit/query?sql=" + quote("select * from ledger_reviews"),
)  # fmt: skip


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with portal(troubled_home(tmp_path_factory.mktemp("home"))) as address:
        yield address


def test_a_phone_scrolls_the_picture_and_not_the_page(url: str, browser_page: Page) -> None:
    browser_page.set_viewport_size({"width": 390, "height": 844})
    for path in PAGES:
        browser_page.goto(url + path)
        assert browser_page.evaluate("document.documentElement.scrollWidth") <= 390, path


@pytest.mark.parametrize("browser_page", THEMES, indirect=True)
def test_pages_are_accessible(url: str, browser_page: Page, axe: Callable[[Page], None]) -> None:
    for path in PAGES:
        browser_page.goto(url + path)
        if path.startswith("/matrix"):
            browser_page.wait_for_selector("[data-ready]")
            browser_page.focus("canvas")
        axe(browser_page)
