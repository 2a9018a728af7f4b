"""The shape of the code itself: import rules, sizes, docstrings, one name for one thing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.sources import registry
from fabric_pipeline.synth.scenario import SCENARIOS
from fabric_pipeline_tests.pipeline_runs import ROOT

PACKAGES = ("fabric_pipeline", "fabric_pipeline_tests")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
MAX_FILE, MAX_FUNCTION = 400, 60
BUCKETS = {"utils.py", "helpers.py", "misc.py", "common.py", "util.py"}
# What a start of the command line has no use for; each costs between 0.1 s and 3 s.
HEAVY = {
    "anthropic", "dagster", "dask", "distributed", "duckdb", "httpx", "ibis", "numpy", "obstore", "pandas", "pandera",
    "pydantic_ai", "rich",
}  # fmt: skip
YIELDS = {"readings", "events", "timings", "runs", "topology", "bulk"}
# Names of the environment that somebody other than `settings` looks at.
FOREIGN_VARIABLES = {"DAGSTER_HOME", "TERM"}


def short(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_import_contracts_hold() -> None:
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", code, "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert "0 broken" in done.stdout


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("fabric_pipeline.cli.main", HEAVY),
        ("fabric_pipeline.sources.registry", HEAVY | {"fabric_pipeline.sources.normalized"}),
        ("fabric_pipeline.workflows.launch_jobs", {"dagster", "anthropic", "pydantic_ai"}),
        ("fabric_pipeline.workflows.summary", HEAVY - {"duckdb"}),
        ("fabric_pipeline.portal.serve", HEAVY - {"duckdb", "numpy"}),
        (
            "fabric_pipeline.orchestration.launch",
            HEAVY - {"dagster", "duckdb", "httpx", "numpy", "rich"},
        ),
    ],
)
def test_a_light_module_loads_nothing_heavy(module: str, heavy: set[str]) -> None:
    code = f"import sys, {module}; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert set(done.stdout.split()) & heavy == set()


def test_modules_say_what_they_are_and_stay_small() -> None:
    wrong = {short(path): found for path in MODULES if (found := [*_out_of_shape(path)])}
    assert wrong == {}


def _out_of_shape(path: Path) -> Iterator[str]:
    text = path.read_text("utf-8")
    if not re.match(r'"""[^"\s]', text):
        yield "no docstring"
    if (length := len(text.splitlines())) > MAX_FILE:
        yield f"{length} lines"
    if path.name in BUCKETS:
        yield "a name that says nothing"
    if length > MAX_FUNCTION and path.is_relative_to(ROOT / "fabric_pipeline"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                if length > MAX_FUNCTION:
                    yield f"{node.name} has {length} lines"


def test_every_test_module_has_a_name_of_its_own_or_a_package() -> None:
    folders = {path.parent for path in MODULES}
    assert [short(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []


@pytest.mark.parametrize("format_id", registry.BUILT_IN)
def test_every_registered_reader_loads_under_its_own_id(format_id: str) -> None:
    reader = registry.reader_for(format_id)
    assert reader.format_id == format_id
    assert reader.version
    assert reader.yields <= YIELDS


def test_no_name_is_given_twice() -> None:
    keys = [*_registry_keys()]
    assert [name for name, count in Counter(keys).items() if count > 1] == []
    targets = list(registry.BUILT_IN.values())
    assert [name for name, count in Counter(targets).items() if count > 1] == []
    assert {name: table.name for name, table in TABLES.items()} == {name: name for name in TABLES}
    assert {name: make().name for name, make in SCENARIOS.items()} == {n: n for n in SCENARIOS}


def test_only_settings_reads_the_environment() -> None:
    texts = {
        path: path.read_text("utf-8")
        for path in MODULES
        if path.is_relative_to(ROOT / "fabric_pipeline") and path.name != "settings.py"
    }
    read = {
        (short(path), name)
        for path, text in texts.items()
        if "environ" in text or "getenv" in text
        for name in _variables_read(ast.parse(text))
    }
    assert {name for _, name in read} <= FOREIGN_VARIABLES, sorted(read)


def _registry_keys() -> Iterator[str]:
    """Keys as written: a dict would already have dropped the first of two."""
    tree = ast.parse(Path(str(registry.__file__)).read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "BUILT_IN":
            assert isinstance(node.value, ast.Dict)
            yield from (ast.literal_eval(key) for key in node.value.keys if key is not None)


def _variables_read(tree: ast.Module) -> Iterator[str]:
    """Constant names in `os.environ.get(...)`, `os.getenv(...)` and reads of `os.environ[...]`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(args=[ast.Constant(value=str(name)), *_]):
                if ast.unparse(node.func) in ("os.environ.get", "os.getenv"):
                    yield name
            case ast.Subscript(slice=ast.Constant(value=str(name)), ctx=ast.Load()):
                if ast.unparse(node.value) == "os.environ":
                    yield name
