"""The one name that Dagster loads."""

from fabric_pipeline.orchestration.build import build_definitions

defs = build_definitions()
