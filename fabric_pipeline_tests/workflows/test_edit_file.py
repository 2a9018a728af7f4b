"""Reading the changes of an edit from files and words."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline.errors import BadInputError, UsageError
from fabric_pipeline.workflows.edit_file import MAX_BYTES, changes_given


def written(tmp_path: Path, name: str, text: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.json", '{"rack": "R1", "cable": {"serial": "S"}}'),
        ("p.yaml", "rack: R1\ncable:\n  serial: S\n"),
        ("p.txt", "\ufeffrack: R1\ncable: {serial: S}\n"),
    ],
)
def test_json_and_yaml_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    changes = changes_given(written(tmp_path, name, text), [])
    assert changes == {"rack": "R1", "cable": {"serial": "S"}}


def test_words_win_over_the_file_and_may_hold_an_equals_sign(tmp_path: Path) -> None:
    path = written(tmp_path, "p.yaml", "rack: R1\nunit: U2\n")
    changes = changes_given(path, ["rack=R3", "contact = desk = 2"])
    assert changes == {"rack": "R3", "unit": "U2", "contact": "desk = 2"}


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("p.json", "{", "neither JSON nor YAML"),
        ("p.yaml", "a: [", "neither JSON nor YAML"),
        ("p.yaml", "!!python/object/apply:os.system ['true']", "neither JSON nor YAML"),
        ("p.yaml", b"\xff\xfe\x00", "neither JSON nor YAML"),
        ("p.json", "[" * 100_000, "neither JSON nor YAML"),
        ("p.yaml", "a: &a [x, x]\nb: [*a, *a]\n", "it uses aliases"),
        ("p.yaml", "", "no list of fields"),
        ("p.json", "[1]", "no list of fields"),
        ("p.yaml", b" " * (MAX_BYTES + 1), "larger than"),
    ],
)
def test_other_files_are_refused_with_their_name(
    tmp_path: Path, name: str, text: str | bytes, problem: str
) -> None:
    with pytest.raises(BadInputError, match=problem) as caught:
        changes_given(written(tmp_path, name, text), [])
    assert name in str(caught.value)


def test_nothing_to_change_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="no such file"):
        changes_given(tmp_path / "none.yaml", [])
    with pytest.raises(UsageError, match="no change is given"):
        changes_given(None, [])
    with pytest.raises(UsageError, match="not FIELD=VALUE"):
        changes_given(None, ["rack"])
