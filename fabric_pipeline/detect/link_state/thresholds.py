"""Every limit of the link-state rules, with where it comes from.

Nothing is measured here; a rule names the limit it used in the numbers of its finding.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LinkStateLimits:
    """Limits of the link-state rules.

    `full_siblings_needed`: GPUs that must run wider (or faster) before one below them is accused.
    Boards with two or three slots often split their lanes unevenly by design; four and more equal
    slots do not (field-guide R8, samples traps 11 and 16: the sign is a value below its equals).
    `bridge_links_max`: NVLinks of a GPU that an optional bridge connects (RTX and A40 class: 4);
    such GPUs may stand unbridged beside bridged ones. SXM modules have 6 to 18 (field-guide 5).
    `speed_tolerance`: share by which equal links may differ in printed speed; prints are rounded
    to three decimals, generations differ by a quarter and more.
    `busy_performance_state_max`: P0 to P2 are the states of a working GPU (P2 is the compute state
    of workstation GPUs); an idle one lowers its PCIe generation by design (samples trap 11).
    `speed_siblings_needed`: links of one GPU that must agree before a slower one is accused.
    """

    full_siblings_needed: int = 3
    bridge_links_max: int = 4
    speed_tolerance: float = 0.02
    busy_performance_state_max: int = 2
    speed_siblings_needed: int = 3


LIMITS = LinkStateLimits()
