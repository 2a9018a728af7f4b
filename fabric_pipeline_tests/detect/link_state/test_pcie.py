"""PCIe links below their width or speed: what is normal and what accuses."""

from __future__ import annotations

import pytest

from fabric_pipeline.detect.link_state import LinkStateLimits, evaluate_link_state
from fabric_pipeline.model.records import Reading
from fabric_pipeline_tests.detect.link_state.states import accused, only, state


def card(
    gpu: int,
    width: float | None = 16,
    gen: float = 5,
    power: float | None = 0,
    *,
    words: str = "",
    product: str = "NVIDIA H100 80GB HBM3",
    gen_max: float = 5,
    file: str = "a.txt",
    node: str = "n1",
    uuid: str = "",
) -> list[Reading]:
    link = f"gpu{gpu}/pcie"
    rows = [
        (link, "width", width),
        (link, "width_max", 16.0),
        (link, "pcie_gen", gen),
        (link, "pcie_gen_max", gen_max),
        (f"gpu{gpu}", "performance_state", power),
    ]
    return [
        state(i, counter, value, words, product=product, file=file, node=node, uuid=uuid)
        for i, counter, value in rows
    ]


def cards(count: int, **more: float) -> list[Reading]:
    return [reading for gpu in range(count) for reading in card(gpu, **more)]  # type: ignore[arg-type]


def test_full_links_make_no_finding() -> None:
    assert evaluate_link_state(cards(8)) == []


def test_narrow_link_of_a_lone_gpu_is_watched() -> None:
    finding = only(card(0, width=8, words="virtualization Pass-Through"))
    assert (finding.severity, finding.role, finding.is_link) == ("watch", "context", False)
    assert "virtualization Pass-Through" in finding.reason
    assert finding.numbers["width_now"] == 8


def test_narrow_link_of_all_gpus_alike_is_a_note() -> None:
    findings = evaluate_link_state(cards(4, width=8))
    assert {f.severity for f in findings} == {"info"}


def test_narrow_link_beside_enough_full_ones_is_accused() -> None:
    readings = [*cards(3), *card(3, width=8)]
    assert accused(readings) == {"n1:gpu3/pcie": ("width_downgrade", "warning")}
    assert "3 equal GPUs run at x16" in only(readings).reason


def test_narrow_link_beside_one_or_two_full_ones_is_watched() -> None:
    for others in (1, 2):
        finding = only([*cards(others), *card(others, width=8)])
        assert (finding.severity, finding.kind) == ("watch", "width_below_maximum")


def test_other_models_are_no_equals() -> None:
    readings = [*cards(7), *card(7, width=8, product="NVIDIA T4")]
    assert accused(readings) == {}


def test_narrower_than_before_is_accused() -> None:
    readings = [*card(0, file="1.txt"), *card(0, width=4, file="2.txt")]
    assert accused(readings) == {"n1:gpu0/pcie": ("width_downgrade", "warning")}
    assert {ref.file for ref in only(readings).evidence} == {"1.txt", "2.txt"}


def test_exchanged_gpu_in_a_narrow_slot_is_told() -> None:
    readings = [*card(0, file="1.txt", uuid="GPU-a"), *card(0, width=8, file="2.txt", uuid="GPU-b")]
    assert "exchanged" in only(readings).reason


def test_two_captures_without_host_may_be_two_machines() -> None:
    before = card(0, file="1.txt", node="", uuid="GPU-a")
    after = card(0, width=8, file="2.txt", node="", uuid="GPU-b")
    assert accused([*before, *after]) == {}


@pytest.mark.parametrize(("power", "words"), [(8, "in P8"), (None, "not stated")])
def test_low_generation_at_rest_is_a_note(power: float | None, words: str) -> None:
    finding = only(card(0, gen=1, power=power))
    assert (finding.severity, finding.role) == ("info", "context")
    assert words in finding.reason


def test_low_generation_at_work_beside_faster_ones_is_accused() -> None:
    assert accused([*cards(4), *card(4, gen=3)]) == {"n1:gpu4/pcie": ("speed_downgrade", "warning")}
    assert accused([*cards(1), *card(1, gen=3)]) == {}
    assert accused([*cards(4), *card(4, gen=3, power=8)]) == {}
    assert accused([*cards(4, power=8), *card(4, gen=3)]) == {}


def test_low_generation_at_work_without_equals_is_watched() -> None:
    finding = only(card(0, gen=4))
    assert (finding.severity, finding.accuses) == ("watch", False)


def test_unknown_width_says_nothing() -> None:
    assert evaluate_link_state(card(0, width=None)) == []


def test_speed_in_gigabits_is_compared_like_a_generation() -> None:
    def lane(gpu: int, speed: float) -> list[Reading]:
        link = f"gpu{gpu}/pcie"
        return [
            state(link, "speed_gbps", speed),
            state(link, "speed_max_gbps", 32.0),
            state(f"gpu{gpu}", "performance_state", 0.0),
        ]

    readings = [reading for gpu in range(4) for reading in lane(gpu, 32.0 if gpu else 16.0)]
    assert accused(readings) == {"n1:gpu0/pcie": ("speed_downgrade", "warning")}


def test_limits_can_be_changed() -> None:
    readings = [*cards(1), *card(1, width=8)]
    strict = LinkStateLimits(full_siblings_needed=1)
    assert [f.accuses for f in evaluate_link_state(readings, strict)] == [True]


def test_a_lost_width_says_how_much_since_when_and_shows_the_change() -> None:
    readings = [
        state("mlx5_6/pcie", "width", value, minute=minute)
        for value, minute in ((16.0, 0), (8.0, 17), (8.0, 40))
    ]
    finding = only([*readings, state("mlx5_6/pcie", "width_max", 16.0, minute=0)])
    assert finding.reason == (
        "The PCIe link mlx5_6/pcie runs at x8 since 2026-11-20 06:17:00 UTC and ran at x16 before that."
    )
    assert (finding.first_seen, finding.last_seen) == (readings[1].time, readings[2].time)
    assert finding.evidence[0].excerpt == (
        "mlx5_6/pcie: width 8 of 16 lanes on 2026-11-20 06:17:00 UTC"
    )


def test_a_width_that_changes_again_counts_from_the_last_full_one() -> None:
    values = ((16.0, 0), (8.0, 5), (16.0, 9), (4.0, 12), (8.0, 20))
    readings = [state("mlx5_6/pcie", "width", value, minute=minute) for value, minute in values]
    assert only(readings).first_seen == readings[3].time
