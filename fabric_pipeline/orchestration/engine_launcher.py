"""The run launcher of `dagster.yaml`: launches as Dagster does by default, and says which engine runs use.

Dagster knows no settings of others in that file except those of classes like this one. Runs that the
daemon or the UI launches read it from there; see `resources`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg
from dagster._core.launcher.default_run_launcher import DefaultRunLauncher
from dagster._serdes import ConfigurableClassData

from fabric_pipeline.settings import engine_environment


class ShardEngineRunLauncher(DefaultRunLauncher):
    """Config: `engine` (local, dask), and for dask `address` of a cluster or `workers` to start."""

    def __init__(
        self,
        engine: str = "",
        address: str = "",
        workers: int = 0,
        inst_data: ConfigurableClassData | None = None,
    ) -> None:
        """As Dagster makes it from `dagster.yaml`."""
        super().__init__(inst_data)
        self._engine, self._address, self._workers = engine, address, workers

    def environment(self) -> dict[str, str]:
        """The variables that stand for this choice; none when no engine is named."""
        if not self._engine:
            return {}
        return engine_environment(self._engine, self._address, self._workers)

    @classmethod
    def config_type(cls) -> Any:
        """What may stand under `config`; `{env: NAME}` is allowed for each."""
        return {
            "engine": dg.Field(dg.StringSource, is_required=False, default_value=""),
            "address": dg.Field(dg.StringSource, is_required=False, default_value=""),
            "workers": dg.Field(dg.IntSource, is_required=False, default_value=0),
        }

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData, config_value: Mapping[str, Any]
    ) -> ShardEngineRunLauncher:
        """Made by Dagster."""
        return cls(**config_value, inst_data=inst_data)
