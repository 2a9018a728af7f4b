"""The maps in a real browser: by pointer, by keyboard alone, without scripts, in both themes, on a phone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from fabric_pipeline.portal.app import create_app
from fabric_pipeline_tests.portal.hostile_fabric import hostile_home
from fabric_pipeline_tests.portal.serving import served

GUILTY = "gpu-r11-n03:gpu5/nvlink-11"
PICKED = f'g.link[data-link="{GUILTY}"] a.pick'
# The limits of portal.md section 9, doubled for a machine that does other things as well.
PAINT_MS = 1000
PAINT = """() => new Promise((done) => {
  let last = 0;
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) last = entry.startTime; })
    .observe({type: "largest-contentful-paint", buffered: true});
  setTimeout(() => done(last), 300);
})"""


@pytest.fixture(scope="module")
def hostile_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(create_app(hostile_home(tmp_path_factory.mktemp("hostile")))) as url:
        yield url


def view_box(page: Page) -> list[float]:
    said = page.locator("[data-map] svg").get_attribute("viewBox") or ""
    return [float(part) for part in said.split()]


def settled(page: Page) -> None:
    page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )


def test_a_click_on_a_link_shows_it_beside_the_map(portal_url: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(portal_url)
    page.locator(PICKED).locator("rect.solid").first.click()
    panel = page.locator("[data-panel-body]")
    expect(panel.locator("a[data-back]")).to_be_visible()
    expect(panel).to_contain_text("nvswitch-2")
    assert "link=gpu-r11-n03" in page.url
    assert page.locator("g.link.selected").count() == 2
    expect(page.locator("svg.map.has-selection")).to_have_count(1)
    page.go_back()
    expect(panel).to_contain_text("degraded links")
    assert page.locator("g.link.selected").count() == 0
    page.go_forward()
    expect(panel).to_contain_text("nvswitch-2")
    panel.locator("a[data-back]").click()
    expect(panel.locator("ol.troubles")).to_be_visible()
    assert "link=" not in page.url


def test_the_keyboard_alone_reaches_the_worst_link_first(
    portal_url: str, browser_page: Page
) -> None:
    page = browser_page
    page.goto(portal_url)
    page.locator("a.card").last.focus()
    page.keyboard.press("Tab")
    said = page.evaluate("() => document.activeElement.getAttribute('aria-label')")
    assert said.startswith("Critical: gpu5/nvlink-11 of gpu-r11-n03 to nvswitch-2/port-30")
    page.keyboard.press("Enter")
    expect(page.locator("[data-panel-body] a[data-back]")).to_be_visible()
    assert page.evaluate("() => document.activeElement.closest('[data-panel-body]') !== null")
    assert page.evaluate("() => /^H[123]$/.test(document.activeElement.tagName)")


def test_the_map_is_moved_by_keys_wheel_and_hand(portal_url: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(portal_url)
    whole = view_box(page)
    frame = page.locator("[data-map]")
    frame.focus()
    page.keyboard.press("+")
    settled(page)
    near = view_box(page)
    assert near[2] < whole[2]
    page.keyboard.press("ArrowRight")
    settled(page)
    assert view_box(page)[0] > near[0]
    page.keyboard.press("0")
    settled(page)
    assert view_box(page) == whole
    box: Any = frame.bounding_box()
    page.mouse.move(box["x"] + 200, box["y"] + 200)
    page.mouse.wheel(0, -400)
    page.wait_for_function(
        "(w) => document.querySelector('[data-map] svg').viewBox.baseVal.width < w", arg=whole[2]
    )
    before = view_box(page)
    page.mouse.down()
    page.mouse.move(box["x"] + 320, box["y"] + 260, steps=4)
    page.mouse.up()
    settled(page)
    assert view_box(page)[0] < before[0]
    assert page.url.rstrip("/") == portal_url


def test_a_drag_that_ends_on_a_link_does_not_follow_it(portal_url: str, browser_page: Page) -> None:
    page = browser_page
    page.goto(portal_url)
    pick: Any = page.locator(PICKED).locator("rect.solid").first.bounding_box()
    x, y = pick["x"] + pick["width"] / 2, pick["y"] + pick["height"] / 2
    page.locator("[data-map]").focus()
    page.keyboard.press("+")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 10, steps=4)
    page.mouse.up()
    assert page.url.rstrip("/") == portal_url


def test_another_drop_is_shown_when_it_is_chosen(portal_url: str, browser_page: Page) -> None:
    browser_page.goto(portal_url)
    browser_page.locator("#drop").select_option("missing-data")
    browser_page.wait_for_url("**/?drop=missing-data")
    expect(browser_page.locator("header.top .fresh")).to_contain_text("missing-data")


def test_everything_can_be_read_without_scripts(portal_url: str, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(portal_url)
    page.locator(".troubles a.what").first.click()
    assert "link=" in page.url
    assert "nvswitch-2" in page.locator("[data-panel-body]").inner_text()
    assert page.locator("[data-zoom]").is_hidden()
    page.goto(portal_url)
    page.locator("a.card").first.click()
    assert "/nodes/" in page.url
    context.close()


def test_nothing_hostile_runs(
    hostile_url: str, browser_page: Page, axe: Callable[[Page], None]
) -> None:
    page = browser_page
    said: list[str] = []
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.goto(hostile_url)
    axe(page)
    page.locator("a.pick").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-panel-body]")).not_to_be_empty()
    page.locator("a.card").nth(1).click()
    page.wait_for_url("**/nodes/**")
    assert said == []


def test_no_text_leaves_the_screen_of_a_phone(portal_url: str, browser_page: Page) -> None:
    browser_page.set_viewport_size({"width": 390, "height": 844})
    for path in ("/", f"/?link={GUILTY}", "/nodes/gpu-r11-n03", "/search?q=gpu5"):
        browser_page.goto(portal_url + path)
        wide = browser_page.evaluate("() => document.documentElement.scrollWidth")
        assert wide <= 390, path


def test_the_map_is_there_at_once(portal_url: str, browser_page: Page) -> None:
    browser_page.goto(portal_url)
    browser_page.goto(portal_url)
    assert browser_page.evaluate(PAINT) < PAINT_MS
