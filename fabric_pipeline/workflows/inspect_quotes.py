"""The lines that findings point to, as they stand in the files, and what to look for in each.

Only lines that are asked for are kept, whatever the size of a file. A line is data: only its
visible characters are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric_pipeline.drafting.sanitise import clean
from fabric_pipeline.model.components import parse_component
from fabric_pipeline.model.counters import COUNTERS, ERROR_CLASSES
from fabric_pipeline.model.findings import EvidenceRef, Finding
from fabric_pipeline.sources.archives.streams import MAGIC

# A trace or a JSON answer can be one line of many megabytes; what matters is looked for in the first.
_MAX_LINE_BYTES = 4 * 1024 * 1024
_SHOWN_OF_ONE = 400  # characters around what matters that are kept of a long line
# Error counters, those of errors that nothing repairs first.
_ERRORS = sorted(
    (spec for spec in COUNTERS.values() if spec.role == "error"),
    key=lambda spec: -ERROR_CLASSES.index(spec.error_class),
)
_WORST = ", ".join(f"'{spec.name}'" for spec in _ERRORS)
_NUMBER = re.compile(r"[-+.0-9eE]{1,40}")
_BOMS = (b"\xff\xfe", b"\xfe\xff")
_UNQUOTABLE = (b"PAR1", *MAGIC.values())


@dataclass(frozen=True, slots=True)
class Quote:
    """One line of a file. `text` may be cut to what matters, marked by an ellipsis.

    `line` is None and `text` what was read there when the file has no lines that could be quoted.
    `focus` is the place of what matters in `text`; `means` names it where the line does not (a column).
    """

    path: str
    line: int | None
    text: str
    focus: int = 0
    means: str = ""


def quotes_of(
    connection: Any, findings: Iterable[Finding], files: Mapping[str, Path], most: int
) -> list[list[Quote]]:
    """Up to `most` quotes for each finding; `files` says where a named file lies."""
    chosen = [_chosen(finding.evidence, most) for finding in findings]
    wanted: dict[str, set[int]] = {}
    for ref in (ref for refs in chosen for ref in refs):
        if ref.line is not None:
            wanted.setdefault(ref.file, set()).add(ref.line)
    texts = {
        (name, line): text
        for name, lines in wanted.items()
        if name in files
        for line, text in _lines(files[name], lines)
    }
    return [
        [_quote(connection, finding, ref, texts) for ref in refs]
        for finding, refs in zip(findings, chosen, strict=True)
    ]


def _chosen(evidence: Iterable[EvidenceRef], most: int) -> list[EvidenceRef]:
    """The first places, each line once; places with a line go before a file as a whole."""
    once: dict[tuple[str, int | None], EvidenceRef] = {}
    for ref in evidence:
        once.setdefault((ref.file, ref.line), ref)
    places = sorted(once.values(), key=lambda ref: ref.line is None)
    return places[:most]


def _quote(
    connection: Any, finding: Finding, ref: EvidenceRef, texts: Mapping[tuple[str, int], str]
) -> Quote:
    raw = texts.get((ref.file, ref.line)) if ref.line is not None else None
    if raw is None:
        return Quote(ref.file, ref.line, clean(ref.excerpt))
    line = clean(raw, len(raw) + 1)
    if ref.excerpt and not any(char.isalnum() for char in line):
        return Quote(ref.file, ref.line, clean(ref.excerpt))  # the brace at which a record begins
    focus, means = _focus(connection, finding, ref, line)
    return Quote(ref.file, ref.line, *window(line, focus, _SHOWN_OF_ONE), means)


def _focus(connection: Any, finding: Finding, ref: EvidenceRef, line: str) -> tuple[int, str]:
    """Where in the line stands what was taken from it, and what that is when the line does not name it."""
    events = connection.execute(
        "select text from fabric_events where file = ? and line = ? limit 1", [ref.file, ref.line]
    ).fetchall()
    for (told,) in events:
        if (at := line.find(clean(told.split("\n")[0], 60).rstrip("…"))) >= 0:
            return at, ""
    rows = connection.execute(
        "select counter_text, value_text, entity_text, counter from raw_telemetry where file = ? and line = ? and counter is not null "
        f"order by interface = ? desc, coalesce(value, 0) = 0, coalesce(nullif(list_position([{_WORST}], counter), 0), 999), entry limit 1",
        [ref.file, ref.line, parse_component(finding.component).interface],
    ).fetchall()
    for counter_text, value_text, entity, counter in rows:
        if counter_text and (at := line.find(clean(counter_text))) >= 0:
            return at, ""
        # A column of a table: its name stands far above.
        means = f"{counter} {value_text}" if _NUMBER.fullmatch(value_text) else ""
        value = (
            re.search(rf"(?<![\w.]){re.escape(value_text)}(?![\w.])", line) if value_text else None
        )
        if value:
            return value.start(), means
        return max(0, line.find(clean(entity)) if entity else 0), means
    return 0, ""


def window(line: str, focus: int, room: int) -> tuple[str, int]:
    """At most `room` characters of a line around a place in it, and where that place is now.

    What is cut off is marked by an ellipsis on that side.
    """
    if len(line) <= room:
        return line, focus
    # What stands before it (a time, a name) tells less than what follows.
    start = min(max(0, focus - room // 4), len(line) - room)
    shown = line[start : start + room]
    if start:
        shown = "…" + shown[1:]
    if start + room < len(line):
        shown = shown[:-1] + "…"
    return shown, focus - start


def _lines(path: Path, wanted: set[int]) -> Iterator[tuple[int, str]]:
    """The wanted lines of a file, counted as readers count them; nothing of a file that has none."""
    try:
        with path.open("rb") as handle:
            head = handle.read(8)
            if head.startswith(_UNQUOTABLE):
                return
            if head.startswith(_BOMS):
                lines = path.read_bytes().decode("utf-16", "replace").split("\n")
                yield from ((n, lines[n - 1].rstrip("\r")) for n in wanted if n <= len(lines))
                return
            handle.seek(0)
            for number in range(1, max(wanted) + 1):
                raw = handle.readline(_MAX_LINE_BYTES)
                rest = raw
                while rest and not rest.endswith(b"\n"):
                    rest = handle.readline(_MAX_LINE_BYTES)
                if number in wanted:
                    text = raw.decode("utf-8", "replace").removeprefix("\ufeff")
                    yield number, text.rstrip("\r\n")
    except OSError:  # it vanished meanwhile: the place alone is shown
        return
