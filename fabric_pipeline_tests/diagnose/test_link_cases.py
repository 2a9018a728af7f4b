"""All evidence of one physical link in one place, under the name of the end to look at."""

from __future__ import annotations

from typing import Any

from fabric_pipeline.detect.spikes.evaluate import Spike
from fabric_pipeline.diagnose.link_cases import LinkCase, link_cases
from fabric_pipeline.model.records import TopologyPart
from fabric_pipeline.model.topology import Topology
from fabric_pipeline_tests.diagnose.evidence import (
    at,
    components,
    correlation,
    hit,
    spike,
    topology,
)

NEAR, FAR = "n1:gpu3/nvlink-4", "n1:nvswitch-2/port-17"
KNOWN = topology((NEAR, FAR))


def cases(*spikes: Spike, known: Topology | None = None, found: Any = ()) -> list[LinkCase]:
    return link_cases(spikes, found, known or Topology())


def test_two_ends_are_one_case() -> None:
    (case,) = cases(spike(NEAR), spike(FAR, events=100), known=KNOWN)
    assert (case.component, case.far_end) == (NEAR, FAR)
    assert len(case.spikes) == 2
    assert components(cases(spike(NEAR), spike(FAR))) == [NEAR, FAR]


def test_the_louder_of_two_gpu_ends_is_named() -> None:
    other = "n1:gpu5/nvlink-4"
    bridged = topology((NEAR, other))
    (case,) = cases(spike(NEAR, events=100), spike(other, events=101), known=bridged)
    assert (case.component, case.far_end) == (other, NEAR)
    (case,) = cases(spike(other), spike(NEAR), known=bridged)
    assert case.component == NEAR, "equal ends are decided by name"


def test_the_gpu_end_is_named_before_a_louder_switch_port() -> None:
    (case,) = cases(spike(NEAR, events=100), spike(FAR, events=101), known=KNOWN)
    assert (case.component, case.far_end) == (NEAR, FAR)


def test_the_receiver_is_named_before_the_repeater() -> None:
    (case,) = cases(spike(NEAR, "crc_flit", 60), spike(FAR, "replay", 50_000), known=KNOWN)
    assert case.component == NEAR


def test_spikes_of_lanes_and_counters_join_their_link() -> None:
    (case,) = cases(
        spike(f"{NEAR}/lane-1"), spike(f"{NEAR}/lane-0", events=10), spike(NEAR, "replay")
    )
    assert case.component == f"{NEAR}/lane-1"
    assert len(case.spikes) == 3


def test_a_lane_is_named_when_it_holds_four_fifths() -> None:
    (case,) = cases(spike(f"{NEAR}/lane-1", events=80), spike(f"{NEAR}/lane-0", events=20))
    assert case.component == f"{NEAR}/lane-1"
    (case,) = cases(spike(f"{NEAR}/lane-1", events=79), spike(f"{NEAR}/lane-0", events=21))
    assert case.component == NEAR


def test_lanes_of_the_other_end_name_no_lane_here() -> None:
    (case,) = cases(spike(NEAR, events=900), spike(f"{FAR}/lane-2", events=100), known=KNOWN)
    assert case.component == NEAR


def test_names_by_pci_address_are_the_same_link() -> None:
    gpus = [{"gpu": 3, "pci": "5d:00.0"}]
    known = Topology([TopologyPart(nodes=[{"node": "n1", "gpus": gpus}])])
    (case,) = cases(spike(NEAR), spike("n1:pci-0000:5d:00.0/nvlink-4", events=1), known=known)
    assert case.component == NEAR


def test_correlations_of_either_end_belong_to_the_case() -> None:
    found = [correlation(FAR, "r1"), correlation(NEAR, "r2"), correlation("n2:gpu0/nvlink-0", "r1")]
    (case,) = cases(spike(f"{NEAR}/lane-1"), known=KNOWN, found=found)
    assert [one.run for one in case.correlations] == ["r1", "r2"]


def test_a_sum_over_a_gpu_is_a_case_of_the_gpu() -> None:
    found = cases(spike("n1:gpu3", "crc", scope="gpu_sum"), spike(NEAR))
    assert components(found) == ["n1:gpu3", NEAR]


def test_hits_are_ordered_by_weight_and_each_rule_stands_once() -> None:
    one = spike(NEAR, events=5, hits=[hit("a", "watch"), hit("b", "warning"), hit("c", "info")])
    two = spike(NEAR, "replay", events=9, hits=[hit("a", "critical"), hit("b", "warning")])
    (case,) = cases(one, two)
    assert [(h.rule_id, h.severity) for h in case.hits] == [
        ("a", "critical"),
        ("b", "warning"),
        ("c", "info"),
    ]
    assert case.hits[1] is two.hits[1], "of equal hits the one with the larger count speaks"
    assert case.rule_severity == "critical"


def test_a_case_without_hits_is_information() -> None:
    (case,) = cases(spike(NEAR, hits=[]))
    assert (case.rule_severity, case.hits) == ("info", [])


def test_time_of_a_case_and_snapshots() -> None:
    (case,) = cases(
        spike(NEAR, at_s=900), spike(NEAR, "replay", at_s=300), spike(NEAR, "crc", at_s=None)
    )
    assert (case.first_seen, case.last_seen, case.is_snapshot) == (at(300), at(1500), False)
    (case,) = cases(spike(NEAR, at_s=None))
    assert (case.first_seen, case.last_seen, case.is_snapshot) == (None, None, True)


def test_an_exchanged_gpu_is_seen_at_its_position() -> None:
    (case,) = cases(
        spike(NEAR, gpu_uuid="GPU-a", events=40),
        spike(NEAR, gpu_uuid="GPU-a", events=90),
        spike(NEAR, gpu_uuid="GPU-b", events=60),
        spike(NEAR, gpu_uuid="GPU-c", events=3, hits=[]),
        spike(FAR, gpu_uuid="GPU-d", events=7),
        known=KNOWN,
    )
    assert case.counts_by_gpu == {"GPU-a": 90, "GPU-b": 60}


def replays(component: str, events: float = 900) -> Spike:
    return spike(component, "replay", events)


def test_without_a_map_the_repeating_end_is_folded_into_its_only_partner() -> None:
    (case,) = cases(replays("n1:gpu6/nvlink-1"), spike(NEAR))
    assert (case.component, case.sympathetic) == (NEAR, ["n1:gpu6/nvlink-1"])
    assert len(case.spikes) == 2


def test_folding_needs_one_partner_on_the_node_and_no_map() -> None:
    other = "n1:gpu6/nvlink-1"
    apart = [
        cases(replays("n2:gpu6/nvlink-1"), spike(NEAR)),  # another node
        cases(replays("n1:gpu3/nvlink-1"), spike(NEAR)),  # the same GPU
        cases(replays(other), spike(NEAR), spike("n1:gpu5/nvlink-2")),  # two that could be it
        cases(replays(other), spike(NEAR, "recovery")),  # no CRC: it did not receive broken data
        cases(replays(other), replays("n1:gpu5/nvlink-2")),
        cases(spike(other, "replay", hits=[]), spike(NEAR)),  # a few replays prove nothing
        cases(spike(other, "pcie_replay", link_type="pcie"), spike(NEAR)),
        cases(replays(other), spike(NEAR), known=topology((other, "n1:nvswitch-0/port-1"))),
    ]
    assert [len(found) for found in apart] == [2, 2, 3, 2, 2, 2, 2, 2]
    assert not any(case.sympathetic for found in apart for case in found)
