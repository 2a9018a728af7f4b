"""Names in addresses: a route's `{name:text}` takes any text, slashes and line breaks included.

Starlette's own `path` stops at a line break, and names come from telemetry.
"""

from __future__ import annotations

from starlette.convertors import PathConvertor, register_url_convertor


class AnyText(PathConvertor):
    """Like `path`, with a dot that fits every character."""

    regex = "(?s:.*)"


register_url_convertor("text", AnyText())
