"""A portal over two shipped drops, a real browser, and the accessibility checker, for all portal tests.

A page of the browser fails its test on any console error (which every breach of the content security
policy is), on any script error, and on any request that leaves this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from fabric_pipeline.portal.app import create_app
from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.pipeline_runs import ROOT, diagnose_without_dagster
from fabric_pipeline_tests.portal.serving import served

CHROMIUM = Path("/usr/bin/chromium")
CHROMIUM_ARGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
# Read in this order, so that the second is the one that pages show first.
DROPS = ("missing-data", "crc-multibit-lane")
# The day after the drops: readings of the future would be set aside.
READ_AT = datetime(2026, 11, 21, 9, tzinfo=UTC)
THEMES = ("dark", "light")
AXE = Path(__file__).with_name("axe.min.js")
# Only what is wrong is gathered: listing what is right takes most of the time on a map.
_RUN_AXE = """only => axe.run(document, {
    runOnly: only, resultTypes: ["violations"], ancestry: false, xpath: false,
})"""
# Both themes share their markup: in the light one only what depends on colours is checked again.
COLOUR_RULES = ("color-contrast", "link-in-text-block")
AXE_RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Two shipped drops after all stages, drafts waiting. Copy its folder before you write."""
    settings = Settings(root=ROOT, home=tmp_path_factory.mktemp("portal") / "warehouse")
    for name in DROPS:
        diagnose_without_dagster(settings, ROOT / "data" / "drops" / name, READ_AT)
    return settings


@pytest.fixture(scope="session")
def portal_url(home: Settings) -> Iterator[str]:
    """The portal over `home`, served for reading."""
    with served(create_app(home)) as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One chromium for the tests of a module; while it runs, its event loop holds the main thread."""
    if not CHROMIUM.is_file():
        pytest.skip("chromium is not installed: apt-get install chromium fonts-dejavu-core")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=list(CHROMIUM_ARGS)
        )
        yield chromium
        chromium.close()


@pytest.fixture
def browser_page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """A fresh 1440x900 page in the dark theme.

    `@pytest.mark.parametrize("browser_page", THEMES, indirect=True)` runs a test in both themes.
    """
    context = browser.new_context(
        viewport={"width": 1440, "height": 900}, reduced_motion="reduce", timezone_id="UTC"
    )
    theme = getattr(request, "param", "dark")
    context.add_cookies([{"name": "theme", "value": theme, "domain": "127.0.0.1", "path": "/"}])
    page = context.new_page()
    page.set_default_timeout(10_000)
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda sent: None if _is_here(sent.url) else wrong.append(sent.url))
    yield page
    context.close()
    assert wrong == []


@pytest.fixture
def axe() -> Callable[[Page], None]:
    """Call it with a loaded page: the test fails on any breach of WCAG 2.2 AA or of good practice."""
    script = AXE.read_text(encoding="utf-8")

    def check(page: Page) -> None:
        page.evaluate(f"() => {{ {script} }}")
        is_light = page.evaluate("() => document.documentElement.dataset.theme") == "light"
        tags = {"type": "tag", "values": list(AXE_RULES)}
        colours = {"type": "rule", "values": list(COLOUR_RULES)}
        found = page.evaluate(_RUN_AXE, colours if is_light else tags)
        assert [_told(breach) for breach in found["violations"]] == []

    return check


def _is_here(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "about:"))


def _told(breach: dict[str, Any]) -> str:
    places = [f"{node['target']} {node['html'][:160]}" for node in breach["nodes"][:4]]
    return f"{breach['id']}: {breach['help']} {places}"
