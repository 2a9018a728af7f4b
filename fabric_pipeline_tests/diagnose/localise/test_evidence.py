"""From spikes to erring links: both ends folded, sums of a GPU only where no link tells more."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.diagnose.localise.evidence import erring_links, merged
from fabric_pipeline.model.topology import Topology
from fabric_pipeline_tests.diagnose.evidence import at, components, hit, spike, topology

LINK, FAR = "n1:gpu3/nvlink-4", "n1:nvswitch-2/port-17"


def bursts(*spans: tuple[float, float]) -> list[tuple[datetime, datetime, float]]:
    return [(at(start), at(end), 5.0) for start, end in spans]


def test_both_ends_are_one_link_named_by_the_louder() -> None:
    spikes = [
        spike(LINK, events=10, bursts=bursts((0, 30))),
        spike(FAR, events=90, bursts=bursts((60, 90))),
    ]
    (one,) = erring_links(spikes, topology((LINK, FAR)))
    assert (one.component, one.far_end, one.link_type) == (FAR, LINK, "nvlink")
    assert one.spans == bursts((0, 30), (60, 90))
    assert not one.has_state
    assert components(erring_links(spikes, Topology())) == [LINK, FAR]


def test_all_counters_of_an_end_make_it_loud() -> None:
    spikes = [
        spike(LINK, "crc_flit", events=60, bursts=bursts((0, 30))),
        spike(LINK, "replay", events=60, bursts=bursts((0, 30))),
        spike(FAR, events=90, bursts=bursts((0, 30))),
    ]
    (one,) = erring_links(spikes, topology((LINK, FAR)))
    assert one.component == LINK


def test_equally_loud_ends_are_decided_by_name() -> None:
    spikes = [spike(end, bursts=bursts((0, 30))) for end in (FAR, LINK)]
    for order in (spikes, spikes[::-1]):
        assert components(erring_links(order, topology((LINK, FAR)))) == [LINK]


def test_bursts_stand_for_the_spike() -> None:
    (one,) = erring_links([spike(LINK, bursts=bursts((700, 760)))], Topology())
    assert one.spans == bursts((700, 760))


def test_without_bursts_only_a_broken_rule_speaks_for_the_whole_interval() -> None:
    loud = spike(LINK, hits=[hit("replay_plain_limit", "warning")])
    (one,) = erring_links([loud], Topology())
    assert one.spans == [(at(600), at(1200), 500.0)]
    assert erring_links([spike(LINK, hits=[hit("any", "watch")])], Topology()) == []
    assert erring_links([spike(LINK, hits=[])], Topology()) == []


def test_a_snapshot_has_no_place_in_time() -> None:
    assert erring_links([spike(LINK, at_s=None)], Topology()) == []


def test_what_fec_repairs_is_no_evidence() -> None:
    assert erring_links([spike("n1:mlx5_0/1", "corrected_bits")], Topology()) == []


def test_sums_stand_for_a_gpu_only_where_no_link_tells_more() -> None:
    def total(component: str, scope: str = "gpu_sum") -> object:
        return spike(component, scope=scope)

    spikes = [total("n1:gpu1"), total("n1:gpu2"), spike("n1:gpu2/nvlink-3"), total("n2:gpu2")]
    spikes += [total("n1:nvswitch-0", "switch_sum")]
    found = components(erring_links(spikes, Topology()))  # type: ignore[arg-type]
    assert sorted(found) == ["n1:gpu1", "n1:gpu2/nvlink-3", "n2:gpu2"]


def test_merged_joins_what_overlaps_or_touches() -> None:
    spans = bursts((100, 130), (0, 30), (20, 50), (50, 60), (62, 70))
    assert merged(spans) == bursts((0, 60), (62, 70), (100, 130))
    nested = [(at(0), at(90), 3.0), (at(30), at(40), 8.0)]
    assert merged(nested) == [(at(0), at(90), 8.0)], "counters overlap, so they are not added up"
    assert merged([]) == []


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 40)), max_size=12))
def test_merged_spans_cover_the_same_time_in_order(raw: list[tuple[int, int]]) -> None:
    spans = bursts(*((start, start + length) for start, length in raw))
    found = merged(spans)
    assert merged(found) == found
    for start, end, _ in spans:
        assert any(first <= start and end <= last for first, last, _ in found)
    assert all(one[1] < two[0] for one, two in pairwise(found))
