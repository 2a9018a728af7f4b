"""What is on the screen stands in the address: copied, pasted and stepped through with keys, it comes back the same."""

from __future__ import annotations

from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import Page, expect

from fabric_pipeline_tests.portal.link_homes import BEFORE, DROP, LINK
from fabric_pipeline_tests.portal.test_charts import brush, drawn, opened, pixels, window

MAP = f"/?drop={DROP}&mask=errors"


@pytest.fixture
def page(browser_page: Page, portal_url: str) -> Page:
    browser_page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=portal_url)
    return browser_page


def copied(page: Page, button: str) -> str:
    page.get_by_role("button", name=button).click()
    expect(page.locator(".copy-link .told")).to_have_text("Copied")
    text: str = page.evaluate("() => navigator.clipboard.readText()")
    return text


def asked(address: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(address).query)


def test_a_pasted_link_shows_drop_link_mask_and_window(page: Page, portal_url: str) -> None:
    opened(page, portal_url + MAP)
    page.locator(f'.tl-labels a[data-pick="{LINK}"]').click()
    expect(page.locator(".tl-labels .chosen")).to_contain_text(LINK)
    drawn(page)
    brush(page, ".timeline .latency", 0.2, 0.6)
    address = copied(page, "Copy link")
    query = asked(address)
    assert (query["drop"], query["link"], query["mask"]) == ([DROP], [LINK], ["errors"])
    assert (query["from"][0], query["to"][0]) == window(page)
    before = pixels(page)
    page.goto("about:blank")
    opened(page, address)
    expect(page.locator(f'[data-panel-link="{LINK}"]')).to_be_visible()
    expect(page.get_by_label("From")).to_have_value(query["from"][0].replace("T", " ").rstrip("Z"))
    assert page.locator('.segments a[aria-current="true"]').first.text_content() == "Errors"
    assert pixels(page) == before


def test_a_link_without_a_drop_is_copied_with_the_one_it_shows(page: Page, portal_url: str) -> None:
    opened(page, f"{portal_url}/")
    assert asked(copied(page, "Copy link"))["drop"] == [DROP]


def test_a_chat_gets_a_line_of_words_and_the_address(page: Page, portal_url: str) -> None:
    opened(page, f"{portal_url}/links/{LINK}?drop={DROP}&from=2026-11-20T10:05:00Z&to=2026-11-20T10:20:00Z")  # fmt: skip
    words, address = copied(page, "Copy for chat").split("\n")
    assert words == (
        f"Critical: NVLink 11 of GPU 5 to nvswitch-2 port 30, {LINK}, drop {DROP}, 2026-11-20 10:05:00 to 10:20:00 UTC"
    )
    assert address == page.url


def test_picking_a_link_keeps_the_window_and_the_way_to_other_drops(page: Page, portal_url: str) -> None:  # fmt: skip
    opened(page, f"{portal_url}{MAP}&from=2026-11-20T10:05:00Z&to=2026-11-20T10:20:00Z")
    page.locator(f'.tl-labels a[data-pick="{LINK}"]').click()
    expect(page.locator(".tl-labels .chosen")).to_contain_text(LINK)
    drawn(page)
    assert window(page) == ("2026-11-20T10:05:00Z", "2026-11-20T10:20:00Z")
    assert asked(page.url)["mask"] == ["errors"]
    other = page.locator("[data-drop-strip] a.drop:not([aria-current])")
    assert asked(other.get_attribute("href") or "")["link"] == [LINK]
    page.locator("a[data-back]").click()
    expect(page.locator(".tl-labels .chosen")).to_have_count(0)
    assert "link" not in asked(page.url)
    assert "link" not in asked(other.get_attribute("href") or "")
    assert window(page) == ("2026-11-20T10:05:00Z", "2026-11-20T10:20:00Z")


def test_drops_are_stepped_through_with_keys_alone(page: Page, portal_url: str) -> None:
    opened(page, f"{portal_url}{MAP}&link={quote(LINK)}")
    shown = page.locator("[data-drop-strip] a.drop[aria-current]")
    shown.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => document.activeElement.getAttribute('aria-label')").startswith(BEFORE)  # fmt: skip
    page.keyboard.press("Enter")
    page.wait_for_url(f"**drop={BEFORE}**")
    query = asked(page.url)
    assert (query["link"], query["mask"]) == ([LINK], ["errors"])
    page.wait_for_function("() => document.activeElement?.getAttribute('aria-current') === 'true'")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**drop={DROP}**")
    expect(page.locator("[data-drop-strip] a.drop[tabindex='0']")).to_have_count(1)


def test_the_choice_of_a_drop_by_name_keeps_the_link(page: Page, portal_url: str) -> None:
    opened(page, portal_url + MAP)
    page.locator(f'.tl-labels a[data-pick="{LINK}"]').click()
    expect(page.locator(".tl-labels .chosen")).to_contain_text(LINK)
    page.get_by_label("Drop", exact=True).select_option(BEFORE)
    page.wait_for_url(f"**drop={BEFORE}**")
    assert asked(page.url)["link"] == [LINK]
    expect(page.locator(f'[data-panel-link="{LINK}"]')).to_be_visible()


def test_without_a_clipboard_the_address_can_be_copied_by_hand(browser_page: Page, portal_url: str) -> None:  # fmt: skip
    browser_page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")  # fmt: skip
    opened(browser_page, portal_url + MAP)
    browser_page.get_by_role("button", name="Copy link").click()
    expect(browser_page.get_by_label("Copy this")).to_have_value(browser_page.url)
