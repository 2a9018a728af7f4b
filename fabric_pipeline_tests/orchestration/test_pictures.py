"""The inline pictures: valid SVG whatever a name holds, and nothing cut without saying so."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta

import pytest

from fabric_pipeline.orchestration.pictures import timeline

START = datetime(2024, 5, 6, 7, tzinfo=UTC)
Row = tuple[str, datetime, datetime, bool]


def row(name: str, minute: float = 0, minutes: float = 5, *, grave: bool = True) -> Row:
    begin = START + timedelta(minutes=minute)
    return name, begin, begin + timedelta(minutes=minutes), grave


def drawn(rows: list[Row]) -> ET.Element:
    """The picture of the rows, parsed."""
    found = re.fullmatch(
        r"!\[Spikes\]\(data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)\)", timeline(rows, "Spikes")
    )
    assert found
    return ET.fromstring(base64.b64decode(found[1]))  # noqa: S314 - our own text


def texts(picture: ET.Element) -> list[str]:
    return [element.text or "" for element in picture.findall(".//{*}text")]


def test_nothing_to_draw_is_a_sentence() -> None:
    assert timeline([], "Spikes") == "Spikes: none."


def test_one_line_for_each_name_and_a_bar_for_each_interval() -> None:
    picture = drawn([row("a"), row("a", 20, 0, grave=False), row("b", 10)])
    assert texts(picture) == ["Spikes, 2024-05-06 07:00 to 07:20 UTC", "a", "b"]
    bars = [bar for bar in picture.findall(".//{*}rect") if bar.get("height") == "12"]
    assert len(bars) == 3
    assert min(float(bar.get("width", "0")) for bar in bars) == 2  # a moment can still be seen
    assert len({bar.get("fill") for bar in bars}) == 2


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "a & b", '"]]>', "Ω", "nul \0 esc \x1b half \udcff"]
)
def test_names_are_text_and_never_markup(name: str) -> None:
    picture = drawn([row(name)])
    assert texts(picture)[1] == re.sub("[\0\x1b\udcff]", "\ufffd", name)
    assert {element.tag.rpartition("}")[2] for element in picture.iter()} == {
        "svg", "rect", "line", "text",
    }  # fmt: skip


def test_what_is_not_shown_is_counted() -> None:
    picture = drawn([row(f"link-{number}") for number in range(30)])
    assert texts(picture)[0].endswith("(24 of 30 shown)")
    assert len(texts(picture)) == 25


def test_an_end_on_another_day_says_so() -> None:
    heading = texts(drawn([row("a", 0, 60 * 30)]))[0]
    assert heading == "Spikes, 2024-05-06 07:00 to 2024-05-07 13:00 UTC"
