"""The matrix in a real browser: keys, tooltip, fold, themes; and its page without any script."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from fabric_pipeline_tests.portal.auditor_homes import HOSTILE_NODE as HOSTILE
from fabric_pipeline_tests.portal.auditor_homes import portal, troubled_home

SHOWN = HOSTILE.replace("\u202e", "")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with portal(troubled_home(tmp_path_factory.mktemp("home"))) as address:
        yield address


@pytest.fixture
def matrix(url: str, browser_page: Page) -> Page:
    browser_page.goto(f"{url}/matrix")
    browser_page.wait_for_selector("[data-ready]")
    return browser_page


def said(page: Page) -> str:
    return page.locator("[data-said]").inner_text()


def press(page: Page, *keys: str) -> str:
    for key in keys:
        page.keyboard.press(key)
    return said(page)


def test_keys_step_through_cells_and_the_cell_is_read_out(matrix: Page) -> None:
    matrix.focus("canvas")
    assert said(matrix) == "bad-01:gpu0/nvlink-0: measured, no error counted."
    assert press(matrix, "ArrowRight").startswith("bad-01:gpu0/nvlink-1:")
    loud = press(matrix, "Home", "n")
    assert loud.startswith(
        "bad-01:gpu1/nvlink-3: critical; 5 × limit; replay 5,000 of 1,000 per hour"
    )
    assert "INC-000000000001" in loud
    press(matrix, "n")
    assert said(matrix).startswith(SHOWN)
    assert press(matrix, "p") == loud
    assert press(matrix, "Control+Home", "ArrowDown", "ArrowDown").endswith("no data.")
    assert press(matrix, "End").startswith("mute-01:mlx5_1/1")
    assert press(matrix, "ArrowUp", "ArrowUp", "ArrowUp").startswith("bad-01:mlx5_1/1")
    assert press(matrix, "Control+End").startswith("unknown:leaf-0/port-33")


def test_enter_and_a_click_open_the_link(matrix: Page) -> None:
    matrix.route(
        "**/links/**", lambda route: route.fulfill(content_type="text/html", body="a link")
    )
    matrix.focus("canvas")
    press(matrix, "n")
    assert (
        matrix.locator("[data-open]").get_attribute("href")
        == "/links/bad-01%3Agpu1%2Fnvlink-3?drop=d1"
    )
    matrix.keyboard.press("Enter")
    matrix.wait_for_url("**/links/bad-01%3Agpu1%2Fnvlink-3?drop=d1")
    matrix.go_back()
    matrix.wait_for_selector("[data-ready]")
    area = matrix.locator("canvas").bounding_box()
    assert area
    matrix.mouse.click(area["x"] + area["width"] * 0.5, area["y"] + 38)
    matrix.wait_for_url("**/links/bad-01*")


def test_the_tooltip_names_the_cell_under_the_pointer(matrix: Page) -> None:
    area = matrix.locator("canvas").bounding_box()
    assert area
    tip = matrix.locator(".matrix-tip")
    seen = set()
    for x in range(120, int(area["width"]) - 20, 7):
        matrix.mouse.move(area["x"] + x, area["y"] + 38)
        if tip.is_visible():
            seen.add(tip.inner_text())
    assert any(text.startswith("bad-01:gpu1/nvlink-3") and "critical" in text for text in seen)
    assert len(seen) > 20
    matrix.mouse.move(area["x"] + 20, area["y"] - 60)
    assert not tip.is_visible()


def test_clean_nodes_unfold_and_fold_again(matrix: Page) -> None:
    button = matrix.get_by_role("button", name="Show 18 clean nodes")
    assert button.get_attribute("aria-expanded") == "false"
    matrix.focus("canvas")
    press(matrix, "Control+Home")
    assert press(matrix, "PageDown").startswith("unknown:leaf-0")
    button.focus()
    matrix.keyboard.press("Enter")
    fold = matrix.get_by_role("button", name="Fold 18 clean nodes")
    assert fold.get_attribute("aria-expanded") == "true"
    assert fold.evaluate("it => it === document.activeElement")
    matrix.focus("canvas")
    assert press(matrix, "Control+Home", "PageDown").startswith("calm-")
    fold.click()
    assert button.is_visible()


def test_the_picture_follows_the_theme(matrix: Page) -> None:
    shade = "document.querySelector('canvas').getContext('2d').getImageData(300, 32, 60, 12).data.join()"
    before = matrix.evaluate(shade)
    matrix.click("[data-theme-button]")
    assert matrix.evaluate(shade) != before


def test_a_failed_load_leaves_the_table_and_says_so(url: str, browser: Browser) -> None:
    page = browser.new_page()
    page.route("**/api/matrix*", lambda route: route.abort())
    page.goto(f"{url}/matrix")
    page.wait_for_selector(".matrix-wait.wrong")
    assert page.locator("#worst ~ .scroll tbody tr").count() == 2
    page.close()


def test_without_scripts_the_table_says_it_all(url: str, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{url}/matrix")
    assert not page.locator("canvas").is_visible()
    rows = page.locator("#worst ~ .scroll tbody tr")
    assert rows.count() == 2
    assert "critical" in rows.first.inner_text()
    assert SHOWN in rows.nth(1).inner_text()
    context.close()


def test_pairs_are_read_out_against_their_class(url: str, browser_page: Page) -> None:
    browser_page.goto(f"{url}/matrix/p2p")
    browser_page.wait_for_selector("[data-ready]")
    browser_page.focus("canvas")
    text = press(browser_page, "n")
    assert text == "n1:gpu0 to n2:gpu3: 3.00 times the median of its class (cross rail)."
    assert "3.00 times slower" in browser_page.locator("main").inner_text()
