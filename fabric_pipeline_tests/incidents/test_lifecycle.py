"""The life of an incident as a pure function of what is known, whatever the order it became known in."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.incidents.life_history import Check, History, Repair, Sighting
from fabric_pipeline.incidents.lifecycle import CLEAN_S, LifeState, life_of

T0 = datetime(2031, 5, 6, 8, tzinfo=UTC)


def at(hours: float) -> datetime:
    return T0 + timedelta(hours=hours)


def seen(
    drop: str, first: float, last: float, severity: str = "WARNING", **more: float
) -> Sighting:
    return Sighting(drop, at(first), at(last), severity, **more)


def clean(drop: str, first: float, minutes: float, verdict: str = "clean") -> Check:
    start = at(first)
    measured = minutes * 60 if verdict == "clean" else 0.0
    return Check(drop, verdict, start, start + timedelta(minutes=minutes), measured)


def dirty(drop: str, first: float, error: float) -> Check:
    return Check(drop, "dirty", at(first), at(first + 1), 3600.0, at(error))


def fixed(seq: int, hours: float, step: int | None = None) -> Repair:
    return Repair(seq, f"action_{seq}", step, at(hours))


def life(*known: Sighting | Check | Repair) -> LifeState:
    return life_of(
        History(
            tuple(one for one in known if isinstance(one, Sighting)),
            tuple(one for one in known if isinstance(one, Check)),
            tuple(one for one in known if isinstance(one, Repair)),
        )
    )


FAULT = seen("d1", 0, 1)


@pytest.mark.parametrize(
    ("known", "state", "says"),
    [
        ([FAULT], "new", "drop d1"),
        ([FAULT, seen("d2", 24, 25)], "ongoing", "2 drops (d1, d2)"),
        ([FAULT, seen("d2", 24, 25, "CRITICAL")], "worse", "WARNING to CRITICAL"),
        ([FAULT, clean("d2", 2, 29)], "new", "measured clean for 29 min"),
        ([FAULT, clean("d2", 2, 30)], "quiet", "without a reported repair"),
        ([FAULT, clean("d2", 2, 20), clean("d3", 4, 10)], "quiet", "30 min"),
        ([FAULT, clean("d2", 0.9, 60)], "new", "drop d1"),
        ([FAULT, clean("d2", 2, 60, "unmeasured")], "new", "drop d2 since then could not tell"),
        ([FAULT, clean("d2", 2, 60), seen("d3", 9, 10)], "ongoing", "2 drops"),
        ([FAULT, fixed(1, 2)], "repaired", "30 min are wanted"),
        ([FAULT, fixed(1, 2), clean("d2", 1.9, 60)], "repaired", "clean for 0 min"),
        ([FAULT, fixed(1, 2), clean("d2", 3, 29)], "repaired", "clean for 29 min"),
        ([FAULT, fixed(1, 2), clean("d2", 3, 40, "unmeasured")], "repaired", "d2 could not tell"),
        ([FAULT, fixed(1, 2), clean("d2", 3, 40)], "verified", "clean for 40 min"),
        ([FAULT, fixed(1, 2), seen("d2", 26, 27)], "reopened", "within 7 days"),
        ([FAULT, fixed(1, 2), seen("d2", 242, 243)], "reopened", "10.0 days after"),
        ([FAULT, fixed(1, 2), seen("d2", 242, 243)], "reopened", "after more than 7 days"),
        ([FAULT, fixed(1, 2), dirty("d2", 3, 3.5)], "reopened", "in drop d2"),
        ([FAULT, fixed(1, 2, 1), clean("d2", 3, 40), seen("d3", 50, 51)], "reopened", "step 2"),
        ([FAULT, fixed(1, 2), seen("d2", 26, 27), fixed(2, 30)], "repaired", "action_2"),
    ],
)  # fmt: skip
def test_states(known: list[Sighting | Check | Repair], state: str, says: str) -> None:
    found = life(*known)
    assert found.state == state
    assert says in found.reason


def test_a_repair_in_the_middle_of_a_drop_goes_by_times() -> None:
    assert life(seen("d1", 0, 1), fixed(1, 1.5)).state == "repaired"
    assert life(seen("d1", 0, 1), fixed(1, 0.5)).state == "reopened"


def test_errors_of_the_work_itself_are_no_return() -> None:
    assert life(FAULT, fixed(1, 2), seen("d2", 1.9, 2.08)).state == "repaired"
    assert life(FAULT, fixed(1, 2), seen("d2", 1.9, 2.09)).state == "reopened"


def test_a_sighting_without_times_takes_those_of_its_drop() -> None:
    undated = Sighting("d2", None, None, "WARNING")
    placed = Check("d2", "dirty", at(9), at(10), 0.0, is_accused=True)
    assert life(FAULT, fixed(1, 2), undated, placed).state == "reopened"
    found = life(FAULT, fixed(1, 2), undated)
    assert found.state == "repaired"
    assert "drop d2 without times cannot be placed" in found.reason


def test_an_incident_no_diagnosis_finds_any_more_is_withdrawn() -> None:
    assert life(clean("d1", 0, 60)).state == "withdrawn"


@pytest.mark.parametrize(
    ("before", "now", "is_worse"),
    [
        ((1000.0, 500.0), (2100.0, 1000.0), True),
        ((1000.0, 500.0), (1900.0, 1000.0), False),
        ((10.0, 1.0), (30.0, 3.0), False),
    ],
)
def test_a_rate_is_worse_when_it_doubles_beyond_chance(
    before: tuple[float, float], now: tuple[float, float], is_worse: bool
) -> None:
    old = seen("d1", 0, 1, rate_per_hour=before[0], events=before[1])
    new = seen("d2", 24, 25, rate_per_hour=now[0], events=now[1])
    assert (life(old, new).state == "worse") is is_worse


def test_half_as_much_degradation_again_is_worse_from_five_points_on() -> None:
    assert life(seen("a", 0, 1, degradation_pct=3), seen("b", 5, 6, degradation_pct=8)).state == "worse"  # fmt: skip
    assert life(seen("a", 0, 1, degradation_pct=3), seen("b", 5, 6, degradation_pct=7)).state == "ongoing"  # fmt: skip
    assert life(seen("a", 0, 1, degradation_pct=90), seen("b", 5, 6, degradation_pct=99)).state == "ongoing"  # fmt: skip


def test_time_that_two_drops_cover_counts_once() -> None:
    assert life(FAULT, fixed(1, 2), clean("d2", 3, 20), clean("d3", 3.1, 20)).state == "repaired"
    assert life(FAULT, fixed(1, 2), clean("d2", 3, 20), clean("d3", 4, 20)).state == "verified"


def test_what_followed_each_repair() -> None:
    known = (
        FAULT, fixed(1, 2, 1), seen("d2", 10, 11), fixed(2, 12, 2), fixed(3, 12.5, 3), seen("d3", 20, 21),
        fixed(4, 30, 4), clean("d4", 31, 45),
    )  # fmt: skip
    found = life(*known)
    outcomes = [one.outcome for one in found.repairs]
    assert outcomes == ["came_back", "came_back", "came_back", "verified"]
    assert found.state == "verified"
    assert found.next_step == 4
    assert found.repairs[1].returned_in == "d3"


def test_a_repair_that_was_followed_before_anything_was_known_stays_unknown() -> None:
    found = life(FAULT, fixed(1, 2, 1), fixed(2, 3, 2), clean("d2", 4, 45))
    assert [one.outcome for one in found.repairs] == ["unknown", "verified"]
    assert found.next_step == 1


def test_the_next_step_leaves_out_what_failed_before() -> None:
    found = life(FAULT, fixed(1, 2, 2), seen("d2", 4, 5), fixed(2, 6, 1), seen("d3", 8, 9))
    assert (found.state, found.next_step) == ("reopened", 3)


HOURS = st.integers(0, 60).map(lambda quarter: quarter / 4)
SIGHTINGS = st.builds(
    lambda n, first, long, severity, rate: seen(
        f"d{n}", first, first + long, severity, rate_per_hour=rate, events=rate
    ),
    st.integers(0, 9), HOURS, st.sampled_from([0.0, 0.5, 4]), st.sampled_from(["WARNING", "CRITICAL"]),
    st.sampled_from([100.0, 1000.0]),
)  # fmt: skip
CHECKS = st.builds(
    lambda n, first, minutes, verdict: clean(f"d{n}", first, minutes, verdict),
    st.integers(0, 9), HOURS, st.sampled_from([15, 30, 60]), st.sampled_from(["clean", "unmeasured"]),
) | st.builds(lambda n, first: dirty(f"d{n}", first, first + 0.5), st.integers(0, 9), HOURS)  # fmt: skip
REPAIRS = st.builds(fixed, st.integers(1, 99), HOURS, st.sampled_from([None, 1, 2, 3]))
KNOWN = st.tuples(
    st.lists(SIGHTINGS, min_size=1, max_size=5), st.lists(CHECKS, max_size=6, unique_by=lambda c: c.drop),
    st.lists(REPAIRS, max_size=4, unique_by=lambda r: r.seq),
)  # fmt: skip
Known = tuple[list[Sighting], list[Check], list[Repair]]


def history(known: Known) -> History:
    return History(tuple(known[0]), tuple(known[1]), tuple(known[2]))


def mixed(known: Known, chance: random.Random) -> Known:
    """Everything in another order and some of it twice."""
    parts = ([*known[0], *known[0][:2]], [*known[1], *known[1][:2]], [*known[2], *known[2][:2]])
    for part in parts:
        chance.shuffle(part)
    return parts


@settings(max_examples=120, deadline=None)
@given(KNOWN, st.randoms(use_true_random=False))
def test_order_and_repetition_change_nothing(known: Known, chance: random.Random) -> None:
    assert life_of(history(mixed(known, chance))) == life_of(history(known))


@settings(max_examples=120, deadline=None)
@given(KNOWN)
def test_nothing_is_quiet_or_verified_without_measured_time(known: Known) -> None:
    found = life_of(history(known))
    if found.state in ("quiet", "verified"):
        assert found.clean_s >= CLEAN_S
        measured = sum(check.measured_s for check in known[1] if check.verdict == "clean")
        assert measured >= CLEAN_S
    if known[2]:
        assert found.state in ("repaired", "verified", "reopened")
    else:
        assert found.state in ("new", "ongoing", "worse", "quiet")
    silent = [check for check in known[1] if check.verdict != "clean"]
    assert life_of(History(tuple(known[0]), tuple(silent), ())).state != "quiet"
