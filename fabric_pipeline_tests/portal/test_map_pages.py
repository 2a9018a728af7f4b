"""The maps as pages: each level at its address, masks, drops, the exported picture, hostile names."""

from __future__ import annotations

import gzip
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest

from fabric_pipeline.portal.app import create_app
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.duck import connect, scalar
from fabric_pipeline.store.lake import part_path
from fabric_pipeline.workflows.fabric_units import units_of
from fabric_pipeline.workflows.fabric_view import load_fabric_view
from fabric_pipeline_tests.pipeline_runs import ROOT
from fabric_pipeline_tests.portal.hostile_fabric import NAMES, hostile_home
from fabric_pipeline_tests.portal.serving import Answer, ask, served

GUILTY = "gpu-r11-n03:gpu5/nvlink-11"
# Twice the budgets, for a machine that does other things as well.


class Page(HTMLParser):
    """Elements, links and visible words of a page."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []
        self.handlers: list[str] = []
        self.own_scripts = 0
        self.words = ""
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        source = dict(attrs).get("src") or ""
        self.own_scripts += tag == "script" and not source.startswith("/static/")
        self.links += [value or "" for name, value in attrs if name == "href"]
        self.handlers += [name for name, _ in attrs if name.startswith("on") or name == "style"]

    def handle_data(self, data: str) -> None:
        self.words += data


def ok(answer: Answer) -> Page:
    assert answer.status == 200, answer.text[:2000]
    return Page(answer.text)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(create_app(hostile_home(tmp_path_factory.mktemp("hostile")))) as url:
        yield url


def test_the_map_shows_the_newest_drop_with_all_that_is_degraded(
    portal_url: str, home: Settings
) -> None:
    answer = ask(portal_url, "/")
    page = ok(answer)
    view = load_fabric_view(home, "crc-multibit-lane")
    degraded = view.degraded()
    assert degraded
    picks = re.findall(r'class="pick" href="([^"]*)"', answer.text)
    assert picks == [f"/?link={quote(link.a.component, safe='')}" for link in degraded]
    assert {f"/incidents/{i}" for link in degraded for i in link.incidents} <= set(page.links)
    watched = sum(link.state == "watch" for link in degraded)
    assert f"{len(degraded) - watched} degraded link, {watched} to watch" in page.words
    assert {f"/nodes/{node.name}" for node in view.nodes} <= set(page.links)


def test_the_worst_link_comes_first(portal_url: str) -> None:
    text = ask(portal_url, "/").text
    labels = re.findall(r'class="pick" href="[^"]*" aria-label="([A-Za-z]+): ([^"]*)"', text)
    order = [word for word, _ in labels]
    assert order == sorted(order, key=["Critical", "Warning", "Watch"].index)
    assert "gpu5/nvlink-11 of gpu-r11-n03 to nvswitch-2/port-30 of gpu-r11-n03" in labels[0][1]


def test_a_selected_link_is_told_and_the_others_step_back(portal_url: str) -> None:
    answer = ask(portal_url, f"/?link={quote(GUILTY)}")
    page = ok(answer)
    assert 'class="map has-selection"' in answer.text
    assert (
        len(
            re.findall(
                r'class="link critical selected" data-link="gpu-r11-n03:gpu5/nvlink-11"',
                answer.text,
            )
        )
        == 2
    )
    assert "nvswitch-2" in page.words
    assert "All degraded links" in page.words


def test_a_link_that_there_is_not_is_not_found(portal_url: str) -> None:
    assert ask(portal_url, "/?link=no-such:thing").status == 404
    assert ask(portal_url, "/nodes/no-such-node").status == 404
    assert ask(portal_url, "/racks/no-such-rack").status == 404
    assert ask(portal_url, "/?drop=no-such-drop").status == 404


def test_each_level_has_its_address_and_leads_up(portal_url: str) -> None:
    rack = ok(ask(portal_url, "/racks/r11"))
    assert "/" in rack.links
    assert "/nodes/gpu-r11-n03" in rack.links
    assert "/nodes/gpu-r12-n01" not in rack.links
    node = ok(ask(portal_url, "/nodes/gpu-r11-n03"))
    assert {"/", "/racks/r11"} <= set(node.links)
    for said in (
        "U19",
        "KX246663851",
        "CPU socket 1",
        "PCIe switch 5",
        "NVSwitch 2",
        "mlx5_9",
        "GPU 5",
    ):
        assert said in node.words


@pytest.mark.parametrize("mask", ["health", "errors", "utilisation", "width"])
def test_each_mask_has_a_legend_and_keeps_the_place(portal_url: str, mask: str) -> None:
    for path in ("/", "/racks/r11", "/nodes/gpu-r11-n03"):
        page = ok(ask(portal_url, f"{path}?mask={mask}&drop=missing-data"))
        assert "No data" in page.words
        if mask != "health":
            assert "not known" in page.words
        other = "errors" if mask != "errors" else "width"
        assert f"{path}?drop=missing-data&mask={other}" in page.links
    assert ask(portal_url, "/?mask=beauty").status == 400


def test_drops_are_stepped_through(portal_url: str) -> None:
    newest, older = ok(ask(portal_url, "/")), ok(ask(portal_url, "/?drop=missing-data"))
    assert "/?drop=missing-data" in newest.links
    assert "/?drop=crc-multibit-lane" in older.links
    assert "without data" in older.words or "No data" in older.words


def test_the_exported_picture_stands_alone(portal_url: str) -> None:
    for query in ("", "?drop=missing-data&mask=errors", "?node=gpu-r11-n03", "?rack=r12"):
        answer = ask(portal_url, f"/map.svg{query}")
        assert answer.headers["content-type"].startswith("image/svg+xml")
        assert ".svg" in answer.headers["content-disposition"]
        root = ET.fromstring(answer.text)  # noqa: S314 - our own markup
        style = root.findtext("{http://www.w3.org/2000/svg}style") or ""
        used = set(re.findall(r"var\((--[a-z-]+)\)", style))
        assert used
        assert used <= set(re.findall(r"(--[a-z-]+):", style))
        assert not re.search(r"url\((?!#)|@import|https?://", style)


def test_hostile_names_stay_text_on_every_map(hostile: str) -> None:
    paths = ["/", "/?mask=errors", "/search?q=alert", "/map.svg"]
    paths += [f"/nodes/{quote(name, safe='')}" for name in NAMES]
    paths += [f"/racks/{quote(name, safe='')}" for name in NAMES]
    for path in paths:
        answer = ask(hostile, path)
        page = ok(answer)
        assert page.handlers == []
        assert "img" not in page.tags
        assert page.own_scripts == 0
        pictures = "".join(re.findall(r"<svg.*?</svg>", answer.text, re.DOTALL))
        assert not set("\u202e\u202c\u200f\x07") & set(pictures)


def test_hostile_names_are_shown(hostile: str) -> None:
    page = ok(ask(hostile, "/"))
    for name in (NAMES[0], NAMES[2], "=1+1", NAMES[6], NAMES[7]):
        assert name in page.words
    node = ok(ask(hostile, f"/nodes/{quote(NAMES[3], safe='')}"))
    assert NAMES[3] in node.words


def test_nothing_read_yet_says_what_to_do(tmp_path: Path) -> None:
    with served(create_app(Settings(root=ROOT, home=tmp_path / "nothing"))) as url:
        answer = ask(url, "/")
        assert answer.status == 404
        assert "fabric-pipeline run" in answer.text


def test_a_thousand_nodes_are_a_light_page(thousand: Settings) -> None:
    """How long it takes is measured in benchmarks/portal_pages.py and held in the acceptance checks."""
    with served(create_app(thousand)) as url:
        first = ask(url, "/")
    assert first.status == 200
    assert len(gzip.compress(first.text.encode())) < 100 * 1024


def test_no_link_is_made_that_no_page_shows(thousand: Settings) -> None:
    app = create_app(thousand)
    stated = str(part_path(thousand.lake, "fabric_topology", "large"))
    with served(app) as url:
        for path in ("/", "/?mask=errors", "/matrix", "/racks/r1011", "/nodes/gpu-r1011-n01"):
            assert ask(url, path).status == 200
    view = app.state.portal.view()
    # Those in trouble, those of one rack, and a few that the table of the matrix shows.
    assert view.links.made < 5_000 < len(view.links)
    # None of the stated links is lost on the way, however alike their names are.
    count = "select count(*) from read_parquet(?) where kind = 'link'"
    assert len(view.links) == scalar(connect(), count, [stated])


def test_scalable_units_are_read_off_the_cabling(thousand: Settings, home: Settings) -> None:
    units = units_of(load_fabric_view(thousand))
    assert len(units) == 32
    assert [len(unit.nodes) for unit in units[:3]] == [32, 32, 32]
    assert sum(len(unit.nodes) for unit in units) == 1024
    assert all(len(unit.leaves) == 8 for unit in units)
    # Eight nodes on the same leaves are one unit: the floor itself.
    assert units_of(load_fabric_view(home)) == []


def test_a_unit_has_its_map_and_another_is_not_found(thousand: Settings) -> None:
    with served(create_app(thousand)) as url:
        page = ok(ask(url, "/su/2"))
        assert "32 nodes, 8 racks, 8 leaf switches" in page.words
        assert "/racks/r1111" in page.links
        assert "/racks/r1011" not in page.links
        assert {"/", "/su/1"} <= set(ok(ask(url, "/racks/r1011")).links)
        assert "/su/32" in ok(ask(url, "/")).links
        assert ask(url, "/map.svg?su=2").text.count('class="card') == 32
        for number in ("0", "33", "x", "1%2F2"):
            assert ask(url, f"/su/{number}").status == 404
