"""What a film is made with beside Python packages: an encoder and a browser, each a Debian package.

Also the address at which the portal is filmed: free before, answering after it was started.
"""

from __future__ import annotations

import shutil
import socket
import time

from demo.film.errors import FilmError
from demo.film.story import PORTAL

# Program and the Debian package it is in.
PROGRAMS = {"ffmpeg": "ffmpeg", "ffprobe": "ffmpeg", "chromium": "chromium", "bash": "bash"}


def check_needs() -> None:
    """FilmError when a program is missing or the portal's port is taken."""
    missing = sorted({package for name, package in PROGRAMS.items() if shutil.which(name) is None})
    if missing:
        raise FilmError(
            f"the film needs {' and '.join(missing)}: apt-get install {' '.join(missing)}"
        )
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(_address())
        except OSError as error:
            raise FilmError(f"{PORTAL} is in use; stop the portal that runs there") from error


def wait_for_portal(limit_s: float = 120.0) -> None:
    """Return when the portal takes a connection; FilmError when it does not in time."""
    end = time.monotonic() + limit_s
    while True:
        try:
            socket.create_connection(_address(), timeout=5).close()
        except OSError as error:
            if time.monotonic() > end:
                raise FilmError(f"{PORTAL} did not answer in {limit_s:g} s") from error
            time.sleep(0.1)
        else:
            return


def _address() -> tuple[str, int]:
    host, port = PORTAL.split(":")
    return host, int(port)
