"""`/compare` as it is served: how to get there, counts first, worst first, both drops one step away, text that stays text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import quote

import pytest

from fabric_pipeline_tests.portal.link_homes import BEFORE, DROP, LINK, portal
from fabric_pipeline_tests.portal.serving import ask
from fabric_pipeline_tests.workflows.fabric_lake import START, Lake, all_ends, incident, topology
from fabric_pipeline_tests.workflows.test_drop_compare_rates import checked, lake, steps

PAGE = f"/compare?a={DROP}&b={BEFORE}"
OTHERS = {"new": "ada-02:gpu0/nvlink-0", "worse": "ada-02:gpu1/nvlink-0", "ongoing": "ada-02:gpu2/nvlink-0"}  # fmt: skip


@pytest.mark.parametrize(
    "path",
    [f"/?drop={BEFORE}", f"/links/{LINK}?drop={BEFORE}", f"/links/{LINK}?drop={BEFORE}&panel=1"],
)
def test_pages_lead_to_what_changed_since_the_drop_before(portal_url: str, path: str) -> None:
    page = ask(portal_url, path).text
    found = re.search(r'href="(/compare\?[^"]*)"', page)
    assert found is not None
    address = found[1].replace("&amp;", "&")
    assert address.startswith(f"/compare?a={DROP}&b={BEFORE}")
    if "/links/" in path:
        assert address.endswith(f"&link={quote(LINK, safe='')}")
        assert "The chosen link" in ask(portal_url, address).text


def test_the_title_tells_what_a_chat_needs(portal_url: str) -> None:
    page = ask(portal_url, PAGE).text
    assert f"<title>{DROP} → {BEFORE}: 1 quiet, 168 lost data" in page


def test_each_drop_can_be_chosen_on_the_axis(portal_url: str) -> None:
    page = ask(portal_url, f"{PAGE}&link={quote(LINK)}").text
    strip = page[page.index("drop-strip pair") : page.index("</nav>", page.index("drop-strip pair"))]  # fmt: skip
    hrefs = re.findall(r'href="([^"]+)" class="drop', strip)
    assert len(hrefs) == 4
    assert all("link=" in href for href in hrefs)
    assert strip.count('aria-current="true"') == 2
    assert f'aria-label="Earlier: {DROP}, ' in strip
    assert f'aria-label="Later: {BEFORE}, ' in strip


def test_one_link_is_compared_by_errors_in_measured_time(portal_url: str) -> None:
    page = ask(portal_url, f"{PAGE}&link={quote(LINK)}").text
    focus = page[page.index("The chosen link") : page.index("Accused components")]
    assert "25,328/h in 60 min" in focus
    assert re.search(r"0/h in \d+ min", focus)
    assert f'href="/links/{LINK}?drop={DROP}"' in focus
    assert f'href="/links/{LINK}?drop={BEFORE}"' in focus
    missing = ask(portal_url, f"{PAGE}&link=nowhere:gpu0/nvlink-1")
    assert missing.status == 200
    assert "neither drop has a link that ends at" in missing.text


def test_the_later_drop_alone_brings_the_one_measured_before_it(portal_url: str) -> None:
    away = ask(portal_url, f"/compare?b={BEFORE}&link={quote(LINK)}")
    assert away.headers["location"] == f"/compare?a={DROP}&b={BEFORE}&link={quote(LINK, safe='')}"
    assert ask(portal_url, f"/compare?a={DROP}").headers["location"] == f"/compare?a={DROP}&b={BEFORE}"  # fmt: skip
    assert ask(portal_url, "/compare?b=nowhere").headers["location"] == "/compare?a=nowhere&b=nowhere"  # fmt: skip
    assert ask(portal_url, "/compare?a=nowhere&b=nowhere").status == 404


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Two drops a day apart in which every kind of change occurs once."""
    home = tmp_path_factory.mktemp("changed")
    first = lake(home, "a", steps(5000.0, 5000.0), accused=True)
    first.incidents(
        incident(1, "ada-01:gpu1/nvlink-2", "WARNING", drop="a"),
        incident(3, OTHERS["worse"], "WARNING", drop="a", degradation_pct=10.0),
        incident(4, OTHERS["ongoing"], "WARNING", drop="a"),
        incident(5, "bob-01:gpu0/nvlink-0", "CRITICAL", drop="a"),
    )
    after = topology()
    a, b = (next(one for one in after.links if one["id"] == f"ada-01:mlx5_{n}/1") for n in (0, 1))
    a["b"], b["b"] = b["b"], a["b"]
    next(one for one in after.links if one["id"] == "ada-02:mlx5_0/1")["cable"] = "CAB-99"
    after.nodes[1]["serial"] = "SER-NEW"
    second = lake(home, "b", steps(0.0, 0.0), accused=False, at=START + timedelta(days=1))
    second.topology(after)
    silent = Lake(home, "b")
    quiet = {"counter": "replay", "kind": "cumulative", "scope": "link", "value": 0.0, "delta": 0.0, "elapsed_s": 3600.0, "quality": "ok"}  # fmt: skip
    silent.write("link_counters", [
        silent._row("link_counters", node=node, interface=interface, link_type="nvlink", sample=n,
                    ts=START + timedelta(days=1, hours=n), **quiet)
        for node, interface in all_ends(topology()) if node != "bob-01" and "leaf" not in interface for n in (1, 2)
    ])  # fmt: skip
    second.incidents(
        incident(2, OTHERS["new"], "CRITICAL", drop="b"),
        incident(3, OTHERS["worse"], "WARNING", drop="b", degradation_pct=40.0),
        incident(4, OTHERS["ongoing"], "WARNING", drop="b"),
    )
    checked(second, "clean", repaired_at=START + timedelta(hours=9))
    with portal(second.settings) as url:
        yield url


def test_every_kind_of_change_is_counted_first_and_listed_worst_first(changed: str) -> None:
    page = ask(changed, "/compare?a=a&b=b").text
    tally = page[page.index('class="tally"') : page.index("</ul>", page.index('class="tally"'))]
    found = re.findall(r'class="change (\w+)">[^<]*</span><b>([\d,]+)</b>', tally)
    counts = {kind: int(count.replace(",", "")) for kind, count in found}
    lost = counts.pop("lost_data")
    assert lost > 20
    assert counts == {"new": 1, "worse": 1, "ongoing": 1, "repaired": 1, "not_measured": 1, "recabled": 2, "cable": 1, "serial": 1}  # fmt: skip
    table = page[page.index("Accused components") : page.index("</table>", page.index("Accused components"))]  # fmt: skip
    rows = re.findall(r'<th scope="row"><span class="change (\w+)"', table)
    assert rows == ["new", "worse", "ongoing", "repaired", "not_measured"]
    assert table.count(">before</a>") == table.count(">after</a>") == 5


def test_a_node_that_went_silent_leads_to_its_node(changed: str) -> None:
    page = ask(changed, "/compare?a=a&b=b").text
    assert 'href="/nodes/bob-01?drop=a"' in page
    assert 'href="/nodes/bob-01?drop=b"' in page
