"""The strip of drops: where marks stand, that none is lost or on another, and that it keeps what is looked at."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.portal.drop_layout import MOST_LANES, MOST_MARKS, Axis, axis_of
from fabric_pipeline.portal.drop_strip import duration, found_words, span_of
from fabric_pipeline.workflows.drop_axis import DropMark
from fabric_pipeline_tests.portal.link_homes import BEFORE, DROP, LINK, portal
from fabric_pipeline_tests.portal.serving import ask
from fabric_pipeline_tests.workflows.fabric_lake import Lake
from fabric_pipeline_tests.workflows.test_drop_axis import drop

START = datetime(2031, 5, 6, 7, tzinfo=UTC)


def mark(name: str, start_min: float, minutes: float = 60) -> DropMark:
    start = START + timedelta(minutes=start_min)
    return DropMark(name, start, start + timedelta(minutes=minutes), is_judged=True)


def left_to_right(axis: Axis) -> list[str]:
    return [bar.mark.drop for bar in sorted(axis.bars, key=lambda bar: bar.left)]


def test_even_drops_and_gaps_are_drawn_to_scale() -> None:
    axis = axis_of([mark("a", 0), mark("b", 120), mark("c", 240)], "b")
    assert [round(bar.left) for bar in axis.bars] == [0, 40, 80]
    assert {round(bar.width) for bar in axis.bars} == {20}
    assert [(round(gap.left), round(gap.width), gap.is_cut) for gap in axis.gaps] == [(20, 20, False), (60, 20, False)]  # fmt: skip


def test_a_long_gap_is_shortened_and_says_its_true_length() -> None:
    axis = axis_of([mark("a", 0), mark("b", 120), mark("c", 60 * 24 * 9)], "a")
    long = axis.gaps[1]
    assert long.is_cut
    assert duration(long.start, long.end) == "8 d 21 h"
    assert axis.bars[2].width > 15


def test_drops_of_one_time_stand_under_each_other() -> None:
    axis = axis_of([mark("a", 0), mark("b", 0), mark("c", 30), mark("d", 200)], "a")
    lanes = {bar.mark.drop: bar.lane for bar in axis.bars}
    assert (sorted(lanes[name] for name in "abc"), lanes["d"]) == ([0, 1, 2], 0)
    many = axis_of([mark(f"d{n}", 0) for n in range(9)], "d8")
    assert (len(many.bars), many.under) == (MOST_LANES + 1, 3)
    assert "d8" in left_to_right(many)
    assert many.lanes == MOST_LANES + 1


def test_of_very_many_drops_those_around_the_chosen_one_are_drawn() -> None:
    marks = [mark(f"d{n:03}", 90 * n) for n in range(300)]
    axis = axis_of(marks, "d150")
    names = left_to_right(axis)
    assert (len(names), axis.before, axis.after) == (MOST_MARKS, 132, 132)
    assert "d150" in names
    assert left_to_right(axis_of(marks, "d299"))[-1] == "d299"
    assert left_to_right(axis_of(marks, "d000"))[0] == "d000"
    both = left_to_right(axis_of(marks, "d100", "d130"))
    assert {"d100", "d130"} <= set(both)
    assert "d020" in left_to_right(axis_of(marks, "d200", "d020"))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60_000), st.integers(0, 5_000)), min_size=1, max_size=45))
def test_no_mark_leaves_the_axis_or_covers_another(times: list[tuple[int, int]]) -> None:
    marks = [mark(f"d{n}", start, minutes) for n, (start, minutes) in enumerate(times)]
    axis = axis_of(marks, "d0")
    assert len(axis.bars) + axis.before + axis.after + axis.under == len(marks)
    assert "d0" in left_to_right(axis)
    for bar in axis.bars:
        assert bar.width > 0
        assert bar.left >= 0
        assert bar.left + bar.width <= 100.001
        others = [one for one in axis.bars if one is not bar and one.lane == bar.lane]
        assert all(o.left + o.width <= bar.left + 0.001 or o.left >= bar.left + bar.width - 0.001 for o in others)  # fmt: skip


def test_nothing_found_is_said_of_a_judged_drop_alone() -> None:
    assert found_words(DropMark("a", is_judged=True)) == "nothing found"
    assert found_words(DropMark("a")) == "not diagnosed"
    assert found_words(DropMark("a", critical=1, watch=2, silent=1, is_judged=True)) == "1 critical, 2 watched, 1 record of missing data"  # fmt: skip
    assert span_of(DropMark("a")) == "without a time"


def marks_in(page: str) -> dict[str, str]:
    """Drop -> address of its mark."""
    strip = re.search(r'<nav class="drop-strip".*?</nav>', page, re.DOTALL)
    assert strip is not None
    hrefs = [href.replace("&amp;", "&") for href in re.findall(r'<a href="([^"]+)" class="drop ', strip[0])]  # fmt: skip
    return {parse_qs(urlsplit(href).query)["drop"][0]: href for href in hrefs}


def test_marks_keep_the_link_and_the_mask_but_not_the_window(portal_url: str) -> None:
    asked = f"/?drop={DROP}&mask=errors&link={quote(LINK)}&from=2026-11-20T10:05:00Z&to=2026-11-20T10:15:00Z"  # fmt: skip
    page = ask(portal_url, asked).text
    found = marks_in(page)
    assert set(found) == {DROP, BEFORE}
    query = parse_qs(urlsplit(found[BEFORE]).query)
    assert (query["link"], query["mask"], "from" in query) == ([LINK], ["errors"], False)
    assert f'aria-label="{DROP}, 2026-11-20 10:00 to 11:00 UTC, 1 critical, 5 watched, shown now"' in page  # fmt: skip
    assert page.count('aria-current="true"') >= 1


def test_a_link_page_leads_to_the_same_link_at_another_time(portal_url: str) -> None:
    page = ask(portal_url, f"/links/{quote(LINK)}?drop={DROP}").text
    there = marks_in(page)[BEFORE]
    assert urlsplit(there).path == f"/links/{quote(LINK)}"
    answer = ask(portal_url, there)
    assert answer.status == 200
    assert LINK in answer.text


def test_before_and_after_follow_the_data_not_the_reading(portal_url: str) -> None:
    # `missing-data` was read first and measured last.
    newest = ask(portal_url, f"/?drop={BEFORE}").text
    assert f'aria-label="Drop before in time: {DROP}"' in newest
    assert "Drop after in time" not in newest
    assert f'href="/compare?a={DROP}&amp;b={BEFORE}"' in newest
    first = ask(portal_url, f"/?drop={DROP}").text
    assert f'aria-label="Drop after in time: {BEFORE}"' in first
    assert "Drop before in time" not in first


def test_a_map_of_a_drop_without_the_chosen_link_stays_a_map(portal_url: str) -> None:
    answer = ask(portal_url, f"/?drop={DROP}&link=nowhere:gpu0/nvlink-1")
    assert answer.status == 404
    assert "has no link that ends at" in answer.text
    assert "<svg" in answer.text
    assert BEFORE in marks_in(answer.text)
    assert "data-panel-link" not in answer.text
    missing = ask(portal_url, f"/links/nowhere:gpu0/nvlink-1?drop={DROP}")
    assert missing.status == 404
    assert "This drop knows no such link" in missing.text
    assert BEFORE in marks_in(missing.text)


@pytest.fixture
def single(tmp_path: Path) -> Lake:
    return drop(tmp_path, "only", 0).judged()


def test_one_drop_needs_no_strip(single: Lake) -> None:
    with portal(single.settings) as url:
        assert "data-drop-strip" not in ask(url, "/").text


def test_drops_without_a_time_are_named_beside_the_axis(single: Lake, tmp_path: Path) -> None:
    drop(tmp_path, "timeless", 0, is_timed=False).judged()
    with portal(single.settings) as url:
        page = ask(url, "/?drop=only").text
        assert "Without a time:" in page
        assert ask(url, "/?drop=timeless").status == 200
