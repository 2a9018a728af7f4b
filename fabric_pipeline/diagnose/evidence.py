"""All that was detected in a drop, as the diagnosis takes it: plain values, nothing judged yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fabric_pipeline.detect.spikes.evaluate import Spike
from fabric_pipeline.detect.stragglers.evaluate import Straggler
from fabric_pipeline.diagnose.correlate import Correlation
from fabric_pipeline.diagnose.witnesses import Witness
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import CollectiveTiming, FabricEvent, Reading, Run, UnknownFact
from fabric_pipeline.model.topology import Topology


@dataclass(slots=True)
class Evidence:
    """All that was detected. `sweeps` are timings without start times; `port_snapshots` are counters
    of network ports without a time span; `states` state readings where they change. `machines` maps files
    without a host to machines, where they may be of several (`model.captures.machines`). `witnesses` are what several
    instruments say of one link end; `formats` maps files to the formats they were read as.
    """

    spikes: Sequence[Spike] = ()
    stragglers: Sequence[Straggler] = ()
    correlations: Sequence[Correlation] = ()
    events: Sequence[FabricEvent] = ()
    states: Sequence[Reading] = ()
    port_snapshots: Sequence[Reading] = ()
    sweeps: Sequence[CollectiveTiming] = ()
    runs: Sequence[Run] = ()
    absences: Sequence[Finding] = ()
    unknown: Sequence[UnknownFact] = ()
    witnesses: Sequence[Witness] = ()
    formats: Mapping[str, str] = field(default_factory=dict)
    machines: Mapping[str, str] = field(default_factory=dict)
    topology: Topology = field(default_factory=Topology)
    has_timing: bool = False
    timed_nodes: frozenset[str] = frozenset()
    has_measurements: bool = False
