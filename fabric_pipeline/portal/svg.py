"""The one place that makes SVG markup: elements whose every string is escaped, and texts that fit.

Whatever comes from telemetry is handed in as a plain string and stays text. Layouts live in `map_*`
modules; nothing here knows what a fabric is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, urlencode

Attrs = Mapping[str, object]
TAGS = frozenset(
    [
        "svg",
        "g",
        "a",
        "path",
        "rect",
        "circle",
        "line",
        "text",
        "tspan",
        "title",
        "desc",
        "defs",
        "pattern",
        "style",
        "use",
    ]
)
_NAME = re.compile(r"^[a-zA-Z][a-zA-Z0-9-]*$")
# Not allowed in XML at all, and signs that turn the reading direction of what stands beside them.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)
# Widths of Inter in parts of the type size, rounded up; exact measuring needs the font file.
_NARROW, _WIDE = frozenset("iIjlt.,:;|'!()[]/ -"), frozenset("mwMW@%")
_MAX_TITLE = 600


class Svg:
    """Ready markup. Templates take it as it is; text becomes one only through `element`."""

    __slots__ = ("_markup",)

    def __init__(self, markup: str) -> None:
        """Only for this module: everything else goes through `element` or `joined`."""
        self._markup = markup

    def __html__(self) -> str:
        """What a template inserts."""
        return self._markup

    __str__ = __html__


def element(tag: str, attrs: Attrs | None = None, *children: Svg | str | None) -> Svg:
    """One element. Attributes of None are left out; `_` in a name becomes `-`; strings are escaped.

    ValueError for tags, attribute names or addresses that have no place in a picture: event handlers,
    inline styles, and links to anywhere but this portal.
    """
    if tag not in TAGS:
        raise ValueError(f"<{tag}> is no element of these pictures")
    opening = tag + "".join(
        _attribute(name.replace("_", "-"), value)
        for name, value in (attrs or {}).items()
        if value is not None
    )
    inner = "".join(_markup(child) for child in children if child is not None)
    return Svg(f"<{opening}>{inner}</{tag}>" if inner else f"<{opening}/>")


def joined(parts: Iterable[Svg | None]) -> Svg:
    """Elements one after the other."""
    return Svg("".join(str(part) for part in parts if part is not None))


def stylesheet(css: str) -> Svg:
    """A style element for a picture that stands alone; refuses a sheet that could end it early."""
    if "<" in css or "&" in css:
        raise ValueError("a style sheet in a picture may not contain markup")
    return Svg(f"<style>{css}</style>")


def escaped(text: str) -> str:
    """Text for content and quoted attributes alike; characters that no picture can show become U+FFFD."""
    plain = _UNPRINTABLE.sub("\ufffd", text)
    for sign, entity in (
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ('"', "&quot;"),
        ("'", "&#39;"),
    ):
        plain = plain.replace(sign, entity)
    return plain


def number(value: float) -> str:
    """A length with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if value % 1 else f"{value:.0f}"


def address(*parts: str, **query: str | None) -> str:
    """A path of this portal: the first part as it stands, the others quoted, then the query."""
    path = parts[0] + "/".join(quote(part, safe="") for part in parts[1:])
    asked = {name: value for name, value in query.items() if value}
    return f"{path}?{urlencode(asked)}" if asked else path


def title(text: str) -> Svg:
    """What a pointer shows."""
    return element("title", None, text[:_MAX_TITLE])


def text_width(text: str, size: float) -> float:
    """About how wide a text is at a type size, rather too wide than too narrow."""
    return size * sum(_advance(sign) for sign in text)


def cut(text: str, width: float, size: float) -> str:
    """The text, with its middle left out when it would be wider: the ends of names tell them apart."""
    if text_width(text[:400], size) <= width:
        return text
    kept = min(len(text), 400) - 1
    while kept > 2 and text_width(_without_middle(text, kept), size) > width:
        kept -= 1
    return _without_middle(text, kept)


def _without_middle(text: str, kept: int) -> str:
    head = (kept + 1) // 2
    return f"{text[:head]}…{text[len(text) - (kept - head) :]}"


def _advance(sign: str) -> float:
    if sign in _NARROW:
        return 0.36
    if sign in _WIDE:
        return 0.92
    if ord(sign) > 0x2E7F:
        return 1.05
    return 0.68 if sign.isupper() else 0.6


def _attribute(name: str, value: object) -> str:
    if not _NAME.match(name) or name.lower().startswith("on") or name == "style":
        raise ValueError(f"{name!r} is no attribute of these pictures")
    said = number(value) if isinstance(value, int | float) else str(value)
    if name == "href" and (not said.startswith(("/", "#")) or said.startswith(("//", "/\\"))):
        raise ValueError(f"{said!r} is no address of this portal")
    return f' {name}="{escaped(said)}"'


def _markup(child: Svg | str) -> str:
    return str(child) if isinstance(child, Svg) else escaped(child)
