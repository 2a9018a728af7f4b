"""Charts in a browser: one brush for all, the window in the address, keys alone, themes, panels exchanged in place."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import Page, expect

from fabric_pipeline_tests.portal.link_homes import DROP, LINK, SILENT, portal
from fabric_pipeline_tests.workflows.fabric_lake import Lake, incident

LONG = "<script>alert(1)</script>\u202e\"'\n=1+1 " + "x" * 400
PAGE = f"/links/{LINK}?drop={DROP}"
READY = '[data-chart]:not([data-ready="yes"]):not([data-ready="none"])'


@pytest.fixture(scope="module")
def url(portal_url: str) -> str:
    return portal_url


def opened(page: Page, address: str) -> None:
    page.goto(address)
    drawn(page)


def drawn(page: Page) -> None:
    page.wait_for_function(f"() => document.querySelector('[data-chart]') && !document.querySelector(`{READY}`)")  # fmt: skip


def brush(page: Page, chart: str, start: float, end: float) -> None:
    over = page.locator(f"{chart} .u-over").first
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * start, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, y, steps=5)
    page.mouse.up()
    page.wait_for_timeout(80)


def window(page: Page) -> tuple[str, str] | None:
    asked = parse_qs(urlsplit(page.url).query)
    return (asked["from"][0], asked["to"][0]) if "from" in asked else None


def pixels(page: Page) -> list[str]:
    """Every canvas as it is drawn."""
    found: list[str] = page.evaluate("() => [...document.querySelectorAll('[data-chart] canvas')].map((c) => c.toDataURL())")  # fmt: skip
    return found


def test_one_brush_zooms_every_chart_and_stands_in_the_address(
    browser_page: Page, url: str
) -> None:
    opened(browser_page, url + PAGE)
    before = pixels(browser_page)
    assert len(before) == 3
    brush(browser_page, ".timeline .latency", 0.1, 0.4)
    after = pixels(browser_page)
    assert all(one != other for one, other in zip(before, after, strict=True))
    found = window(browser_page)
    assert found is not None
    assert found[0].startswith("2026-11-20T10:05:5") or found[0].startswith("2026-11-20T10:06:0")
    expect(browser_page.get_by_label("From")).to_have_value(found[0].replace("T", " ").rstrip("Z"))
    same = browser_page.url
    opened(browser_page, same)  # the permalink shows the same
    assert window(browser_page) == found
    assert pixels(browser_page) == after
    browser_page.locator(".timeline .strips .u-over").dblclick()
    browser_page.wait_for_timeout(80)
    assert window(browser_page) is None
    assert pixels(browser_page) == before


def test_any_chart_can_be_brushed(browser_page: Page, url: str) -> None:
    opened(browser_page, url + PAGE)
    for chart in (".timeline .strips", ".columns .errors"):
        before = pixels(browser_page)
        brush(browser_page, chart, 0.2, 0.8)
        assert window(browser_page) is not None
        assert all(one != other for one, other in zip(before, pixels(browser_page), strict=True))


def test_the_window_can_be_typed_with_keys_alone(browser_page: Page, url: str) -> None:
    opened(browser_page, url + PAGE)
    browser_page.get_by_label("From").fill("2026-11-20 10:20:00")
    browser_page.get_by_label("to", exact=True).fill("2026-11-20 10:35:00")
    browser_page.keyboard.press("Enter")
    assert window(browser_page) == ("2026-11-20T10:20:00Z", "2026-11-20T10:35:00Z")
    browser_page.get_by_label("to", exact=True).fill("2026-11-20 10:10:00")
    browser_page.keyboard.press("Enter")
    assert window(browser_page) == ("2026-11-20T10:20:00Z", "2026-11-20T10:35:00Z")
    assert browser_page.evaluate("() => document.getElementById('timeline-to').validationMessage") != ""  # fmt: skip
    browser_page.get_by_role("button", name="Whole time").press("Enter")
    assert window(browser_page) is None


def test_the_pointer_is_told_in_words(browser_page: Page, url: str) -> None:
    opened(browser_page, url + PAGE)
    box = browser_page.locator(".timeline .strips .u-over").bounding_box()
    assert box is not None
    browser_page.mouse.move(box["x"] + box["width"] * 0.45, box["y"] + 10)
    line = browser_page.locator("[data-readout]")
    expect(line).to_contain_text(re.compile(r"10:2[67]:\d\d UTC"))
    expect(line).to_contain_text("× its usual")
    expect(line).to_contain_text(f"{LINK} ")


def test_another_run_is_drawn_and_kept_in_the_address(browser_page: Page, url: str) -> None:
    opened(browser_page, url + PAGE)
    before = pixels(browser_page)
    choice = browser_page.get_by_label("Run", exact=True)
    other = choice.locator("option").nth(1).get_attribute("value") or ""
    choice.select_option(other)
    drawn(browser_page)
    after = pixels(browser_page)
    assert after != before
    assert parse_qs(urlsplit(browser_page.url).query)["run"] == [other]
    opened(browser_page, browser_page.url)  # the permalink shows the same run
    expect(browser_page.get_by_label("Run", exact=True)).to_have_value(other)
    assert pixels(browser_page) == after
    opened(browser_page, f"{url}{PAGE}&run=gone")  # a run that is not there is not missed
    assert pixels(browser_page) == before


def test_charts_follow_the_theme(browser_page: Page, url: str) -> None:
    opened(browser_page, url + PAGE)
    dark = pixels(browser_page)
    browser_page.get_by_role("button", name="Light").click()
    browser_page.wait_for_timeout(150)
    light = pixels(browser_page)
    assert all(one != other for one, other in zip(dark, light, strict=True))


def test_no_data_is_hatched_and_said(browser_page: Page, url: str) -> None:
    opened(browser_page, f"{url}/links/{SILENT}?drop=missing-data")
    expect(browser_page.locator(".errors.empty")).to_contain_text("no data")
    expect(browser_page.locator(".tl-labels .chosen")).to_contain_text("no timed counter")


def test_a_panel_brings_charts_of_the_same_clock(browser_page: Page, url: str) -> None:
    opened(browser_page, f"{url}/?drop={DROP}")
    browser_page.locator(f'.tl-labels a[data-pick="{LINK}"]').click()
    expect(browser_page.locator("[data-panel-link]")).to_be_visible()
    expect(browser_page.locator(".tl-labels .chosen")).to_contain_text(LINK)
    drawn(browser_page)
    assert browser_page.locator(".link-panel canvas").count() == 2
    before = pixels(browser_page)
    brush(browser_page, ".timeline .latency", 0.2, 0.6)
    after = pixels(browser_page)
    assert len(after) == 4
    assert all(one != other for one, other in zip(before, after, strict=True))
    assert parse_qs(urlsplit(browser_page.url).query)["link"] == [LINK]


def test_a_long_name_fits_a_narrow_screen(browser_page: Page, tmp_path: Path) -> None:
    browser_page.set_viewport_size({"width": 390, "height": 844})
    lake = Lake(tmp_path).counters([(LONG, "gpu0/nvlink-1")])
    lake.spikes().incidents(incident(1, f"{LONG}:gpu0/nvlink-1", "CRITICAL", summary=LONG))
    with portal(lake.settings) as hostile:
        fits(browser_page, f"{hostile}/links/{quote(LONG)}:gpu0/nvlink-1")


def fits(page: Page, address: str) -> None:
    page.goto(address)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
