"""The maps in a real browser: by pointer, by keyboard, step by step through drops, and without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, CDPSession, Page, expect

from fabric_pipeline.portal.app import create_app
from fabric_pipeline_tests.portal.large_fabric import large_home
from fabric_pipeline_tests.portal.serving import served

GUILTY = "gpu-r11-n03:gpu5/nvlink-11"
PICKED = f'g.link[data-link="{GUILTY}"] a.pick'


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
    expect(panel).to_contain_text("degraded link")
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


def touch(session: CDPSession, kind: str, *points: tuple[float, float]) -> None:
    """Fingers on the screen, as a phone would report them."""
    at = [{"x": x, "y": y, "id": n} for n, (x, y) in enumerate(points)]
    session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})


def test_two_fingers_zoom_and_one_moves_the_map(portal_url: str, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto(portal_url)
    frame: Any = page.locator("[data-map]").bounding_box()
    x, y = frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2
    whole, fingers = view_box(page), context.new_cdp_session(page)
    touch(fingers, "touchStart", (x - 30, y), (x + 30, y))
    for apart in (40, 60, 90):
        touch(fingers, "touchMove", (x - apart, y), (x + apart, y))
    touch(fingers, "touchEnd")
    settled(page)
    near = view_box(page)
    assert near[2] == pytest.approx(whole[2] / 3, rel=0.05)
    assert near[0] + near[2] / 2 == pytest.approx(whole[2] / 2, rel=0.05)
    touch(fingers, "touchStart", (x, y))
    for step in (20, 40, 60):
        touch(fingers, "touchMove", (x - step, y))
    touch(fingers, "touchEnd")
    settled(page)
    assert view_box(page)[0] > near[0]
    touch(fingers, "touchStart", (x - 90, y), (x + 90, y))
    touch(fingers, "touchMove", (x - 10, y), (x + 10, y))
    touch(fingers, "touchEnd")
    settled(page)
    assert view_box(page) == whole
    assert page.url.rstrip("/") == portal_url
    context.close()


def test_a_phone_shows_the_map_before_anything_is_scrolled(
    portal_url: str, browser_page: Page
) -> None:
    browser_page.set_viewport_size({"width": 390, "height": 844})
    browser_page.goto(portal_url)
    header: Any = browser_page.locator("header.top").bounding_box()
    assert header["height"] <= 140
    map_: Any = browser_page.locator("[data-map]").bounding_box()
    panel: Any = browser_page.locator("[data-panel]").bounding_box()
    charts: Any = browser_page.locator(".map-time").bounding_box()
    assert map_["y"] < 500  # below two bars, the tools and the drops in time
    assert map_["y"] < panel["y"] < charts["y"]


def test_without_colours_states_still_differ(portal_url: str, browser_page: Page) -> None:
    """Critical, warning and watch have marks of different outlines, and no data is hatched."""
    browser_page.goto(portal_url)
    outlines = browser_page.evaluate(
        """() => ["critical", "warning", "watch"].map((state) => {
          const mark = document.querySelector(`.map-legend .mark.${state}`);
          return mark && (mark.tagName + (mark.getAttribute("d") ?? "")).replace(/[0-9.]+/g, "");
        })"""
    )
    assert None not in outlines
    assert len(set(outlines)) == 3
    hatched = browser_page.locator(".map-legend .hatch")
    assert "#hatch" in hatched.first.evaluate("(sign) => getComputedStyle(sign).fill")


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


@pytest.fixture(scope="module")
def floor_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(create_app(large_home(tmp_path_factory.mktemp("floor"), 64))) as url:
        yield url


def test_each_zoom_level_of_a_floor_has_its_address_and_way_up(
    floor_url: str, browser_page: Page
) -> None:
    page = browser_page
    page.goto(floor_url)
    page.locator("a.unit-link").nth(1).focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/su/2")
    assert page.locator("h1").inner_text() == "SU 2"
    page.locator("a.rack-link").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/racks/**")
    page.locator("a.card").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/nodes/**")
    crumbs = page.locator(".crumbs a")
    assert [text.split()[0] for text in crumbs.all_inner_texts()] == ["harbour-9", "SU", "Rack"]
    crumbs.nth(1).click()
    page.wait_for_url("**/su/2")
