"""Asks a question that a person typed in a process of its own, with hard limits on memory and time.

Inside the asking process neither holds: one call such as `repeat('x', 3900000000)` is not counted against
DuckDB's memory limit and cannot be interrupted. What may be asked is decided in `store.audit_query`.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from fabric_pipeline.errors import FabricError, NotFoundError, UsageError
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.audit_query import QueryResult, query

# Python, DuckDB's own code and its threads, beside the memory that a question may use.
_OWN_MB = 512
# To start Python on a busy machine, and for an interrupted query to end.
_GRACE_S = 5.0
# A table of 50 columns at the limit of rows fits; a page of more is no page.
MAX_CELLS = 100_000
MAX_CHARS = 32_000_000
_KINDS: dict[str, type[FabricError]] = {
    kind.__name__: kind for kind in (FabricError, NotFoundError, UsageError)
}


def query_apart(
    settings: Settings, sql: str, *, limit: int, timeout_s: float, cell_chars: int, memory_mb: int
) -> QueryResult:
    """Like `query` with its cells as texts. A process past its memory or time ends with a FabricError.

    The answer holds `MAX_CELLS` cells and `MAX_CHARS` characters at most and is `truncated` beyond.
    """
    if not sql.isascii() and any("\ud800" <= letter <= "\udfff" for letter in sql):
        raise UsageError("the question holds half a character", "type it again")
    order = {
        "root": str(settings.root), "home": str(settings.home), "sql": sql, "limit": limit, "timeout_s": timeout_s,
        "cell_chars": cell_chars, "memory_mb": memory_mb,
    }  # fmt: skip
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter, no shell
            [sys.executable, "-m", __name__],
            input=json.dumps(order).encode(),
            capture_output=True,
            timeout=timeout_s + _GRACE_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise FabricError(
            f"the query ran longer than {timeout_s:g} s and was stopped",
            "narrow it to one drop or one link",
        ) from error
    if done.returncode != 0:
        raise FabricError(
            f"the query ended its process, most likely for want of memory ({memory_mb:,} MB are allowed)",
            "ask for fewer rows or shorter texts",
        )
    answer = json.loads(done.stdout)
    if "error" in answer:
        raise _KINDS.get(answer["error"], FabricError)(answer["message"], answer["remedy"])
    rows = [tuple(row) for row in answer["rows"]]
    return QueryResult(answer["columns"], rows, answer["truncated"])


def main() -> None:
    """The other process: one order on standard input, its answer or error on standard output."""
    order = json.load(sys.stdin)
    _bound_memory(int(order["memory_mb"]) + _OWN_MB)
    try:
        answer = _shortened(_ask(order))._asdict()
    except FabricError as error:
        kind = type(error).__name__
        answer = {"error": kind, "message": error.message, "remedy": error.remedy}
    json.dump(answer, sys.stdout)


def _ask(order: dict[str, Any]) -> QueryResult:
    settings = Settings(root=Path(order["root"]), home=Path(order["home"]))
    try:
        return query(
            settings,
            order["sql"],
            limit=order["limit"],
            timeout_s=order["timeout_s"],
            cell_chars=order["cell_chars"],
            memory_mb=order["memory_mb"],
        )
    except MemoryError as error:
        raise FabricError(
            "the answer is larger than the memory that a question may use",
            "ask for fewer rows or shorter texts",
        ) from error


def _shortened(answer: QueryResult) -> QueryResult:
    """As many whole rows as the limits of cells and characters allow."""
    cells = chars = 0
    for number, row in enumerate(answer.rows):
        cells += len(row)
        chars += sum(len(cell) for cell in row if cell is not None)
        if cells > MAX_CELLS or chars > MAX_CHARS:
            return QueryResult(answer.columns, answer.rows[:number], truncated=True)
    return answer


def _bound_memory(megabytes: int) -> None:
    """Beyond this an allocation fails, and the query with it."""
    limit = megabytes * 1024 * 1024
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


if __name__ == "__main__":
    main()
