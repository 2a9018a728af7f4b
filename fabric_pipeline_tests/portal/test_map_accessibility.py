"""No map breaks a rule of WCAG 2.2 AA in either theme."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page

from fabric_pipeline.portal.app import create_app
from fabric_pipeline_tests.portal.conftest import THEMES
from fabric_pipeline_tests.portal.large_fabric import large_home
from fabric_pipeline_tests.portal.serving import served

GUILTY = "gpu-r11-n03:gpu5/nvlink-11"


@pytest.fixture(scope="module")
def floor_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(create_app(large_home(tmp_path_factory.mktemp("floor"), 64))) as url:
        yield url


@pytest.mark.parametrize("browser_page", THEMES, indirect=True)
@pytest.mark.parametrize(
    "path", ["/", f"/?link={GUILTY}", "/?mask=errors", "/racks/r11", "/nodes/gpu-r11-n03", "/search?q=gpu5"]
)  # fmt: skip
def test_maps_are_accessible(
    portal_url: str, browser_page: Page, axe: Callable[[Page], None], path: str
) -> None:
    browser_page.goto(portal_url + path)
    axe(browser_page)


@pytest.mark.parametrize("browser_page", THEMES, indirect=True)
def test_the_floor_is_accessible(
    floor_url: str, browser_page: Page, axe: Callable[[Page], None]
) -> None:
    browser_page.goto(floor_url)
    axe(browser_page)
