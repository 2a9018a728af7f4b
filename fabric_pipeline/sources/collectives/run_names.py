"""Names for runs that carry none: stable for the same content, different for different content.

Two outputs of one benchmark must not fall together, and the same file read twice must. Nothing here
looks at a file's name.
"""

from __future__ import annotations

import hashlib

from fabric_pipeline.sources.base import SourceFile


def run_name(file: SourceFile, kind: str, number: int | str = "") -> str:
    """`<kind>-<8 hex digits of the content's SHA-256>` and `#<number>` when one is given."""
    digest = file.sha256 or file.seen.get("sha256")
    if not digest:
        digest = file.seen["sha256"] = hashlib.sha256(file.data).hexdigest()
    return f"{kind}-{digest[:8]}" + (f"#{number}" if number != "" else "")
