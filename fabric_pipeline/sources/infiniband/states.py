"""Words for the logical and physical state of a port, brought to one spelling.

Logical states come from PortInfo (Down, Init, Armed, Active), physical ones from the link training
state machine. The joined text `Active/LinkUp` stands in `Reading.state`; judging it belongs to
`detect.port_state`.
"""

from __future__ import annotations

import re

_NUMBERED = re.compile(r"^\s*(\d{1,2})\s*:\s*(\S.*)$")
_LOGICAL = {
    "down": "Down",
    "1": "Down",
    "init": "Init",
    "initialize": "Init",
    "initializing": "Init",
    "ini": "Init",
    "2": "Init",
    "armed": "Armed",
    "arm": "Armed",
    "3": "Armed",
    "active": "Active",
    "act": "Active",
    "4": "Active",
    "active_defer": "Active",
    "actdefer": "Active",
    "5": "Active",
}


def logical_state(text: str) -> str:
    """`Down`, `Init`, `Armed`, `Active`, or "" when the text says none of them."""
    numbered = _NUMBERED.match(text)
    word = (numbered.group(2) if numbered else text).strip().lower()
    return _LOGICAL.get(word, "")


def physical_state(text: str) -> str:
    """The physical state without its number: `LinkUp` of `5: LinkUp`."""
    numbered = _NUMBERED.match(text)
    return (numbered.group(2) if numbered else text).strip()


def joined_state(logical: str, physical: str) -> str:
    """`Active/LinkUp`; a half that is not known stays away."""
    return "/".join(part for part in (logical_state(logical) or logical.strip(), physical) if part)


def link_up_value(logical: str, physical: str) -> float | None:
    """1 when traffic can flow, 0 when not, None when neither text is a known state.

    Only the logical state Active carries traffic; without it the physical state decides.
    """
    known = logical_state(logical)
    if known:
        return 1.0 if known == "Active" else 0.0
    word = physical.strip().lower()
    if word == "linkup":
        return 1.0
    return 0.0 if word.startswith(("poll", "disab", "sleep", "linkerror", "portconf")) else None
