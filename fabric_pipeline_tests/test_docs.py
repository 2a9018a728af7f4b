"""The docs against the code: generated pages are current, nothing a user can name is left out."""

from __future__ import annotations

import inspect
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from fabric_pipeline import settings
from fabric_pipeline.cli.main import app
from fabric_pipeline.schemas.registry import TABLES
from fabric_pipeline.workflows.format_pages import formats_page
from fabric_pipeline.workflows.reference_pages import reference_files, write_pages, write_reference
from fabric_pipeline_tests.pipeline_runs import ROOT

DOCS = ROOT / "docs"
REFERENCE = DOCS / "reference"
ADRS = sorted((DOCS / "adr").glob("*.md"))


@cache
def everything_written() -> str:
    """README and all pages."""
    pages = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    return "\n".join(page.read_text("utf-8") for page in pages)


def commands() -> list[str]:
    """Every command as a user types it, groups spelt out."""
    found: list[str] = []

    def walk(command: Any, words: list[str]) -> None:
        if not getattr(command, "commands", None):
            found.append(" ".join(words))
            return
        for name, inner in command.commands.items():
            walk(inner, [*words, name])

    walk(get_command(app), ["fabric-pipeline"])
    return found


def test_the_reference_is_what_the_code_would_write() -> None:
    wanted = reference_files()
    there = {
        path.relative_to(REFERENCE).as_posix(): path.read_text("utf-8")
        for path in REFERENCE.rglob("*")
        if path.is_file()
    }
    assert sorted(there) == sorted(wanted)
    stale = [name for name, text in wanted.items() if there[name] != text]
    assert stale == [], "run `make docs`"


def test_writing_the_reference_removes_what_is_no_longer_made(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "gone.md").write_text("old")
    write_reference(tmp_path)
    assert not (tmp_path / "tables" / "gone.md").exists()
    assert {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()} == set(
        reference_files()
    )


def test_generated_tables_are_tables() -> None:
    for name, text in reference_files().items():
        if not name.endswith(".md"):
            assert json.loads(text)["type"] == "object"
            continue
        width = 0
        for line in text.splitlines():
            bars = len(re.findall(r"(?<!\\)\|", line))
            if not line.startswith("|"):
                width = 0
                continue
            width = width or bars
            assert bars == width, f"{name}: {line[:120]}"


@pytest.mark.parametrize("command", commands())
def test_a_command_is_documented(command: str) -> None:
    assert command in everything_written()


@pytest.mark.parametrize("table", TABLES)
def test_a_table_and_its_columns_are_documented(table: str) -> None:
    page = (REFERENCE / "tables" / f"{table}.md").read_text("utf-8")
    assert [name for name in TABLES[table].column_names if f"`{name}`" not in page] == []
    assert f"[{table}]({table}.md)" in (REFERENCE / "tables" / "index.md").read_text("utf-8")


def test_every_setting_is_documented() -> None:
    source = inspect.getsource(settings)
    variables = set(re.findall(r"\"((?:FABRIC|ANTHROPIC)_[A-Z_]+)\"", source))
    assert {"FABRIC_HOME", "ANTHROPIC_API_KEY"} <= variables
    assert sorted(name for name in variables if name not in everything_written()) == []


def test_the_page_of_formats_is_what_the_notes_of_the_readers_would_write() -> None:
    assert (DOCS / "formats.md").read_text("utf-8") == formats_page(), "run `make docs`"


def test_one_command_writes_the_reference_and_the_page_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "docs" / "reference"
    folder.mkdir(parents=True)
    write_pages(folder)
    assert (folder.parent / "formats.md").read_text("utf-8") == formats_page()
    assert (folder / "counters.md").is_file()


def test_decisions_are_numbered_without_gaps_and_say_their_number() -> None:
    numbers = [path.name[:4] for path in ADRS]
    assert numbers == [f"{n:04}" for n in range(1, len(ADRS) + 1)]
    for path in ADRS:
        assert re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", path.name)
        heading = path.read_text("utf-8").splitlines()[0]
        number = re.match(r"# (?:ADR )?0*(\d+)\b", heading)
        assert number, f"{path.name}: {heading}"
        assert int(number[1]) == int(path.name[:4])


def test_links_between_pages_lead_somewhere() -> None:
    broken = {
        f"{page.relative_to(ROOT)}: {target}"
        for page in [ROOT / "README.md", *DOCS.rglob("*.md")]
        for target in targets_of(page.read_text("utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    }
    assert broken == set()


def targets_of(text: str) -> list[str]:
    """Targets of links and pictures outside code blocks, without their anchors."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
