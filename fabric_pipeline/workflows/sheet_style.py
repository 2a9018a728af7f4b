"""The style of the sheet with its fonts inside, and the policy that allows it and nothing else.

The fonts travel in the page as data, so a sheet looks and breaks its lines alike on every machine and
still loads nothing. Where they come from is in `templates/fonts/SOURCES.md`.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

from markupsafe import Markup

from fabric_pipeline.workflows.sheet_ruler import FONTS

TEMPLATES = Path(__file__).with_name("templates")
_FACES = (
    ("Sheet Sans", 400, "roboto-condensed-400.woff2"),
    ("Sheet Sans", 700, "roboto-condensed-700.woff2"),
    ("Sheet Mono", 400, "ibm-plex-mono-400.woff2"),
)


@cache
def style_and_policy() -> tuple[Markup, str]:
    """The style, and a content security policy that names it by its hash. The style is ours, not data."""
    text = _faces() + (TEMPLATES / "ticket_sheet.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; font-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    return Markup(text), policy  # noqa: S704 - files of this package


def _faces() -> str:
    rules = []
    for family, weight, name in _FACES:
        data = base64.b64encode((FONTS / name).read_bytes()).decode()
        rules.append(
            f'@font-face {{ font-family: "{family}"; font-weight: {weight}; '
            f'src: url("data:font/woff2;base64,{data}") format("woff2") }}\n'
        )
    return "".join(rules)
