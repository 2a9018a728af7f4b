"""JSON objects inside text: where they start, what one broken object costs, and how long it takes."""

from __future__ import annotations

import time

import pytest

from fabric_pipeline.sources.collectives.json_records import as_float, as_int, records


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('{"a": 1}\n{"a": 2}\n', [1, 2]),
        ('$ tool --json\n{\n  "a": {"b": 1}\n}\n', [2]),
        ('[\n{"a": 1},\n{"a": 2}\n]', [2, 3]),
        ('{"a": 1}{"a": 2} {"a":', [1, 1, -1]),
        ('{"a": [\n{"b": 1},\n{"b": 2}\n]}\n{"c": 3}', [1, 5]),
        ('{"a": 1,\n{"b": 2}\n', [-1, 2]),
        ("", []),
    ],
)
def test_objects_and_their_lines(text: str, lines: list[int]) -> None:
    found = [each.line if each.value is not None else -each.line for each in records(text)]
    assert found == lines


def test_many_broken_objects_stay_cheap() -> None:
    begin = time.monotonic()
    assert sum(1 for _ in records('{"a": [\n' * 20_000)) == 20_000
    assert sum(1 for _ in records('{"a": ' * 50_000)) == 1
    assert time.monotonic() - begin < 30


def test_numbers_that_are_none() -> None:
    assert [as_float(value) for value in (True, "N/A", float("nan"), None, "2.5", 3)] == [
        None, None, None, None, 2.5, 3.0,
    ]  # fmt: skip
    assert [as_int(value) for value in (False, "x", 2.5, 2**70, "17", 4.0)] == [None] * 4 + [17, 4]
