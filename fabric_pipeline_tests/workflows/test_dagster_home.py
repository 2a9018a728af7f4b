"""Where Dagster's history goes, and how `dev` starts it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from fabric_pipeline.settings import Settings, default_home, load_settings
from fabric_pipeline.workflows.dagster_home import enter_dagster_home

SHIPPED = """
telemetry: {enabled: false}
storage: {sqlite: {base_dir: .dagster/db}}
compute_logs: {module: m, class: C, config: {base_dir: .dagster/logs}}
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "checkout"
    root.mkdir()
    (root / "dagster.yaml").write_text(SHIPPED)
    # Set and unset here, so that what is changed in the environment is put back after the test.
    monkeypatch.setenv("FABRIC_HOME", os.environ["FABRIC_HOME"])
    monkeypatch.delenv("DAGSTER_HOME")
    monkeypatch.chdir(tmp_path)
    return root


def test_a_plain_checkout_is_its_own_home(checkout: Path) -> None:
    settings = Settings(root=checkout, home=default_home(checkout))
    assert enter_dagster_home(settings) == checkout
    assert (os.environ["DAGSTER_HOME"], Path.cwd()) == (str(checkout), checkout)
    assert not settings.home.exists()


def test_a_moved_home_gets_settings_with_absolute_paths(checkout: Path, tmp_path: Path) -> None:
    settings = Settings(root=checkout, home=tmp_path / "moved")
    home = enter_dagster_home(settings)
    assert home == tmp_path / "moved" / "dagster"
    config = yaml.safe_load((home / "dagster.yaml").read_text())
    assert config["storage"]["sqlite"]["base_dir"] == str(home / "db")
    assert config["compute_logs"]["config"]["base_dir"] == str(home / "logs")
    assert config["telemetry"] == {"enabled": False}
    assert [path.name for path in home.iterdir()] == ["dagster.yaml"]


def test_settings_of_a_moved_home_are_the_users_from_then_on(
    checkout: Path, tmp_path: Path
) -> None:
    settings = Settings(root=checkout, home=tmp_path / "moved")
    target = enter_dagster_home(settings) / "dagster.yaml"
    target.write_text("telemetry: {enabled: false}")
    enter_dagster_home(settings)
    assert target.read_text() == "telemetry: {enabled: false}"


def test_a_home_that_the_user_chose_is_kept(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "mine"))
    settings = Settings(root=checkout, home=default_home(checkout))
    assert enter_dagster_home(settings) == tmp_path / "mine"


def test_without_a_checkout_the_history_does_not_land_where_one_stands(
    checkout: Path, tmp_path: Path
) -> None:
    (checkout / "dagster.yaml").unlink()
    settings = Settings(root=checkout, home=default_home(checkout))
    assert enter_dagster_home(settings) == settings.home / "dagster"


def test_a_relative_home_is_the_same_place_after_the_change_of_folder(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABRIC_HOME", "here")
    settings = Settings(root=checkout, home=load_settings().home)
    enter_dagster_home(settings)
    assert Path.cwd() == checkout
    assert load_settings().home == tmp_path / "here"
