"""Why a file of a drop cannot be read by any reader, in words that say what to do about it."""

from __future__ import annotations

import re

from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.normalized.counters import PARQUET_MAGIC
from fabric_pipeline.sources.normalized.tables import header_of

# Columns that a file of the normalized drop needs, and those by which it is taken for one.
_NEEDED = {
    "counters": ({"node", "link", "counter", "value"}, {"node", "link", "link_type", "counter"}),
    "collectives": ({"run", "op", "duration_us"}, {"run", "op", "duration_us", "comm", "rank"}),
    "runs": ({"run", "nodes"}, {"run", "nodes", "step_time_ms"}),
    "events": ({"kind", "ts", "text"}, {"kind", "ts", "text", "component"}),
}
_FEWEST = 2  # names in common with a table by which a header is taken for its header
_SHOWN = 60  # characters of the first line that are repeated
_PICKLES = tuple(b"\x80" + bytes([protocol]) for protocol in range(2, 6))
_PICKLE_NAMES = (".pkl", ".pickle")
# Kinds that are opened never come here; these cannot be opened with Python's own library.
_ARCHIVES = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!\x1a\x07": "rar",
    b"\x1f\x9d": "compress (.Z)",
    b"\x04\x22\x4d\x18": "lz4",
}


def why_unknown(file: SourceFile, size: int) -> str:
    """One sentence on a file that no reader takes, and what to do.

    Raises OSError when the file cannot be opened.
    """
    if size == 0:
        return "file is empty; nothing was measured in it"
    if file.starts_with(PARQUET_MAGIC):
        if not file.tail_has(PARQUET_MAGIC, len(PARQUET_MAGIC)):
            return "Parquet file without its end, so it cannot be read; copy it again completely"
        return (
            "Parquet file with columns that no reader knows; see `fabric-pipeline doctor --formats`"
        )
    for magic, kind in _ARCHIVES.items():
        if file.starts_with(magic):
            return f"{kind} archive, which is not opened; unpack it and drop the folder, or pack it as zip or tar.gz"
    if any(map(file.starts_with, _PICKLES)) or file.name.endswith(_PICKLE_NAMES):
        return (
            "Python pickle that is no flight-recorder dump, refused and not run: opening it can run "
            "code; drop the dump written as JSON instead"
        )
    if file.is_binary:
        return "binary content that no reader knows; drop the text output of the tool instead"
    return _missing_columns(file) or (
        f"no reader knows this format (line {_first_line(file)}); "
        "`fabric-pipeline doctor --formats` lists what can be read"
    )


def _missing_columns(file: SourceFile) -> str:
    """What keeps a file from being read that looks like one of the normalized drop, or ""."""
    where = f"line {_first_line(file)}"
    if "\r" in file.head and "\n" not in file.head:
        return f"{where} ends in a lone carriage return; save the file with line feeds"
    names = set(header_of(file))
    others = {name.strip() for name in re.split(r"[;\t|]", "".join(names))}
    if len(names) == 1 and len(others) > 1:
        table, missing = _nearest(others)
        return f"{where} looks like {table}; separate the columns by commas" if table else ""
    table, missing = _nearest(names)
    if not table or not missing:
        return ""
    return f"{where} looks like {table} without {', '.join(missing)}; correct the column names"


def _nearest(names: set[str]) -> tuple[str, list[str]]:
    """The table of the normalized drop whose columns these are, and what it lacks; "" when none."""
    table, (needed, known) = max(_NEEDED.items(), key=lambda item: len(names & item[1][1]))
    if len(names & known) < _FEWEST:
        return "", []
    return f"the head of a {table} file", sorted(needed - names)


def _first_line(file: SourceFile) -> str:
    """Number and beginning of the first line with content."""
    lines = enumerate(file.head.split("\n"), 1)
    number, line = next(((n, text) for n, text in lines if text.strip()), (1, ""))
    return f"{number}: {line.strip()[:_SHOWN]!r}"
