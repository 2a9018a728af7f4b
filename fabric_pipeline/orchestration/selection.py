"""Which assets the present run makes: the gate and the bookkeeping of drops both hang on it.

Dagster has no documented way to ask, so this is the only place that reaches for it. "Dagster does not
tell" is an answer of its own, and each caller says which way is then the safe one.
"""

from __future__ import annotations

import dagster as dg


def selected_assets(job: dg.JobDefinition) -> frozenset[str] | None:
    """Names of the assets in this run's selection; None when Dagster does not tell."""
    layer = getattr(job, "asset_layer", None)
    keys = getattr(layer, "selected_asset_keys", None)
    return None if keys is None else frozenset(key.to_user_string() for key in keys)
