"""A browser, three people, one fault: from the incident to the outbox, by mouse and by keyboard alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline_tests.portal.ticket_homes import (
    DROP,
    EDITOR,
    INCIDENT,
    REASON,
    REVIEWER,
    TICKET,
    copied,
    portal,
    wait_for,
)

STEP = "Confirm the serial on the pull-out tab before anything else."


@pytest.fixture
def settings(home: Settings, tmp_path: Path) -> Settings:
    return copied(home, tmp_path)


@pytest.fixture
def url(settings: Settings) -> Iterator[str]:
    with portal(settings) as address:
        yield address


@pytest.fixture
def person_page(browser: Browser) -> Iterator[Page]:
    """A page on which nothing may go wrong but a refusal, which browsers note as an error."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(20_000)
    said: list[str] = []
    page.on("console", lambda one: said.append(one.text) if one.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    context.close()
    assert [one for one in said if "status of 409" not in one] == []
    assert len(said) == 1


def published_as_approved(settings: Settings) -> None:
    """Two people's work went out: edited by one, approved by another, and the chain holds."""
    ledger = Ledger(settings.ledger)
    wait_for(lambda: bool(ledger.publications()))
    stored = ledger.current_draft(TICKET)
    assert stored.draft is not None
    assert (stored.revision, stored.draft.edited_by) == (2, EDITOR)
    assert stored.draft.text.repair_steps[0].do == STEP
    (out,) = ledger.publications()
    assert (out.reviewer, out.draft_sha256) == (REVIEWER, stored.draft_sha256)
    assert [(row.decision, row.reviewer) for row in ledger.reviews_of(TICKET)] == [
        ("approved", REVIEWER)
    ]
    assert ledger.verify_chain() == []
    assert (settings.outbox / TICKET / "ticket.json").is_file()


def test_from_the_incident_to_the_outbox_by_mouse(
    person_page: Page, url: str, settings: Settings
) -> None:
    page, ledger = person_page, Ledger(settings.ledger)
    assert [row.state for row in ledger.tickets()] == ["awaiting"]  # the draft was made
    page.goto(f"{url}/incidents?drop={DROP}")
    page.get_by_role("link", name="gpu-r11-n03:gpu5/nvlink-11").first.click()
    page.get_by_role("button", name="Run it: counts.replay").click()
    expect(page.locator("[data-ran]")).to_contain_text("same")
    page.get_by_role("link", name=TICKET).first.click()
    page.get_by_role("link", name="Edit the draft").click()
    page.get_by_label("Do", exact=True).first.fill(STEP)
    page.get_by_label("Your name").fill(EDITOR)
    page.get_by_label("Why it is changed").fill("the tab is easy to misread")
    page.get_by_role("button", name="Save the edit").click()
    expect(page.locator("#edits ins").first).to_be_visible()
    _decide(page, EDITOR)
    expect(page.get_by_role("alert")).to_contain_text("another person must approve it")
    assert page.get_by_label("Reason").input_value() == REASON
    assert ledger.publications() == []
    _decide(page, REVIEWER)
    expect(page.locator("#standing")).to_contain_text(f"approved by {REVIEWER}")
    expect(page.locator("#standing")).to_contain_text("outbox/", timeout=30_000)
    published_as_approved(settings)


def _decide(page: Page, name: str) -> None:
    page.get_by_label("Reviewer").fill(name)
    page.get_by_label("Reason").fill(REASON)
    page.get_by_role("button", name="Approve").click()


def test_from_the_incident_to_the_outbox_by_keyboard_alone(
    person_page: Page, url: str, settings: Settings
) -> None:
    page = person_page
    page.goto(f"{url}/incidents?drop={DROP}")
    _go(page, f'a[href^="/incidents/{INCIDENT}"]')
    _go(page, f'a[href="/tickets/{TICKET}"]')
    _go(page, f'a[href="/tickets/{TICKET}/edit"]')
    _type(page, '[name="repair_steps.0.do"]', STEP)
    _type(page, '[name="editor"]', EDITOR)
    _type(page, '[name="reason"]', "the tab is easy to misread")
    _go(page, ".save button.main")
    for name in (EDITOR, REVIEWER):
        _type(page, '[name="reviewer"]', name)
        _type(page, '[name="reason"]', REASON)
        _go(page, 'button[value="approved"]')
        if name == EDITOR:
            expect(page.get_by_role("alert")).to_contain_text("another person must approve it")
    expect(page.locator("#standing")).to_contain_text("outbox/", timeout=30_000)
    published_as_approved(settings)


def _to(page: Page, selector: str) -> None:
    """Press Tab until the element has the focus, as a person without a mouse does."""
    for _ in range(400):
        if page.evaluate("(wanted) => document.activeElement?.matches(wanted) ?? false", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} cannot be reached with the Tab key")


def _go(page: Page, selector: str) -> None:
    _to(page, selector)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def _type(page: Page, selector: str, text: str) -> None:
    _to(page, selector)
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)


def test_rows_of_the_edit_form_are_moved_and_taken_out(
    browser_page: Page, url: str, settings: Settings
) -> None:
    page = browser_page
    page.goto(f"{url}/tickets/{TICKET}/edit")
    steps = page.locator(".of-repair_steps [data-row]")
    before = [row.locator("textarea").first.input_value() for row in steps.all()]
    steps.nth(1).get_by_role("button", name="Up").click()
    steps.nth(2).get_by_role("button", name="Remove").click()
    page.get_by_label("Your name").fill(EDITOR)
    page.get_by_label("Why it is changed").fill("the order at the rack")
    page.get_by_role("button", name="Save the edit").click()
    expect(page.locator("#edits")).to_be_visible()
    draft = Ledger(settings.ledger).current_draft(TICKET).draft
    assert draft is not None
    wanted = [before[1], before[0], *before[3:]]
    assert [step.do for step in draft.text.repair_steps] == [text for text in wanted if text]
