"""A portal over two shipped drops, a real browser, and the accessibility checker, for all portal tests.

A page of the browser fails its test on any console error (which every breach of the content security
policy is), on any script error, and on any request that leaves this machine. What costs seconds is made
once: the home for all workers of a run, the browser and its page for all tests of a worker.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from fabric_pipeline.portal.app import create_app
from fabric_pipeline.settings import Settings
from fabric_pipeline_tests import chromium
from fabric_pipeline_tests.pipeline_runs import ROOT, diagnose_without_dagster
from fabric_pipeline_tests.portal.axe import breaches
from fabric_pipeline_tests.portal.kept_page import KeptPage
from fabric_pipeline_tests.portal.large_fabric import large_home
from fabric_pipeline_tests.portal.serving import served

# Read in this order, so that the second is the one that pages show first.
DROPS = ("missing-data", "crc-multibit-lane")
# The day after the drops: readings of the future would be set aside.
READ_AT = datetime(2026, 11, 21, 9, tzinfo=UTC)
THEMES = ("dark", "light")
# For the benchmark and for the pictures of the documentation, which show what these tests test.
CHROMIUM, CHROMIUM_ARGS = chromium.installed() or Path("/usr/bin/chromium"), chromium.ARGS


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Two shipped drops after all stages, drafts waiting. Copy its folder before you write."""

    def build(place: Path) -> None:
        for name in DROPS:
            settings = Settings(root=ROOT, home=place)
            diagnose_without_dagster(settings, ROOT / "data" / "drops" / name, READ_AT)

    return Settings(root=ROOT, home=built_once(tmp_path_factory, "portal-home", build))


@pytest.fixture(scope="session")
def thousand(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home with one drop of 1,024 nodes in 32 scalable units, for reading."""
    place = built_once(
        tmp_path_factory, "thousand", lambda home: large_home(home.parent, 32, copies=32)
    )
    return Settings(root=place.parent, home=place)


def built_once(
    tmp_path_factory: pytest.TempPathFactory, name: str, build: Callable[[Path], object]
) -> Path:
    """A folder that the worker that needs it first fills; the others of the same run wait and read along."""
    own = tmp_path_factory.getbasetemp()
    place = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name
    place.mkdir(exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "complete").exists():
            shutil.rmtree(place / "warehouse", ignore_errors=True)  # of a worker stopped half-way
            build(place / "warehouse")
            (place / "complete").touch()
    return place / "warehouse"


@pytest.fixture(scope="session")
def portal_url(home: Settings) -> Iterator[str]:
    """The portal over `home`, served for reading."""
    with served(create_app(home)) as url:
        yield url


@pytest.fixture(scope="session")
def launched() -> Iterator[tuple[Browser, asyncio.AbstractEventLoop]]:
    """The one browser of this worker, and the event loop that drives it."""
    binary = chromium.required()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(binary), args=list(chromium.ARGS))
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield browser, loop
        asyncio._set_running_loop(loop)
        browser.close()


@pytest.fixture
def browser(launched: tuple[Browser, asyncio.AbstractEventLoop]) -> Iterator[Browser]:
    """The browser, lent to one test.

    Its event loop counts as running in this thread for as long; other tests may run loops of their own.
    """
    running, loop = launched
    asyncio._set_running_loop(loop)
    yield running
    asyncio._set_running_loop(None)


@pytest.fixture(scope="session")
def kept_page() -> KeptPage:
    """The page that all tests of this worker use one after the other."""
    return KeptPage()


@pytest.fixture
def browser_page(
    request: pytest.FixtureRequest, browser: Browser, kept_page: KeptPage
) -> Iterator[Page]:
    """A 1440x900 page in the dark theme that remembers nothing of the test before.

    `@pytest.mark.parametrize("browser_page", THEMES, indirect=True)` runs a test in both themes.
    """
    page = kept_page.fresh(browser, getattr(request, "param", "dark"))
    yield page
    kept_page.leave()
    assert kept_page.wrong == []


@pytest.fixture
def axe() -> Callable[[Page], None]:
    """Call it with a loaded page: the test fails on any breach of WCAG 2.2 AA or of good practice."""

    def check(page: Page) -> None:
        assert breaches(page) == []

    return check
