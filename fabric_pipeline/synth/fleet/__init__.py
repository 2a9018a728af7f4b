"""Random fleets with known guilty links, fully given by a specification and a seed.

`generate_fleet` gives arrays, fast enough to draw thousands; `write_fleet_drop` writes one as a
normalized drop. The hand-written scenarios of `synth` are separate and stay as they are.
"""

from fabric_pipeline.synth.fleet.bursts import COUNTERS
from fabric_pipeline.synth.fleet.drop import answer_of, write_fleet_drop
from fabric_pipeline.synth.fleet.imperfections import Increments
from fabric_pipeline.synth.fleet.plan import GuiltyLink, StateSpan
from fabric_pipeline.synth.fleet.scenario import FleetScenario, generate_fleet
from fabric_pipeline.synth.fleet.spec import CLASSES, FAULTS, LAWS, FleetSpec
from fabric_pipeline.synth.fleet.suites import SUITE_SAYS, SUITES, suite
from fabric_pipeline.synth.fleet.topology_arrays import FleetLinks
from fabric_pipeline.synth.fleet.workload import FleetGroup

__all__ = [
    "CLASSES",
    "COUNTERS",
    "FAULTS",
    "LAWS",
    "SUITES",
    "SUITE_SAYS",
    "FleetGroup",
    "FleetLinks",
    "FleetScenario",
    "FleetSpec",
    "GuiltyLink",
    "Increments",
    "StateSpan",
    "answer_of",
    "generate_fleet",
    "suite",
    "write_fleet_drop",
]
