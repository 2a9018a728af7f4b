"""Limits and rule ids of the port state rules, each with where it comes from.

States are facts, so there are few numbers here: how many equals make a majority, and how many
deviating links may be called faults of their own before one common cause is likelier.
"""

from __future__ import annotations

from dataclasses import dataclass

JUDGED_LINK_TYPES = frozenset({"infiniband", "roce", "ethernet"})

# A port that is down or polls is a fault only when something shows that it was or should be linked.
RULE_DOWN_AFTER_ACTIVE = "port_down_after_active"
RULE_DOWN_KNOWN_PEER = "port_down_known_peer"
RULE_DOWN_WAS_CONFIGURED = "port_down_keeps_lid"
RULE_DOWN_HAD_CARRIER = "port_down_had_carrier"
RULE_LOST = "port_lost_between_captures"
RULE_NODE_LOST = "all_ports_of_device_lost"
RULE_STUCK = "port_stuck_before_active"
RULE_BELOW_EARLIER = "rate_below_earlier_capture"
RULE_BELOW_MAX = "rate_below_both_ends"
RULE_BELOW_EQUALS = "rate_below_equals"
RULE_INTERFACE_DOWN = "interface_down_over_active_port"
RULE_NAMES_CHANGED = "device_names_changed"


@dataclass(frozen=True, slots=True)
class PortStateLimits:
    """Limits of the state rules. Project policy unless a source is named.

    `min_equals`: links that must agree before another may be called low (three agreeing links, as
    a majority of two proves nothing). `majority_share`: part of the group that must agree.
    `max_low_share`: above this part of a group, low links are a different generation of hardware,
    not faults, and so they are above `max_low_links` alike. `max_narrow_share`: the same for lost
    lanes, which no generation explains.
    `common_share` and `min_common`: when this part of a device's ports changed alike, one common
    cause is named. `generation_ratio`: a device-id maximum is believed only when the link runs
    below this part of it, because cards of one chip are sold at neighbouring rates.
    `max_cable_lanes`: no cable of a cluster network carries more; larger maxima are printed by some
    tools on every row (samples trap 16).
    """

    min_equals: int = 3
    majority_share: float = 0.6
    max_low_share: float = 0.1
    max_low_links: int = 2
    max_narrow_share: float = 0.25
    common_share: float = 0.75
    min_common: int = 3
    generation_ratio: float = 0.5
    max_cable_lanes: int = 8
    hint_share: float = 0.5


LIMITS = PortStateLimits()
