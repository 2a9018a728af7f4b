"""What the shell offers: names of this home, quickly, without an error, and in bash with colons in them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from fabric_pipeline.cli import completion
from fabric_pipeline.cli.main import app
from fabric_pipeline.settings import Settings
from fabric_pipeline.store.ledger import Ledger
from fabric_pipeline_tests.cli.calls import Shell
from fabric_pipeline_tests.pipeline_runs import ROOT

HEAVY = ("dagster", "pandas", "anthropic", "duckdb", "pydantic", "numpy", "starlette")
NODE = "calc-r1-n1"


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> object:
    """`offered("topology", "--node", "cal")` is TAB after the last word, as bash asks."""

    def ask(*words: str) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", "\n".join(["fabric-pipeline", *words]))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        monkeypatch.setenv("_FABRIC_PIPELINE_COMPLETE", "complete_bash")
        monkeypatch.setattr(sys, "argv", ["fabric-pipeline"])
        return completion.offer(partial(app, prog_name="fabric-pipeline")).split()

    return ask


def test_commands_options_and_names_of_this_home(offered: object, home: Settings) -> None:
    assert callable(offered)
    assert offered("comp") == ["compare"]
    assert "--rack" in offered("topology", "--")
    assert offered("topology", "") == ["small"]
    assert offered("compare", "small", "s") == ["small"]
    assert offered("topology", "--node", "calc") == [NODE, "calc-r1-n2"]
    assert offered("topology", "small", "--rack", "") == ["r1"]
    rows = Ledger(home.ledger).tickets()
    assert set(offered("review", "T-")) == {row.ticket_id for row in rows}
    assert set(offered("tickets", "history", "")) == {row.ticket_id for row in rows}
    assert offered("incidents", rows[0].incident_id[:9]) == [rows[0].incident_id]
    assert offered("dossier", "build", rows[0].incident_id[:9]) == [rows[0].incident_id]


def test_a_link_is_offered_after_its_node(offered: object, home: Settings) -> None:
    assert callable(offered)
    assert offered("topology", "--link", "calc") == [f"{NODE}:", "calc-r1-n2:"]
    links = offered("topology", "--link", NODE)
    assert f"{NODE}:gpu1/nvlink-2" in links
    assert all(link.startswith(f"{NODE}:") for link in links)
    # Bash takes a word apart at colons and replaces the last piece alone.
    assert offered("topology", "--link", NODE, ":", "gpu1/nvlink-2") == ["gpu1/nvlink-2"]
    assert "gpu0/nvlink-0" in offered("topology", "--link", NODE, ":")
    assert offered("topology", "--node", "=", NODE) == [NODE]


def test_a_second_reading_of_a_drop_brings_its_new_names(offered: object, home: Settings) -> None:
    assert callable(offered)
    assert offered("topology", "--node", "calc") != []
    cache = home.home / "cache" / "names" / "small.txt"
    assert cache.is_file()
    for table in ("fabric_topology", "link_counters"):
        shutil.rmtree(home.lake / table)
    assert offered("topology", "--node", "calc") == []
    assert offered("topology", "") == []


@pytest.mark.parametrize("damage", ["no home", "ledger is no database", "a setting that cannot be"])
def test_whatever_is_wrong_offers_nothing_and_says_nothing(
    offered: object,
    home: Settings,
    damage: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert callable(offered)
    if damage == "no home":
        monkeypatch.setenv("FABRIC_HOME", str(home.home / "gone"))
    elif damage == "a setting that cannot be":
        monkeypatch.setenv("FABRIC_DRAFT_TIMEOUT_S", "soon")
    else:
        home.ledger.write_bytes(b"no database")
    assert offered("review", "") == []
    assert capfd.readouterr() == ("", "")
    assert "compare" in offered("")


def test_a_completion_and_the_help_load_nothing_heavy(home: Settings) -> None:
    code = (
        "import sys; sys.argv = ['fabric-pipeline', *sys.argv[1:]]\n"
        "from fabric_pipeline.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)"
    )
    asked = {"COMP_WORDS": "fabric-pipeline review T", "COMP_CWORD": "2", "_FABRIC_PIPELINE_COMPLETE": "complete_bash"}  # fmt: skip
    allowed = {"--help": "[]", "incidents": "['pydantic']"}
    for words, more, found in (
        ([], asked, "[]"),
        *(([word], {}, loaded) for word, loaded in allowed.items()),
    ):
        env = {**os.environ, **more, "FABRIC_HOME": str(home.home), "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", code, *words], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.stderr.splitlines()[-1] == found, words


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_with_the_script_it_is_given(home: Settings, tmp_path: Path) -> None:
    """The generated script in a real bash, called as its completion calls it."""
    program = tmp_path / "fabric-pipeline"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m fabric_pipeline "$@"\n'
    )
    program.chmod(0o755)
    script = (
        'eval "$(_FABRIC_PIPELINE_COMPLETE=source_bash fabric-pipeline)"\n'
        f"COMP_WORDS=(fabric-pipeline topology --link {NODE} : gpu1/nvlink-2); COMP_CWORD=5\n"
        '_fabric_pipeline_completion fabric-pipeline; printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "FABRIC_HOME": str(home.home)}
    done = subprocess.run(
        ["bash", "--norc", "-c", script], env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("gpu1/nvlink-2\n", "")


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_a_script_is_shown_for_each_shell(
    shell: Shell, shell_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_FABRIC_PIPELINE_COMPLETE", f"source_{shell_name}")
    answer = shell()
    assert (answer.code, answer.err) == (0, "")
    assert f"_FABRIC_PIPELINE_COMPLETE=complete_{shell_name}" in answer.out
