"""The lines of `inspect` for any width and character set, and the one line of progress."""

from __future__ import annotations

import io
import sys
import time

import pytest

from fabric_pipeline.cli import progress_line as progress_module
from fabric_pipeline.cli.fabric_style import ASCII, UNICODE
from fabric_pipeline.cli.inspect_card import InspectCard
from fabric_pipeline.cli.inspect_words import (
    component_remark,
    first_sentences,
    grouped_unknown,
    short_path,
    shown_id,
)
from fabric_pipeline.cli.progress_line import progress_line
from fabric_pipeline.cli.text_layout import picture
from fabric_pipeline.model.findings import EvidenceRef, Finding
from fabric_pipeline.model.records import UnknownFact
from fabric_pipeline.workflows.inspect import Examination, Told
from fabric_pipeline.workflows.inspect_quotes import Quote
from fabric_pipeline_tests.cli.pictures import printed, widest

LONG = "a very long folder name/" * 6 + "nvlink_after_the_swap.txt"
PIPE = 4000


def told(component: str, severity: str = "critical", **fields: object) -> Told:
    role = "context" if severity == "watch" else "cause"
    places = [EvidenceRef(LONG, 7), EvidenceRef(LONG, 9)]
    reason = "It counted errors; " * 9 + "no more."
    finding = Finding(component, "physical_link_degradation", severity, role, reason, places, **fields)  # type: ignore[arg-type] # fmt: skip
    quote = Quote(LONG, 7, "x" * 90 + " Link 3: Replay Errors: 90000 " + "y" * 90, 91)
    return Told(finding, (quote, quote))


def seen(*tellings: Told, verdict: str = "faulty") -> Examination:
    facts = tuple(UnknownFact("n1", f"gpu{gpu}", f"NVLinks of GPU {gpu}", f"no row for GPU {gpu}") for gpu in range(9))  # fmt: skip
    return Examination(verdict, tellings, facts)


def shown(
    what: Examination, width: int, *, everything: bool = False, ascii_only: bool = False
) -> str:
    card = InspectCard(what, ASCII if ascii_only else UNICODE, width, everything=everything)
    return printed(picture(card.lines(), width), width)


@pytest.mark.parametrize("width", [20, 30, 45, 80, 132, 240])
@pytest.mark.parametrize("everything", [False, True])
def test_no_line_is_wider_than_the_terminal(width: int, *, everything: bool) -> None:
    causes = [told(f"n{node}:gpu2/nvlink-0/lane-1", far_end="n1:nvswitch-2/port-30") for node in range(9)]  # fmt: skip
    for what in (
        seen(told("unknown:gpu2/nvlink-0")),
        seen(*causes, told("n1:mlx5_0/1", "watch")),
        seen(told("n1:mlx5_0/1", "watch"), verdict="healthy"),
        seen(verdict="no_data"),
    ):
        assert widest(shown(what, width, everything=everything)) <= width


def test_many_causes_still_fit_one_screen() -> None:
    text = shown(seen(*(told(f"n{node}:gpu2/nvlink-0") for node in range(40))), 80)
    assert len(text.splitlines()) <= 30
    assert text.splitlines()[0].endswith("and 39 more")
    assert "and 35 more: --all" in text


def test_a_pipe_has_each_sentence_whole_on_one_line() -> None:
    lines = shown(seen(told("n1:gpu2/nvlink-0")), PIPE).splitlines()
    (why,) = [line for line in lines if line.startswith("  why")]
    assert why.count("It counted errors") > 1
    assert [line for line in lines if line.startswith(f"  evidence {LONG}:7  ")]


def test_a_quote_keeps_what_matters_in_little_room() -> None:
    assert "Link 3: Replay Errors: 90000" in shown(seen(told("n1:gpu2/nvlink-0")), 80)


def test_a_terminal_without_unicode_gets_ascii() -> None:
    text = shown(seen(told("n1:gpu2/nvlink-0"), told("n1:größe", "watch")), 80, ascii_only=True)
    assert text.startswith("X FAULTY critical")
    assert text.isascii()


@pytest.mark.parametrize(
    ("component", "name", "remark"),
    [
        ("n1:gpu2/nvlink-0", "n1:gpu2/nvlink-0", ""),
        ("unknown:gpu2/nvlink-0", "gpu2/nvlink-0", "host not named"),
        ("unknown:leaf-1/port-3", "leaf-1/port-3", ""),
        ("unknown:lid-2/port-3", "lid-2/port-3", ""),
        ("unknown:0x1070fd", "0x1070fd", ""),
        ("unknown:nvswitch-1/port-3", "nvswitch-1/port-3", "host not named"),
        ("n1:unknown", "n1", ""),
        ("unknown:unknown", "", "host and device not named"),
        ("unknown:unknown/lane-3", "lane 3", "host and device not named"),
    ],
)
def test_a_component_says_what_of_it_is_not_named(component: str, name: str, remark: str) -> None:
    assert (shown_id(component), component_remark(component)) == (name, remark)


def test_alike_unknown_facts_are_said_once() -> None:
    facts = [UnknownFact("n1", f"gpu{n}", f"NVLinks of GPU {n}", f"no row for GPU {n}") for n in range(6)]  # fmt: skip
    assert grouped_unknown([*facts, UnknownFact("", "", "host name", "not said")]) == [
        ("n1:gpu0: NVLinks of GPU 0: no row for GPU 0", "alike: n1:gpu1, n1:gpu2, n1:gpu3 and 2 more"),
        ("host name: not said", ""),
    ]  # fmt: skip


def test_sentences_are_cut_at_their_ends() -> None:
    said = "One thing; a second clause. Two things. Three things. Four."
    assert first_sentences(said, 2, 200) == "One thing; a second clause. Two things."
    assert first_sentences(said, 3, 30) == "One thing; a second clause."
    assert first_sentences(said, 3, 15) == "One thing"
    assert first_sentences("word " * 30, 1, 20) == "word word word word…"
    assert first_sentences("short", 1, 20) == "short"


def test_a_path_keeps_its_end() -> None:
    assert short_path("a/b/c.txt", 20, "…") == "a/b/c.txt"
    assert short_path("folder/of/run_b/perfquery.txt", 22, "…") == "…/run_b/perfquery.txt"
    assert short_path("folder/" + "x" * 50, 20, "…") == "…" + "x" * 19


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_for_a_person_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "_QUIET_S", 0.05)
    monkeypatch.setenv("TERM", "xterm")
    screen, pipe = Terminal(), io.StringIO()
    for stream in (screen, pipe):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress_line() as tell:
            tell("reading a large\x1b[2J file")  # one file only: the line comes up by itself
            time.sleep(0.2)
    assert "reading a large\ufffd[2J file" in screen.getvalue()
    assert screen.getvalue().endswith("\r\x1b[2K")
    assert pipe.getvalue() == ""


def test_a_short_run_and_a_dumb_terminal_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for term, quiet in (("xterm", 5.0), ("dumb", 0.0)):
        screen = Terminal()
        monkeypatch.setattr(progress_module, "_QUIET_S", quiet)
        monkeypatch.setenv("TERM", term)
        monkeypatch.setattr(sys, "stderr", screen)
        with progress_line() as tell:
            tell("reading")
        assert screen.getvalue() == ""
