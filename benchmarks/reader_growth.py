"""Reads every format at two sizes, one twice the other, and prints how time and memory grow.

    python benchmarks/reader_growth.py [bytes of the larger size, 4000000] [format id ...]

A reader that takes more than 2.6 times as long for twice as much is marked: its time does not grow with
the file alone. `memory` is the highest that Python's own allocations reached while the smaller file was
read (at a quarter of its size, because watching memory is slow), in bytes for each byte of the file.
"""

from __future__ import annotations

import json
import pickle
import re
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.registry import reader_for
from fabric_pipeline_tests.sources.damage import specimens
from fabric_pipeline_tests.sources.held_files import held

TOO_MUCH = 2.6  # times as long for twice as much
SETTLED_S = 0.05  # below it the clock says more of the machine than of the reader


def main() -> int:
    """Print a table; 1 when a reader grows faster than its file."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 4_000_000
    wanted, bad = set(sys.argv[2:]), 0
    _say(f"{'format':32} {'MB':>6} {'s':>7} {'MB/s':>7} {'ratio':>6} {'memory':>7} {'read':>8}")
    for name, data in sorted(specimens().items()):
        if wanted and name.partition(".")[0] not in wanted:
            continue
        half, _ = _timed(name, enlarged(name, data, size // 2))
        whole = enlarged(name, data, size)
        seconds, read = _timed(name, whole)
        ratio = seconds / half if half > SETTLED_S else 0.0
        if ratio > TOO_MUCH:  # once more: another program may have run in between
            ratio = min(
                ratio, _timed(name, whole)[0] / _timed(name, enlarged(name, data, size // 2))[0]
            )
        memory = _memory(name, enlarged(name, data, size // 8))
        mark = "  <- grows faster than the file" if ratio > TOO_MUCH else ""
        bad += bool(mark)
        megabytes = len(whole) / 1e6
        _say(
            f"{name:32} {megabytes:6.2f} {seconds:7.2f} {megabytes / max(seconds, 1e-9):7.1f} "
            f"{ratio:6.2f} {memory:7.1f} {read:8}{mark}"
        )
    return 1 if bad else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def enlarged(name: str, data: bytes, size: int) -> bytes:
    """A valid file of about this size: more elements in a document, more of the same in a listing."""
    if name.endswith("pickle"):
        return pickle.dumps(_grown(pickle.loads(data), size), protocol=2)  # noqa: S301 - made here
    text = data.decode()
    if text.lstrip().startswith("<"):
        root = re.match(r"(?s)(\s*(?:<[?!].*?>\s*)*<\w+[^>]*>)(.*)(</\w+>\s*)$", text)
        if root:
            inner = root[2] * max(1, size // max(1, len(root[2])))
            return f"{root[1]}{inner}{root[3]}".encode()
    document = _document(text)
    if document is None:
        head, _, rest = text.partition("\n")
        if "," in head and re.match(r"\w+,\w+,", head):  # a table: its header stands once
            return (head + "\n" + rest * max(1, size // max(1, len(rest)))).encode()
        joined = text if text.endswith("\n") else text + "\n"
        return (joined * max(1, size // len(joined))).encode()
    indent = 1 if "\n" in text.strip() else None
    return json.dumps(_grown(document, size), indent=indent).encode()


def _document(text: str) -> Any:
    """The JSON document, one that was cut closed behind its last whole element; None for other text."""
    shortened = text[: text.rfind("}, ") + 1]
    for attempt in (text, f"{shortened}]}}", f"{shortened}]"):
        try:
            return json.loads(attempt)
        except ValueError:
            continue
    return None


def _grown(document: Any, size: int) -> Any:
    """The document with its largest list, or else its largest object, many times as long."""
    best = max(_containers(document), key=lambda one: (isinstance(one, list), len(json.dumps(one))))
    times = max(1, size // max(1, len(json.dumps(best))))
    if isinstance(best, list):
        best *= times
    else:
        for key, value in list(best.items()):
            best |= {f"{key}{n}": value for n in range(times)}
    return document


def _containers(value: Any) -> list[Any]:
    """All lists of objects or lists and all objects in it that can be made longer."""
    found: list[Any] = []
    inner = (
        list(value.values())
        if isinstance(value, dict)
        else value
        if isinstance(value, list)
        else []
    )
    if inner and (isinstance(value, dict) or isinstance(inner[0], dict | list)):
        found.append(value)
    for one in inner:
        found += _containers(one)
    return found


def _file(data: bytes) -> SourceFile:
    return held(data, Path(tempfile.gettempdir()) / "reader_growth.table")


def _timed(name: str, data: bytes) -> tuple[float, int]:
    """Seconds of the processor to recognise and read it, and how much was read and refused."""
    reader, file = reader_for(name.partition(".")[0]), _file(data)
    start = time.process_time()
    reader.score(file)
    result = reader.read(file)
    return time.process_time() - start, result.understood + len(result.rejected)


def _memory(name: str, data: bytes) -> float:
    """Highest allocation of one reading for each byte of the file."""
    reader, file = reader_for(name.partition(".")[0]), _file(data)
    tracemalloc.start()
    reader.read(file)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / len(data)


if __name__ == "__main__":
    sys.exit(main())
