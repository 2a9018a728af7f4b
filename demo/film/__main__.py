"""`python -m demo.film FOLDER` makes the film of the product anew and writes its files there."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from demo.film.captions import as_vtt
from demo.film.director import film
from demo.film.encode import MOST_BYTES, NAME, encode
from demo.film.errors import FilmError
from demo.film.home import film_home
from demo.film.needs import check_needs
from demo.film.pace import seconds
from demo.film.story import STORY

TITLE = "fabric_pipeline: from a drop of telemetry to a published repair ticket"


def make(folder: Path, frames: Path) -> str:
    """Film, encode, write; what was made in one line."""
    check_needs()
    folder.mkdir(parents=True, exist_ok=True)
    frames.mkdir(parents=True, exist_ok=True)
    with film_home() as home:
        reel, cast = film(STORY, home, frames)
    written = encode(reel, folder)
    for ending, text in (("vtt", as_vtt(reel.cues)), ("cast", cast.as_text(TITLE, reel.cues))):
        written.append(folder / f"{NAME}.{ending}")
        written[-1].write_text(text, encoding="utf-8", newline="\n")
    size = sum(path.stat().st_size for path in written)
    if size > MOST_BYTES:
        raise FilmError(f"the files are {size:,} bytes together, more than {MOST_BYTES:,}")
    files = ", ".join(f"{path.name} {path.stat().st_size / 1e6:.2f} MB" for path in written)
    return f"{len(reel.frames)} pictures, {seconds(reel.ticks):.1f} s; {files}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 when the product did not do what the story says, or something is missing."""
    parser = argparse.ArgumentParser(prog="python -m demo.film", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("demo"))
    parser.add_argument("--frames", type=Path, help="keep the pictures in this folder")
    given = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            said = make(given.folder, given.frames or Path(scratch))
    except FilmError as error:
        sys.stderr.write(f"no film was made: {error}\n")
        return 1
    sys.stdout.write(f"{said}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
