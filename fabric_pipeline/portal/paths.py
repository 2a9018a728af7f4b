"""Names in addresses: a route's `{name:text}` takes any text, line breaks included; the address of a link's page.

Starlette's own `path` stops at a line break, and names come from telemetry.
"""

from __future__ import annotations

from urllib.parse import quote, urlencode

from starlette.convertors import PathConvertor, register_url_convertor


class AnyText(PathConvertor):
    """Like `path`, with a dot that fits every character."""

    regex = "(?s:.*)"


register_url_convertor("text", AnyText())


def link_address(component: str, drop: str, **more: str) -> str:
    """Address of the page of a link."""
    return f"/links/{quote(component, safe='/:')}?{urlencode({'drop': drop} | more)}"
