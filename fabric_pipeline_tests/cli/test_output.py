"""Printing: text from telemetry cannot steer a terminal, JSON is JSON, tables are aligned."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.cli.output import plain, put_json, put_table, say


@given(st.text())
def test_plain_text_is_one_printable_line(text: str) -> None:
    shown = plain(text)
    shown.encode("utf-8")
    assert not set(shown) & {chr(code) for code in (*range(32), 127, *range(128, 160))}
    assert not set(shown) & set("\u200b\u202e\u2066\ufeff")


def test_plain_text_keeps_what_a_person_reads() -> None:
    assert plain("Müller 5 µs → 2\tx\ny") == "Müller 5 µs → 2 x y"
    assert plain("\x1b[31mred\udcff") == "\ufffd[31mred\ufffd"


def test_json_has_no_nan_no_infinity_and_no_control_character(
    capsys: pytest.CaptureFixture[str],
) -> None:
    put_json({"a": math.nan, "b": [math.inf, 1.5], "c": ("\x9b1m\u202e", "ü\udcff")})
    out = capsys.readouterr().out
    assert json.loads(out) == {"a": None, "b": ["inf", 1.5], "c": ["\x9b1m\u202e", "ü\udcff"]}
    assert out.isascii()


def test_a_table_is_aligned_and_cut(capsys: pytest.CaptureFixture[str]) -> None:
    put_table(("id", "says"), [("a", "x" * 30), ("bcd", "\x1b[2J")], widest=10)
    assert capsys.readouterr().out.splitlines() == [
        "id   says",
        "---  ----------",
        "a    xxxxxxxxx…",
        "bcd  \ufffd[2J",
    ]


def test_talk_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    say("hello")
    assert capsys.readouterr() == ("", "hello\n")
