"""One window out of series, erring links and side evidence: bins, candidates, what is left out."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest

from fabric_pipeline.diagnose.localise.build import ErringLink, SideEvidence, build_window
from fabric_pipeline.model.topology import Topology
from fabric_pipeline_tests.diagnose.evidence import START, at
from fabric_pipeline_tests.diagnose.localise.windows import (
    BINS,
    BURST,
    CABLE,
    NVLINK,
    STEP_S,
    built,
    erring,
    fleet,
    timed,
)

Span = tuple[datetime, datetime, float]


def burst(start_s: float, end_s: float, events: float = 6.0) -> Span:
    return at(start_s), at(end_s), events


def bins_of(*spans: Span) -> list[int]:
    """Bins that these spans put on the clock of the handmade fleet."""
    made = built({}, [ErringLink(CABLE, "", "infiniband", list(spans))])
    return [int(n) for one in made.window.candidates for n in np.flatnonzero(one.active)]


@pytest.mark.parametrize(
    ("span", "bins"),
    [
        (burst(60, 150), [2, 3, 4]),  # bins are 30 s long
        (burst(70, 140), [2, 3, 4]),  # most of the first and the last
        (burst(80, 130), [3]),
        (burst(65, 68), [2]),  # shorter than a bin
        (burst(60, 60), [2]),
        (burst(85, 95), [3]),  # the bin that holds its middle
        (burst(-100, 20), [0]),
        (burst(59 * 30, 9000), [59]),
        (burst(-500, -200), []),
        (burst(60 * 30 + 5, 9000), []),
    ],
)
def test_spans_become_the_bins_that_they_mostly_cover(span: Span, bins: list[int]) -> None:
    assert bins_of(span) == bins


def test_events_are_spread_over_the_bins_of_a_burst() -> None:
    spans = [burst(60, 150), burst(300, 310, 4.0), burst(315, 320, 2.0)]
    (one,) = built({}, [ErringLink(CABLE, "", "infiniband", spans)]).window.candidates
    assert one.counts is not None
    assert one.counts[[2, 3, 4, 10]] == pytest.approx([2.0, 2.0, 2.0, 6.0])
    assert one.counts.sum() == pytest.approx(12.0)


def test_events_outside_the_window_are_not_squeezed_into_it() -> None:
    spans = [burst(-60 * 98, 60, 1000.0)]
    (one,) = built({}, [ErringLink(CABLE, "", "infiniband", spans)]).window.candidates
    assert one.counts is not None
    assert one.counts.sum() == pytest.approx(1000 * 60 / (60 * 99), rel=0.05)


def test_a_candidate_knows_where_it_lies() -> None:
    made = built({}, [erring(CABLE, BURST), erring(NVLINK, BURST, has_state=True)])
    by_name = {one.link: one for one in made.window.candidates}
    cable, nvlink = by_name[CABLE], by_name[NVLINK]
    assert np.flatnonzero(cable.active).tolist() == list(BURST)
    assert (cable.is_nvlink, nvlink.is_nvlink) == (False, True)
    assert (cable.has_state, nvlink.has_state) == (False, True)
    assert made.window.places[cable.place].name == "n1: rail 2"
    assert made.window.places[nvlink.place].name == "n1: NVLinks"


@pytest.mark.parametrize("component", ["n9:mlx5_2/1", "n1:mlx5_7/1", "unknown:leaf-3/port-2"])
def test_a_link_that_no_group_crosses_is_no_candidate(component: str) -> None:
    made = built({}, [erring(component, BURST), erring(CABLE, BURST)])
    assert [one.link for one in made.window.candidates] == [CABLE]


def test_nothing_timed_is_no_window() -> None:
    assert build_window([], [erring(CABLE, BURST)], Topology(), STEP_S) is None


def test_a_window_without_errors_is_still_a_window() -> None:
    window = built({}, []).window
    assert window.bins == BINS
    assert window.candidates == []
    assert window.places
    assert set(window.node_groups) == {0, 1, 2, 3}


def test_the_order_of_links_does_not_matter() -> None:
    links = [erring(c, BURST) for c in (CABLE, NVLINK, "n3:mlx5_1/1")]
    links.append(erring(CABLE, BURST, has_state=True))
    first = [(one.link, one.has_state) for one in built({}, links).window.candidates]
    assert [(one.link, one.has_state) for one in built({}, links[::-1]).window.candidates] == first


def test_a_low_learnt_baseline_is_no_slow_time() -> None:
    raised = [timed("a", "tp-n1", np.full(BINS, 0.03), ["n1"]), *fleet()[1:]]
    made = build_window(raised, [], Topology(), STEP_S)
    assert made is not None
    assert made.window.series.deviation[0] == pytest.approx(np.zeros(BINS))


def test_side_evidence_lies_on_the_clock() -> None:
    side = SideEvidence(
        congested={(CABLE, ""): [burst(60, 150)], ("n9:mlx5_2/1", ""): [burst(0, 900)]},
        throttled={"n2": [burst(300, 390)], "n9": [burst(0, 900)]},
    )
    made = built({}, [], side=side)
    (place,) = made.window.congested
    assert made.window.places[place].name == "n1: rail 2"
    assert np.flatnonzero(made.window.congested[place]).tolist() == [2, 3, 4]
    assert np.flatnonzero(made.window.throttled[1]).tolist() == [10, 11, 12]
    assert set(made.window.throttled) == {1}


def test_the_clock_names_moments() -> None:
    clock = built({}, []).fleet.clock
    assert abs((clock.moment(0) - START).total_seconds()) < 1e-3
