"""One entry of an archive as it comes out: its name, why it is refused, or its content in pieces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Item:
    """`problem` is "" when the content may be read; reading it may still raise a RefusedError."""

    name: str
    problem: str = ""
    content: Iterable[bytes] = ()
