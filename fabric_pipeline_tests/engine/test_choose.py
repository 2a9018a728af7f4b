"""Which engine is chosen, by the environment and by hand, and what is refused before anything starts."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder

import pytest

from fabric_pipeline.engine.choose import open_engine, with_engine
from fabric_pipeline.engine.dask_engine import DaskEngine
from fabric_pipeline.engine.local import LocalEngine
from fabric_pipeline.errors import UsageError
from fabric_pipeline.settings import load_settings

NEAR, FAR = "tcp://127.0.0.1:8786", "tls://scheduler.example:8786"


@pytest.mark.parametrize(
    "address", ["localhost:8786", "http://127.0.0.1:8786", "tcp://x", "tcp://a b:1", "tcp://:1"]
)
def test_what_is_no_address_is_refused_at_once(address: str) -> None:
    settings = load_settings({"FABRIC_ENGINE": "dask", "FABRIC_DASK_ADDRESS": address})
    with pytest.raises(UsageError, match="is no address of a Dask scheduler"):
        open_engine(settings)


@pytest.mark.parametrize(
    ("environment", "kind"),
    [
        ({}, LocalEngine),
        ({"FABRIC_ENGINE": "local"}, LocalEngine),
        ({"ENGINE": "Dask"}, DaskEngine),
        ({"ENGINE": "dask", "FABRIC_ENGINE": "local"}, LocalEngine),
        ({"FABRIC_DASK_ADDRESS": "tcp://127.0.0.1:8786"}, LocalEngine),
    ],
)
def test_the_engine_is_chosen_by_the_environment(environment: dict[str, str], kind: type) -> None:
    assert isinstance(open_engine(load_settings(environment)), kind)


def test_an_engine_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no engine 'ray'.*local, dask"):
        open_engine(load_settings({"ENGINE": "ray"}))


class NoDask(MetaPathFinder):
    """An environment in which the extra was not installed."""

    def find_spec(self, name: str, *_: object) -> None:
        if name.partition(".")[0] in ("dask", "distributed"):
            raise ModuleNotFoundError(name)


def test_without_the_extra_the_message_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in ("dask", "distributed")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [NoDask(), *sys.meta_path])
    with pytest.raises(UsageError, match="make setup-cluster"):
        open_engine(load_settings({"FABRIC_ENGINE": "dask"}))
    assert isinstance(open_engine(load_settings({})), LocalEngine)


@pytest.mark.parametrize(
    ("environment", "asked", "expected"),
    [
        ({}, ("", "", 0), ("", "", 0)),
        ({"ENGINE": "dask"}, ("local", "", 0), ("local", "", 0)),
        ({}, ("DASK", "", 0), ("dask", "", 0)),
        ({}, ("", NEAR, 0), ("dask", NEAR, 0)),
        ({}, ("", "", 2), ("dask", "", 2)),
        ({"FABRIC_DASK_ADDRESS": FAR}, ("dask", "", 0), ("dask", FAR, 0)),
        ({"FABRIC_DASK_ADDRESS": FAR}, ("dask", NEAR, 0), ("dask", NEAR, 0)),
        ({"FABRIC_DASK_ADDRESS": FAR}, ("", "", 2), ("dask", "", 2)),
    ],
)
def test_what_is_asked_for_by_hand_stands_above_the_environment(
    environment: dict[str, str], asked: tuple[str, str, int], expected: tuple[str, str, int]
) -> None:
    got = with_engine(load_settings(environment), *asked)
    assert (got.engine, got.dask_address, got.dask_workers) == expected


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("ray", "", 0), "there is no engine 'ray'"),
        (("local", NEAR, 0), "has no Dask cluster"),
        (("local", "", 2), "has no Dask cluster"),
        (("dask", NEAR, 2), "not both"),
        (("dask", "here", 0), "is no address"),
    ],
)
def test_what_does_not_go_together_is_refused(asked: tuple[str, str, int], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        with_engine(load_settings({}), *asked)
