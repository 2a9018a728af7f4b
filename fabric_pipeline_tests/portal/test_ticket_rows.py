"""Rows of the edit form in a browser: moved, taken out, and saved in the order that the person saw."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline_tests.portal.ticket_homes import EDITOR, TICKET, copied, portal


def test_rows_of_the_edit_form_are_moved_and_taken_out(
    browser_page: Page, home: Settings, tmp_path: Path
) -> None:
    page, settings = browser_page, copied(home, tmp_path)
    with portal(settings) as url:
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
