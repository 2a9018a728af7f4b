"""A home whose drops were read after they ended, and the portal with the pages of links, charts and comparisons.

The shared `home` is read at a moment before its drops, which makes every clock in them doubtful; charts
need readings whose times hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fabric_pipeline.portal import app, compare_pages, link_pages, map_pages, series_pages
from fabric_pipeline.settings import Settings
from fabric_pipeline_tests import pipeline_runs
from fabric_pipeline_tests.pipeline_runs import ROOT, diagnose_without_dagster
from fabric_pipeline_tests.portal.serving import served

DROP, BEFORE = "crc-multibit-lane", "missing-data"
LINK = "gpu-r11-n03:gpu5/nvlink-11"
SILENT = "gpu-r12-n04:gpu0/nvlink-3"  # of the drop BEFORE
READ_AT = datetime(2026, 11, 30, tzinfo=UTC)
_made: dict[str, Settings] = {}


def timed_home(factory: pytest.TempPathFactory) -> Settings:
    """Two shipped drops after all stages, made once for all test modules. Copy it before you write."""
    if "home" not in _made:
        settings = Settings(root=ROOT, home=factory.mktemp("timed") / "warehouse")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pipeline_runs, "NOW", READ_AT)
            for name in (BEFORE, DROP):
                diagnose_without_dagster(settings, Path(ROOT) / "data" / "drops" / name)
        _made["home"] = settings
    return _made["home"]


@contextmanager
def portal(settings: Settings) -> Iterator[str]:
    """The portal over a home, served while the block runs."""
    pages = (map_pages, link_pages, series_pages, compare_pages)
    app.PAGES = tuple(dict.fromkeys((*app.PAGES, *pages)))
    with served(app.create_app(settings)) as url:
        yield url
