"""Makes a ticket fit one A4 page and use it: the largest type, the longest texts that still fit.

First the type gets smaller, down to 7.5 points, then texts are cut in the order of `sheet_plans`, and
room that is left over is given back. How high a sheet is comes from `sheet_height`; the tests print the
longest tickets and count pages.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.workflows.sheet_blocks import body_blocks
from fabric_pipeline.workflows.sheet_height import (
    PAGE_HEIGHT,
    Entry,
    body_pt,
    frame_pt,
    note_pt,
    pieces,
)
from fabric_pipeline.workflows.sheet_model import Block, Fit, View
from fabric_pipeline.workflows.sheet_plans import (
    IMPORTANCE,
    PLANS,
    SIZES,
    SMALL,
    Place,
    Plan,
    whole,
)
from fabric_pipeline.workflows.sheet_text import Cutter
from fabric_pipeline.workflows.sheet_view import view_of


class _Part(NamedTuple):
    """What one place shows at one fit, the cuts that it counts, and its heights."""

    shortened: int
    left_out: int
    entries: tuple[Entry, ...] = ()
    block: Block = Block("")


class _Head(NamedTuple):
    """The same for all that stands above the body."""

    shortened: int
    left_out: int
    height: float
    view: View


def fitted(draft: TicketDraft, reserved_pt: float) -> tuple[View, Fit, float]:
    """The best view that fits beside `reserved_pt` of bars, its type, and the points that stay free."""
    sheet = _Arranged(draft, reserved_pt)
    if sheet.spare(whole(SMALL)) >= 0:
        plan = next(plan for plan in map(whole, SIZES) if sheet.spare(plan) >= 0)
    else:
        plan = sheet.filled(bisect_left(PLANS[:-1], True, key=lambda plan: sheet.spare(plan) >= 0))
    return sheet.view(plan), plan[Place.HEAD], sheet.spare(plan)


class _Arranged:
    """One ticket arranged by plans; each place is arranged once for each fit."""

    def __init__(self, draft: TicketDraft, reserved_pt: float) -> None:
        self._draft, self._room = draft, PAGE_HEIGHT - reserved_pt
        self._parts: dict[tuple[int, Fit], _Part] = {}
        self._heads: dict[Fit, _Head] = {}

    def spare(self, plan: Plan) -> float:
        """Points that stay free; less than zero when the plan does not fit."""
        head, blocks = self._head(plan[Place.HEAD]), self._blocks(plan)
        entries = [entry for part in blocks for entry in part.entries]
        shortened, left_out = self._cuts(plan)
        note = note_pt(cut=bool(shortened or left_out))
        return self._room - head.height - body_pt(entries) - note

    def filled(self, rung: int) -> Plan:
        """The plan of a rung, with what the places before it can still have of the room left over."""
        plan = PLANS[rung]
        for place in IMPORTANCE:

            def richer(before: Plan, place: Place = place, plan: Plan = plan) -> Plan:
                return (*plan[:place], before[place], *plan[place + 1 :])

            found = bisect_left(
                PLANS[:rung], True, key=lambda before: self.spare(richer(before)) >= 0
            )
            if found < rung:
                plan = richer(PLANS[found])
        return plan

    def view(self, plan: Plan) -> View:
        """The view with every place at its own fit, and all cuts counted."""
        head, blocks = self._head(plan[Place.HEAD]), self._blocks(plan)
        shown = [part.block for part in blocks if part.block.lines or part.block.more]
        shortened, left_out = self._cuts(plan)
        return replace(head.view, blocks=shown, shortened=shortened, left_out=left_out)

    def _cuts(self, plan: Plan) -> tuple[int, int]:
        head, blocks = self._head(plan[Place.HEAD]), self._blocks(plan)
        return (
            head.shortened + sum(part.shortened for part in blocks),
            head.left_out + sum(part.left_out for part in blocks),
        )

    def _blocks(self, plan: Plan) -> list[_Part]:
        return [self._block(place, fit) for place, fit in enumerate(plan[: Place.HEAD])]

    def _block(self, place: int, fit: Fit) -> _Part:
        key = (place, fit)
        if key not in self._parts:
            cut = Cutter()
            blocks = body_blocks(self._draft, fit, cut)
            for _ in islice(blocks, place):
                pass
            before = cut.shortened, cut.left_out
            block = next(blocks)
            counts = cut.shortened - before[0], cut.left_out - before[1]
            self._parts[key] = _Part(*counts, tuple(pieces(block, fit.size_pt)), block)
        return self._parts[key]

    def _head(self, fit: Fit) -> _Head:
        if fit not in self._heads:
            view = view_of(self._draft, fit)
            body = Cutter()
            list(body_blocks(self._draft, fit, body))
            counts = view.shortened - body.shortened, view.left_out - body.left_out
            self._heads[fit] = _Head(*counts, frame_pt(view, fit.size_pt), view)
        return self._heads[fit]
