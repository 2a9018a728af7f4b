"""The screen of `inspect`, through the command: verdict first, evidence quoted, what is open, what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from fabric_pipeline_tests.cli.calls import Shell
from fabric_pipeline_tests.pipeline_runs import ROOT
from fabric_pipeline_tests.workflows.readout import write

ERRORS = (
    "GPU 2: Some Card (UUID: GPU-1)\n\t Link 3: Replay Errors: {}\n\t Link 4: Replay Errors: 0\n"
)
STATUS = "GPU 0: Some Card (UUID: GPU-1)\n\t Link 0: 26.562 GB/s\n\t Link 1: 26.562 GB/s\n"
MATRIX = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV18\t0-31\t0\nGPU1\tNV18\t X \t0-31\t0\n"
KERNEL = "kernel: NVRM: Xid (PCI:0000:9b:00): 119, pid=1, name=x, Timeout waiting for RPC from GPU0 GSP!\n"
STEERING = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e]")


@pytest.fixture
def captures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the command runs; its home must not come into being."""
    monkeypatch.setenv("FABRIC_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    files = {"before.txt": ERRORS.format(10), "after.txt": ERRORS.format(90_000)}
    return write(tmp_path, files | {"s.txt": STATUS, "topo.txt": MATRIX, "k.log": KERNEL * 3})


def terminal(patch: pytest.MonkeyPatch, columns: int) -> None:
    patch.setenv("FORCE_COLOR", "1")
    patch.setenv("NO_COLOR", "1")
    patch.setenv("COLUMNS", str(columns))


def seen(text: str) -> list[str]:
    return re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()


def test_the_first_line_is_enough_and_the_evidence_is_quoted(shell: Shell, captures: Path) -> None:
    answer = shell("inspect", "before.txt", "after.txt", "--node", "calc-07")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0] == "▲ FAULTY critical  calc-07:gpu2/nvlink-3"
    assert "  evidence after.txt:2  Link 3: Replay Errors: 90000" in lines
    assert "  far end  not named in these files" in lines
    assert any(
        line.startswith("  nvidia-smi nvlink -R -i 2   # names the far end") for line in lines
    )
    assert lines[-1] == "Read 2 files: 2 nvidia_smi_nvlink_errors; 4 readings."
    assert answer.err == ""
    assert not (captures / "home").exists()


def test_one_cause_fits_a_small_terminal(
    shell: Shell, captures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal(monkeypatch, 80)
    lines = seen(shell("inspect", "before.txt", "after.txt").out)
    assert len(lines) <= 24
    assert max(map(cell_len, lines)) <= 80
    assert lines[0] == "▲ FAULTY critical  gpu2/nvlink-3  host not named"


def test_a_terminal_without_colour_and_a_pipe_get_no_colour(
    shell: Shell, captures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\x1b" not in shell("inspect", "after.txt").out
    terminal(monkeypatch, 80)
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", shell("inspect", "after.txt").out)


def test_clean_says_what_was_measured_and_what_was_not(shell: Shell, captures: Path) -> None:
    lines = shell("inspect", "s.txt").out.splitlines()
    assert lines[0] == "· HEALTHY as far as measured"
    assert lines[1] == "  measured 2 NVLinks: state"
    assert lines[2].startswith("  missing  errors of the NVLinks, PCIe links and network ports")
    assert "  nvidia-smi nvlink -e   # counts" in "\n".join(lines)


def test_no_data_says_what_is_missing_and_what_gives_it(shell: Shell, captures: Path) -> None:
    lines = shell("inspect", "topo.txt").out.splitlines()
    assert lines[0] == "░ NO DATA  nothing about links was measured in this file"
    assert lines[1].startswith("  missing  NVLinks, PCIe links and network ports")
    assert any(line.startswith("  nvidia-smi nvlink -s") for line in lines)


def test_what_is_no_link_says_so(shell: Shell, captures: Path) -> None:
    lines = shell("inspect", "k.log").out.splitlines()
    assert lines[0] == "◆ NOT A LINK warning  xid  pci-0000:9b:00.0  host not named"
    assert any(line.startswith("  evidence k.log:1  kernel: NVRM: Xid") for line in lines)
    assert any(line.startswith("  journalctl -k -o short-iso") for line in lines)
    assert "far end" not in lines[2]


def test_a_file_that_is_not_read_is_named_before_anything_else_is_asked(
    shell: Shell, captures: Path
) -> None:
    write(captures, {"tea.txt": "two sugars\n", "none.txt": ""})
    out = shell("inspect", "tea.txt", "none.txt", "s.txt").out
    assert "Not read: 2\n" in out
    assert "  tea.txt: no reader knows this format (line 1: 'two sugars')" in out
    assert "  none.txt: file is empty; nothing was measured in it" in out
    assert "Read 3 files: 2 of unknown format, 1 nvidia_smi_nvlink_status; 4 readings." in out


def test_many_files_are_summed_up_and_listed_when_asked(shell: Shell, captures: Path) -> None:
    write(captures, {f"many/{number}.txt": STATUS for number in range(40)})
    out = shell("inspect", "many").out
    assert "Read 40 files: 40 nvidia_smi_nvlink_status; 160 readings." in out
    assert "17.txt" not in out
    listed = shell("inspect", "many", "--files").out
    assert re.search(r"^many/17\.txt +nvidia_smi_nvlink_status +4 +0$|^17\.txt +", listed, re.M)


def test_everything_is_shown_when_asked(shell: Shell, captures: Path) -> None:
    rows = "".join(f"GPU {n}: Some Card\n\t Link 0: CRC Errors: {9_000 + n}\n" for n in range(8))
    write(captures, {"bad.txt": rows})
    short, whole = shell("inspect", "bad.txt").out, shell("inspect", "bad.txt", "--all").out
    assert short.splitlines()[0] == "◇ HEALTHY as far as measured, 8 things to watch"
    assert "  and 7 more: --all" in short
    assert ": --all" not in whole
    lines = whole.splitlines()
    assert [n for n in range(8) if f"  evidence bad.txt:{2 * n + 2}  Link 0: CRC Errors: {9_000 + n}" not in lines] == []  # fmt: skip


def test_stdin_beside_files_and_alone(shell: Shell, captures: Path) -> None:
    alone = shell("inspect", "-", "--node", "calc-07", "--time", "now", stdin=KERNEL)
    assert alone.out.splitlines()[0].startswith("◆ NOT A LINK warning")
    assert "evidence stdin:1" in alone.out
    assert "Read stdin (kernel_log);" in alone.out
    both = shell("inspect", "before.txt", "-", "--node", "n1", stdin=ERRORS.format(90_000))
    assert both.out.splitlines()[0] == "▲ FAULTY critical  n1:gpu2/nvlink-3"
    answer = shell("inspect", "-", "--json", stdin=KERNEL)
    assert answer.json["inputs"][0]["path"] == "-"


@pytest.mark.parametrize(
    ("words", "stdin", "code", "said"),
    [
        (["nothing/*.log"], "", 3, "nothing/*.log: no file matches"),
        (["nothing.log"], "", 3, "nothing.log: no such file or folder"),
        (["-"], "", 3, "stdin is empty"),
        (["-"], b"\0\1\2" * 99, 3, "stdin: binary content"),
        (["-", "-"], "x", 2, "- is given more than once"),
        (["s.txt", "--time", "soon"], "", 2, "--time 'soon' is not a time"),
        (["s.txt", "topo.txt", "--time", "now"], "", 2, "one --time for 2 files"),
    ],
)
def test_what_cannot_be_meant_is_an_error_with_a_remedy(
    shell: Shell, captures: Path, words: list[str], stdin: str | bytes, code: int, said: str
) -> None:
    answer = shell("inspect", *words, *(["--json"] if code == 2 else []), stdin=stdin)
    assert (answer.code, answer.out) == (code, "")
    assert said in answer.err
    assert "what to do:" in answer.err


def test_a_hostile_capture_is_data(shell: Shell, captures: Path) -> None:
    attack = "\x1b]0;owned\x07\x1b[2J\u202e"
    log = f"Nov 20 08:00:00 n{attack}1 kernel: NVRM: Xid (PCI:0000:9b:00): 79, pid=1, GPU has fallen off the bus. {attack}\n"
    write(
        captures,
        {f"a{attack.replace('/', '')}.log": log, "b.txt": ERRORS.format(f"90000 {attack}")},
    )
    for words in ([], ["--all", "--files"]):
        answer = shell("inspect", ".", *words)
        assert answer.code == 0
        assert not STEERING.search(answer.out.replace("\n", ""))
        assert "[bold]" not in answer.out


def test_the_page_shows_what_the_command_prints(
    shell: Shell, captures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "how_to" / "inspect.md").read_text("utf-8")
    command, _, screen = page.split("```console\n$ ", 1)[1].split("```", 1)[0].partition("\n")
    words = command.removeprefix("fabric-pipeline ").split()
    terminal(monkeypatch, 80)
    lines = seen(shell(*words[:1], ROOT / words[1], *words[2:]).out)
    assert lines == screen.splitlines()
    assert len(lines) <= 24
