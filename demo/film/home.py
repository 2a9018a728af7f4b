"""The place where the film happens: a folder with a fixed name, so that no picture tells of the machine.

It holds one shipped drop, the warehouse that the product fills, the commands by their names, and the
clock of the film. It is removed when the film is over.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from demo.film.errors import FilmError
from demo.film.story import DROP, STORY

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path("/tmp/fabric")  # noqa: S108 - made here and only if it is not there
# Variables that would let the film depend on who makes it.
_PASSED_ON = ("LANG", "LC_ALL", "LD_LIBRARY_PATH")
_PROGRAMS = {"fabric-pipeline": "-m fabric_pipeline", "python": ""}


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of the film and what its processes are started with."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """For every process of the film: the product of this checkout, and the film's clock."""
        clocked = Path(__file__).with_name("clocked")
        return {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | {
            "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin",
            "PYTHONPATH": f"{clocked}:{ROOT}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": str(self.folder / ".home"),
            "FABRIC_HOME": str(self.folder / "warehouse"),
            "FABRIC_FILM_CLOCK": str(self._clock),
            "TERM": "xterm-256color",
            "TZ": "UTC",
        }

    def set_clock(self, moment: str) -> None:
        """Let the product's clock stand at this moment (ISO 8601 with offset)."""
        fresh = self._clock.with_suffix(".new")
        fresh.write_text(moment, encoding="ascii")
        fresh.replace(self._clock)

    @property
    def _clock(self) -> Path:
        return self.folder / ".home" / "clock"


def check_clock(shown: str) -> None:
    """FilmError when the real date is shown: then some part of the product does not ask the film's clock."""
    today = datetime.now(UTC).date().isoformat()
    if today in shown and not STORY[0].minute.startswith(today):
        at = shown.index(today)
        raise FilmError(f"the real date is shown: {shown[max(0, at - 200) : at + 40]}")


@contextmanager
def film_home() -> Iterator[Home]:
    """Make the folder, and remove it at the end. FilmError when it is there already."""
    try:
        FOLDER.mkdir(mode=0o700)
    except FileExistsError as error:
        raise FilmError(
            f"{FOLDER} is there: another film is being made, or one was broken off; remove it"
        ) from error
    try:
        for name in ("bin", ".home"):
            (FOLDER / name).mkdir()
        for name, words in _PROGRAMS.items():
            program = FOLDER / "bin" / name
            program.write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n', encoding="utf-8")
            program.chmod(0o700)
        shutil.copytree(ROOT / "data" / "drops" / DROP, FOLDER / "drops" / DROP)
        yield Home(FOLDER)
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
