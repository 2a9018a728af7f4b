"""Which class of cause slowed a scenario, and which one was meant: link, host, congestion or nothing.

Only scenarios with at most one cause are compared. A cause counts when it reached at least three
recorded collectives; how much it slowed them is not asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fabric_pipeline.diagnose.localise.build import Built
from fabric_pipeline.diagnose.localise.localise import Localised
from fabric_pipeline.diagnose.localise.window import FABRIC, HOST, LEAF, RUN, Flags
from fabric_pipeline.synth.fleet import FleetGroup, FleetScenario

_LEAST_CELLS = 3
NONE, LINK = "none", "link"
SILENT_LINK, HOST_CAUSE, RANKED_HOST, CONGESTION = (
    "link without trace",
    "late host",
    "late host, ranks timed",
    "congestion",
)
TRUE_CAUSES = (LINK, SILENT_LINK, HOST_CAUSE, RANKED_HOST, CONGESTION, NONE)
LINK_PLACE, HOST_PLACE, FABRIC_PLACE, RUN_PLACE = (
    "links of a place",
    "host",
    "switch, fabric",
    "run",
)
SAID_CAUSES = (LINK, LINK_PLACE, HOST_PLACE, FABRIC_PLACE, RUN_PLACE, NONE)
_OF_PLACE = {HOST: HOST_PLACE, LEAF: FABRIC_PLACE, FABRIC: FABRIC_PLACE, RUN: RUN_PLACE}
# What names a cause rightly. Late ranks are set aside before localisation where ranks are timed, so
# nothing is slow there and nothing should be said.
RIGHT = {
    LINK: (LINK,),
    SILENT_LINK: (LINK_PLACE,),
    HOST_CAUSE: (HOST_PLACE,),
    RANKED_HOST: (NONE,),
    CONGESTION: (FABRIC_PLACE,),
    NONE: (NONE,),
}


def said_cause(found: Localised, built: Built | None, accuses: bool) -> str:
    """A link where one is accused, else the strongest slow place."""
    if accuses:
        return LINK
    if built is None or not found.places:
        return NONE
    strongest = max(found.places, key=lambda one: (one.odds, -one.place))
    return _OF_PLACE.get(built.window.places[strongest.place].kind, LINK_PLACE)


def true_cause(scenario: FleetScenario) -> str | None:
    """The one cause that was felt; None with several."""
    links = [SILENT_LINK if t.silent == "nostate" else LINK for t in scenario.truth if t.felt]
    hosts = RANKED_HOST if scenario.pure_us is not None else HOST_CAUSE
    kinds = {"late_host": hosts, "congestion": CONGESTION}
    notes = [note for note in scenario.confounders if note["kind"] in kinds]
    causes = links + [kinds[note["kind"]] for note in notes if _was_felt(scenario, note)]
    if len(causes) > 1:
        return None
    return causes[0] if causes else NONE


def _was_felt(scenario: FleetScenario, note: dict[str, Any]) -> bool:
    recorded = ~np.isnan(scenario.whole_us[:, note["first_bin"] : note["last_bin"]])
    if note["kind"] == "late_host":
        reached = [note["node"] in group.nodes for group in scenario.groups]
    else:
        leaves = _rail_leaves(scenario)
        reached = [_uses(group, leaves, note["leaves"]) for group in scenario.groups]
    flags: Flags = np.array(reached, dtype=bool)
    return int(recorded[flags].sum()) >= _LEAST_CELLS


def _rail_leaves(scenario: FleetScenario) -> np.ndarray:
    """[nodes, rails] the leaf of each NIC."""
    links = scenario.links
    cables = np.flatnonzero((links.link_type == "infiniband") & (links.node_index >= 0))
    shape = len(scenario.node_names), int(links.rail[cables].max()) + 1
    leaves = np.full(shape, -1)
    leaves[links.node_index[cables], links.rail[cables]] = links.leaf[cables]
    return leaves


def _uses(group: FleetGroup, leaves: np.ndarray, congested: str | list[int]) -> bool:
    if group.kind == "tp" or len(group.nodes) < 2:
        return False
    if congested == "all":
        return True
    rails = slice(None) if group.rail < 0 else slice(group.rail, group.rail + 1)
    return bool(np.isin(leaves[group.nodes, rails], congested).any())
