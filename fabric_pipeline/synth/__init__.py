"""Synthetic drops in the normalized form, with faults that are known because they were planted.

`generate` writes one drop and its answer key, `SCENARIOS` names the ready-made scenarios. Uses
numpy and the standard library only; reading or judging drops belongs to other packages.
"""

from fabric_pipeline.synth.generate import generate
from fabric_pipeline.synth.scenario import SCENARIOS, SHIPPED, SHIPPED_SEED, Scenario

__all__ = ["SCENARIOS", "SHIPPED", "SHIPPED_SEED", "Scenario", "generate"]
