"""The catalogue of counters keeps its own promises."""

from __future__ import annotations

import re

import pytest

from fabric_pipeline.model.counters import (
    BASES,
    BLANK_VALUES,
    COUNTERS,
    ERROR_CLASSES,
    STATE_COUNTERS,
    is_blank,
)

ROLES = {"error", "upstream", "congestion", "loss", "traffic", "state", "quality"}


@pytest.mark.parametrize("name", COUNTERS)
def test_each_counter_is_described(name: str) -> None:
    spec = COUNTERS[name]
    assert re.fullmatch("[a-z0-9_]+", name)
    assert spec.kind in ("cumulative", "gauge")
    assert spec.role in ROLES
    assert spec.unit
    assert spec.says
    assert spec.error_class in ("", *ERROR_CLASSES)
    assert (spec.error_class == "") == (spec.class_basis == "")
    assert spec.class_basis in ("", *BASES)
    if spec.error_class:
        assert spec.role in ("error", "quality")
        assert spec.kind == "cumulative", "a level is no count of errors"


def test_lists_follow_from_the_catalogue() -> None:
    assert set(STATE_COUNTERS) == {n for n, s in COUNTERS.items() if s.role == "state"}
    assert len(set(STATE_COUNTERS)) == len(STATE_COUNTERS)


def test_what_noticed_trouble_elsewhere_and_congestion_accuse_nobody() -> None:
    for name in (
        "rx_remote_physical",
        "tx_wait",
        "tx_discards",
        "buffer_overrun",
        "cnp",
        "rx_bytes",
    ):
        assert COUNTERS[name].role != "error"
        assert COUNTERS[name].error_class == ""


def test_a_crc_never_says_how_many_bits_unless_the_feed_does() -> None:
    for name in ("crc", "crc_flit", "crc_data", "replay", "pcie_replay"):
        assert COUNTERS[name].class_basis == "proxy"
    for name in ("crc_single_bit", "crc_multi_bit"):
        assert COUNTERS[name].class_basis == "reported"


@pytest.mark.parametrize(
    ("name", "ceiling"),
    [
        ("local_link_integrity", 15),
        ("link_downed", 255),
        ("symbol_error", 65535),
        ("tx_wait", 2**32 - 1),
    ],
)
def test_classic_counters_stop_at_their_end(name: str, ceiling: int) -> None:
    assert COUNTERS[name].ceiling == ceiling


@pytest.mark.parametrize("base", [9223372036854775792, 2147483632, 140737488355328])
def test_blanks_of_all_widths_are_no_values(base: int) -> None:
    assert all(is_blank(float(base + n)) for n in range(4))
    assert not is_blank(float(base - 5000))
    assert not any(is_blank(value) for value in (0.0, 1.0, 65535.0, 4294967295.0))
    assert len(BLANK_VALUES) >= 9
