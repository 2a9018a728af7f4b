"""The film's story, its captions and the committed files; nothing is recorded here."""

from __future__ import annotations

import json
import re
import shlex
from itertools import pairwise
from pathlib import Path

import click
import pytest
import typer.main
from PIL import Image

from demo.film import needs
from demo.film.captions import as_vtt, read_vtt
from demo.film.encode import MOST_BYTES, NAME
from demo.film.errors import FilmError
from demo.film.pace import TICKS_PER_S, at_least_ticks
from demo.film.reel import BAR, HEIGHT, WIDTH, Cue, Reel
from demo.film.screen import Screen
from demo.film.shell import COLUMNS, ROWS
from demo.film.story import STORY, Click, Type
from fabric_pipeline.cli.main import app
from fabric_pipeline_tests.pipeline_runs import ROOT

DEMO = ROOT / "demo"
ENDINGS = ("mp4", "webm", "gif", "png", "vtt", "cast")
CAPTIONS = [scene.caption for scene in STORY]
TYPED = [action for scene in STORY for action in scene.actions if isinstance(action, Type)]
MARKER = re.compile(r"\x1b\][^\x07]*\x07")


@pytest.fixture(scope="module")
def cues() -> list[Cue]:
    return read_vtt((DEMO / f"{NAME}.vtt").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def events() -> list[tuple[float, str, str]]:
    _, *lines = (DEMO / f"{NAME}.cast").read_text(encoding="utf-8").splitlines()
    return [tuple(json.loads(line)) for line in lines]


def test_the_files_are_there_and_small() -> None:
    sizes = {ending: (DEMO / f"{NAME}.{ending}").stat().st_size for ending in ENDINGS}
    assert all(sizes.values())
    assert sum(sizes.values()) < MOST_BYTES


def test_the_films_are_what_their_names_say() -> None:
    heads = {ending: (DEMO / f"{NAME}.{ending}").read_bytes()[:64] for ending in ENDINGS[:3]}
    assert heads["mp4"][4:8] == b"ftyp"
    assert heads["webm"][:4] == b"\x1a\x45\xdf\xa3"
    assert heads["gif"][:6] == b"GIF89a"
    with Image.open(DEMO / f"{NAME}.png") as poster:
        assert poster.size == (WIDTH, HEIGHT + BAR)


def test_the_committed_captions_are_those_of_the_story(cues: list[Cue]) -> None:
    assert [cue.text for cue in cues] == CAPTIONS


def test_captions_follow_each_other_and_can_be_read(cues: list[Cue]) -> None:
    assert cues[0].start == 0
    assert all(one.end == after.start for one, after in pairwise(cues))
    assert [cue.text for cue in cues if cue.end - cue.start < at_least_ticks(cue.text)] == []
    assert 60 <= cues[-1].end / TICKS_PER_S <= 100


def test_the_cast_has_each_caption_at_the_moment_it_appears(
    cues: list[Cue], events: list[tuple[float, str, str]]
) -> None:
    marked = [(time, text) for time, kind, text in events if kind == "m"]
    assert marked == [(cue.start / TICKS_PER_S, cue.text) for cue in cues]
    times = [time for time, _, _ in events]
    assert times == sorted(times)
    assert times[-1] < cues[-1].end / TICKS_PER_S


def test_the_cast_shows_every_command_and_what_it_had_to_say(
    events: list[tuple[float, str, str]],
) -> None:
    sent = "".join(text for _, kind, text in events if kind == "o")
    at = 0
    for command in TYPED:
        at = sent.index(f"{command.command}\r\n", at)
        for words in command.says:
            assert words in sent[at:]
    assert MARKER.search(sent) is None
    assert str(ROOT) not in sent


def test_the_cast_fits_its_screen(events: list[tuple[float, str, str]]) -> None:
    head = json.loads((DEMO / f"{NAME}.cast").read_text(encoding="utf-8").splitlines()[0])
    assert (head["version"], head["width"], head["height"]) == (2, COLUMNS, ROWS)
    screen = Screen()
    for _, kind, text in events:
        if kind == "o":
            screen.feed(text)
    assert "~/fabric" in screen.markup()


@pytest.mark.parametrize(
    "command",
    [one.command for one in TYPED if one.command.startswith("fabric-pipeline")],
)
def test_the_commands_of_the_story_exist(command: str) -> None:
    words = shlex.split(command)[1:]
    node: click.Command = typer.main.get_command(app)
    while isinstance(node, click.Group) and words:
        assert words[0] in node.commands
        node = node.commands[words.pop(0)]
    with node.make_context(node.name, words, resilient_parsing=False) as context:
        assert context.params


def test_the_story_is_the_whole_path() -> None:
    refused = [one for one in TYPED if one.exit_code]
    assert [(one.command, one.exit_code) for one in refused] == [("fabric-pipeline publish", 5)]
    clicked = [a.name for scene in STORY for a in scene.actions if isinstance(a, Click)]
    assert clicked.count("Approve") == 2
    order = [
        clicked.index(name)
        for name in ("Open T-", "Save the edit", "Approve", "Print for the technician")
    ]
    assert order == sorted(order)
    assert [scene.caption for scene in STORY if len(scene.caption) > 100] == []


def test_captions_are_read_as_they_were_written() -> None:
    cues = [Cue(0, 31, "one <b> & two"), Cue(31, 36_100, "three")]
    assert read_vtt(as_vtt(cues)) == cues
    with pytest.raises(ValueError, match="no WebVTT"):
        read_vtt("1\n00:00:01,000 --> 00:00:02,000\nno\n")


def test_a_caption_stands_until_it_can_be_read(tmp_path: Path) -> None:
    reel = Reel(tmp_path, lambda *_: Image.new("RGB", (WIDTH, BAR)))
    reel.begin("x" * 70)
    reel.add(Image.new("RGB", (WIDTH, HEIGHT)), 3, "terminal")
    reel.end(is_poster=True)
    assert reel.cues == [Cue(0, 50, "x" * 70)]
    assert (reel.ticks, reel.poster) == (50, tmp_path / "00000.png")


def test_hostile_words_on_the_terminal_stay_text() -> None:
    screen = Screen()
    screen.feed("\x1b[31m<script>alert(1)</script>\x1b[0m & done")
    assert "&lt;script&gt;" in screen.markup()
    assert "<script>" not in screen.markup()


def test_what_is_missing_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "PROGRAMS", {"no-such-encoder": "ffmpeg", "no-browser": "chromium"})
    with pytest.raises(FilmError, match="apt-get install chromium ffmpeg"):
        needs.check_needs()
