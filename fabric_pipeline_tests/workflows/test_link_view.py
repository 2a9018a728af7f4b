"""One link with both ends: counters beside limits, bits, siblings, coincidence, incidents; never an invented zero."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from fabric_pipeline.errors import NotFoundError
from fabric_pipeline.settings import Settings
from fabric_pipeline.workflows.fabric_view import load_fabric_view
from fabric_pipeline.workflows.link_view import load_link
from fabric_pipeline.workflows.link_view_model import Count, LinkView
from fabric_pipeline_tests.workflows.fabric_lake import (
    START,
    Lake,
    all_ends,
    healthy_lake,
    incident,
    spike,
    topology,
)

LINK = "ada-01:gpu1/nvlink-2"
NEAR, FAR = ("ada-01", "gpu1/nvlink-2"), ("ada-01", "nvswitch-0/port-5")
BAR = "<script>alert(1)</script>\u202e'\n=1+1"


def readings(
    lake: Lake, end: tuple[str, str], counter: str, deltas: list[float | None], **changes: Any
) -> list[list[Any]]:
    """Half-minute readings of one counter; the first has no growth."""
    rows, value = [], 100.0
    for place, delta in enumerate([None, *deltas]):
        value += delta or 0.0
        given = {
            "node": end[0], "interface": end[1], "link_type": "nvlink", "counter": counter, "kind": "cumulative", "scope": "link",
            "sample": place + 1, "ts": START + timedelta(seconds=30 * place), "value": value, "delta": delta,
            "elapsed_s": None if delta is None else 30.0, "quality": "ok",
        }  # fmt: skip
        rows.append(lake._row("link_counters", **(given | changes)))
    return rows


def shown(settings: Settings, component: str = LINK, drop: str = "d1") -> LinkView:
    return load_link(settings, load_fabric_view(settings, drop), component)


def count(link: LinkView, counter: str, end: str = "a") -> Count:
    pair = next(one for one in link.counts if one.counter == counter)
    found: Count | None = getattr(pair, end)
    assert found is not None
    return found


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path).topology(topology()).judged()


def test_both_ends_have_their_place(tmp_path: Path) -> None:
    link = shown(healthy_lake(tmp_path).settings, "ada-02:mlx5_1/1")
    near, far = link.ends
    assert (near.kind, near.place.rack, near.place.unit) == ("nic", "A", "U12")
    assert (near.place.port_label, near.place.node_serial) == ("CAGE1", "SER1")
    assert (far.kind, far.end.node, far.place.rack, far.place.unit) == ("switch", "", "S", "U40")
    assert link.link.cable_id == "CAB-11"


@pytest.mark.parametrize(
    "component", ["unknown:leaf-0/port-4", "ada-02:mlx5_1/1", "ada-02:mlx5_1/1/lane-3"]
)
def test_any_end_or_lane_finds_the_link(tmp_path: Path, component: str) -> None:
    assert shown(healthy_lake(tmp_path).settings, component).component == "ada-02:mlx5_1/1"


def test_a_gpu_named_by_its_address_is_found(tmp_path: Path) -> None:
    link = shown(healthy_lake(tmp_path).settings, "ada-01:pci-0000:11:00.0/nvlink-2")
    assert link.component == LINK


def test_a_link_that_is_not_there_is_said(tmp_path: Path) -> None:
    settings = healthy_lake(tmp_path).settings
    for component in ("ada-01:gpu9/nvlink-2", "", "none", "x" * 5000, BAR):
        with pytest.raises(NotFoundError, match="no link"):
            shown(settings, component)


def test_a_rate_stands_beside_its_limit_and_source(lake: Lake) -> None:
    rows = readings(lake, NEAR, "replay", [60.0, 60.0, 0.0, 0.0])
    lake.write("link_counters", rows + readings(lake, FAR, "replay", [0.0] * 4))
    replay = count(shown(lake.settings), "replay")
    assert (replay.events, replay.limit) == (120.0, 1000.0)
    assert replay.per_hour == pytest.approx(3600)
    assert replay.share == pytest.approx(3.6)
    assert replay.source
    quiet = count(shown(lake.settings), "replay", "b")
    assert (quiet.events, quiet.share, quiet.quality) == (0.0, 0.0, "ok")


def test_the_worst_interval_counts_against_a_rate(lake: Lake) -> None:
    lake.write("link_counters", readings(lake, NEAR, "replay", [60.0, 0.0, 0.0, 0.0]))
    lake.spikes(spike(NEAR, "replay", 60.0, 1 / 120))
    replay = count(shown(lake.settings), "replay")
    assert replay.value == replay.peak_per_hour == pytest.approx(7200)


@pytest.mark.parametrize(
    ("changes", "quality"),
    [
        ({"quality": "reset"}, "reset"),
        ({"quality": "saturated"}, "ceiling"),
        ({"quality": "clock_skew"}, "unsure"),
        ({"value": None, "delta": None}, "no_data"),
        ({"delta": None, "elapsed_s": None}, "total"),
    ],
)
def test_what_is_not_a_plain_count_says_so(
    lake: Lake, changes: dict[str, Any], quality: str
) -> None:
    lake.write("link_counters", readings(lake, NEAR, "recovery", [4.0], **changes))
    found = count(shown(lake.settings), "recovery")
    assert found.quality == quality
    assert found.words
    assert (found.events is None) == (quality == "no_data")
    assert found.share is None or found.events


def test_a_total_has_no_rate_and_the_limit_of_totals(lake: Lake) -> None:
    rows = readings(lake, NEAR, "replay", [0.0], delta=None, elapsed_s=None, value=5000.0, ts=None)
    lake.write("link_counters", rows)
    found = count(shown(lake.settings), "replay")
    assert (found.per_hour, found.unit, found.limit) == (None, "in total", 1000.0)


def test_a_counter_that_only_siblings_have_is_absent(lake: Lake) -> None:
    sibling = ("ada-01", "gpu1/nvlink-3")
    lake.write(
        "link_counters",
        readings(lake, NEAR, "replay", [1.0]) + readings(lake, sibling, "recovery", [2.0]),
    )
    found = count(shown(lake.settings), "recovery")
    assert (found.quality, found.events, found.share) == ("absent", None, None)


def test_siblings_are_the_median_of_like_links(lake: Lake) -> None:
    rows = [
        row
        for number in range(6)
        for row in readings(lake, ("ada-01", f"gpu1/nvlink-{number}"), "replay", [float(number)])
    ]
    lake.write("link_counters", rows)
    assert count(shown(lake.settings), "replay").siblings_median == 3.0


def test_bits_are_split_only_where_counters_tell_them_apart(lake: Lake) -> None:
    single, multi = (readings(lake, NEAR, f"crc_{n}_bit", [amount], lane=1, scope="lane", error_class=f"corrected_{n}", class_basis="reported")
                     for n, amount in (("single", 30.0), ("multi", 90.0)))  # fmt: skip
    lake.write("link_counters", single + multi)
    bits = shown(lake.settings).bits
    assert bits is not None
    assert (bits.single, bits.multi, bits.basis, bits.multi_share) == (30.0, 90.0, "reported", 0.75)
    lake.write("link_counters", single)
    bits = shown(lake.settings).bits
    assert bits is not None
    assert (bits.multi, bits.multi_share) == (None, None)
    assert "not counted" in bits.words
    lake.write("link_counters", readings(lake, NEAR, "crc_flit", [90.0], class_basis="proxy"))
    bits = shown(lake.settings).bits
    assert bits is not None
    assert (bits.single, bits.basis) == (None, "proxy")
    assert "without saying how many bits" in bits.words


def test_a_silent_link_has_no_figures_and_is_not_healthy(lake: Lake) -> None:
    lake.counters([end for end in all_ends(topology()) if end not in (NEAR, FAR)])
    link = shown(lake.settings)
    assert link.link.state == "no_data"
    assert [one.events for pair in link.counts for one in pair.counts] == [None, None]
    assert sum("not known to be healthy" in note for note in link.notes) == 2


def test_coincidence_stands_against_chance(lake: Lake) -> None:
    row = {
        "run": "r1", "communicator": "dp-0", "node": NEAR[0], "interface": NEAR[1], "in_path": "yes", "bins": 100, "slow_bins": 20,
        "error_bins": 10, "overlap_bins": 9, "lag_bins": 0, "overlap_share": 0.9, "covered_share": 0.45, "score": 2.0,
        "candidate_rank": 1, "verdict": "responsible", "confidence": 0.97, "because": '{"lead": 1.5, "lag": -0.5, "new_fact": 0.1}',
        "behind": "[]", "covered_bins": "[]", "p_value": 0.01, "q_value": 0.02,
    }  # fmt: skip
    lake.write("straggler_correlations", [lake._row("straggler_correlations", **row)])
    one = shown(lake.settings).coincidences[0]
    assert (one.overlap_bins, one.expected_bins) == (9, 2.0)
    assert [weight for _, weight in one.for_it] == [1.5, 0.1]
    assert [weight for _, weight in one.against_it] == [-0.5]
    assert "_" not in "".join(words for words, _ in one.for_it + one.against_it)


def test_the_incident_that_accuses_the_link_stands_first(lake: Lake) -> None:
    lake.incidents(
        incident(1, LINK, "WATCH", role="context"), incident(2, FAR[0] + ":" + FAR[1], "CRITICAL")
    )
    link = shown(lake.settings)
    assert link.incident is not None
    assert link.incident.record.severity == "CRITICAL"
    assert (link.incident.life, link.incident.ticket) == (None, None)
    assert len(link.incidents) == 2


def test_names_that_look_like_code_are_plain_text(tmp_path: Path) -> None:
    lake = Lake(tmp_path).counters([(BAR, "gpu0/nvlink-1")]).judged()
    link = shown(lake.settings, f"{BAR}:gpu0/nvlink-1")
    assert link.link.a.node == BAR
    assert any("far end" in note for note in link.notes)
