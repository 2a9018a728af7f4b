"""Times and numbers of the normalized drop: strict, bounded, and the same in Python and in SQL."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.sources.normalized.fields import (
    optional_count,
    optional_int,
    optional_number,
    optional_span,
    optional_time,
    parse_time,
)
from fabric_pipeline.store.duck import connect, scalar

BERLIN = ZoneInfo("Europe/Berlin")
CONNECTION = connect()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-07-01T10:00:00", "2026-07-01T08:00:00"),
        ("2026-07-01T10:00:00Z", "2026-07-01T10:00:00"),
        ("2026-07-01 10:00:00+05:30", "2026-07-01T04:30:00"),
        ("2026-03-29T02:30:00", "2026-03-29T01:30:00"),  # never on a clock: set forward at 2
        ("2026-10-25T02:30:00", "2026-10-25T01:30:00"),  # twice on a clock: the second one
        ("2026-10-25T02:30:00+02:00", "2026-10-25T00:30:00"),
    ],
)
def test_a_time_without_offset_is_local(text: str, expected: str) -> None:
    wanted = datetime.fromisoformat(expected).replace(tzinfo=UTC)
    assert parse_time(text, BERLIN) == wanted
    assert optional_time(text, BERLIN) == wanted


@pytest.mark.parametrize(
    "text",
    ["1790000000", "20261120", "yesterday", "2026-13-01T00:00:00", "0001-01-01T00:00:00+14:00",
     "9999-12-31T23:59:59-14:00", "2026-01-01T00:00:00+99:00", "\ud800", "2026-11-20T08:00:00Z" * 50],
)  # fmt: skip
def test_what_is_no_time_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match="is not ISO 8601") as refusal:
        parse_time(text, BERLIN)
    assert len(str(refusal.value)) < 200


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2040, 1, 1)),  # noqa: DTZ001 - a local time
    st.none() | st.integers(-14 * 60, 14 * 60),
    st.sampled_from([" ", "T"]),
    st.sampled_from(["Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe", "UTC"]),
)
def test_sql_reads_the_same_moment(
    moment: datetime, offset: int | None, sep: str, zone: str
) -> None:
    if offset is not None:
        moment = moment.replace(tzinfo=timezone(timedelta(minutes=offset)))
    text = moment.isoformat(sep)
    CONNECTION.execute(f"set TimeZone = '{zone}'")
    micros = scalar(CONNECTION, "select epoch_us(try_cast(? as timestamptz))", [text])
    assert parse_time(text, ZoneInfo(zone)) == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(
        microseconds=micros
    )


@pytest.mark.parametrize("text", ["", None, "  "])
def test_an_empty_field_is_nothing(text: str | None) -> None:
    assert optional_number(text, "x") is None
    assert optional_int(text, "x") is None
    assert optional_count(text, "x") is None
    assert optional_span(text, "x") is None


@pytest.mark.parametrize(
    ("text", "rule"),
    [("1,5", "not a number"), ("0x10", "not a number"), ("1_000", "not a number"), ("٣", "not a number"),
     ("True", "not a number"), ("1e400", "not a finite"), ("nan", "not a finite"), ("-inf", "not a finite"),
     ("1e30", "larger than a 64-bit"), ("-5", "negative")],
)  # fmt: skip
def test_what_is_no_span_is_refused_in_words(text: str, rule: str) -> None:
    with pytest.raises(ValueError, match=rule) as refusal:
        optional_span(text, "duration_us")
    assert str(refusal.value).startswith("duration_us ")


@pytest.mark.parametrize("text", ["-1", "1.5", "1e30", str(2**63)])
def test_what_is_no_count_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="rank"):
        optional_count(text, "rank")
    assert optional_count("3.0", "rank") == 3
