"""Strings from telemetry become one visible line of limited length."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.drafting.sanitise import clean, clip, figure


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("gpu5/nvlink-11", "gpu5/nvlink-11"),
        ("a\x00b\r\nc\td", "a b c d"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("n\u200bo\u2060d\ufeffe", "node"),
        ("\u202eedon", "edon"),
        ("a\ufe0f\U000e0041b", "ab"),
        ("blank\u2800\u3164s", "blanks"),
        ("cafe\u0301", "café"),
        ("  spaced   out  ", "spaced out"),
    ],
)
def test_only_visible_characters_stay(raw: str, shown: str) -> None:
    assert clean(raw) == shown


def test_long_text_is_cut_with_a_mark() -> None:
    assert clean("word " * 500, 40) == "word word word word word word word word…"


@pytest.mark.parametrize("raw", ["x" * 10**6, "\u200b" * 10**6, "a " * 10**5])
def test_huge_strings_are_bounded(raw: str) -> None:
    assert len(clean(raw, 100)) <= 100


@given(st.text(max_size=300))
def test_nothing_invisible_ever_stays(raw: str) -> None:
    shown = clean(raw, 80)
    assert len(shown) <= 80
    assert not any(
        unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") for char in shown
    )
    assert clean(shown, 80) == shown


def test_clip_keeps_what_fits() -> None:
    assert clip("short", 10) == "short"
    assert clip("one two three", 9) == "one two…"


@pytest.mark.parametrize(
    ("value", "text"),
    [(61.3462, "61.3"), (832.0, "832"), (0.6667, "0.667"), (1234567.8, "1234567.8"), (0.0, "0")],
)
def test_figures_are_short_and_plain(value: float, text: str) -> None:
    assert figure(value) == text
