"""A connection with the tables the detection stages read; each test fills them anew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fabric_pipeline_tests.detect.telemetry import new_connection


@pytest.fixture(scope="session")
def connection() -> Iterator[Any]:
    made = new_connection()
    yield made
    made.close()
