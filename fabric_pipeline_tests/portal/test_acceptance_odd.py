"""Acceptance checks 4 and 6: names that look like code stay names, and what was not measured is not healthy.

Both look at one drop of `odd_drop` that went through the whole pipeline, at every address of the portal.
"""

from __future__ import annotations

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
import zipfile
from base64 import b64decode
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from html.parser import HTMLParser
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from fabric_pipeline.portal.app import create_app
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline.workflows.audit_browse import audit_tables
from fabric_pipeline.workflows.dispatch_stages import dossier_stage
from fabric_pipeline.workflows.fabric_view import load_fabric_view
from fabric_pipeline_tests.pipeline_runs import ROOT, diagnose_without_dagster
from fabric_pipeline_tests.portal.csv_cells import formulas
from fabric_pipeline_tests.portal.odd_drop import (
    LONG,
    NAMES,
    QUOTES,
    SCRIPT,
    SILENT,
    UNREAD,
    write_odd_drop,
)
from fabric_pipeline_tests.portal.serving import Answer, ask, served
from fabric_pipeline_tests.portal.walked_pages import DATA, PAGES, readable_routes

AT = datetime(2031, 3, 4, tzinfo=UTC)
DROP = "odd <marquee>drop"
# Turn the reading direction, or are no characters of a text at all.
UNSEEN = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\x00-\x08\x0b\x0c\x0e-\x1f]")
# Attributes that a script or the server reads; all others are shown or spoken.
MACHINE = ("value", "href", "action", "content")


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    place = tmp_path_factory.mktemp("odd")
    settings = Settings(root=ROOT, home=place / "warehouse")
    drop = diagnose_without_dagster(settings, write_odd_drop(place / DROP), AT)
    dossier_stage(settings, drop, AT)
    return settings


@pytest.fixture(scope="module")
def url(settings: Settings) -> Iterator[str]:
    with served(create_app(settings)) as address:
        yield address


@pytest.fixture(scope="module")
def addresses(settings: Settings) -> dict[str, list[str]]:
    """Addresses of every readable route, each with the names of this drop in it."""
    ledger, view = Ledger(settings.ledger), load_fabric_view(settings)
    incidents = [quote(one.record.incident_id) for one in ledger.incidents()]
    tickets = [quote(row.ticket_id) for row in ledger.tickets()]
    first = {link.a.node: link for link in reversed(view.links)}.values()
    links = [quote(one.a.component, safe="") for one in (*first, *view.degraded())]
    tables = [quote(table.name) for table in audit_tables(settings)]
    dossiers = [quote(path.name) for path in settings.dossiers.iterdir() if path.is_dir()]
    record = ledger.incidents()[0].record
    figures = [quote(figure.name, safe="") for figure in record.figures]
    files = [f"{name}/bag-info.txt" for name in dossiers]
    names = [quote(name, safe="") for name in (*NAMES, DROP)]
    assert all((len(tickets) == 2, figures, dossiers, len(tables) > 10, len(view.degraded()) == 2))
    found = {
        "/": ["/", *(f"/?link={link}" for link in links[-2:]), *(f"/?mask={m}" for m in ("errors", "width"))],
        "/su/{number:text}": [f"/su/{name}" for name in names],
        "/racks/{rack:text}": [f"/racks/{quote(rack.name, safe='')}" for rack in view.racks],
        "/nodes/{node:text}": [f"/nodes/{quote(node.name, safe='')}" for node in view.nodes],
        "/map.svg": ["/map.svg", *(f"/map.svg?node={quote(n.name, safe='')}" for n in view.nodes)],
        "/search": [f"/search?q={name}" for name in (*names, "a", "n")],
        "/links/{component:text}": [*(f"/links/{link}" for link in links), *(f"/links/{link}?panel=1" for link in links[-2:])],
        "/api/series": ["/api/series", *(f"/api/series?link={link}" for link in links[-2:])],
        "/timeline": ["/timeline", f"/timeline?run={quote(SCRIPT)}&at={quote(QUOTES)}"],
        "/compare": [f"/compare?a={names[-1]}&b={names[0]}", f"/compare?link={links[-1]}"],
        "/matrix": ["/matrix", f"/matrix?kind={names[0]}"],
        "/incidents": ["/incidents", *(f"/incidents?text={name}&fault={name}" for name in names)],
        "/incidents/{incident}/figure/{name:text}": [f"/incidents/{incidents[0]}/figure/{name}{part}" for name in figures[:2] for part in ("", "?part=1")],
        "/incidents/{incident}/evidence/{name:text}": [f"/incidents/{incident}/evidence/{name}" for incident in incidents for name in ("E1", names[0])],
        "/tickets/{ticket}/payloads/{name}": [f"/tickets/{tickets[0]}/payloads/jira.json", f"/tickets/{names[0]}/payloads/{names[0]}"],
        "/data/{table}": ["/data/raw_telemetry?column=node&text=n", "/data/quarantined_telemetry", "/data/ledger_incidents", "/data/ledger_drafts"],
        "/audit": ["/audit", f"/audit?about={names[0]}&who={names[1]}"],
        "/audit/query": ["/audit/query", f"/audit/query?sql={quote('select * from raw_telemetry')}", f"/audit/query?sql={names[0]}"],
        "/audit/query.csv": [f"/audit/query.csv?sql={quote('select * from fabric_topology')}"],
        "/evidence/{name}/{path:path}": [f"/evidence/{name}" for name in files],
    }  # fmt: skip
    for param, values in {"incident": incidents, "ticket": tickets, "table": tables, "name": dossiers}.items():  # fmt: skip
        for route in {visit.route for visit in (*PAGES, *DATA)} - found.keys():
            if f"{{{param}}}" in route:
                found[route] = [route.replace(f"{{{param}}}", value) for value in values]
    plain = {visit.route: [visit.address] for visit in (*PAGES, *DATA) if visit.route}
    return plain | found


def test_4_names_that_look_like_code_stay_names_at_every_address(
    url: str, settings: Settings, addresses: dict[str, list[str]]
) -> None:
    assert addresses.keys() == readable_routes(create_app(settings))
    wrong, seen, kinds = [], "", set()
    for path in (path for paths in addresses.values() for path in paths):
        answer = ask(url, path)
        kind = answer.headers.get("content-type", "").partition(";")[0]
        kinds.add(kind)
        assert answer.status in (200, 303, 400, 404, 409), f"{path}: {answer.text[-2000:]}"
        assert answer.headers["x-content-type-options"] == "nosniff"
        if answer.status != 303:
            wrong += [f"{path}: {fault}" for fault in FAULTS_OF[kind](answer)]
        seen += answer.text if kind == "text/html" else ""
    assert wrong == []
    assert {
        "text/html",
        "image/svg+xml",
        "application/json",
        "text/csv",
        "application/zip",
    } <= kinds
    for name in (SCRIPT, QUOTES, NAMES[7]):
        assert (
            name.replace("<", "&lt;")
            .replace(">", "&gt;")
            .replace('"', "&#34;")
            .replace("'", "&#39;")
            in seen
        )
    assert LONG[:250] in seen


def test_4_nothing_hostile_runs_in_a_browser(url: str, browser_page: Page) -> None:
    """Where scripts write names into a page: panel, charts, matrix, search, and forms of a ticket.

    A script of a name would open a dialog, or be named on the console as refused: both fail the test.
    """
    page = browser_page
    page.goto(url)
    page.locator("a.pick").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-panel-body] a[data-back]")).to_be_visible()
    page.locator("[data-panel-body]").get_by_role("link", name="Whole page").click()
    page.wait_for_selector('[data-chart][data-ready="yes"]')
    page.goto(f"{url}/matrix")
    page.wait_for_selector("[data-ready]")
    page.locator("canvas").focus()
    page.keyboard.press("n")
    expect(page.locator("[data-said]")).to_contain_text("critical")
    page.get_by_role("searchbox").fill(SCRIPT)
    page.keyboard.press("Enter")
    page.wait_for_url("**/nodes/**")
    expect(page.get_by_role("heading", level=1)).to_have_text(SCRIPT)
    page.goto(f"{url}/queue")
    page.locator("main").get_by_role("link", name=re.compile("^Review T-")).first.click()
    page.get_by_role("link", name="Edit the draft").click()
    expect(page.get_by_role("button", name="Save the edit")).to_be_visible()


def test_6_what_said_nothing_is_hatched_and_never_healthy(
    url: str, settings: Settings, browser_page: Page
) -> None:
    page = browser_page
    for node in (UNREAD, SILENT):
        page.goto(url)
        card = page.locator(f'a.card[href="/nodes/{node}"]')
        expect(card).to_contain_text("no data")
        hatches = card.locator(".hatch").first
        assert "hatch" in hatches.evaluate("(part) => getComputedStyle(part).fill")
        assert card.locator(".healthy").count() == 0
        page.goto(f"{url}/nodes/{node}")
        counts = page.get_by_role("complementary").locator(".counts")
        assert "healthy" not in counts.inner_text().lower()
        assert page.locator("svg.map .no_data").count() > 0
        assert page.locator("svg.map .tick.healthy").count() == 0
        for mask in ("errors", "utilisation", "width"):
            classes = set().union(*drawn_on_card(ask(url, f"/map.svg?mask={mask}"), node))
            assert classes & {"mx", "no_data", "hatch"}, mask
            assert not classes & {"m0", "healthy"}, mask
        link = ask(url, f"/links/{node}:gpu0/nvlink-0").text
        assert 'class="state no_data"' in link
        assert "Measured at both ends; no rule fired" not in link
    assert "without data" in page.locator("header").inner_text()


def test_6_every_cell_that_was_not_measured_is_hatched_in_the_matrix(url: str) -> None:
    (nodes, *_) = json.loads(ask(url, "/api/matrix").text)["sections"]
    width = sum(len(names) for _, names in nodes["groups"])
    cells = b64decode(nodes["cells"])
    rows = {name: cells[n * width : (n + 1) * width] for n, (name, *_) in enumerate(nodes["rows"])}
    no_link = 15
    for node in (UNREAD, SILENT):
        assert set(rows[node]) - {no_link} == {7}, node


def drawn_on_card(picture: Answer, node: str) -> list[set[str]]:
    """Classes of all that is drawn on the card of a node."""
    root = ET.fromstring(picture.text)  # noqa: S314 - our own markup
    cards = [p for p in root.iter() if (p.get("href") or "").partition("?")[0] == f"/nodes/{node}"]
    return [set((part.get("class") or "").split()) for card in cards for part in card.iter()]


def html_faults(answer: Answer) -> list[str]:
    page = _Elements(answer.text)
    words = UNSEEN.findall("".join(page.shown))
    return page.faults + [f"unseen characters {set(words)}"] * bool(words)


def svg_faults(answer: Answer) -> list[str]:
    root = ET.fromstring(answer.text)  # noqa: S314 - our own markup
    tags = {part.tag.rpartition("}")[2] for part in root.iter()}
    names = {name.lower() for part in root.iter() for name in part.attrib}
    faults = [f"element {tag}" for tag in tags & {"script", "image", "foreignObject", "iframe"}]
    faults += [f"attribute {name}" for name in names if name.startswith("on") or name == "style"]
    return faults + ["unseen characters"] * bool(UNSEEN.search("".join(root.itertext())))


def json_faults(answer: Answer) -> list[str]:
    json.loads(answer.text)
    return []


def csv_faults(answer: Answer) -> list[str]:
    rows = list(csv.reader(io.StringIO(answer.text, newline="")))
    ragged = {len(row) for row in rows} != {len(rows[0])}
    return [f"formula {cell[:60]!r}" for cell in formulas(rows)] + [
        "rows of other lengths"
    ] * ragged


def zip_faults(answer: Answer) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(answer.body)) as packed:
        assert packed.testzip() is None
        return [n for n in packed.namelist() if n.startswith("/") or ".." in n.split("/") or UNSEEN.search(n)]  # fmt: skip


def saved_faults(answer: Answer) -> list[str]:
    is_saved = answer.headers.get("content-disposition", "").startswith("attachment;")
    return [] if is_saved else ["is shown, not saved"]


FAULTS_OF: dict[str, Callable[[Answer], list[str]]] = {
    "text/html": html_faults,
    "image/svg+xml": svg_faults,
    "application/json": json_faults,
    "text/csv": csv_faults,
    "application/zip": zip_faults,
    "text/plain": saved_faults,
    "application/octet-stream": saved_faults,
}


class _Elements(HTMLParser):
    """What is wrong with the elements of a page, and all that it shows or has spoken."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.faults: list[str] = []
        self.shown: list[str] = []
        self._isolated = 0
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self._isolated += tag == "bdi"
        if tag in ("img", "iframe", "object", "embed", "base", "foreignobject", "marquee"):
            self.faults.append(f"element {tag}")
        if tag == "script" and not values.get("src", "").startswith("/static/"):
            self.faults.append("a script of no file of ours")
        for name, value in values.items():
            if name.startswith("on") or name in ("style", "srcdoc"):
                self.faults.append(f"attribute {name}")
            if name in ("href", "src", "action") and not re.match(r"/(?!/)|#|\?|$", value):
                self.faults.append(f"{name} leads to {value[:80]}")
            if name not in MACHINE and not name.startswith("data-"):
                self.shown.append(value)

    def handle_endtag(self, tag: str) -> None:
        self._isolated -= tag == "bdi"

    def handle_data(self, data: str) -> None:
        if not self._isolated:  # what stands in a `bdi` turns nothing around it
            self.shown.append(data)
