"""What assets get handed: settings and a clock, replaceable in tests without patching.

While a run of a drop has it, the drop is held, so that runs of one drop take turns and pages can tell
a run at work from one that was cut short.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime

import dagster as dg

from fabric_pipeline.settings import Settings, load_settings
from fabric_pipeline.store.run_mark import hold_to_the_end

_PARTITION = "dagster/partition"


class FabricResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Settings as Dagster shows them; `home` empty means the environment's or the default place."""

    home: str = ""

    def settings(self) -> Settings:
        """The settings of this run."""
        return load_settings() if not self.home else load_settings(_with_home(self.home))

    def now(self) -> datetime:
        """The present moment in UTC."""
        return datetime.now(UTC)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Hold the drop of a run. Dagster starts a process for each run, which lets go with its end.

        A teardown would make the resource unusable where Dagster hands it to sensors.
        """
        drop = (context.run.tags if context.run else {}).get(_PARTITION, "")
        if drop:
            hold_to_the_end(self.settings().home, drop)


def _with_home(home: str) -> dict[str, str]:
    return {**os.environ, "FABRIC_HOME": home}
