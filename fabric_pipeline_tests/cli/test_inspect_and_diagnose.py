"""`inspect` and `diagnose`: no state, one answer in its documented shape."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fabric_pipeline_tests.cli.calls import Shell
from fabric_pipeline_tests.pipeline_runs import ROOT
from fabric_pipeline_tests.small_drop import BAD_LINKS

CASES = sorted(
    path
    for path in (ROOT / "data" / "reference_cases").glob("*.json")
    if not path.name.endswith(".expected.json")
)
DIGITS = "9" * 5000


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "home"
    monkeypatch.setenv("FABRIC_HOME", str(place))
    return place


def test_inspect_answers_in_the_shape_of_its_contract(
    shell: Shell, small_drop: Path, home: Path
) -> None:
    answer = shell("inspect", small_drop, "--json")
    assert answer.code == 0
    body = answer.json
    assert set(body) == {"inputs", "verdict", "findings", "unknown", "facts"}
    assert body["verdict"] == "faulty"
    assert {one["format"] for one in body["inputs"]} == {
        "fabric_counters", "fabric_collectives", "fabric_runs", "fabric_topology",
    }  # fmt: skip
    for one in body["inputs"]:
        assert set(one) == {"path", "format", "readings", "rejected_lines"}
    assert {one["component"] for one in body["findings"]} == set(BAD_LINKS)
    for finding in body["findings"]:
        assert {"component", "kind", "severity", "role", "reason", "evidence"} <= set(finding)
        assert finding["evidence"]
        for place in finding["evidence"]:
            assert set(place) == {"path", "line"}
    assert not home.exists()


def test_inspect_tells_a_person_the_same(shell: Shell, small_drop: Path, home: Path) -> None:
    answer = shell("inspect", small_drop)
    assert answer.out.startswith("▲ FAULTY critical  ")
    assert all(link in answer.out for link in BAD_LINKS)


def test_a_file_that_nobody_knows_is_unknown_and_not_healthy(
    shell: Shell, tmp_path: Path, home: Path
) -> None:
    (tmp_path / "tea.txt").write_text("two sugars\n")
    answer = shell("inspect", tmp_path / "tea.txt", "--json")
    assert answer.code == 0
    assert answer.json["inputs"][0]["format"] == "unknown"
    assert answer.json["verdict"] not in ("healthy", "faulty")
    assert answer.json["facts"]["problems"]


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_the_reference_cases_are_answered_exactly(shell: Shell, case: Path) -> None:
    expected = json.loads(case.with_suffix(".expected.json").read_text("utf-8"))
    from_file = shell("diagnose", case)
    assert (from_file.code, from_file.json, from_file.err) == (0, expected, "")
    assert shell("diagnose", "-", stdin=case.read_text("utf-8")).json == expected


def test_there_are_reference_cases() -> None:
    assert len(CASES) == 4


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "3", "{}", '{"node_id": "n"}', "[" * 100_000, DIGITS,
        '{"node_id": "n", "fabric_errors": {}}', '{"node_id": 7, "fabric_interface": null}',
        '{"node_id":"n","fabric_interface":"nvlink-1","crc_error_count":"many"}',
    ],
    ids=lambda text: text[:24],
)  # fmt: skip
def test_a_case_that_is_none_is_3_with_what_is_wrong(shell: Shell, text: str) -> None:
    answer = shell("diagnose", "-", stdin=text)
    assert (answer.code, answer.out) == (3, ""), answer
    assert "what to do:" in answer.err
    assert len(answer.err) < 600


def test_a_folder_and_a_binary_file_are_no_case(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "case.json").write_bytes(b"\xff\xfe\x00{")
    assert "case.json" in shell("diagnose", tmp_path / "case.json").err
    answer = shell("diagnose", tmp_path)
    assert answer.code == 3
    assert str(tmp_path) in answer.err
