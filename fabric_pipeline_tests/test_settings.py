"""Settings from an environment: defaults, moved homes, and values that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline import errors
from fabric_pipeline.errors import FabricError, UsageError
from fabric_pipeline.settings import DEFAULT_MODEL, Settings, default_home, load_settings
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
