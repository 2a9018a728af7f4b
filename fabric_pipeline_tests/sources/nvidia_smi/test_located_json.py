"""JSON with lines: the same values as the standard library, and cut documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.sources.nvidia_smi.located_json import Document, located_documents
from fabric_pipeline_tests.sources.nvidia_smi.files import source


def documents(folder: Path, text: str) -> list[Document]:
    return list(located_documents(source(folder, text)))


def flat(value: Any, path: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], Any]:
    if isinstance(value, dict):
        return {p: v for key, item in value.items() for p, v in flat(item, (*path, key)).items()}
    if isinstance(value, list):
        return {p: v for n, item in enumerate(value) for p, v in flat(item, (*path, n)).items()}
    return {path: value}


def test_values_keep_their_lines(tmp_path: Path) -> None:
    (document,) = documents(tmp_path, '$ dcgmi x -j\n{\n "a": {"b": [1,\n  "two"]}\n}\n')
    assert [(leaf.path, leaf.value, leaf.line) for leaf in document.leaves] == [
        (("a", "b", 0), 1, 3),
        (("a", "b", 1), "two", 4),
    ]
    assert (document.problem, document.command) == ("", "dcgmi x -j")


def test_several_documents_and_a_cut_one(tmp_path: Path) -> None:
    first, second = documents(tmp_path, '{"a": 1}\n$ dcgmi y\n{"b": 2, "c": {"d": "x')
    assert first.problem == ""
    assert [leaf.value for leaf in second.leaves] == [2]
    assert "closing quote" in second.problem


@pytest.mark.parametrize("text", ["{" * 5000, '{"a": ' * 3000, '["' + '\\"' * 300_000, "{]}["])
def test_hostile_nesting_ends(tmp_path: Path, text: str) -> None:
    assert all(document.leaves == [] for document in documents(tmp_path, text))


plain = st.one_of(st.none(), st.booleans(), st.integers(-(10**15), 10**15), st.text(max_size=20))
trees = st.dictionaries(
    st.text(max_size=8),
    st.recursive(
        plain,
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
        ),
        max_leaves=15,
    ),
    min_size=1,
    max_size=5,
)


@given(trees, st.sampled_from([None, 1, 4]))
def test_same_values_as_the_standard_library(
    tmp_path_factory: pytest.TempPathFactory, tree: dict[str, Any], indent: int | None
) -> None:
    (document,) = documents(tmp_path_factory.mktemp("x"), json.dumps(tree, indent=indent))
    assert {leaf.path: leaf.value for leaf in document.leaves} == flat(tree)
    assert document.problem == ""
