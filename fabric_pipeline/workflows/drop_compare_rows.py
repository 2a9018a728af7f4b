"""Which links of two drops differ at all, found over columns, so that only those few are compared one by one.

Two links are the same when both ends, cable, part and what was measured are. What a difference means is
said in `drop_compare_links`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fabric_pipeline.workflows.fabric_link_columns import NOWHERE, Coder
from fabric_pipeline.workflows.fabric_link_model import STATES
from fabric_pipeline.workflows.fabric_view_model import FabricView, Link

_SILENT = STATES.index("no_data")


@dataclass(frozen=True, slots=True)
class Differing:
    """The links of the earlier and of the later drop that have no equal in the other one."""

    before: list[Link]
    after: list[Link]


def differing_links(a: FabricView, b: FabricView) -> Differing:
    """Links without an equal in the other view, and those that share an end with one."""
    coder = Coder()
    codes = [_codes(view, coder) for view in (a, b)]
    rows = [list(map(tuple, one.tolist())) for one in codes]
    seen = [set(one) for one in rows]
    different = [
        np.fromiter((row not in seen[1 - n] for row in one), bool, len(one))
        for n, one in enumerate(rows)
    ]
    # An end that two links claim belongs to the first one: it has to be among those that are compared.
    claimed = np.concatenate([_ends(one[mask]) for one, mask in zip(codes, different, strict=True)])
    claimed = claimed[claimed >= 0]
    kept = []
    for view, one, mask in zip((a, b), codes, different, strict=True):
        shares = np.isin(_ends(one), claimed).reshape(2, -1).any(axis=0)
        kept.append([view.links[int(at)] for at in np.flatnonzero(mask | shares)])
    return Differing(*kept)


def _codes(view: FabricView, coder: Coder) -> NDArray[np.int64]:
    """One row a link: codes of both ends, of cable and part, and whether each end was measured."""
    links, columns = view.links, view.links.columns
    nodes = np.append(coder.codes(columns.nodes), NOWHERE)
    interfaces = np.append(coder.codes(columns.interfaces), NOWHERE)
    parts = [
        *(nodes[columns.node[side]] for side in (0, 1)),
        *(interfaces[columns.interface[side]] for side in (0, 1)),
        coder.codes(columns.cables.tolist()),
        coder.codes(columns.parts.tolist()),
        *(links.end_states[side] == _SILENT for side in (0, 1)),
        links.states == _SILENT,
    ]
    return np.stack([np.asarray(part, np.int64) for part in parts], axis=1)


def _ends(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """One number for each end, near ends first; -1 for ends that nobody names."""
    near, far = (codes[:, (side, side + 2)] for side in (0, 1))
    keys = np.concatenate([near, far])
    return np.where(keys[:, 1] == NOWHERE, -1, keys[:, 0] * (1 << 32) + keys[:, 1])
