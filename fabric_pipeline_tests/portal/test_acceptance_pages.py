"""Acceptance check 1: every page, in both themes, is accessible, silent on the console, and asks nobody else.

The pages are those of `walked_pages`; the first test fails when the portal has a page that is not listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Browser, Page

from fabric_pipeline.portal.app import create_app
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.audit import rebuild_audit
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.dossier_build import build_dossier
from fabric_pipeline_tests.pipeline_runs import ROOT, copy_home
from fabric_pipeline_tests.portal.axe import HEAD, breaches
from fabric_pipeline_tests.portal.kept_page import KeptPage
from fabric_pipeline_tests.portal.serving import ask, served
from fabric_pipeline_tests.portal.walked_pages import (
    DATA,
    INCIDENT,
    PAGES,
    Visit,
    readable_routes,
)

AT = datetime(2026, 11, 21, 10, tzinfo=UTC)
# Charts and matrices are drawn after their data came; a page without them is ready at once.
IS_DRAWN = """() => !document.querySelector(
    '[data-chart]:not([data-ready="yes"]):not([data-ready="none"]), [data-matrix]:not([data-ready])')"""
# Some of what is folded; all of it takes the checker long and looks the same.
OPEN_SOME = """() => { for (const fold of [...document.querySelectorAll("details")].slice(-4)) fold.open = true; }"""
WHEN_MISSING = "the server responded with a status of 404"


@pytest.fixture(scope="module")
def settings(home: Settings, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """The shared home with a dossier."""
    place = tmp_path_factory.mktemp("walked") / "warehouse"
    copy_home(home.home, place)
    settings = Settings(root=ROOT, home=place)
    ledger = Ledger(settings.ledger)
    build_dossier(settings, ledger, ledger.incident_history(INCIDENT)[-1].record, AT)
    rebuild_audit(settings)  # its views name the folder of the lake
    return settings


@pytest.fixture(scope="module")
def url(settings: Settings) -> Iterator[str]:
    with served(create_app(settings)) as address:
        yield address


def test_1_every_route_is_in_the_walk(settings: Settings) -> None:
    walked = {visit.route for visit in (*PAGES, *DATA) if visit.route}
    assert walked == readable_routes(create_app(settings))


@pytest.mark.parametrize("visit", DATA, ids=str)
def test_1_what_is_fetched_is_of_its_kind_and_is_no_page(url: str, visit: Visit) -> None:
    answer = ask(url, visit.address)
    assert (answer.status, answer.headers["x-content-type-options"]) == (visit.status, "nosniff")
    if visit.status == 200:
        assert answer.headers["content-type"].startswith(visit.kind)
        assert "<header" not in answer.text


@pytest.mark.parametrize("visit", PAGES, ids=str)
def test_1_every_page_is_accessible_and_quiet_in_both_themes(
    url: str, visit: Visit, browser: Browser, kept_page: KeptPage
) -> None:
    page = kept_page.fresh(browser, "dark")
    answer = page.goto(url + visit.address)
    assert answer is not None
    assert answer.status == visit.status
    page.wait_for_function(IS_DRAWN)
    page.evaluate(OPEN_SOME)
    head = () if visit is PAGES[0] else HEAD
    assert breaches(page, head) == []
    has_themes = page.locator("[data-theme-button]").count() == 1
    if has_themes:
        page.get_by_role("button", name="Light").click()
        assert breaches(page, head) == []
        page.set_viewport_size({"width": 390, "height": 844})
        # Charts follow the width of the window a moment later.
        page.wait_for_function("() => document.documentElement.scrollWidth <= 390", timeout=5000)
    assert has_themes or visit.route == "/tickets/{ticket}/print"
    if visit is PAGES[0]:
        page.reload()
        assert page.locator("html").get_attribute("data-theme") == "light"
    kept_page.leave()
    assert [
        said for said in kept_page.wrong if visit.status == 200 or WHEN_MISSING not in said
    ] == []


def test_1_a_page_that_is_not_well_is_found_out(url: str, browser: Browser) -> None:
    """The checks above can fail: a breach, a console error, a dialog and a foreign request are seen."""
    kept = KeptPage()
    page: Page = kept.fresh(browser, "dark")
    page.goto(f"{url}/dossiers")
    page.evaluate("""() => { const image = document.createElement("img"); image.src = "http://127.0.0.2:9/x.png";
        document.querySelector("main").append(image); console.error("a test"); alert("a name") }""")
    found = breaches(page)
    kept.leave()
    page.context.close()
    assert [breach for breach in found if breach.startswith("image-alt")] != []
    assert {"a test", "a dialog: a name"} <= set(kept.wrong)
    assert [said for said in kept.wrong if "Content Security Policy" in said] != []
