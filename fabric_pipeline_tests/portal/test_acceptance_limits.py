"""Acceptance check 5: pages of 8 and of 1,000 nodes are light, appear at once, and move with the hand.

Bytes are the same everywhere and are held to the limit at once. Times are the best of several tries within
half a minute: a machine that does other things meanwhile makes a page slow, none makes it fast.
"""

from __future__ import annotations

import gzip
import statistics
import time
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page

from benchmarks.portal_pages import PAINT, PAN
from fabric_pipeline.portal.app import create_app
from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.portal.axe import HEAD, breaches
from fabric_pipeline_tests.portal.serving import ask, served

# portal.md section 9, and the budget of issue 5 for a small fabric.
LARGE_BYTES, LARGE_PAINT_MS, PAN_MS = 100 * 1024, 1000, 40
SMALL_BYTES, SMALL_PAINT_MS = 30 * 1024, 500
PATIENCE_S = 30


@pytest.fixture(scope="module")
def large_url(thousand: Settings) -> Iterator[str]:
    """1,024 nodes in 256 racks, 24 degraded links, 11 silent nodes."""
    with served(create_app(thousand)) as url:
        yield url


def weight(url: str, path: str) -> int:
    """Bytes of the page as a browser gets it."""
    answer = ask(url, path, headers={"Accept-Encoding": "gzip"})
    assert answer.status == 200
    assert answer.headers["content-encoding"] == "gzip"
    assert len(gzip.decompress(answer.body)) > len(answer.body)
    return len(answer.body)


def best(measure: Callable[[], float], limit: float) -> float:
    """The smallest of the measured values; measuring ends with the first one below the limit."""
    end, found = time.monotonic() + PATIENCE_S, [measure()]
    while min(found) >= limit and time.monotonic() < end:
        found.append(measure())
    return min(found)


def painted(page: Page, address: str) -> float:
    """Milliseconds to the largest paint of the page."""
    page.goto(address)
    return float(page.evaluate(PAINT))


def test_5_eight_nodes(portal_url: str, browser_page: Page) -> None:
    assert weight(portal_url, "/") < SMALL_BYTES
    assert weight(portal_url, "/?mask=errors") < SMALL_BYTES
    assert best(lambda: painted(browser_page, portal_url), SMALL_PAINT_MS) < SMALL_PAINT_MS


def test_5_a_thousand_nodes(large_url: str, browser_page: Page) -> None:
    page = browser_page
    page.set_default_timeout(60_000)
    assert weight(large_url, "/") < LARGE_BYTES
    assert weight(large_url, "/?mask=errors") < LARGE_BYTES
    assert best(lambda: painted(page, large_url), LARGE_PAINT_MS) < LARGE_PAINT_MS
    assert "1,024 nodes" in page.locator("main").inner_text()
    assert page.locator("a.pick").count() > 0
    assert breaches(page, HEAD) == []
    assert best(lambda: statistics.median(page.evaluate(PAN)), PAN_MS) < PAN_MS
    page.goto(f"{large_url}/su/1")
    assert breaches(page, HEAD) == []
