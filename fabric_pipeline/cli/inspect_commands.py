"""Commands `inspect` (any files, one verdict, no state) and `diagnose` (the reference shapes)."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabric_pipeline.cli.output import put, put_json, put_table, say
from fabric_pipeline.cli.progress_line import progress_line

if TYPE_CHECKING:
    from fabric_pipeline.workflows.inspect_inputs import Given


def inspect(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Files, folders, archives or quoted patterns such as 'drop/*.log', the earlier first; - reads stdin."
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Show every finding, quote, unknown fact and unread file.")
    ] = False,
    files: Annotated[
        bool, typer.Option("--files", help="List every input with format and readings.")
    ] = False,
    node: Annotated[
        str, typer.Option("--node", help="Host of captures that do not say theirs.")
    ] = "",
    time: Annotated[
        str,
        typer.Option(
            "--time", help="When one capture was taken: ISO (UTC unless it says), or now."
        ),
    ] = "",
) -> None:
    """Read any captures and give one verdict. Keeps nothing.

    Exit code 0 whatever the verdict is; 2 for hints that cannot be meant, 3 for a path that does not
    exist, a pattern that matches nothing and a stdin that is empty or unreadable.
    """
    from fabric_pipeline.cli.inspect_card import InspectCard, input_rows
    from fabric_pipeline.cli.screen import screen
    from fabric_pipeline.workflows.inspect import EVERY_QUOTE, MOST_QUOTES, examine
    from fabric_pipeline.workflows.inspect import inspect as inspect_files

    now = datetime.now(UTC)
    given = _given(paths, node, time, now)
    if json:
        with progress_line() as tell:
            answer = inspect_files(paths, now, tell, given)
        put_json(answer)
        return
    with progress_line() as tell:
        seen = examine(paths, now, tell, given, EVERY_QUOTE if everything else MOST_QUOTES)
    shown = screen()
    shown.show(InspectCard(seen, shown.signs, shown.list_width, everything=everything).lines())
    if files:
        put()
        put_table(("file", "format", "readings", "refused"), list(input_rows(seen)), widest=120)


def _given(paths: list[Path], node: str, time: str, now: datetime) -> Given:
    """The hints and stdin; a person at the keyboard is told that it is read."""
    from fabric_pipeline.workflows.inspect_inputs import STDIN, Given

    stdin = None
    if any(str(path) == STDIN for path in paths):
        if sys.stdin.isatty():
            say("reading from the keyboard; end with Ctrl-D")
        stdin = sys.stdin.buffer
    return Given(stdin, node, _time(time, now) if time else None)


def _time(written: str, now: datetime) -> datetime:
    from fabric_pipeline.errors import UsageError

    if written == "now":
        return now
    try:
        time = datetime.fromisoformat(written)
    except ValueError:
        raise UsageError(
            f"--time {written[:40]!r} is not a time",
            "use ISO 8601, such as 2026-11-20T08:00:00Z, or now",
        ) from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)


def diagnose(
    case: Annotated[
        Path, typer.Argument(help="A JSON file in one of the two reference shapes; - reads stdin.")
    ],
) -> None:
    """Answer one snapshot in the reference shape, as JSON."""
    import json as json_module
    from decimal import Decimal

    from fabric_pipeline.diagnose.reference_case import diagnose_case
    from fabric_pipeline.errors import BadInputError

    name = "stdin" if str(case) == "-" else str(case)
    try:
        text = sys.stdin.read() if name == "stdin" else case.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadInputError(f"{name}: no such file", "check the spelling of the path") from None
    except OSError as problem:
        raise BadInputError(
            f"{name}: cannot be read ({problem.strerror})", "name a readable JSON file"
        ) from None
    except UnicodeDecodeError:
        raise BadInputError(f"{name}: not UTF-8 text", "save the case as UTF-8 JSON") from None
    try:
        # Decimals, so that a limit is met or missed exactly as written.
        content = json_module.loads(text, parse_float=Decimal)
    except json_module.JSONDecodeError as problem:
        raise BadInputError(
            f"{name} line {problem.lineno}: {problem.msg}", "correct the JSON"
        ) from None
    except (ValueError, RecursionError) as problem:  # a number or a nesting beyond any real case
        raise BadInputError(f"{name}: {problem}", "correct the JSON") from None
    put_json(diagnose_case(content))
