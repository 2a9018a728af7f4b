"""A DuckDB connection for the tests of the schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fabric_pipeline.store.duck import connect


@pytest.fixture(scope="session")
def connection() -> Iterator[Any]:
    made = connect()
    yield made
    made.close()
