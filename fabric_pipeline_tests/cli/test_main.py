"""The command as a whole: exit codes, stdout for data and stderr for talk, nothing unexplained."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from fabric_pipeline import __version__
from fabric_pipeline.cli.main import app
from fabric_pipeline.settings import Settings
from fabric_pipeline.workflows import doctor
from fabric_pipeline_tests.cli.calls import Shell
from fabric_pipeline_tests.pipeline_runs import ROOT

COMMAND = [sys.executable, "-m", "fabric_pipeline"]
# `dev` becomes another process, `diagnose` answers in JSON and in nothing else.
WITHOUT_JSON = {"dev", "diagnose", "portal"}


def refused(shell: Shell, code: int, *words: object) -> str:
    """The call ends with this code: the problem and what to do on stderr, nothing on stdout."""
    answer = shell(*words)
    assert (answer.code, answer.out) == (code, "")
    assert "Traceback" not in answer.err
    assert re.fullmatch(r"error: .+\n  what to do: .+\n", answer.err, re.DOTALL), answer.err
    return answer.err


def test_help_and_version_are_data() -> None:
    for words, expected in ((["--help"], "Usage"), (["--version"], __version__)):
        done = subprocess.run(
            [*COMMAND, *words], cwd=ROOT, capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert expected in done.stdout


def test_every_command_has_help_and_says_what_it_does() -> None:
    def walk(command: object, name: str) -> None:
        inner = getattr(command, "commands", {})
        assert str(getattr(command, "help", "")).strip(), name
        for word, one in inner.items():
            walk(one, f"{name} {word}")
            if not getattr(one, "commands", None) and word not in WITHOUT_JSON:
                options = {option for param in one.params for option in param.opts}
                assert "--json" in options, f"{name} {word}"

    walk(get_command(app), "fabric-pipeline")


@pytest.mark.parametrize(
    "words", [["nonsense"], ["run", "--nonsense"], ["review", "--approve"], ["synth"]]
)
def test_wrong_use_is_2(shell: Shell, words: list[str]) -> None:
    answer = shell(*words)
    assert answer.code == 2
    assert answer.err


@pytest.mark.parametrize("command", ["run", "inspect", "diagnose"])
def test_a_wrong_path_is_3_with_its_name_and_a_remedy(
    shell: Shell, tmp_path: Path, command: str
) -> None:
    assert "nowhere.log" in refused(shell, 3, command, tmp_path / "nowhere.log")


@pytest.mark.parametrize(
    "words",
    [
        ["incidents", "INC-000000000000"],
        ["dossier", "build", "INC-000000000000"],
        ["tickets", "T-000000000000"],
        ["review", "T-000000000000"],
        ["review", "T-000000000000", "--approve", "--reviewer", "Mara"],
        ["publish", "no-such-drop"],
        ["topology", "no-such-drop"],
        ["matrix", "no-such-drop"],
        ["matrix", "--kind", "p2p", "no-such-drop"],
        ["compare", "no-such-drop", "small"],
        ["topology", "--rack", "no-such-rack"],
        ["topology", "--link", "no-such:link"],
    ],
)
def test_what_does_not_exist_is_4(shell: Shell, home: Settings, words: list[str]) -> None:
    named = next(word for word in words if "0000" in word or "no-such" in word)
    assert named in refused(shell, 4, *words)


def test_before_the_first_run_the_commands_say_what_to_do(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABRIC_HOME", str(tmp_path / "new"))
    for words in (["audit", "query", "select 1"], ["audit", "tables"], ["topology"], ["matrix"], ["compare"]):  # fmt: skip
        assert "run" in refused(shell, 4, *words)
    for words in (["incidents", "--json"], ["tickets", "--json"], ["review", "--json"]):
        assert shell(*words).json == []
    assert "nothing is approved" in refused(shell, 5, "publish")


def test_publishing_without_an_approval_is_5(shell: Shell, home: Settings) -> None:
    for words in (["publish"], ["publish", "small"], ["publish", "--json"]):
        assert "2 ticket(s) wait for a person" in refused(shell, 5, *words)
    assert not home.outbox.exists()


def test_a_setting_that_cannot_be_is_2(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABRIC_DRAFT_TIMEOUT_S", "soon")
    assert "FABRIC_DRAFT_TIMEOUT_S" in refused(shell, 2, "tickets")


def test_a_home_that_cannot_be_used_is_named(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FABRIC_HOME", str(tmp_path / "file"))
    assert str(tmp_path / "file") in refused(shell, 1, "tickets")


def test_ctrl_c_says_that_nothing_is_lost(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: Settings) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(doctor, "examine", interrupted)
    answer = shell("doctor")
    assert answer.code == 130
    assert "run the command again" in answer.err


def test_a_reader_that_goes_away_is_no_error_worth_a_traceback() -> None:
    command = f"{sys.executable} -m fabric_pipeline doctor --formats --json | head -c 1"
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=60)  # noqa: S602
    assert (done.stdout, done.stderr) == ("[", "")


def test_a_terminal_without_utf8_still_gets_an_answer(tmp_path: Path) -> None:
    (tmp_path / "überlauf.log").write_text("nothing known\n")
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONPATH": str(ROOT)}
    for words in (["inspect", "überlauf.log"], ["inspect", "--json", "überlauf.log"]):
        done = subprocess.run(
            [*COMMAND, *words], cwd=tmp_path, env=env, capture_output=True, timeout=60
        )
        assert done.returncode == 0
        assert b"Traceback" not in done.stderr
        assert done.stdout.isascii()
        assert b"berlauf.log" in done.stdout


def test_doctor_is_1_when_something_is_broken(shell: Shell, home: Settings) -> None:
    assert shell("doctor").code == 0
    home.ledger.write_bytes(b"no database")
    answer = shell("doctor", "--json")
    assert answer.code == 1
    assert {check["what"] for check in answer.json if check["state"] == "broken"} == {"ledger"}


def test_formats_are_listed_with_tool_and_versions(shell: Shell) -> None:
    answer = shell("doctor", "--formats")
    assert (answer.code, answer.err) == (0, "")
    head, _, *rows = answer.out.splitlines()
    assert head.split() == ["format", "reads", "tool", "versions", "seen"]
    assert len(rows) == len(doctor.readable_formats())
    assert any(row.startswith("dcgmi_dmon ") and row.endswith("DCGM 3.1.8") for row in rows)


@pytest.mark.parametrize(("columns", "last"), [(100, "reader"), (130, "seen"), (250, "seen")])
def test_formats_fit_the_terminal(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, columns: int, last: str
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = shell("doctor", "--formats").out.splitlines()
    assert lines[0].split()[-1] == last
    assert max(map(len, lines)) <= columns


def test_formats_in_json_carry_the_notes_of_the_readers(shell: Shell) -> None:
    rows = {row["format"]: row for row in shell("doctor", "--formats", "--json").json}
    row = rows["ibdiagnet2_lst"]
    assert {"format", "reads", "reader", "tool", "versions", "recognised_by", "gives", "traps"} == {
        *row
    }
    assert any("hexadecimal" in trap for trap in row["traps"])
