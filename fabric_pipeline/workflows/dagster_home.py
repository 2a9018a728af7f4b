"""The folder and settings file of the Dagster instance, for the launcher and for `dev`.

`dagster.yaml` of the checkout has relative paths, so Dagster has to be started from the root; with
`FABRIC_HOME` set, or without a checkout, a copy with absolute paths is written into the home. Dagster
is not imported here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from fabric_pipeline.settings import Settings

FILE = "dagster.yaml"


def enter_dagster_home(settings: Settings) -> Path:
    """Set the environment and the working directory that Dagster needs; returns its home.

    A DAGSTER_HOME that the user has set is kept.
    """
    if settings.is_default_home and (settings.root / FILE).is_file():
        home = settings.root
    else:
        home = _moved_home(settings)
        # The working directory changes below and in child processes; a relative path would follow.
        os.environ["FABRIC_HOME"] = str(settings.home)
    home = Path(os.environ.get("DAGSTER_HOME") or home).absolute()
    os.environ["DAGSTER_HOME"] = str(home)
    os.chdir(settings.root)
    return home


def _moved_home(settings: Settings) -> Path:
    home = settings.home / "dagster"
    target = home / FILE
    if not target.is_file():
        home.mkdir(parents=True, exist_ok=True)
        shipped = settings.root / FILE
        config = yaml.safe_load(shipped.read_text(encoding="utf-8")) if shipped.is_file() else {}
        # Two processes may get here at once, and each must find the file whole or not at all.
        temporary = home / f".{FILE}.{os.getpid()}"
        text = yaml.safe_dump(_absolute(config, home), sort_keys=False)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(target)
    return home


def _absolute(value: Any, home: Path) -> Any:
    if isinstance(value, dict):
        return {
            key: str(home / Path(item).name) if key == "base_dir" else _absolute(item, home)
            for key, item in value.items()
        }
    return value
