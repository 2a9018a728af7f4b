"""The drops and links that tests of links, charts and comparisons look at, and the portal over a home."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fabric_pipeline.portal.app import create_app
from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.portal.serving import served

DROP, BEFORE = "crc-multibit-lane", "missing-data"
LINK = "gpu-r11-n03:gpu5/nvlink-11"
SILENT = "gpu-r12-n04:gpu0/nvlink-3"  # of the drop BEFORE


@contextmanager
def portal(settings: Settings) -> Iterator[str]:
    """The portal over a home, served while the block runs."""
    with served(create_app(settings)) as url:
        yield url
