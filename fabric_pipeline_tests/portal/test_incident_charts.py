"""The page of an incident: its charts, its queries run in place, its symptoms folded, and the bundle for a vendor."""

from __future__ import annotations

import io
import json
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from fabric_pipeline.settings import Settings
from fabric_pipeline.store.audit import rebuild_audit
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.dossier_build import build_dossier
from fabric_pipeline_tests.pipeline_runs import ROOT, copy_home
from fabric_pipeline_tests.portal.conftest import READ_AT
from fabric_pipeline_tests.portal.link_homes import BEFORE, DROP, LINK, portal
from fabric_pipeline_tests.portal.serving import ask
from fabric_pipeline_tests.portal.test_charts import brush, drawn, window

INCIDENT = "INC-8f1e83714874"
PAGE = f"/incidents/{INCIDENT}?drop={DROP}"


@pytest.fixture(scope="module")
def copied(home: Settings, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A copy of the home whose audit file is that of the copy."""
    here = Settings(root=ROOT, home=tmp_path_factory.mktemp("charts") / "warehouse")
    copy_home(home.home, here.home)
    rebuild_audit(here)
    return here


@pytest.fixture(scope="module")
def url(copied: Settings) -> Iterator[str]:
    with portal(copied) as address:
        yield address


def series(url: str, query: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ask(url, f"/api/series?{query}").text)
    return found


def test_an_incident_has_a_strip_for_every_link_it_names(copied: Settings, url: str) -> None:
    found = series(url, f"drop={DROP}&incident={INCIDENT}")
    names = [strip["name"] for strip in found["strips"]]
    assert names[0] == LINK
    assert names[found["chosen"]] == LINK
    assert set(names) == {LINK, "gpu-r11-n03:gpu0/nvlink-7", "gpu-r11-n03:gpu2/nvlink-2"}
    assert len(series(url, f"drop={DROP}")["strips"]) > len(names)
    record = Ledger(copied.ledger).incident_history(INCIDENT)[-1].record
    assert found["runs"][0]["title"].endswith(record.affected_runs[0])


def test_an_incident_that_is_not_in_the_drop_is_said(url: str) -> None:
    assert ask(url, f"/timeline?drop={BEFORE}&incident={INCIDENT}").status == 404
    assert ask(url, f"/api/series?drop={DROP}&incident=INC-none").status == 404


def test_the_page_reads_without_its_charts(url: str) -> None:
    page = ask(url, PAGE).text
    assert f'data-lazy-timeline="/timeline?drop={DROP}&amp;incident={INCIDENT}"' in page
    assert f'<a href="/links/{LINK}?drop={DROP}">Latency and errors on one clock' in page


def test_charts_are_drawn_and_brushed_on_the_page(browser_page: Page, url: str) -> None:
    browser_page.goto(url + PAGE)
    browser_page.wait_for_selector("[data-timeline]")
    drawn(browser_page)
    expect(browser_page.locator(".tl-labels .chosen")).to_contain_text(LINK)
    brush(browser_page, ".timeline .latency", 0.1, 0.5)
    found = window(browser_page)
    assert found is not None
    address = browser_page.get_by_role("link", name="Link page").get_attribute("href") or ""
    assert f"from={found[0].replace(':', '%3A')}" in address
    browser_page.reload()
    browser_page.wait_for_selector("[data-timeline]")
    drawn(browser_page)
    expect(browser_page.get_by_label("From")).to_have_value(found[0].replace("T", " ").rstrip("Z"))


def test_all_figures_are_run_and_counted(browser_page: Page, url: str) -> None:
    browser_page.goto(url + PAGE)
    figures = browser_page.locator("table.figures form").count()
    browser_page.get_by_role("button", name="Run all").click()
    expect(browser_page.locator("[data-run-told]")).to_have_text(f"{figures} same", timeout=30_000)


def test_rows_behind_evidence_are_read_in_place(browser_page: Page, url: str) -> None:
    browser_page.goto(url + PAGE)
    box = browser_page.locator("#E1")
    box.get_by_role("button", name="Run this query").click()
    expect(box.locator("[data-ran] .state")).to_have_text("same")
    expect(box.locator("[data-ran]")).to_contain_text("of the file with the recorded hash; the first 12 are shown")  # fmt: skip
    assert box.locator("tbody tr").count() == 12


def test_evidence_has_a_page_without_a_script_and_says_what_is_gone(url: str) -> None:
    page = ask(url, f"/incidents/{INCIDENT}/evidence/E1?drop={DROP}").text
    assert 'class="state good">same' in page
    assert re.search(r"<b>\d+ rows</b>, lines \d+ to \d+ of the file", page)
    assert ask(url, f"/incidents/{INCIDENT}/evidence/E999?drop={DROP}").status == 404
    assert ask(url, f"/incidents/{INCIDENT}/evidence/%0aE1?drop={DROP}").status == 404


def test_evidence_of_another_file_is_not_the_same(copied: Settings, tmp_path: Path) -> None:
    here = Settings(root=ROOT, home=tmp_path / "warehouse")
    shutil.copytree(copied.home, here.home)
    for table in ("raw_telemetry", "collective_timings"):
        part = here.lake / table / f"drop={DROP}" / "part.parquet"
        other = here.lake / table / f"drop={BEFORE}" / "part.parquet"
        shutil.copyfile(other, part)
    rebuild_audit(here)
    with portal(here) as url:
        page = ask(url, f"/incidents/{INCIDENT}/evidence/E1?drop={DROP}&part=1").text
    assert 'class="state good"' not in page
    assert "differs" in page or "no answer" in page


def test_symptoms_are_folded_under_their_cause(url: str) -> None:
    page = ask(url, PAGE).text
    folded = page[page.index('<details class="box symptoms"') : page.index("</details>")]
    assert "late rank" in folded
    assert "gpu-r11-n03:gpu6" in folded
    assert " open" not in folded[: folded.index(">")]


def test_the_vendor_bundle_is_offered_where_a_dossier_has_one(copied: Settings, url: str) -> None:
    address = f"/incidents/{INCIDENT}/vendor.zip?drop={DROP}"
    assert address not in ask(url, f"/links/{LINK}?drop={DROP}&panel=1").text
    assert ask(url, address).status == 404
    ledger = Ledger(copied.ledger)
    (record,) = [one.record for one in ledger.incidents(DROP) if one.incident_id == INCIDENT]
    build_dossier(copied, ledger, record, READ_AT)
    assert address in ask(url, f"/links/{LINK}?drop={DROP}&panel=1").text
    assert address in ask(url, PAGE).text
    connection = HTTPConnection(urlsplit(url).netloc, timeout=20)
    connection.request("GET", address)
    answer = connection.getresponse()
    assert answer.getheader("content-type") == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.read())) as archive:
        names = archive.namelist()
    connection.close()
    assert any(name.endswith("vendor/rma_request.txt") for name in names)


def test_the_page_is_accessible_with_everything_open(
    browser_page: Page, url: str, axe: Callable[[Page], None]
) -> None:
    browser_page.goto(url + PAGE)
    browser_page.wait_for_selector("[data-timeline]")
    drawn(browser_page)
    browser_page.locator("#E1").get_by_role("button", name="Run this query").click()
    browser_page.wait_for_selector("#E1 [data-ran]")
    browser_page.evaluate("() => document.querySelectorAll('details').forEach((d) => { d.open = true; })")  # fmt: skip
    axe(browser_page)
    browser_page.set_viewport_size({"width": 390, "height": 844})
    browser_page.wait_for_function(
        "() => document.documentElement.scrollWidth <= 390", timeout=5000
    )
    assert browser_page.evaluate("() => document.documentElement.scrollWidth") <= 390
