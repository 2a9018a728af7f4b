"""Explaining away on handmade windows: who is accepted, who is masked, what goes to a place."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.diagnose.localise.build import Built, ErringLink, SideEvidence
from fabric_pipeline.diagnose.localise.localise import Localised, localise
from fabric_pipeline.diagnose.localise.scorecard import odds_only, shipped_card
from fabric_pipeline_tests.diagnose.evidence import at
from fabric_pipeline_tests.diagnose.localise.windows import (
    BURST,
    CABLE,
    NVLINK,
    OTHER_CABLE,
    STEP_S,
    built,
    erring,
)

DP2, TP1, OTHER = ("a", "dp2"), ("a", "tp-n1"), ("b", "dp1")
LATER = range(42, 54)
Slow = dict[tuple[str, str], Iterable[int]]


def weighed(
    slow: Slow, links: Iterable[ErringLink], factor: float = 2.0, side: SideEvidence | None = None
) -> Localised:
    return localise(built(slow, links, side=side, factor=factor).window, shipped_card())


def accepted(found: Localised) -> list[str]:
    return [one.candidate.link for one in found.accepted]


def place_names(made: Built, found: Localised) -> list[str]:
    return [made.window.places[one.place].name for one in found.places]


@pytest.mark.parametrize(
    ("link", "group"), [(CABLE, DP2), (NVLINK, TP1), (OTHER_CABLE, OTHER), ("n2:gpu2/pcie", DP2)]
)
def test_the_guilty_link_is_accepted(link: str, group: tuple[str, str]) -> None:
    found = weighed({group: BURST}, [erring(link, BURST)])
    assert accepted(found) == [link]
    (one,) = found.accepted
    assert one.accepted
    assert one.confidence > 0.7
    assert one.effect == pytest.approx(np.log(2), abs=0.05)
    assert found.places == []
    assert found.others == []


@pytest.mark.parametrize("bursts", [range(40, 55), [5, 6, 50], range(10), [37]])
def test_a_harmless_burst_elsewhere_is_not(bursts: Iterable[int]) -> None:
    found = weighed({DP2: BURST}, [erring(CABLE, BURST), erring("n2:mlx5_2/1", bursts)])
    assert accepted(found) == [CABLE]
    assert all(one.confidence < 0.5 for one in found.others)


def test_a_burst_on_another_path_at_the_same_time_is_not() -> None:
    found = weighed({DP2: BURST}, [erring(CABLE, BURST), erring(OTHER_CABLE, BURST)])
    assert accepted(found) == [CABLE]


def test_errors_without_slow_time_accuse_nobody() -> None:
    found = weighed({}, [erring(CABLE, BURST), erring(NVLINK, LATER)])
    assert accepted(found) == []
    assert found.places == []


def test_nothing_erring_and_nothing_slow_is_nothing() -> None:
    found = weighed({}, [])
    assert (found.accepted, found.others, found.places) == ([], [], [])
    assert len(found.sigma) == 12


def test_two_links_with_time_of_their_own_are_both_accepted() -> None:
    second = "n2:mlx5_2/1"
    found = weighed({DP2: [*BURST, *LATER]}, [erring(CABLE, BURST), erring(second, LATER)])
    assert sorted(accepted(found)) == [CABLE, second]
    found = weighed({DP2: BURST, OTHER: LATER}, [erring(CABLE, BURST), erring(OTHER_CABLE, LATER)])
    assert sorted(accepted(found)) == [CABLE, OTHER_CABLE]
    assert min(one.confidence for one in found.accepted) > 0.7


def test_of_two_equal_patterns_one_at_most_is_accepted() -> None:
    found = weighed({DP2: BURST}, [erring(CABLE, BURST), erring("n2:mlx5_2/1", BURST)])
    assert len(found.accepted) <= 1
    assert len(found.accepted) + len(found.others) == 2
    assert not any(one.accepted for one in found.others)
    alone = weighed({DP2: BURST}, [erring(CABLE, BURST)]).accepted[0]
    assert alone.confidence > max(one.confidence for one in [*found.accepted, *found.others])


def test_the_pattern_that_fits_better_is_accepted() -> None:
    shifted = [n + 4 for n in BURST]
    found = weighed({DP2: BURST}, [erring("n2:mlx5_2/1", shifted), erring(CABLE, BURST)])
    assert accepted(found) == [CABLE]


def test_errors_and_state_of_one_link_are_accepted_once() -> None:
    links = [erring(CABLE, BURST), erring(CABLE, BURST, has_state=True)]
    found = weighed({DP2: BURST}, links)
    assert accepted(found) == [CABLE]
    assert found.others == []


def test_a_slow_host_gives_a_place_not_a_link() -> None:
    every = {("a", f"dp{rail}"): BURST for rail in range(4)} | {("a", "tp-n1"): BURST}
    made = built(every, [erring(CABLE, range(18, 24))])
    found = localise(made.window, shipped_card())
    assert accepted(found) == []
    names = place_names(made, found)
    assert names[0] in ("n1: host", "run a")
    assert "n1: host" in names or any(
        made.window.places[p].name == "n1: host" for p in found.places[0].alike
    )


def test_a_rail_that_is_slow_without_errors_gives_the_rail() -> None:
    made = built({DP2: BURST}, [])
    found = localise(made.window, shipped_card())
    (one,) = found.places
    assert "rail 2" in place_names(made, found)[0]
    assert np.flatnonzero(one.active).tolist() == list(BURST)
    assert any("rail 2" in made.window.places[p].name for p in one.alike), (
        "the other end fits alike"
    )


def test_a_throttled_node_lowers_the_confidence() -> None:
    side = SideEvidence(throttled={"n1": [(at(20 * STEP_S), at(35 * STEP_S), 1.0)]})
    alone = weighed({DP2: BURST}, [erring(CABLE, BURST)]).accepted[0]
    beside = weighed({DP2: BURST}, [erring(CABLE, BURST)], side=side)
    (one,) = [*beside.accepted, *beside.others]
    assert one.facts.known_cause > 0.9
    assert one.confidence < alone.confidence


def test_a_large_effect_is_surer_than_none() -> None:
    sure = [
        max((one.confidence for one in [*found.accepted, *found.others]), default=0.0)
        for found in (weighed({DP2: BURST}, [erring(CABLE, BURST)], f) for f in (1.0, 1.2, 3.0))
    ]
    assert sure[0] < 0.5 < sure[1]
    assert sure[2] > 0.7


def test_a_lone_slow_bin_accuses_nobody() -> None:
    assert accepted(weighed({DP2: [30]}, [erring(CABLE, [30])])) == []


def test_truth_takes_the_place_of_the_confidence() -> None:
    window = built({DP2: BURST}, [erring(CABLE, BURST), erring("n2:mlx5_2/1", BURST)]).window
    found = localise(window, odds_only(), truth={"n2:mlx5_2/1"})
    assert accepted(found) == ["n2:mlx5_2/1"]
    assert [one.candidate.link for one in found.others] == [CABLE]


BUSY: Slow = {DP2: [*BURST, *LATER], TP1: LATER, OTHER: BURST}
BUSY_LINKS = [
    erring(CABLE, BURST), erring(NVLINK, LATER), erring(OTHER_CABLE, BURST), erring("n4:mlx5_1/1", BURST),
    erring("n2:mlx5_2/1", LATER), erring("n2:gpu1/nvlink-3", [3, 9]), erring("n1:mlx5_3/1", BURST),
]  # fmt: skip


def outline(found: Localised) -> list[tuple[str, float, bool]]:
    scored = [*found.accepted, *found.others]
    return [(one.candidate.link, round(one.confidence, 9), one.accepted) for one in scored]


@settings(max_examples=10)
@given(st.randoms(use_true_random=False))
def test_the_order_of_candidates_does_not_matter(order: random.Random) -> None:
    window = built(BUSY, BUSY_LINKS).window
    expected = localise(window, shipped_card())
    order.shuffle(window.candidates)
    assert outline(localise(window, shipped_card())) == outline(expected)


def test_the_window_is_left_as_it_was() -> None:
    window = built(BUSY, BUSY_LINKS).window
    before = window.series.deviation.copy()
    first = outline(localise(window, shipped_card()))
    assert np.array_equal(window.series.deviation, before, equal_nan=True)
    assert outline(localise(window, shipped_card())) == first
