"""How far the measurements reach, in words: nothing that was not measured reads as measured."""

from __future__ import annotations

from fabric_pipeline.diagnose.coverage import (
    GPU_SUMS,
    NVLINK,
    PCIE,
    PORT,
    Coverage,
    KindCoverage,
    measured_words,
    unmeasured_words,
)


def test_what_was_measured_is_counted() -> None:
    seen = Coverage(
        (
            KindCoverage(NVLINK, 144, with_errors=144, most_counters=3),
            KindCoverage(PCIE, 1, with_errors=1, most_counters=1, with_state=1),
            KindCoverage(PORT, 8, with_errors=2, most_counters=4, with_state=8),
        ),
        timings=1,
        events=1200,
    )
    assert measured_words(seen) == [
        "144 NVLinks: 3 error counters each",
        "1 PCIe link: 1 error counter, state",
        "8 network ports: 4 error counters on 2, state",
        "1 timing of collectives or steps",
        "1,200 events of logs",
    ]


def test_nothing_measured_says_nothing_and_lacks_everything() -> None:
    assert measured_words(Coverage()) == []
    assert unmeasured_words(Coverage()) == [
        "NVLinks, PCIe links and network ports",
        "how long collectives take",
        "kernel and driver events",
    ]


def test_states_alone_leave_errors_open_and_one_reading_leaves_growth_open() -> None:
    states = Coverage((KindCoverage(NVLINK, 24, with_state=24),), timings=5, events=1)
    assert unmeasured_words(states) == ["errors of the NVLinks", "PCIe links and network ports"]
    counts = Coverage((KindCoverage(PCIE, 2, with_errors=2, most_counters=1),), 1, 1)
    assert unmeasured_words(counts) == [
        "state and speed of the PCIe links",
        "whether counts of the PCIe links grow (one reading each)",
        "NVLinks and network ports",
    ]
    twice = KindCoverage(PCIE, 2, with_errors=2, most_counters=1, with_state=2, with_growth=2)
    assert unmeasured_words(Coverage((twice,), 1, 1)) == ["NVLinks and network ports"]


def test_a_sum_over_a_gpu_measures_no_link() -> None:
    seen = Coverage((KindCoverage(GPU_SUMS, 8, with_errors=8, most_counters=2),), 1, 1)
    assert measured_words(seen)[0] == "8 sums over the NVLinks of a GPU: 2 error counters each"
    assert unmeasured_words(seen)[0] == "errors of each single NVLink"
    assert "NVLinks" not in unmeasured_words(seen)[1]


def test_repaired_errors_are_no_errors_of_a_link() -> None:
    seen = Coverage((KindCoverage(PORT, 1, with_repairs=1),), 1, 1)
    assert measured_words(seen)[0] == "1 network port: repaired errors only"
    assert unmeasured_words(seen)[0] == "errors of the network ports"
