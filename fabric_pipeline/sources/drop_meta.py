"""What `drop.yaml` says of a drop: site, time window, timezone, node names, hints for single files.

The file is optional, but one that stands there must be understood: a misread timezone would move every
time of the drop, so anything doubtful is refused with the line and the remedy. Listing files is
`sources.drop`'s work.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, NoReturn
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml

from fabric_pipeline.errors import BadInputError

DROP_YAML = "drop.yaml"
# `pull` says where a fetched drop came from, for people; nothing is read out of it.
KEYS = ("cluster", "site", "window", "timezone", "node_pattern", "files", "pull")
_SCALARS = str | int | float


@dataclass(frozen=True, slots=True)
class DropMeta:
    """What `drop.yaml` says; all of it is optional.

    `files` holds (glob over the name inside the drop, node, time); the first match counts.
    """

    cluster: str = ""
    site: str = ""
    timezone: tzinfo = UTC
    timezone_name: str = "UTC"
    window_start: datetime | None = None
    window_end: datetime | None = None
    node_pattern: re.Pattern[str] | None = None
    files: tuple[tuple[str, str, datetime | None], ...] = ()


def read_meta(path: Path, problems: list[str]) -> DropMeta:
    """Read a `drop.yaml`; a missing one says nothing.

    Keys that mean nothing here go to `problems` (they may be misspelt ones). Raises BadInputError,
    naming the line, for a file that cannot be understood.
    """
    if not path.is_file():
        return DropMeta()
    document = _Document(path.name, *_parsed(path))
    known = ", ".join(KEYS)
    problems += [
        f"{document.place(key)}: the key {str(key)[:40]!r} means nothing here; known keys: {known}"
        for key in document.values
        if key not in KEYS
    ]
    zone_name = document.text("timezone") or "UTC"
    zone = _zone(document, zone_name)
    start, end = _window(document, zone)
    return DropMeta(
        cluster=document.text("cluster"),
        site=document.text("site"),
        timezone=zone,
        timezone_name=zone_name,
        window_start=start,
        window_end=end,
        node_pattern=_pattern(document),
        files=_file_hints(document, zone),
    )


@dataclass(frozen=True, slots=True)
class _Document:
    """A parsed file: its name, text and top-level values, so that a refusal can name the line."""

    name: str
    content: str
    values: dict[Any, Any]

    def place(self, key: object) -> str:
        """`drop.yaml line 3` of a key, the file alone when the key cannot be found again."""
        start = re.compile(rf"\s*[\"']?{re.escape(str(key))}[\"']?\s*:")
        lines = self.content.splitlines()
        found = next((n for n, line in enumerate(lines, 1) if start.match(line)), None)
        return self.name if found is None else f"{self.name} line {found}"

    def refuse(self, key: object, what: str, remedy: str) -> NoReturn:
        raise BadInputError(f"{self.place(key)}: {what}", remedy) from None

    def text(self, key: str) -> str:
        """A text or number of the top level; "" when missing."""
        value = self.values.get(key)
        if value is None:
            return ""
        if not isinstance(value, _SCALARS):
            self.refuse(key, f"{key} must be a text", "correct or remove it")
        return str(value)

    def mapping(self, key: str, example: str) -> dict[Any, Any]:
        """A mapping of the top level; {} when missing."""
        value = self.values.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.refuse(key, f"{key} must be a mapping", f"write it as {example}")
        return value

    def time(self, key: str, value: Any, zone: tzinfo) -> datetime | None:
        """A time as UTC; one without an offset is in `zone`."""
        if value in (None, ""):
            return None
        try:
            time = value if isinstance(value, datetime) else datetime.fromisoformat(str(value)[:80])
            return (time if time.tzinfo else time.replace(tzinfo=zone)).astimezone(UTC)
        except (ValueError, OverflowError):
            self.refuse(
                key,
                f"{str(value)[:40]!r} is not a time",
                "use ISO 8601, such as 2026-11-20T08:00:00Z",
            )


def _parsed(path: Path) -> tuple[str, dict[Any, Any]]:
    """Text and top-level mapping of the file."""
    remedy = "correct or remove the file"
    try:
        content = path.read_bytes().decode("utf-8-sig")
        values = yaml.safe_load(content)
    except OSError as problem:
        raise BadInputError(
            f"{path.name}: cannot be opened ({problem.strerror})", "check its permissions"
        ) from None
    except UnicodeDecodeError:
        raise BadInputError(f"{path.name}: not UTF-8 text", "save it as UTF-8") from None
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark else ""
        raise BadInputError(f"{path.name}{where}: not readable as YAML", remedy) from None
    except (
        ValueError,
        RecursionError,
    ) as problem:  # a date such as 2026-13-45, nesting without end
        said = str(problem)[:80]
        raise BadInputError(f"{path.name}: not readable as YAML ({said})", remedy) from None
    if values is None:
        return content, {}
    if not isinstance(values, dict):
        raise BadInputError(f"{path.name}: must be a mapping of keys to values", remedy)
    return content, values


def _zone(document: _Document, name: str) -> tzinfo:
    try:
        return UTC if name.upper() == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # OSError: a folder of zones, a long name
        document.refuse(
            "timezone", f"timezone {name[:40]!r} is not known", "use a name such as Europe/Berlin"
        )


def _window(document: _Document, zone: tzinfo) -> tuple[datetime | None, datetime | None]:
    window = document.mapping("window", "window: {start: ..., end: ...}")
    start, end = (document.time("window", window.get(key), zone) for key in ("start", "end"))
    if start and end and end < start:
        document.refuse("window", "the window ends before it starts", "exchange start and end")
    return start, end


def _pattern(document: _Document) -> re.Pattern[str] | None:
    text = document.text("node_pattern")
    try:
        return re.compile(text) if text else None
    except (re.error, OverflowError, RecursionError) as problem:
        document.refuse(
            "node_pattern", f"node_pattern is no regular expression ({problem})", "correct it"
        )


def _file_hints(document: _Document, zone: tzinfo) -> tuple[tuple[str, str, datetime | None], ...]:
    hints = []
    for glob, what in document.mapping(
        "files", "files: {'nvlink*.txt': {node: ..., time: ...}}"
    ).items():
        entry = what if isinstance(what, dict) else {"node": what}
        node = entry.get("node")
        if node is not None and not isinstance(node, _SCALARS):
            document.refuse(glob, "node must be a text", "give the host name alone")
        time = document.time(glob, entry.get("time"), zone)
        hints.append((str(glob), "" if node is None else str(node), time))
    return tuple(hints)
