"""The catalogue commands as a site would use them: check a copy, break it, look things up."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fabric_pipeline_tests.cli.calls import Shell
from fabric_pipeline_tests.pipeline_runs import ROOT

SHIPPED = ROOT / "data" / "catalogue"


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "ours"
    shutil.copytree(SHIPPED, folder)
    monkeypatch.setenv("FABRIC_CATALOGUE", str(folder))
    return folder


def test_the_shipped_catalogue_is_sound(shell: Shell) -> None:
    answer = shell("catalogue", "check", str(SHIPPED), "--json")
    assert answer.code == 0
    assert answer.json["problems"] == []
    assert answer.json["entries"] == len(list(SHIPPED.glob("*.yaml")))


def test_a_broken_copy_names_file_and_field_and_what_to_do(shell: Shell, copy: Path) -> None:
    file = copy / "pcie-slot.yaml"
    file.write_text(file.read_text("utf-8").replace("drain_scope: node", "drain_scope: rack"))
    (copy / "roce-aoc.yaml").write_text("entry_id: [")
    answer = shell("catalogue", "check")
    assert answer.code == 3
    assert answer.out == ""
    assert "pcie-slot.yaml: drain_scope: Input should be 'none', 'link', 'node' or 'nodes'" in answer.err  # fmt: skip
    assert "roce-aoc.yaml: no readable YAML" in answer.err
    assert "docs/how_to/parts_catalogue.md" in answer.err


def test_another_folder_is_used_when_the_environment_names_it(shell: Shell, copy: Path) -> None:
    file = copy / "no-entry.yaml"
    file.write_text(
        file.read_text("utf-8").replace("No entry in the parts", "Nothing in the parts")
    )
    answer = shell("catalogue", "show", "no-entry", "--json")
    assert answer.json["replaceable_part"].startswith("Nothing in the parts")
    listed = shell("catalogue", "show").out.splitlines()
    assert len(listed) == len(list(copy.glob("*.yaml")))


def test_an_empty_folder_says_so(shell: Shell, tmp_path: Path) -> None:
    answer = shell("catalogue", "check", str(tmp_path))
    assert answer.code == 3
    assert "holds no *.yaml file" in answer.err


def test_an_entry_is_shown_in_the_order_of_the_work(shell: Shell) -> None:
    text = shell("catalogue", "show", "infiniband-copper").out
    heads = [
        "part  ",
        "drain  ",
        "safety",
        "order",
        "test  ",
        "pass when",
        "return form",
        "sources",
    ]
    places = [text.index(f"\n{head}") for head in heads]
    assert places == sorted(places)
    assert "replace_cable" in text
    assert "980-9I924-00N002" in text


def test_an_unknown_entry_and_the_schema(shell: Shell) -> None:
    answer = shell("catalogue", "show", "nvlink-x9")
    assert answer.code == 4
    assert "list them: fabric-pipeline catalogue show" in answer.err
    assert "drain_scope" in shell("catalogue", "show", "--schema").json["required"]
