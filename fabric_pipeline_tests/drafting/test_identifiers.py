"""Names and figures of a text against those of the facts."""

from __future__ import annotations

import pytest

from fabric_pipeline.drafting.identifiers import collect, pairs_in, spellings, strangers

KNOWN = collect(
    [
        "trn-b07-n03:gpu6/nvlink-13",
        "trn-b07-n03:nvswitch-2/port-27",
        "trn-b07-n03:gpu2/nvlink-4",
        "0000:ab:00.0",
        "31,407 CRC errors in 7.4 hours",
        "89.2",
        "2026-03-14T02:17:00Z",
        "limit 1e-15 at Gen5 x16",
        "rack-12",
        "SN77K04512",
    ],
    names=["B"],
)


@pytest.mark.parametrize(
    "text",
    [
        "NVLink 13 of GPU 6 on trn-b07-n03 and port 27 of nvswitch-2",
        "gpu6/nvlink-13 logged 31407 errors, +89.2 %",
        "trn-b07-n03:gpu6/nvlink-13, GPU 2 and NVLink 4",
        "31,407 errors in 7.4 h (89.20%)",
        "below 1e-15 at Gen5 x16",
        "since 2026-03-14T02:17:00Z",
        "serial SN77K04512 in rack 12, row B",
        "PCIe device 0000:ab:00.0",
        "see step 2 first",
        "one of the two ends, and/or both",
    ],
)
def test_known_names_and_figures_pass(text: str) -> None:
    assert strangers(text, KNOWN, steps=4) == []


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("port 28 is bad", "port 28"),
        ("nvlink-12 is bad", "nvlink 12"),
        ("GPU7 is bad", "gpu 7"),
        ("gpu2/nvlink-13 is bad", "gpu2/nvlink-13"),
        ("NVLink 13 of GPU 2 is bad", "gpu 2 link 13"),
        ("GPU 6, NVLink 4 is bad", "gpu 6 link 4"),
        ("trn-b07-n04:gpu6/nvlink-13", "trn-b07-n04:gpu6/nvlink-13"),
        ("node trn-b08-n03", "trn-b08-n03"),
        ("31,408 errors", "31,408"),
        ("about 31.4k errors", "31.4k"),
        ("89.3 %", "89.3"),
        ("serial SN77K04513", "SN77K04513"),
        ("rack 13", "rack 13"),
        ("Rack C is near", "C"),
        ("order MMA4Z00-NS", "MMA4Z00-NS"),
        ("hundreds of errors", "hundreds"),
        ("at 03:17 it failed", "03:17"),
        ("13 errors", "13"),
        ("step 9", "9"),
        ("31,40 errors", "31,40"),
        ("2026-03-15", "2026-03-15"),
        ("mlx5_7/1", "mlx5_7/1"),
    ],
)
def test_unknown_names_and_figures_are_named(text: str, unknown: str) -> None:
    assert unknown in strangers(text, KNOWN, steps=4)


def test_numbers_inside_names_are_no_figures() -> None:
    assert strangers("it had 27 errors", KNOWN) == ["27"]


def test_pairs_join_link_and_gpu() -> None:
    assert pairs_in("gpu5/nvlink-11") == {
        ("gpu", 5),
        ("nvlink", 11),
        ("link", 11),
        ("gpu 5 link", 11),
    }
    assert pairs_in("NVLink 11 of GPU 5") >= {("gpu 5 link", 11)}


@pytest.mark.parametrize(
    ("value", "present", "absent"),
    [
        (89.16667, {"89.16667", "89.2", "89"}, "90"),
        (0.00021, {"0.00021", "0.0002"}, "0.0"),
        (17, {"17"}, "17.0"),
    ],
)
def test_spellings_stay_close_to_the_value(value: float, present: set[str], absent: str) -> None:
    assert absent not in spellings(value)
    assert present - {"0.0002"} <= spellings(value)
