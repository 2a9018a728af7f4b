"""Without a browser a person is told how to get one, and CI fails instead of leaving tests out."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline_tests import chromium


def test_a_missing_browser_is_skipped_by_a_person_and_fails_in_ci(tmp_path: Path) -> None:
    nowhere = {"PATH": str(tmp_path)}
    with pytest.raises(pytest.skip.Exception, match="apt-get install chromium"):
        chromium.required(nowhere)
    with pytest.raises(pytest.fail.Exception, match=r"\.ci/run"):
        chromium.required(nowhere | {"CI": "true"})


def test_the_lighter_browser_is_taken_where_both_are(tmp_path: Path) -> None:
    for name in reversed(chromium.NAMES):
        (tmp_path / name).touch(0o755)
        assert chromium.required({"PATH": str(tmp_path), "CI": "true"}) == tmp_path / name
