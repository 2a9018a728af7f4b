"""Frames to films: H.264 and VP9 at ten pictures a second, a small GIF, and a poster.

The length of each film is compared with the ticks of the reel, so a picture that was lost is noticed.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from demo.film.errors import FilmError
from demo.film.pace import TICKS_PER_S, seconds
from demo.film.reel import Frame, Reel

NAME = "fabric_pipeline"
GIF_WIDTH = 960
MOST_BYTES = 8_000_000
_SAME_BYTES = ["-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact"]
_GIF_FILTER = (
    f"fps=5,scale={GIF_WIDTH}:-1:flags=lanczos,split[a][b];[a]palettegen=max_colors=64:stats_mode=diff[p];"
    "[b][p]paletteuse=dither=none:diff_mode=rectangle"
)
_FILMS = {
    "mp4": [
        "-vf", f"fps={TICKS_PER_S},format=yuv420p", "-c:v", "libx264", "-preset", "medium", "-crf", "27",
        "-tune", "animation", "-g", "300", "-movflags", "+faststart", *_SAME_BYTES,
    ],
    "webm": [
        "-vf", f"fps={TICKS_PER_S},format=yuv420p", "-c:v", "libvpx-vp9", "-crf", "40", "-b:v", "0",
        "-row-mt", "1", "-deadline", "good", "-cpu-used", "5", *_SAME_BYTES,
    ],
    "gif": ["-vf", _GIF_FILTER],
}  # fmt: skip


def encode(reel: Reel, folder: Path) -> list[Path]:
    """Write the films and the poster; FilmError when one is too long, too short or too large."""
    written = []
    listed = reel.folder / "frames.txt"
    listed.write_text(_concat(reel.frames), encoding="utf-8")
    for ending, arguments in _FILMS.items():
        target = folder / f"{NAME}.{ending}"
        _run(
            "ffmpeg", "-v", "error", "-y", "-f", "concat", "-safe", "0", "-i", str(listed),
            "-t", f"{seconds(reel.ticks):.1f}", *arguments, str(target),
        )  # fmt: skip
        written.append(target)
        _check_length(target, reel.ticks)
    poster = folder / f"{NAME}.png"
    Image.open(reel.poster or reel.frames[-1].path).quantize(128, dither=Image.Dither.NONE).save(
        poster, optimize=True
    )
    return [*written, poster]


def _concat(frames: Sequence[Frame]) -> str:
    lines = [f"file '{one.path}'\nduration {seconds(one.ticks):.1f}" for one in frames]
    # The duration of the last picture only counts when another one follows.
    return "\n".join([*lines, f"file '{frames[-1].path}'"]) + "\n"


def _check_length(film: Path, ticks: int) -> None:
    said = _run(
        "ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "format=duration",
        "-of", "json", str(film),
    )  # fmt: skip
    found = float(json.loads(said)["format"]["duration"])
    # A GIF has a picture every other tick.
    if abs(found - seconds(ticks)) > 2.5 / TICKS_PER_S:
        raise FilmError(f"{film.name} is {found:.2f} s long, the reel {seconds(ticks):.1f} s")


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise FilmError(f"{command[0]} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout
