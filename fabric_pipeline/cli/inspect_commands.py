"""Commands `inspect` (any files, one verdict, no state) and `diagnose` (the reference shapes)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from fabric_pipeline.cli.output import plain, put, put_json, put_table, say


def inspect(
    paths: Annotated[list[Path], typer.Argument(help="Files or folders, in order of time.")],
    json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
) -> None:
    """Read any captures and give one verdict. Keeps nothing."""
    from fabric_pipeline.workflows.inspect import inspect as inspect_files

    answer = inspect_files(paths, datetime.now(UTC))
    if json:
        put_json(answer)
    else:
        _put_answer(answer)


def diagnose(
    case: Annotated[
        Path, typer.Argument(help="A JSON file in one of the two reference shapes; - reads stdin.")
    ],
) -> None:
    """Answer one snapshot in the reference shape, as JSON."""
    import json as json_module
    import sys
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


def _put_answer(answer: dict[str, Any]) -> None:
    put(f"verdict: {answer['verdict']}")
    put()
    put_table(
        ("file", "format", "readings", "refused"),
        [(i["path"], i["format"], i["readings"], i["rejected_lines"]) for i in answer["inputs"]],
    )
    for finding in answer["findings"]:
        put()
        put(
            f"{finding['severity'].upper():<8} {finding['role']:<8} {plain(finding['component'])}  [{finding['kind']}]"
        )
        put(f"  {plain(finding['reason'])}")
        places = [
            f"{plain(e['path'])}{':' + str(e['line']) if e['line'] else ''}"
            for e in finding["evidence"][:3]
        ]
        if places:
            put(f"  see {', '.join(places)}")
    if answer["unknown"]:
        put()
        put("not measured or not stated:")
        for item in answer["unknown"][:20]:
            put(f"  {plain(item['component'])}: {plain(item['what'])} ({plain(item['reason'])})")
    for problem in answer["facts"].get("problems", []):
        say(f"note: {plain(problem)}")
