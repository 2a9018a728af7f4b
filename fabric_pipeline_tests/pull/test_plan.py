"""What is asked for: lengths, times, matchers, and stretches that cover a window once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.errors import UsageError
from fabric_pipeline.pull.plan import (
    Stretch,
    duration,
    family_selector,
    instant,
    matchers,
    samples_query,
    stretches,
)
from fabric_pipeline.sources.prometheus.wanted import is_wanted

START = datetime(2026, 3, 4, 8, 0, tzinfo=UTC)


@given(seconds=st.integers(15, 31 * 86400), series=st.integers(0, 10**7))
def test_stretches_cover_the_window_once(seconds: int, series: int) -> None:
    whole = Stretch(START, START + timedelta(seconds=seconds))
    parts = list(stretches(whole, series))
    assert parts[0].after == whole.after
    assert parts[-1].until == whole.until
    assert all(a.until == b.after for a, b in pairwise(parts))
    assert sum(part.seconds for part in parts) == seconds
    assert all(part.seconds >= 8 for part in parts)


def test_halves_meet_and_end_at_the_shortest() -> None:
    whole = Stretch(START, START + timedelta(seconds=61))
    first, second = whole.halves()
    assert (first.after, first.until, second.until) == (whole.after, second.after, whole.until)
    with pytest.raises(ValueError, match="shortened"):
        Stretch(START, START + timedelta(seconds=29)).halves()


@pytest.mark.parametrize("text", ["1h", "90m", " 2d ", "15s"])
def test_lengths_are_read(text: str) -> None:
    assert duration(text) in (
        timedelta(hours=1), timedelta(minutes=90), timedelta(days=2), timedelta(seconds=15),
    )  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", "1", "h", "1.5h", "-1h", "0s", "14s", "32d", "1h; drop", "1y"]
)
def test_other_lengths_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="length of time"):
        duration(text)


def test_times_are_utc_unless_they_say() -> None:
    assert instant("2026-03-04T08:00:00") == START
    assert instant("2026-03-04T09:00:00.250+01:00") == START
    with pytest.raises(UsageError, match="no time"):
        instant("yesterday")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", ""),
        ('cluster="a"', 'cluster="a"'),
        ('{cluster="a", job=~"dcgm.*"}', 'cluster="a", job=~"dcgm.*"'),
        (r'path="a\"b"', r'path="a\"b"'),
    ],
)
def test_matchers_are_passed_on(text: str, kept: str) -> None:
    assert matchers(text) == kept


@pytest.mark.parametrize(
    "text", ["cluster=a", 'a="b"}[1h]', 'a="b" or up', '"a"', 'a="b",,c="d"', 'a="\n"']
)
def test_anything_else_is_no_matcher(text: str) -> None:
    with pytest.raises(UsageError, match="label matchers"):
        matchers(text)


def test_queries_ask_for_raw_samples_of_the_families() -> None:
    stretch = Stretch(START, START + timedelta(seconds=600))
    assert samples_query("x", "", stretch) == "x[601s]"
    assert samples_query("x", 'a="b"', stretch) == 'x{a="b"}[601s]'
    assert family_selector('a="b"').endswith('.*",a="b"}')


def test_only_what_a_reader_takes_is_wanted() -> None:
    for name in (
        "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
        "node_infiniband_symbol_error_total",
        "node_uname_info",
        "nccl_bus_bandwidth_gbs",
    ):
        assert is_wanted(name)
    for name in ("DCGM_FI_DEV_FB_USED", "node_load1", "node_cpu_seconds_total", "up", "nccl_other"):
        assert not is_wanted(name)
