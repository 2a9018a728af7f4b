"""Appendix C 7 to 12: shared optics, ranks that come late, and what exporters rename, round or leave blank."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from fabric_pipeline_tests.scenarios.drops import (
    COLLECTIVES,
    COUNTERS,
    START,
    Row,
    at,
    judged,
    lines,
    table,
)

NODES = ("elm-1", "elm-2")
LATE = 5  # GPU 1 of elm-2, from minute 10 on
BLANK = 9223372036854775794  # DCGM's "not supported"


# -- 7: two ports of one twin-port transceiver ------------------------------------------------------


def optics_topology() -> str:
    """Two hosts, eight rails; ports 1 and 2 of each OSFP cage serve two neighbouring GPUs."""
    nics = [{"hca": f"mlx5_{g}", "port_label": f"OSFP{g // 2 + 1}P{g % 2 + 1}"} for g in range(8)]
    nodes = [{"node": node, "gpus": [{"gpu": g} for g in range(8)], "nics": nics} for node in NODES]
    links = [
        {"id": f"{node}-{g}", "type": "infiniband", "part": "MMA4Z00-NS", "a": {"node": node, "port": f"mlx5_{g}/1"},
         "b": {"switch": f"leaf-{g}", "port": f"port-{number}"}}
        for number, node in enumerate(NODES, 1)
        for g in range(8)
    ]  # fmt: skip
    switches = [{"name": f"leaf-{g}", "tier": "leaf"} for g in range(8)]
    return json.dumps({"site": "north", "nodes": nodes, "switches": switches, "links": links})


def errors_on_one_cage() -> Iterator[Row]:
    for minute in range(60):
        for node in NODES:
            for g in range(8):
                errors = 300 * max(0, minute - 20) if node == "elm-2" and g in (2, 3) else 0
                values = {"symbol_error": errors, "rx_bytes": minute * 10**12}
                for name, value in values.items():
                    yield [at(minutes=minute), node, "", "infiniband", f"mlx5_{g}/1", name, value]


def slow_rails() -> Iterator[Row]:
    for rail in range(8):
        for number in range(360):
            is_slow = rail in (2, 3) and number >= 120
            took = (2600 if is_slow else 900) + number % 7
            when = at(seconds=10 * number)
            yield ["job-a", f"rail-{rail}", number, "all_reduce", 67108864, when, "", rail, "", took, "", 900]  # fmt: skip


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="no shared-fate rule for the two ports of one OSFP cage: each port is a fault of its own, parts are not ranked",
)
def test_c07_both_ports_of_one_cage_blame_transceiver_before_fibre_before_nic(
    tmp_path: Path,
) -> None:
    files = {
        "counters.csv": table(COUNTERS, errors_on_one_cage()),
        "collectives.csv": table(COLLECTIVES, slow_rails()),
        "runs.jsonl": lines([{"run": "job-a", "nodes": NODES, "start": at(), "end": at(hours=1)}]),
        "topology.json": optics_topology(),
    }
    answer = judged(tmp_path, files)
    assert answer.verdict == "faulty"
    assert len(answer.accused) == 1
    cause = answer.accused[0]
    assert "OSFP2" in cause["reason"]
    words = cause["reason"].lower()
    assert 0 <= words.find("transceiver") < words.find("fibre") < words.find("nic")


# -- 8, 9: ranks ------------------------------------------------------------------------------------


def clean_links() -> str:
    ends = [
        ("nvlink", f"gpu{gpu}/nvlink-{link}", "replay") for gpu in range(4) for link in range(3)
    ]
    ends += [("infiniband", f"mlx5_{gpu}/1", "symbol_error") for gpu in range(4)]
    return table(
        COUNTERS,
        (
            [at(minutes=minute), node, "", kind, end, counter, 0]
            for minute in range(40)
            for node in NODES
            for kind, end, counter in ends
        ),
    )


def all_reduces(arrival_us: Callable[[bool], object]) -> str:
    """Eight ranks; from minute 10 on the others wait 1000 µs for the late one, whose kernel is short."""

    def rows() -> Iterator[Row]:
        for number in range(240):
            for rank in range(8):
                is_waited_for = number >= 60
                is_late = is_waited_for and rank == LATE
                took = (
                    900 + (1000 if is_waited_for and not is_late else 0) + (number * 7 + rank) % 9
                )
                yield [
                    "run-9", "dp-0", number, "all_reduce", 67108864, at(seconds=10 * number), NODES[rank // 4],
                    rank % 4, rank, took, arrival_us(is_late), 900,
                ]  # fmt: skip

    return table(COLLECTIVES, rows())


def test_c08_a_slow_rank_with_clean_links_is_not_a_link(tmp_path: Path) -> None:
    files = {
        "counters.csv": clean_links(),
        "collectives.csv": all_reduces(lambda late: 1000 * late),
    }
    answer = judged(tmp_path, files)
    assert answer.verdict == "not_a_link"
    (cause,) = answer.accused
    assert (cause["component"], cause["kind"]) == ("elm-2:gpu1", "late_rank")
    assert (
        "slow compute, a throttled GPU, a slow host or its storage, not to a link"
        in cause["reason"]
    )


def test_c09_the_rank_with_the_shortest_collective_is_the_late_one(tmp_path: Path) -> None:
    files = {"counters.csv": clean_links(), "collectives.csv": all_reduces(lambda _: "")}
    answer = judged(tmp_path, files)
    assert answer.verdict == "not_a_link"
    (cause,) = answer.accused
    assert (cause["component"], cause["kind"]) == ("elm-2:gpu1", "late_rank")
    assert f"rank {LATE} arrives last" in cause["reason"]
    assert "shortest kernel" in cause["reason"]
    assert "fastest" not in answer.text


# -- 10, 11, 12: exporters --------------------------------------------------------------------------


def scrape(minute: int, values: list[tuple[str, str, object]], host: str = "Hostname") -> str:
    """A scrape of GPU 3 with its time; (metric, more labels, value)."""
    moment = int((START + timedelta(minutes=minute)).timestamp() * 1000)
    return "".join(
        f'{name}{{gpu="3",UUID="GPU-5e",{more}{host}="n07"}} {value} {moment}\n'
        for name, more, value in values
    )


@pytest.mark.parametrize("times", [1, 10])
def test_c10_a_raw_error_rate_wins_over_the_one_printed_as_zero(tmp_path: Path, times: int) -> None:
    def rates(link: int) -> list[tuple[str, str, object]]:
        raw = 3 << 8 | 9 if link == 2 else 4095  # 3e-9, and zero
        name = "DCGM_FI_DEV_NVLINK_EFFECTIVE_BER"
        label = f'nvlink="{link}",'
        return [(f"{name}_RATIO", label, "0.000000"), (f"{name}_RAW", label, raw)]

    values = [one for link in range(6) for one in rates(link)]
    answer = judged(tmp_path, {f"n07/{m:02}.prom": scrape(m, values) for m in range(times)})
    (cause,) = answer.accused
    assert cause["component"] == "n07:gpu3/nvlink-2"
    assert "3e-09" in cause["reason"]
    assert any("six decimals" in one["reason"] for one in answer.unknown)


def test_c11_a_renamed_label_and_counter_stay_one_series(tmp_path: Path) -> None:
    def file(minute: int) -> str:
        is_old = minute < 15
        name = f"DCGM_FI_DEV_NVLINK_REPLAY_ERROR_{'COUNT_' if is_old else ''}TOTAL"
        return scrape(
            minute, [(name, 'nvlink="2",', 70 * minute)], "Hostname" if is_old else "hostname"
        )

    answer = judged(tmp_path, {f"n07/{minute:02}.prom": file(minute) for minute in range(30)})
    (cause,) = answer.accused
    assert cause["component"] == "n07:gpu3/nvlink-2"
    # 29 steps of 70; two series would have lost the step between the names
    assert "counted 2030 NVLink replays" in cause["reason"]
    assert len(answer.findings) == 1


def test_c12_blank_counters_leave_a_gap_and_the_links_own_counters_speak(tmp_path: Path) -> None:
    def values(minute: int) -> list[tuple[str, str, object]]:
        crc = "DCGM_FI_DEV_NVLINK_CRC_{}_ERROR_COUNT_L{}"
        blank = [(crc.format(kind, n), "", BLANK) for kind in ("FLIT", "DATA") for n in range(18)]
        own = [
            (
                f"DCGM_FI_DEV_NVLINK_ERROR_DL_{kind}",
                f'nvlink="{n}",',
                200 * minute if n == 11 else 0,
            )
            for kind in ("CRC", "REPLAY")
            for n in range(18)
        ]
        return [*blank, *own]

    answer = judged(tmp_path, {f"n07/{m:02}.prom": scrape(m, values(m)) for m in range(30)})
    (cause,) = answer.accused
    assert cause["component"] == "n07:gpu3/nvlink-11"
    assert "5800 CRC errors" in cause["reason"]
    gaps = [one for one in answer.unknown if one["component"] == "n07:gpu3"]
    assert {one["what"].split()[1] for one in gaps} == {"crc_flit", "crc_data"}
    assert all("not supported" in one["reason"] for one in gaps)
