"""The accessibility checker axe-core in a loaded page: WCAG 2.2 AA and good practice, as a list of breaches.

Both themes share their markup, so in the light one only what depends on colours is asked again.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
COLOUR_RULES = ("color-contrast", "link-in-text-block")
# The same on every page, so that one page stands for all.
HEAD = ("header.top", "a.skip", "div.bar")
# Only what is wrong is gathered: listing what is right takes most of the time on a map.
_RUN = """([only, leftOut]) => axe.run({include: document, exclude: leftOut}, {
    runOnly: only, resultTypes: ["violations"], ancestry: false, xpath: false,
})"""


def breaches(page: Page, left_out: tuple[str, ...] = ()) -> list[str]:
    """What is wrong with the page as it stands. `left_out` are selectors of what was checked elsewhere."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(f"() => {{ {_script()} }}")
    is_light = page.evaluate("() => document.documentElement.dataset.theme") == "light"
    only: dict[str, Any] = (
        {"type": "rule", "values": list(COLOUR_RULES)}
        if is_light
        else {"type": "tag", "values": list(RULES)}
    )
    found = page.evaluate(_RUN, [only, [[one] for one in left_out]])
    return [_told(breach) for breach in found["violations"]]


@cache
def _script() -> str:
    return Path(__file__).with_name("axe.min.js").read_text(encoding="utf-8")


def _told(breach: dict[str, Any]) -> str:
    places = [f"{node['target']} {node['html'][:160]}" for node in breach["nodes"][:4]]
    return f"{breach['id']}: {breach['help']} {places}"
