"""Where Dagster keeps its history: the checkout's `.dagster`, or a moved home's own folder.

`dagster.yaml` of the checkout has relative paths, so Dagster has to be started from the root; with
`FABRIC_HOME` set, a copy with absolute paths is written into that home.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from fabric_pipeline.settings import Settings


def prepare_instance(settings: Settings) -> Path:
    """Set DAGSTER_HOME (unless the user has) and the working directory; returns the Dagster home.

    Call before the first `DagsterInstance.get()` of the process.
    """
    home = settings.root if settings.is_default_home else _moved_home(settings)
    if settings.is_default_home:
        os.chdir(settings.root)  # the paths in dagster.yaml are relative to it
    return Path(os.environ.setdefault("DAGSTER_HOME", str(home)))


def _moved_home(settings: Settings) -> Path:
    home = settings.home / "dagster"
    target = home / "dagster.yaml"
    if not target.is_file():
        home.mkdir(parents=True, exist_ok=True)
        config = yaml.safe_load((settings.root / "dagster.yaml").read_text(encoding="utf-8"))
        target.write_text(
            yaml.safe_dump(_absolute(config, home), sort_keys=False), encoding="utf-8"
        )
    return home


def _absolute(value: Any, home: Path) -> Any:
    if isinstance(value, dict):
        return {
            key: str(home / Path(item).name) if key == "base_dir" else _absolute(item, home)
            for key, item in value.items()
        }
    return value
