"""Pages of a link, its panel, the series behind the charts, and the comparison of two drops, as they are served."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.pipeline_runs import ROOT, copy_home
from fabric_pipeline_tests.portal.link_homes import DROP, LINK, SILENT, portal
from fabric_pipeline_tests.portal.serving import Answer, ask
from fabric_pipeline_tests.workflows.fabric_lake import START, Lake, incident, spike

HOSTILE = "<script>alert(1)</script>\u202e\"'\n=1+1"
INCIDENT, TICKET = "INC-8f1e83714874", "T-8f1e83714874"


@pytest.fixture(scope="module")
def url(home: Settings) -> Iterator[str]:
    with portal(home) as address:
        yield address


def series(url: str, **asked: str) -> dict[str, Any]:
    query = "&".join(f"{name}={quote(value)}" for name, value in asked.items())
    answer = ask(url, f"/api/series?{query}")
    assert answer.status == 200
    found: dict[str, Any] = json.loads(answer.text)
    return found


def link_page(url: str, component: str, query: str) -> Answer:
    return ask(url, f"/links/{quote(component)}?{query}")


def test_a_link_says_where_it_is_what_it_counted_and_why(url: str) -> None:
    page = link_page(url, LINK, f"drop={DROP}").text
    for said in ("NVLink 11 of GPU 5 to nvswitch-2 port 30", "SXM5-6", "rack r11", "25,328", "operators&#39; plain rule",
                 "multi-bit", "chance alone gives", "Other explanations", f'href="/tickets/{TICKET}"', f"Open {TICKET}"):  # fmt: skip
        assert said in page
    assert page.count("<h1") == 1


def test_the_panel_is_the_same_link_without_a_page(url: str) -> None:
    panel = link_page(url, LINK, f"drop={DROP}&panel=1").text
    assert panel.lstrip().startswith("<article")
    assert "<html" not in panel
    assert f"Open {TICKET}" in panel
    assert f'data-panel-link="{LINK}"' in panel


def test_an_incident_without_a_ticket_can_be_drafted(home: Settings, tmp_path: Path) -> None:
    copy_home(home.home, tmp_path / "home")
    for part in (tmp_path / "home").glob("ledger.sqlite*"):
        part.unlink()
    with portal(Settings(root=ROOT, home=tmp_path / "home")) as url:
        page = link_page(url, LINK, f"drop={DROP}").text
    form = re.search(r'<form method="post" action="/drafts">.*?</form>', page, re.DOTALL)
    assert form is not None
    assert f'name="incident" value="{INCIDENT}"' in form[0]
    assert f'name="drop" value="{DROP}"' in form[0]
    assert "Draft repair ticket" in form[0]


def test_a_silent_link_is_neither_healthy_nor_zero(url: str) -> None:
    page = link_page(url, SILENT, "drop=missing-data").text
    assert 'class="state no_data"' in page
    assert "not known to be healthy" in page
    assert "no timed counter" in page
    assert "/drafts" not in page
    strip = series(url, drop="missing-data", link=SILENT)["strips"][0]
    assert set(strip["errors"]) == {None}
    assert strip["total"] is None


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/links/gpu-r11-n03:gpu9/nvlink-77", 404),
        ("/links/", 404),
        ("/links/" + "x" * 3000, 404),
        (f"/links/{LINK}?drop=no-such-drop", 404),
        (f"/links/{LINK}?drop={DROP}&from=yesterday&to=now", 400),
        (f"/links/{LINK}?drop={DROP}&from=2026-11-20T11:00&to=2026-11-20T10:00", 400),
        ("/api/series?link=nowhere:gpu0", 404),
        ("/compare?a=no-such-drop&b=other", 404),
        (f"/compare?a={DROP}&b={DROP}", 400),
    ],
)
def test_what_is_not_there_is_said(url: str, path: str, status: int) -> None:
    answer = ask(url, path)
    assert answer.status == status
    assert "Traceback" not in answer.text


def test_the_errors_of_the_culprit_line_up_with_slow_time(url: str) -> None:
    found = series(url, drop=DROP, link=LINK)
    clock, strip = found["clock"], found["strips"][found["chosen"]]
    slow = [(a, b) for a, b, *_ in found["runs"][0]["slow"]]
    assert len(slow) == 3
    inside = outside = 0.0
    for place, errors in enumerate(strip["errors"]):
        middle = clock["start"] + (place + 0.5) * clock["step"]
        near = any(a - 30 <= middle <= b + 30 for a, b in slow)
        inside, outside = inside + errors * near, outside + errors * (not near)
    assert inside > 50_000
    assert outside < 0.01 * inside


def test_the_series_are_small_and_asked_for_once(url: str) -> None:
    path = f"/api/series?drop={DROP}&link={LINK}"
    first = ask(url, path)
    assert len(gzip.compress(first.text.encode())) < 8_000
    assert all(len(one["errors"]) <= 2_000 for one in json.loads(first.text)["strips"])
    assert first.headers["cache-control"] == "private, no-cache"
    again = ask(url, path, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status, again.text) == (304, "")
    other = ask(url, f"/api/series?drop={DROP}", headers={"If-None-Match": first.headers["etag"]})
    assert other.status == 200


def test_the_tables_say_what_the_drawing_shows(url: str) -> None:
    page = ask(url, f"/timeline?drop={DROP}&link={LINK}").text
    assert (
        page.count("<tr>") == 1 + 6 + 1
    )  # head, slow intervals of two sizes, the rest of the time
    narrowed = ask(url, f"/timeline?drop={DROP}&from=2026-11-20T10:00:00Z&to=2026-11-20T10:15:00Z").text  # fmt: skip
    assert narrowed.count("<tr>") == 1 + 2 + 1
    assert 'value="2026-11-20 10:15:00"' in narrowed


def test_strips_lead_to_the_panel_beside_a_map_and_else_to_the_page(url: str) -> None:
    beside = ask(url, f"/timeline?drop={DROP}&at=/nodes/gpu-r11-n03").text
    assert f'href="/nodes/gpu-r11-n03?drop={DROP}&amp;link=' in beside
    assert "data-pick=" in beside
    for at in ("//evil.test/", "https://evil.test", "/queue", "javascript:alert(1)"):
        plain = ask(url, f"/timeline?drop={DROP}&at={quote(at)}").text
        assert "evil" not in plain
        assert f'href="/links/{LINK}?drop={DROP}"' in plain


def test_two_drops_are_compared_by_default_and_by_name(url: str) -> None:
    away = ask(url, "/compare")
    assert (away.status, away.headers["location"]) == (303, f"/compare?a={DROP}&b=missing-data")
    page = ask(url, away.headers["location"]).text
    assert "gpu-r12-n04" in page
    assert "168 links without data" in page
    assert f'href="/?drop={DROP}&amp;link=' in page
    assert "Traceback" not in page
    assert ask(url, "/compare?b=missing-data").headers["location"].startswith("/compare?a=")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Two drops in which every name is hostile; the link errs and has an incident."""
    home = tmp_path_factory.mktemp("hostile")
    end = (HOSTILE, "gpu0/nvlink-1")
    for drop, severity in (("a", "WARNING"), ("b", "CRITICAL")):
        lake = Lake(home, drop).counters([end, (HOSTILE, "gpu0/nvlink-2")])
        lake.spikes(spike(end, "replay", 90.0))
        component = f"{HOSTILE}:gpu0/nvlink-1"
        lake.incidents(incident(1, component, severity, drop=drop, summary=HOSTILE))
        timing = {
            "run": HOSTILE, "run_nodes": "[]", "communicator": HOSTILE, "op": HOSTILE, "duration_us": 900.0,
            "unit_kind": "collective",
        }  # fmt: skip
        rows = [lake._row("collective_timings", entry=n, seq=n, ts=START + timedelta(minutes=n), **timing) for n in range(9)]  # fmt: skip
        lake.write("collective_timings", rows)
    with portal(lake.settings) as url:
        yield url


@pytest.mark.parametrize(
    "path",
    [
        f"/links/{quote(HOSTILE)}:gpu0/nvlink-1?drop=b",
        f"/links/{quote(HOSTILE)}:gpu0/nvlink-1?drop=b&panel=1",
        f"/timeline?drop=b&run={quote(HOSTILE)}",
        "/compare?a=a&b=b",
    ],
)
def test_names_that_look_like_code_stay_text(hostile: str, path: str) -> None:
    answer = ask(hostile, path)
    assert answer.status == 200
    assert "&lt;script&gt;" in answer.text
    assert "<script>alert" not in answer.text
    assert "\u202e" not in re.sub(r'(?:data-[a-z-]+|value)="[^"]*"', "", answer.text)
    assert not re.search(r'\s(?:style|on[a-z]+)="', answer.text)


def test_series_of_hostile_names_are_plain_json(hostile: str) -> None:
    found = series(hostile, drop="b")
    assert found["strips"][0]["name"].startswith("<script>")
    assert "\n" not in found["runs"][0]["title"]
