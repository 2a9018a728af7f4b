"""Records of `journalctl -o export`: `NAME=value` lines, an empty line behind each record.

A record becomes the JSON object that `journalctl -o json` would have printed, so that both are read
alike. Fields in the binary form, which begins with a length in place of `=`, are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from fabric_pipeline.sources.base import SourceFile

_MARK = re.compile(r"^__REALTIME_TIMESTAMP=[0-9]{10,20}\r?$", re.MULTILINE)
_FIELD = re.compile(r"^([A-Z_][A-Z0-9_]{0,63})=(.*)$")
_KEPT = frozenset(
    {
        "MESSAGE", "_HOSTNAME", "SYSLOG_IDENTIFIER", "_TRANSPORT", "__REALTIME_TIMESTAMP",
        "_SOURCE_REALTIME_TIMESTAMP", "_SOURCE_MONOTONIC_TIMESTAMP",
    }
)  # fmt: skip


def is_export(file: SourceFile) -> bool:
    """True when the head holds a record's time stamp and a message."""
    return bool(_MARK.search(file.head)) and "\nMESSAGE=" in file.head


def export_records(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    """Line number of the message, its line, and the record as JSON text; records without are skipped."""
    record: dict[str, str] = {}
    at, said = 0, ""
    for number, line in lines:
        found = _FIELD.match(line)
        if found and found[1] in _KEPT:
            record[found[1]] = found[2]
            if found[1] == "MESSAGE":
                at, said = number, line
        elif not line.strip():
            if at:
                yield at, said, json.dumps(record)
            record, at = {}, 0
    if at:
        yield at, said, json.dumps(record)
