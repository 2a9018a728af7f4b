"""Nothing breaks out of a picture: whatever a name contains comes back as text or as one attribute."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.portal.svg import (
    address,
    cut,
    element,
    escaped,
    joined,
    number,
    stylesheet,
    text_width,
    title,
)

TEXTS = st.text(max_size=80) | st.sampled_from(
    ["</text><script>alert(1)</script>", "\" onload=\"x", "]]>", "<!--", "&lt;", "\u202eabc", "\x00\x1b", "=1+1"]
)  # fmt: skip


class Tags(HTMLParser):
    """Collects elements, attributes and text as a browser would read them."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


@given(TEXTS, TEXTS)
def test_texts_and_attributes_come_back_as_they_are(said: str, named: str) -> None:
    markup = str(element("g", {"aria_label": named}, title(said), said))
    read = Tags()
    read.feed(markup)
    read.close()
    assert read.tags == ["g", "title"]
    assert [name for name, _ in read.attributes] == ["aria-label"]
    assert (read.attributes[0][1] or "") == shown(named)
    assert read.text == shown(said) * 2
    root = ET.fromstring(markup)  # noqa: S314 - our own markup
    assert len(list(root.iter())) == 2


def shown(text: str) -> str:
    """The text with what no picture can show replaced, as `escaped` does."""
    plain = escaped(text)
    for entity, sign in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#39;", "'"), ("&amp;", "&")):  # fmt: skip
        plain = plain.replace(entity, sign)
    return plain


@given(st.text(max_size=40))
def test_reading_direction_is_never_turned(said: str) -> None:
    assert not set(escaped(said + "\u202e\u2066\u200f")) & set("\u202e\u2066\u200f\u202c")


@pytest.mark.parametrize(
    "name", ["onclick", "onLoad", "style", "a b", "x=y", "", "xlink:href", '"']
)
def test_attributes_with_no_place_in_a_picture_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="attribute"):
        element("rect", {name: "1"})


@pytest.mark.parametrize("tag", ["script", "foreignObject", "image", "iframe", "a href=x"])
def test_elements_with_no_place_in_a_picture_are_refused(tag: str) -> None:
    with pytest.raises(ValueError, match="element"):
        element(tag)


@pytest.mark.parametrize(
    "href",
    ["javascript:alert(1)", "http://evil.test/", "//evil.test", "/\\evil.test", "data:x", ""],
)
def test_links_lead_nowhere_else(href: str) -> None:
    with pytest.raises(ValueError, match="address"):
        element("a", {"href": href})


@given(TEXTS, TEXTS)
def test_every_name_makes_an_address_of_this_portal(name: str, drop: str) -> None:
    clean = name.encode("utf-8", "replace").decode()
    made = address("/nodes/", clean, drop=drop.encode("utf-8", "replace").decode())
    assert made.startswith("/nodes/")
    assert "/" not in made.removeprefix("/nodes/").partition("?")[0]
    assert 'href="/nodes/' in str(element("a", {"href": made}))


def test_a_style_sheet_cannot_end_itself() -> None:
    assert "<style>" in str(stylesheet("svg { fill: red; }"))
    for css in ("</style><script>", "a{content:'&'}"):
        with pytest.raises(ValueError, match="style sheet"):
            stylesheet(css)


@given(st.text(max_size=500), st.floats(20, 300))
def test_a_cut_text_fits_and_keeps_its_ends(said: str, width: float) -> None:
    short = cut(said, width, 12)
    assert text_width(short, 12) <= width or len(short) <= 3
    if short != said:
        assert "…" in short
        assert said.startswith(short.partition("…")[0])
        assert said.endswith(short.rpartition("…")[2])


def test_numbers_are_short() -> None:
    assert [number(value) for value in (1.0, 1.25, 0.126, -3.10)] == ["1", "1.25", "0.13", "-3.1"]
    assert str(joined([element("g"), None, element("g")])) == "<g/><g/>"
