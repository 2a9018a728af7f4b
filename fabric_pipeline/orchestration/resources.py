"""What assets get handed: settings and a clock, replaceable in tests without patching."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import dagster as dg

from fabric_pipeline.settings import Settings, load_settings


class FabricResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Settings as Dagster shows them; `home` empty means the environment's or the default place."""

    home: str = ""

    def settings(self) -> Settings:
        """The settings of this run."""
        return load_settings() if not self.home else load_settings(_with_home(self.home))

    def now(self) -> datetime:
        """The present moment in UTC."""
        return datetime.now(UTC)


def _with_home(home: str) -> dict[str, str]:
    return {**os.environ, "FABRIC_HOME": home}
