"""Settings from an environment: defaults, moved homes, and values that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline import errors
from fabric_pipeline.errors import FabricError, UsageError
from fabric_pipeline.settings import (
    DEFAULT_MODEL,
    Settings,
    default_home,
    engine_threads,
    load_settings,
    memory_limit_bytes,
    worker_environment,
)
from fabric_pipeline_tests.pipeline_runs import ROOT


def test_an_empty_environment_is_a_plain_clone() -> None:
    settings = load_settings({})
    assert settings.root == ROOT
    assert settings.home == ROOT / "data" / "warehouse" == default_home(ROOT)
    assert settings.is_default_home
    assert settings.inbox == ROOT / "data" / "drops"
    assert (settings.model, settings.anthropic_api_key) == (DEFAULT_MODEL, "")


def test_variables_that_are_set_to_nothing_are_not_set() -> None:
    names = (
        "FABRIC_HOME", "FABRIC_MODEL", "FABRIC_DRAFT_TIMEOUT_S", "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
    )  # fmt: skip
    assert load_settings(dict.fromkeys(names, "")) == load_settings({})


def test_everything_that_is_written_lies_in_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = load_settings({"FABRIC_HOME": "elsewhere"})
    assert not settings.is_default_home
    for path in (
        settings.lake,
        settings.ledger,
        settings.outbox,
        settings.dossiers,
        settings.audit,
    ):
        assert path.parent == tmp_path / "elsewhere"
    assert settings.inbox.is_relative_to(ROOT)


def test_the_key_is_never_printed() -> None:
    settings = load_settings({"ANTHROPIC_API_KEY": "sk-very-secret"})
    assert settings.anthropic_api_key == "sk-very-secret"
    assert "secret" not in repr(settings)
    assert "key set" in repr(settings)
    assert "key not set" in repr(Settings(root=ROOT, home=ROOT))


@pytest.mark.parametrize("text", ["soon", "0", "-3", "nan", "inf"])
def test_a_time_limit_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="FABRIC_DRAFT_TIMEOUT_S"):
        load_settings({"FABRIC_DRAFT_TIMEOUT_S": text})


def test_each_kind_of_error_has_its_own_exit_code() -> None:
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, FabricError)
    ]
    codes = [kind.exit_code for kind in kinds if "exit_code" in vars(kind)]
    assert len(set(codes)) == len(codes)
    error = UsageError("x is y", "make it z")
    assert (str(error), error.message, error.remedy) == (
        "x is y -> make it z",
        "x is y",
        "make it z",
    )
    assert str(UsageError("x is y")) == "x is y"


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("", 1_500_000_000),
        ("8GB", 8_000_000_000),
        ("1.5 gib", 1_610_612_736),
        ("900MB", 900_000_000),
    ],
)
def test_the_memory_of_an_engine_can_be_set(text: str, size: int) -> None:
    assert memory_limit_bytes(10**12, {"FABRIC_MEMORY_LIMIT": text}) == size


def test_no_engine_takes_more_than_its_share_of_the_machine() -> None:
    assert memory_limit_bytes(2 * 10**9, {}) == 1_200_000_000
    assert memory_limit_bytes(10**9, {"FABRIC_MEMORY_LIMIT": "8GB"}) == 600_000_000


@pytest.mark.parametrize("text", ["8", "lots", "-1GB", "0GB", "100MB", "80%", "\u0668GB"])
def test_a_memory_limit_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="FABRIC_MEMORY_LIMIT"):
        memory_limit_bytes(10**12, {"FABRIC_MEMORY_LIMIT": text})


def test_the_engine_has_a_short_name_and_a_long_one_that_wins() -> None:
    assert load_settings({}).engine == ""
    assert load_settings({"ENGINE": " Dask "}).engine == "dask"
    both = {"ENGINE": "dask", "FABRIC_ENGINE": "local", "FABRIC_DASK_WORKERS": "3"}
    assert (load_settings(both).engine, load_settings(both).dask_workers) == ("local", 3)
    with pytest.raises(UsageError, match="FABRIC_DASK_WORKERS"):
        load_settings({"FABRIC_DASK_WORKERS": "many"})


def test_workers_of_one_machine_take_no_more_than_one_process_could() -> None:
    machine = 8 * 10**9
    for workers in (1, 2, 4, 16):
        said = worker_environment(1, machine // workers, {})
        limit = memory_limit_bytes(machine, said)
        assert limit <= 1_500_000_000
        assert limit * workers <= 0.6 * machine
        assert engine_threads(said) == 1


def test_a_worker_keeps_what_its_operator_said() -> None:
    operator = {"FABRIC_THREADS": "2", "FABRIC_MEMORY_LIMIT": "900MB"}
    assert worker_environment(8, 10**10, operator) == operator
    assert worker_environment(8, 10**9, operator)["FABRIC_MEMORY_LIMIT"] == "600MB"
    assert worker_environment(4, 0, {}) == {"FABRIC_THREADS": "4"}  # nobody named a limit
    assert engine_threads({}) == 0
