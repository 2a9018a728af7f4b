"""Tables as CSV files for spreadsheets, in which no cell can run as a formula.

A cell that starts with one of `FORMULA_STARTS` gets an apostrophe before it; pages that offer a download
say so. Other forms of a table are not made here.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import quote

from starlette.responses import StreamingResponse

# Some programs read the wide forms of East Asian keyboards as the plain ones.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_ROWS_AT_ONCE = 500
_NOT_IN_NAME = re.compile(r"[^A-Za-z0-9._-]+")


def safe_cell(value: Any) -> Any:
    """The value as it may stand in a cell: numbers as they are, texts that no program takes for a formula."""
    if value is None:
        return ""
    if isinstance(value, (int, float)):
        return value
    text = str(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) and not _is_number(text) else text


def csv_answer(
    name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, is_cut: bool = False
) -> StreamingResponse:
    """A download called `name`.csv. `is_cut` is told in the header `x-rows-left-out`."""
    headers = {"content-disposition": attachment(f"{_NOT_IN_NAME.sub('_', name)[:100]}.csv")}
    if is_cut:
        headers["x-rows-left-out"] = "yes"
    return StreamingResponse(
        _lines(columns, rows), media_type="text/csv; charset=utf-8", headers=headers
    )


def attachment(name: str) -> str:
    """The header that makes a browser save and never show; any name is spelt safely in it."""
    plain = _NOT_IN_NAME.sub("_", name)[:150] or "file"
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name[:300], safe='')}"


def _lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([safe_cell(column) for column in columns])
    for number, row in enumerate(rows, 1):
        writer.writerow([safe_cell(cell) for cell in row])
        if number % _ROWS_AT_ONCE == 0:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()


def _is_number(text: str) -> bool:
    """A negative number is no formula; the query hands all cells over as texts."""
    return re.fullmatch(r"-?\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,3})?", text) is not None
