"""Which Chromium the tests drive, and what happens where there is none.

`.ci/run` installs it. On a person's machine its tests are skipped and say how to get it; in CI (`CI=true`)
they fail, so that nothing is left out unseen. Driving it is the business of whoever asks.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

# The same engine twice: without a window around it a page costs a third of the time.
NAMES = ("chromium-headless-shell", "chromium")
MISSING = (
    "no Chromium is installed, so nothing that needs a browser was tested: `.ci/run` installs it, and so does "
    "`apt-get install chromium-headless-shell fonts-dejavu-core`"
)
ARGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--lang=en-US",
)  # fmt: skip


def installed(search: str | None = None) -> Path | None:
    """The Chromium to drive, looked for in the folders of `search` (default: PATH)."""
    found = (shutil.which(name, path=search) for name in NAMES)
    return next((Path(path) for path in found if path), None)


def required(environ: Mapping[str, str] = os.environ) -> Path:
    """The Chromium to drive; without one the test is skipped, and in CI it fails."""
    found = installed(environ.get("PATH"))
    if found is None and environ.get("CI", "").lower() in ("true", "1"):
        pytest.fail(MISSING)
    if found is None:
        pytest.skip(MISSING)
    return found
