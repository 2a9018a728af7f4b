"""What assets get handed: settings and a clock, replaceable in tests without patching.

While a run of a drop has it, the drop is held, so that runs of one drop take turns and pages can tell
a run at work from one that was cut short.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime

import dagster as dg
from pydantic import Field, PrivateAttr

from fabric_pipeline.orchestration.engine_launcher import ShardEngineRunLauncher
from fabric_pipeline.settings import Settings, engine_environment, load_settings
from fabric_pipeline.store.run_mark import hold_to_the_end

_PARTITION = "dagster/partition"


class FabricResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Settings as Dagster shows them; what is left empty is taken from the environment or the default.

    The engine is that of the launchpad, else of the environment, else of `dagster.yaml`; what belongs to
    it is never put together from two of these places.
    """

    home: str = Field(default="", description="Folder of everything that is written; FABRIC_HOME")
    engine: str = Field(default="", description="Where shards are worked on: local or dask")
    dask_address: str = Field(
        default="", description="Scheduler of a Dask cluster, tcp:// or tls://"
    )
    dask_workers: int = Field(
        default=0, ge=0, description="Workers of a local Dask, 0: as many as fit"
    )
    _of_instance: dict[str, str] = PrivateAttr(default_factory=dict)

    def settings(self) -> Settings:
        """The settings of this run."""
        environment = dict(os.environ)
        if self.home:
            environment["FABRIC_HOME"] = self.home
        if self.engine:
            environment |= engine_environment(self.engine, self.dask_address, self.dask_workers)
        elif not load_settings(environment).engine:
            environment |= self._of_instance
        return load_settings(environment)

    def now(self) -> datetime:
        """The present moment in UTC."""
        return datetime.now(UTC)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Hold the drop of a run, and look up the engine that `dagster.yaml` names.

        Dagster starts a process for each run, which lets go with its end. A teardown would make the
        resource unusable where Dagster hands it to sensors.
        """
        launcher = context.instance.run_launcher if context.instance else None
        if isinstance(launcher, ShardEngineRunLauncher):
            self._of_instance = launcher.environment()
        drop = (context.run.tags if context.run else {}).get(_PARTITION, "")
        if drop:
            hold_to_the_end(self.settings().home, drop)
