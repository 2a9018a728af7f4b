"""Acceptance checks 7, 8 and 10: reading while a run writes, the sheet on paper, and forms that are refused."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
import zxingcpp
from playwright.sync_api import Browser, Page, expect
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route

from fabric_pipeline.portal.app import create_app
from fabric_pipeline.portal.identity import Auth
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline_tests.pipeline_runs import ROOT
from fabric_pipeline_tests.portal.serving import ask, served
from fabric_pipeline_tests.portal.ticket_homes import REASON, copied
from fabric_pipeline_tests.portal.walked_pages import NEW, written_routes
from fabric_pipeline_tests.small_drop import write_drop
from fabric_pipeline_tests.store.fakes import START, incident
from fabric_pipeline_tests.workflows.full_tickets import longest
from fabric_pipeline_tests.workflows.printed_page import grey_of

# The pipeline in a process of its own, as a schedule would start it: file locks count between processes.
PIPELINE = """
import sys
import time
from pathlib import Path
from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.pipeline_runs import diagnose_without_dagster
print("begins", flush=True)
root, home, drop = map(Path, sys.argv[1:])
diagnose_without_dagster(Settings(root=root, home=home), drop)
"""
READ = ("/", "/matrix", "/incidents", "/queue", "/data", "/audit", f"/audit/query?sql={quote('select count(*) from ledger_drafts')}")  # fmt: skip
A4_MM = [210, 297]
PORTAL = "https://portal.example"
FOREIGN: tuple[dict[str, str], ...] = (
    {},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.test"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "http://evil.test"},
    {"Origin": "null"},
    {"Cookie": "fabric_token=x", "Authorization": "Bearer x"},
)


def test_7_the_portal_reads_on_while_the_pipeline_writes(
    home: Settings, tmp_path: Path, browser_page: Page
) -> None:
    settings, page = copied(home, tmp_path), browser_page
    drop = write_drop(tmp_path / "just-now")
    with served(create_app(settings)) as url:
        page.goto(url)
        expect(page.locator("header")).to_contain_text(NEW)
        command = [sys.executable, "-c", PIPELINE, str(ROOT), str(settings.home), str(drop)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            assert running.stdout.readline() == "begins\n"
            wrong, rounds = _read_while(running, url)
        assert (running.returncode, wrong) == (0, [])
        assert rounds >= 1  # every page was asked for while the tables changed
        page.reload()
        expect(page.locator("header")).to_contain_text("just-now")
        expect(page.locator("main")).to_contain_text("calc-r1-n1")
        page.goto(f"{url}/data/ledger_drops?column=name&match=is&text=just-now")
        expect(page.locator("main")).to_contain_text("1 row")


def _read_while(running: subprocess.Popen[str], url: str) -> tuple[list[str], int]:
    """Ask for all pages, round after round, until the process ends; what went wrong, and the rounds."""
    wrong, rounds = [], 0
    while running.poll() is None:
        for path in READ:
            answer = ask(url, path)
            if answer.status != 200:
                wrong.append(f"{path}: {answer.status} {answer.text[-600:]}")
        rounds += 1
        time.sleep(0.1)
    return wrong, rounds


def test_8_the_longest_sheet_is_one_page_and_its_code_leads_to_the_ticket(
    tmp_path: Path, browser_page: Page
) -> None:
    page, draft = browser_page, longest().model_copy(update={"edited_by": ""})
    settings = Settings(root=ROOT, home=tmp_path / "home", portal_url=PORTAL)
    ledger = Ledger(settings.ledger)
    ledger.record_incidents("d1", [incident(draft.incident_id)], START)
    ledger.record_draft(draft, START)
    with served(create_app(settings)) as url:
        page.goto(f"{url}/tickets/{draft.ticket_id}/print")
        pdf = page.pdf(prefer_css_page_size=True)
        assert len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf)) == 1
        box = re.search(rb"/MediaBox\s*\[\s*0\s+0\s+([\d.]+)\s+([\d.]+)\s*\]", pdf)
        assert box is not None
        assert [round(float(side) / 72 * 25.4) for side in box.groups()] == A4_MM
        seen = page.locator("header > svg").screenshot()
        (code,) = zxingcpp.read_barcodes(np.ascontiguousarray(grey_of(seen)))
        assert code.text.startswith(f"{PORTAL}/tickets/{draft.ticket_id}?")
        page.goto(url + code.text.removeprefix(PORTAL))
        expect(page.locator("main")).to_contain_text(draft.ticket_id)


@pytest.fixture
def undecided(home: Settings, tmp_path: Path) -> Iterator[tuple[Settings, str]]:
    """A home that a test may write to, with the head of its ledger: nothing may have moved it."""
    settings = copied(home, tmp_path)
    head = Ledger(settings.ledger).chain_head()
    yield settings, head
    assert Ledger(settings.ledger).chain_head() == head


def test_10_no_form_of_another_page_is_taken(undecided: tuple[Settings, str]) -> None:
    app = create_app(undecided[0])
    paths = written_routes(app)
    assert len(paths) >= 6
    with served(app) as url:
        for path in paths:
            for headers in FOREIGN:
                refused = ask(url, path, body="decision=approved&name=x", headers=headers)
                assert refused.status == 403, (path, headers)
            own = {"Sec-Fetch-Site": "same-origin", "Host": "evil.test"}
            assert ask(url, path, body="decision=approved", headers=own).status == 400, path


def test_10_a_forged_name_from_an_address_that_is_not_listed_is_nobody(
    undecided: tuple[Settings, str],
) -> None:
    forged = {"X-Forwarded-User": "reviewer-1", "Sec-Fetch-Site": "same-origin"}
    app = create_app(undecided[0], Auth("proxy", proxies=("10.9.9.9",)))
    with served(app) as url:
        for path in set(written_routes(app)) - {"/login", "/logout"}:
            assert ask(url, path, body="decision=approved", headers=forged).status == 401, path
        assert ask(url, "/", headers=forged).status == 401
        listed = forged | {"X-Forwarded-For": "10.9.9.9"}
        assert ask(url, "/queue", headers=listed).status == 401


def test_10_a_browser_on_another_page_cannot_decide(
    undecided: tuple[Settings, str], browser: Browser
) -> None:
    """A real form on a page of another site, sent by a real browser with all that it knows of the portal."""
    row = next(row for row in Ledger(undecided[0].ledger).tickets() if row.drop == NEW)
    said = {"draft_sha256": row.draft_sha256, "decision": "approved", "reviewer": "reviewer-1", "reason": REASON}  # fmt: skip
    inputs = "".join(f'<input name="{name}" value="{value}">' for name, value in said.items())
    with served(create_app(undecided[0])) as url:
        action = f"{url}/tickets/{row.ticket_id}/review"
        form = f'<form method="post" action="{action}">{inputs}<button>Win a prize</button></form>'
        with served(Starlette(routes=[Route("/", lambda _: HTMLResponse(form))])) as other:
            page = browser.new_page()
            page.goto(f"{url}/tickets/{row.ticket_id}")
            page.goto(other.replace("127.0.0.1", "localhost"))
            with page.expect_response(action) as answer:
                page.get_by_role("button", name="Win a prize").click()
            assert answer.value.status == 403
            page.close()
