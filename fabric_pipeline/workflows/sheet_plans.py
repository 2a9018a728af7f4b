"""In which order a ticket is cut to one page, as plans from whole to bare, each a little shorter.

What a repair does not need goes first: the vendor's form, then evidence, claims, what steps prove, what
else was weighed, then tools and part names. Drain, isolation, safety, steps, test and rollback are
touched only when all that is gone. Which plan fits is decided in `sheet_fit`.
"""

from __future__ import annotations

from dataclasses import fields, replace
from enum import IntEnum

from fabric_pipeline.workflows.sheet_model import Fit

SMALL = 7.5
SIZES = (9.5, 9.0, 8.5, 8.0, SMALL)
# Below this a text says nothing; it is left out and counted.
_SHORTEST_TEXT = 12
_COUNTS = frozenset(
    {"claims", "asides", "records", "safety", "criteria", "tools", "parts", "facts"}
)


class Place(IntEnum):
    """Blocks of the body in reading order; `HEAD` is all that stands above them."""

    BRING = 0
    BEFORE = 1
    STEPS = 2
    TEST = 3
    ROLLBACK = 4
    EARLIER = 5
    WHY = 6
    RETURN = 7
    HEAD = 8


# One fit for each place.
Plan = tuple[Fit, ...]
# Room left over by a plan goes to the first of these that can use it.
IMPORTANCE = (
    Place.BEFORE, Place.STEPS, Place.TEST, Place.ROLLBACK, Place.BRING, Place.HEAD, Place.EARLIER,
    Place.WHY, Place.RETURN,
)  # fmt: skip


def whole(size_pt: float) -> Plan:
    """Everything at a type size; the limits are those of the texts themselves, or beyond them."""
    fit = Fit(
        size_pt, aside=400, record=400, criterion=400, records=40, safety=20, tools=20, criteria=20,
    )  # fmt: skip
    return tuple(replace(fit, fact=120 if place is Place.HEAD else 200) for place in Place)


# Cuts of texts that the work at the machine does not need, in the order in which they are made.
_SOFT: tuple[tuple[Place, str, tuple[int, ...]], ...] = (
    (Place.RETURN, "record", (200, 120)),
    (Place.RETURN, "records", tuple(range(19, -1, -1))),
    (Place.WHY, "records", tuple(range(19, -1, -1))),
    (Place.WHY, "claim", (300, 200)),
    (Place.WHY, "claims", tuple(range(9, -1, -1))),
    (Place.WHY, "aside", (300, 200, 140)),
    (Place.WHY, "asides", tuple(range(7, -1, -1))),
    (Place.WHY, "aside", (120, 90)),
    (Place.STEPS, "proves", (200, 120, 100, 90, 80, 70, 60, 0)),
    (Place.WHY, "summary", (600, 450, 300, 200, 100, 0)),
    (Place.EARLIER, "record", (200, 120)),
    (Place.EARLIER, "records", (12, 8, 6, 4, 3, 2)),
    (Place.BRING, "tools", (16, 12, 10, 8, 7, 6, 5, 4)),
    (Place.BRING, "fact", (120, 90, 70, 55, 40)),
)
# What a technician can still work with: every step, the place, each kind of safety and test.
_BARE = Fit(
    SMALL, step=150, proves=0, prose=90, claims=0, claim=60, asides=0, aside=60, criterion=60,
    records=0, record=50, safety=6, criteria=5, tools=4, parts=2, fact=40, facts=1, go=22, title=100,
    summary=0,
)  # fmt: skip
# Fits whatever a ticket holds, even when every letter is as wide as it is high.
_LAST = replace(
    _BARE, step=26, prose=24, claim=20, aside=20, criterion=20, record=20, safety=3, criteria=3, tools=1,
    parts=1, fact=14, facts=0, go=8, title=40,
)  # fmt: skip


def _between(most: Fit, least: Fit, share: float) -> Fit:
    """Limits between two fits, `share` of the way from the lesser to the greater."""
    limits = {}
    for name in (field.name for field in fields(Fit) if field.name != "size_pt"):
        low, high = getattr(least, name), getattr(most, name)
        limit = round(min(low, high) + max(0, high - low) * share)
        shown = name in _COUNTS or name == "go" or limit >= _SHORTEST_TEXT
        limits[name] = limit if shown else 0
    return Fit(SMALL, **limits)


def _softer(plan: Plan) -> list[Plan]:
    plans = [plan]
    for place, name, values in _SOFT:
        for value in values:
            fits = list(plans[-1])
            fits[place] = replace(fits[place], **{name: value})
            plans.append(tuple(fits))
    return plans


def _harder(most: Plan, least: Fit, count: int) -> list[Plan]:
    shares = [1 - number / count for number in range(1, count + 1)]
    return [tuple(_between(fit, least, share) for fit in most) for share in shares]


def _plans() -> tuple[Plan, ...]:
    soft = _softer(whole(SMALL))
    bare = _harder(soft[-1], _BARE, 60)
    return (*soft, *bare, *_harder(bare[-1], _LAST, 20))


PLANS = _plans()
