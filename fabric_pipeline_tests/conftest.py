"""What holds for every test: a home of its own, no key, no model asked, no network but loopback.

Also the small drop once taken through all stages, which tests copy instead of making it again.
"""

from __future__ import annotations

import gc
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pydantic_ai.models
import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.pipeline_runs import ROOT, diagnose_without_dagster
from fabric_pipeline_tests.small_drop import write_drop

FOREIGN_SETTINGS = (
    "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "FABRIC_MODEL", "FABRIC_DRAFT_TIMEOUT_S", "ENGINE", "FABRIC_ENGINE",
    "FABRIC_DASK_ADDRESS", "FABRIC_DASK_WORKERS", "FABRIC_SHARD_STORE", "FABRIC_SHARD_READINGS", "FABRIC_THREADS",
    "http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
)  # fmt: skip
LOOPBACK = ("127.0.0.1", "::1")
# Files of a quarter of a minute or more. Two workers that begin with them end at about the same time.
LONG_FILES = (
    "portal/test_acceptance_pages.py", "workflows/test_killed_runs.py", "test_examples.py", "cli/test_run.py",
    "portal/test_acceptance_story.py", "drafting/test_injection.py", "workflows/test_series_staging.py",
    "workflows/test_dossier_build.py", "drafting/test_batch.py", "portal/test_acceptance_odd.py", "portal/test_acceptance_limits.py",
    "portal/test_map_pages.py", "cli/test_audit.py", "workflows/test_dossier_tampering.py", "portal/test_map_browser.py",
    "portal/test_acceptance_serving.py", "workflows/test_lifecycle_story.py", "cli/test_inspect_screen.py",
    "workflows/test_dossier_verify.py", "workflows/test_inspect.py", "cli/test_what_commands_load.py",
    "orchestration/test_real_runs.py", "store/test_audit.py", "workflows/test_staged_shards.py", "workflows/test_shards.py",
)  # fmt: skip

# A busy machine is no defect: properties are about answers, not about the time of one example. The same
# examples come in every run, so that a change is judged by what it changes; `HYPOTHESIS_PROFILE=explore`
# looks for new ones.
hypothesis.settings.register_profile("project", deadline=None, derandomize=True, max_examples=50)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=500)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "project"))


# Workers and every command that a test starts would compile the same modules again, some thousands each.
# What they keep lies in `__pycache__`, as it does for users.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Of the objects that all the imports make, none ever goes; looking through them takes a tenth of the time.
COLLECT_AFTER = (20_000, 20, 20)


def pytest_configure(config: pytest.Config) -> None:
    """Workers take files in our order; by itself xdist would keep long files of few tests for the end."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, all others as they were."""
    here = Path(__file__).parent
    first = {here / name: place for place, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: first.get(item.path, len(first)))


def pytest_collection_finish() -> None:
    """Garbage is looked for among what tests make, and less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


@pytest.fixture(scope="session", autouse=True)
def own_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test sees the user's key, proxies, warehouse or Dagster history."""
    place = tmp_path_factory.mktemp("home")
    (place / "dagster").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name in FOREIGN_SETTINGS:
            patch.delenv(name, raising=False)
        patch.setenv("FABRIC_HOME", str(place / "warehouse"))
        patch.setenv("DAGSTER_HOME", str(place / "dagster"))
        yield


@pytest.fixture(scope="session", autouse=True)
def guarded_sockets() -> Iterator[list[Any]]:
    """Addresses beyond this machine that somebody tried to reach; every attempt is refused."""
    strangers: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        for call in ("connect", "connect_ex"):
            original = getattr(socket.socket, call)

            def guarded(self: socket.socket, address: Any, original: Any = original) -> Any:
                inet = self.family in (socket.AF_INET, socket.AF_INET6)
                if inet and address[0] not in LOOPBACK:
                    strangers.append(address)
                    raise ConnectionRefusedError(f"the tests may not connect to {address[0]}")
                return original(self, address)

            patch.setattr(socket.socket, call, guarded)
        yield strangers


@pytest.fixture(autouse=True)
def loopback_only(guarded_sockets: list[Any]) -> Iterator[list[Any]]:
    """The test fails when it tried to reach another machine; a test that means to clears the list."""
    guarded_sockets.clear()
    yield guarded_sockets
    assert guarded_sockets == []


@pytest.fixture(autouse=True)
def no_model_requests() -> Iterator[None]:
    """Models may not be asked, except by a test that asks for the local server."""
    with pydantic_ai.models.override_allow_model_requests(False):
        yield


@pytest.fixture(scope="session")
def small_drop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small faulty drop on disk; do not write into it."""
    return write_drop(tmp_path_factory.mktemp("drops") / "small")


@pytest.fixture(scope="session")
def diagnosed_once(small_drop: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home in which `small_drop` went through all stages up to drafts; copy it, do not change it."""
    settings = Settings(root=ROOT, home=tmp_path_factory.mktemp("diagnosed") / "warehouse")
    diagnose_without_dagster(settings, small_drop)
    return settings


@pytest.fixture
def diagnosed(diagnosed_once: Settings, tmp_path: Path) -> Settings:
    """A copy of that home for one test: two drafts wait in it, nothing is reviewed or published."""
    home = tmp_path / "warehouse"
    shutil.copytree(diagnosed_once.home, home)
    return Settings(root=ROOT, home=home)
