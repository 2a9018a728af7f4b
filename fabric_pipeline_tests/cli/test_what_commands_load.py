"""Which heavy packages each command imports: only those that its work needs, so that it starts fast.

The commands run in processes that have imported the command line and the ledger. A command without a
line here fails the last test; one that would publish, serve or write shows its help.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from fabric_pipeline.cli.main import app
from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.pipeline_runs import ROOT

HEAVY = frozenset(
    {
        "alembic", "anthropic", "asyncio", "dagster", "dask", "distributed", "duckdb", "httpx", "httpx2", "ibis", "jinja2",
        "numpy", "obstore", "pandas", "pandera", "pyarrow", "pydantic_ai", "rich", "segno", "sqlalchemy", "starlette", "uvicorn", "yaml",
        "fabric_pipeline.sources.kernel_log.reader",  # stands for all readers being loaded
    }
)  # fmt: skip
NOTHING: frozenset[str] = frozenset()
TABLES = frozenset({"duckdb"})
WORDS = frozenset({"rich"})
FILES = frozenset({"yaml"})  # drop.yaml, the parts catalogue
VIEWS = TABLES | WORDS | {"numpy"}
READERS = frozenset({"fabric_pipeline.sources.kernel_log.reader"})
ALLOWED = {
    "--help": NOTHING,
    "--version": NOTHING,
    "run {drop}": TABLES | FILES,  # read before: nothing is launched
    "pull --help": NOTHING,
    "inspect {capture}": VIEWS | FILES | READERS,
    "diagnose nowhere.json": NOTHING,
    "incidents": WORDS,
    "review nobody": FILES,
    "publish": NOTHING,
    "topology": VIEWS,
    "matrix": VIEWS,
    "compare small other": VIEWS | FILES,
    "find node": VIEWS,
    "retention --dry-run": TABLES | FILES,
    "synth --help": NOTHING,
    "dev --help": NOTHING,
    "portal --help": NOTHING,
    "doctor": TABLES | FILES | READERS,
    "tickets": WORDS,
    "tickets show --help": NOTHING,
    "tickets edit nobody": FILES,
    "tickets history --help": NOTHING,
    "tickets repaired --help": NOTHING,
    "ledger verify": NOTHING,
    "ledger head": NOTHING,
    "catalogue check": FILES,
    "catalogue show --help": NOTHING,
    "audit query --help": NOTHING,
    "audit export --help": NOTHING,
    "audit tables": TABLES,
    "audit rebuild --help": NOTHING,
    "dossier build --help": NOTHING,
    "dossier verify nowhere": TABLES | FILES | {"numpy"},
    "dossier sign --help": NOTHING,
    "dossier vendor --help": NOTHING,
}
# One fork a command; what the server imports beforehand holds nothing heavy, or every line would fail.
_SERVER = """
import io, json, os, sys
import typer._adapters, fabric_pipeline.store.ledger
from fabric_pipeline.cli.main import main
for line in sys.stdin:
    reading, writing = os.pipe()
    if not os.fork():
        said = sys.stdout = sys.stderr = io.StringIO()
        sys.argv = ["fabric-pipeline", *json.loads(line)]
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        except BaseException as problem:
            code = repr(problem)
        os.write(writing, json.dumps([code, said.getvalue()[-300:], [*sys.modules]]).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        print(answer.read(), flush=True)
    os.wait()
"""


@pytest.fixture(scope="module")
def loaded(
    diagnosed_once: Settings, small_drop: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[int, str, set[str]]]:
    """Each command of the table -> exit code, the end of what it said, the modules it had at its end."""
    folder = tmp_path_factory.mktemp("captures")
    capture = folder / "dmesg.txt"
    capture.write_text("[ 12.000001] NVRM: Xid (PCI:0000:1b:00): 74, pid=1, NVLink: fatal error\n")
    places = {"drop": small_drop, "capture": capture, "counters": small_drop / "counters.csv"}
    calls = [[word.format(**places) for word in command.split()] for command in ALLOWED]
    done = subprocess.run(
        [sys.executable, "-c", _SERVER],
        input="".join(json.dumps(call) + "\n" for call in calls),
        env={"FABRIC_HOME": str(diagnosed_once.home), "PATH": ""},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return {
        command: (code, said, set(modules))
        for command, (code, said, modules) in zip(ALLOWED, answers, strict=True)
    }


@pytest.mark.parametrize("command", ALLOWED)
def test_a_command_loads_only_what_its_work_needs(
    command: str, loaded: dict[str, tuple[int, str, set[str]]]
) -> None:
    code, said, modules = loaded[command]
    assert isinstance(code, int), (code, said)
    assert modules & HEAVY <= ALLOWED[command]


def test_every_command_has_a_line() -> None:
    root = typer.main.get_command(app)
    names = set()
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", {})
        names |= {f"{name} {one}" for one in inner} or {name}
    missing = {
        name
        for name in names
        if not any(line == name or line.startswith(f"{name} ") for line in ALLOWED)
    }
    assert missing == set()
