"""Acceptance checks 2, 3 and 9: one fault from the map to the outbox, by mouse, by keys alone, and on paper.

The fault is the lane planted in a shipped drop. The draft is made, edited by one person, approved by another
and published by the pipeline's own publish stage; before that, publishing is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.dispatch_stages import publish_stage
from fabric_pipeline_tests.portal.kept_page import KeptPage
from fabric_pipeline_tests.portal.serving import ask
from fabric_pipeline_tests.portal.ticket_homes import (
    DROP,
    EDITOR,
    INCIDENT,
    REASON,
    REVIEWER,
    TICKET,
    copied,
    current,
    edit_form,
    portal,
    post,
    wait_for,
    without_drafts,
)

LANE = "Critical: gpu5/nvlink-11 of gpu-r11-n03"
STEP = "Confirm the serial on the pull-out tab before anything else."
WHY = "the tab is easy to misread"
REFUSAL = "another person must approve it"
BAR = "NOT APPROVED"
# Whether the element has the focus, and how many keys are surely needed before it has: asking after each
# key takes longer than pressing it.
AT = "(wanted) => document.activeElement?.matches(wanted) ?? false"
AHEAD = """(wanted) => {
  const all = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")]
    .filter((one) => one.checkVisibility());
  const from = all.indexOf(document.activeElement), to = all.findIndex((one) => one.matches(wanted));
  return Math.max(0, to - from - 3);
}"""


@pytest.fixture
def settings(home: Settings, tmp_path: Path) -> Settings:
    """The planted lane is diagnosed, and no draft has been asked for."""
    return without_drafts(home, tmp_path)


@pytest.fixture
def page(browser: Browser, kept_page: KeptPage) -> Iterator[Page]:
    """A page on which nothing may go wrong but the one refusal, which browsers note as an error."""
    page = kept_page.fresh(browser, "dark")
    page.set_default_timeout(30_000)
    yield page
    kept_page.leave()
    assert [said for said in kept_page.wrong if "status of 409" not in said] == []
    assert len(kept_page.wrong) == 1


def test_2_a_click_on_the_lane_ends_in_the_outbox(page: Page, settings: Settings) -> None:
    ledger = Ledger(settings.ledger)
    with portal(settings) as url:
        page.goto(url)
        page.get_by_role("link", name=LANE).locator("rect.solid").first.click()
        panel = page.get_by_role("complementary", name="Degraded links")
        expect(panel.get_by_role("link", name="All degraded links")).to_be_visible()
        assert ledger.tickets() == []
        panel.get_by_role("button", name="Draft repair ticket").click()
        page.get_by_role("link", name=TICKET).first.click()
        the_draft_was_made_and_cannot_be_published(url, settings)
        page.get_by_role("link", name="Edit the draft").click()
        page.get_by_label("Do", exact=True).first.fill(STEP)
        page.get_by_label("Your name").fill(EDITOR)
        page.get_by_label("Why it is changed").fill(WHY)
        page.get_by_role("button", name="Save the edit").click()
        expect(page.locator("#edits ins").first).to_be_visible()
        for name in (EDITOR, REVIEWER):
            page.get_by_label("Reviewer").fill(name)
            page.get_by_label("Reason").fill(REASON)
            page.get_by_role("button", name="Approve").click()
            if name == EDITOR:
                expect(page.get_by_role("alert")).to_contain_text(REFUSAL)
                assert page.get_by_label("Reason").input_value() == REASON
                assert ledger.publications() == []
        expect(page.locator("#standing")).to_contain_text(f"approved by {REVIEWER}")
        expect(page.locator("#standing")).to_contain_text("outbox/")
        it_was_published_as_approved(settings)
        page.get_by_role("navigation", name="Pages").get_by_role("link", name="Audit").click()
        page.get_by_role("button", name="Verify").click()
        expect(page.locator("main")).to_contain_text("holds")
        wait_until_idle(url)


def test_3_the_same_path_with_keys_alone(page: Page, settings: Settings) -> None:
    with portal(settings) as url:
        page.goto(url)
        press_on(page, f'a.pick[aria-label^="{LANE}"]')
        expect(page.get_by_role("link", name="All degraded links")).to_be_visible()
        page.wait_for_function("() => document.activeElement.closest('[data-panel-body]') !== null")
        press_on(page, 'form[action="/drafts"] button', leaves=True)
        expect(page.locator(f'#draft a[href="/tickets/{TICKET}"]')).to_be_visible()
        the_draft_was_made_and_cannot_be_published(url, settings)
        press_on(page, f'#draft a[href="/tickets/{TICKET}"]', leaves=True)
        press_on(page, f'a[href="/tickets/{TICKET}/edit"]', leaves=True)
        type_into(page, '[name="repair_steps.0.do"]', STEP)
        type_into(page, '[name="editor"]', EDITOR)
        type_into(page, '[name="reason"]', WHY)
        press_on(page, ".save button.main", leaves=True)
        for name in (EDITOR, REVIEWER):
            type_into(page, '[name="reviewer"]', name)
            type_into(page, '[name="reason"]', REASON)
            press_on(page, 'button[value="approved"]', leaves=True)
            if name == EDITOR:
                expect(page.get_by_role("alert")).to_contain_text(REFUSAL)
        expect(page.locator("#standing")).to_contain_text("outbox/")
        it_was_published_as_approved(settings)
        press_on(page, 'nav a[href^="/audit"]', leaves=True)
        press_on(page, 'form[action="/audit/verify"] button', leaves=True)
        expect(page.locator("main")).to_contain_text("holds")
        wait_until_idle(url)


def test_9_the_bar_stands_on_every_sheet_that_nobody_approved(
    home: Settings, tmp_path: Path, browser_page: Page
) -> None:
    settings = copied(home, tmp_path)
    made, sha256 = current(settings)
    path, page = f"/tickets/{TICKET}", browser_page
    page.emulate_media(media="print")
    with portal(settings) as url:

        def bar() -> Any:
            page.goto(f"{url}{path}/print")
            return page.get_by_text(BAR).first

        expect(bar()).to_be_visible()
        form = {"draft_sha256": sha256, "reviewer": REVIEWER, "reason": REASON}
        assert post(url, f"{path}/review", form | {"decision": "approved"}).status == 303
        expect(bar()).to_have_count(0)
        expect(page.locator("body")).to_contain_text(f"by {REVIEWER}")
        assert post(url, f"{path}/edit", edit_form(made, sha256, title="Another")).status == 303
        expect(bar()).to_be_visible()
        expect(page.locator("body")).to_contain_text(f"after {REVIEWER} approved revision 1")
        wait_until_idle(url)


def the_draft_was_made_and_cannot_be_published(url: str, settings: Settings) -> None:
    """The draft waits for a person; the pipeline, asked to publish, publishes nothing and says why."""
    ledger = Ledger(settings.ledger)
    wait_for(lambda: "run ended" in ask(url, f"/incidents/{INCIDENT}/draft?drop={DROP}").text)
    assert [(row.ticket_id, row.state, row.revision) for row in ledger.tickets(DROP)] == [
        (TICKET, "awaiting", 1)
    ]
    _, outcome = publish_stage(settings, DROP, datetime.now(UTC))
    assert outcome.published == []
    assert [ticket for ticket, _ in outcome.refused] == [TICKET]
    assert "no person has reviewed" in outcome.refused[0][1]
    assert ledger.publications() == []
    assert not list(settings.outbox.rglob("*.json"))
    assert ask(url, f"/tickets/{TICKET}/payloads/jira.json").status == 409


def it_was_published_as_approved(settings: Settings) -> None:
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


def wait_until_idle(url: str) -> None:
    """Until the publish run has written its last file, so that nothing writes into a folder that goes away."""
    wait_for(lambda: "run ended" in ask(url, f"/tickets/{TICKET}/progress").text)


def press_on(page: Page, selector: str, *, leaves: bool = False) -> None:
    """Tab to the element and press Enter there."""
    tab_to(page, selector)
    if leaves:
        with page.expect_navigation():
            page.keyboard.press("Enter")
    else:
        page.keyboard.press("Enter")


def type_into(page: Page, selector: str, text: str) -> None:
    tab_to(page, selector)
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until the element has the focus, as a person without a mouse does."""
    for _ in range(page.evaluate(AHEAD, selector)):
        page.keyboard.down("Tab")  # held, as a person does who has a long way to go
    page.keyboard.up("Tab")
    for _ in range(120):
        if page.evaluate(AT, selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} cannot be reached with the Tab key")
