"""Old, future, half-read and newer data: said on every page, told to an open one, never green, never a trace."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from fabric_pipeline.portal.app import create_app
from fabric_pipeline.portal.views import KEPT_VIEWS, Views, Warmer
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.lake import part_path
from fabric_pipeline.store.run_mark import at_work
from fabric_pipeline.workflows.fabric_view import load_fabric_view
from fabric_pipeline.workflows.freshness import freshness
from fabric_pipeline_tests.portal.half_done import HALF_DONE, readings_alone, whole_home
from fabric_pipeline_tests.portal.serving import ask, served

PAGES = (
    "/", "/?mask=errors", "/?mask=width", "/matrix", "/matrix/p2p", "/incidents", "/search?q=ada", "/nodes/ada-01",
    "/queue", "/audit",
)  # fmt: skip


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[tuple[Settings, str]]:
    settings = whole_home(tmp_path)
    with served(create_app(settings)) as url:
        yield settings, url


@pytest.mark.parametrize("name", HALF_DONE)
def test_what_is_half_read_is_said_and_nothing_of_it_is_healthy(name: str, tmp_path: Path) -> None:
    make, said = HALF_DONE[name]
    with served(create_app(make(tmp_path))) as url:
        for path in PAGES:
            answer = ask(url, path)
            # An empty drop has no such node; that is said on a page too.
            assert answer.status == (404 if (name, path) == ("empty", "/nodes/ada-01") else 200), (
                path
            )
            assert "Traceback" not in answer.text
        text = ask(url, "/").text
    assert said in text
    if name != "without topology":  # there all ends were measured and judged
        assert " healthy</span>" not in text
        assert "Which links are degraded is not known" in text


def test_a_table_that_cannot_be_read_is_an_answer_of_its_own(tmp_path: Path) -> None:
    settings = whole_home(tmp_path)
    part_path(settings.lake, "link_counters", "d1").write_bytes(b"no parquet")
    with served(create_app(settings)) as url:
        answer = ask(url, "/")
    assert answer.status == 500
    assert "A table of drop d1 cannot be read" in answer.text
    assert "run the pipeline on it again" in answer.text


def test_a_time_of_the_future_is_not_fresh(tmp_path: Path) -> None:
    view = load_fabric_view(whole_home(tmp_path))
    early = freshness(view, datetime(2031, 5, 6, 8, 30, tzinfo=UTC))
    assert early.is_stale
    assert early.age == "a time of the future"
    assert not freshness(view, datetime(2031, 5, 6, 9, 30, tzinfo=UTC)).is_stale
    assert freshness(view, datetime(2031, 5, 6, 12, tzinfo=UTC)).is_stale


def test_an_open_page_asks_what_is_newest(growing: tuple[Settings, str]) -> None:
    settings, url = growing
    before = json.loads(ask(url, "/api/freshness?drop=d1").text)
    assert (before["newest"], before["state"], before["unread"]) == ("d1", "complete", [])
    whole_home(settings.home.parent, "d2")
    after = json.loads(ask(url, "/api/freshness?drop=d1").text)
    assert (after["newest"], after["shown"]) == ("d2", before["shown"])
    assert json.loads(ask(url, "/api/freshness?drop=no-such").text)["shown"] == ""


def test_a_new_drop_is_told_politely_on_the_open_page(
    growing: tuple[Settings, str], browser_page: Page
) -> None:
    settings, url = growing
    page = browser_page
    page.clock.install()
    page.goto(f"{url}/nodes/ada-01?drop=d1")
    told = page.locator("[data-news]")
    expect(told).to_be_empty()
    assert told.get_attribute("role") == "status"
    page.clock.fast_forward(21_000)
    expect(told).to_be_empty()
    whole_home(settings.home.parent, "d2")
    page.clock.fast_forward(21_000)
    expect(told).to_contain_text("A newer drop has been read: d2.")
    assert page.url.endswith("/nodes/ada-01?drop=d1")  # nothing is loaded before the reader asks
    told.get_by_role("link", name="Show the new drop").click()
    expect(page.locator("header.top .fresh").first).to_contain_text("d2")
    assert page.url.endswith("/nodes/ada-01")


def test_a_drop_that_is_read_again_is_told(
    growing: tuple[Settings, str], browser_page: Page
) -> None:
    settings, url = growing
    browser_page.clock.install()
    browser_page.goto(url)
    for name in ("fabric_topology", "link_counters", "spike_detections", "incident_records"):
        os.utime(part_path(settings.lake, name, "d1"))
    browser_page.clock.fast_forward(21_000)
    expect(browser_page.locator("[data-news]")).to_contain_text("has been processed again")


def test_a_run_at_work_is_said_at_the_head_of_the_page(tmp_path: Path) -> None:
    settings = readings_alone(tmp_path)
    with served(create_app(settings)) as url:
        with at_work(settings.home, "d1"):
            assert "A run is writing drop d1." in ask(url, "/").text
        assert "Drop d1 has not gone through all stages." in ask(url, "/").text


def test_views_are_kept_bounded_and_read_again_when_written(tmp_path: Path) -> None:
    for number in range(KEPT_VIEWS + 2):
        settings = whole_home(tmp_path, f"d{number}")
    views = Views(settings)
    first = views.view("d0")
    assert views.view("d0") is first
    for number in range(1, KEPT_VIEWS + 1):
        views.view(f"d{number}")
    assert views.view("d0") is not first
    kept = views.view("d0")
    os.utime(part_path(settings.lake, "link_counters", "d0"))
    assert views.view("d0") is not kept


def test_the_newest_drop_is_ready_before_anybody_asks(tmp_path: Path) -> None:
    settings = whole_home(tmp_path)
    views = Views(settings)
    warmer = Warmer(views, every_s=0.05)
    warmer.start()
    try:
        assert _soon(lambda: _ready_drop(views) == "d1")
        part_path(settings.lake, "link_counters", "d1").write_bytes(b"broken")
        whole_home(tmp_path, "d2").lake.touch()
        assert _soon(lambda: _ready_drop(views) == "d2")
    finally:
        warmer.stop()


def _ready_drop(views: Views) -> str:
    ready = views.newest_ready()
    return ready.drop if ready else ""


def _soon(happened: Callable[[], bool]) -> bool:
    for _ in range(200):
        if happened():
            return True
        time.sleep(0.05)
    return False
