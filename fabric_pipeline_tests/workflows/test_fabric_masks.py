"""Use, width and speed of link ends as shares, and silence where a figure is not known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fabric_pipeline.workflows.fabric_masks import utilisation, width_and_speed
from fabric_pipeline_tests.workflows.fabric_lake import START, Lake, topology

PORT = ("ada-01", "mlx5_0/1")
FAR = ("", "leaf-0/port-1")


def reading(
    end: tuple[str, str], counter: str, value: float, sample: int = 1, **more: Any
) -> dict[str, Any]:
    return {
        "node": end[0], "interface": end[1], "link_type": "infiniband", "counter": counter, "scope": "link",
        "kind": "gauge", "value": value, "sample": sample, "ts": START, "quality": "ok", **more,
    }  # fmt: skip


def lake(home: Path, *rows: dict[str, Any], lanes: int = 4, speed: float = 400.0) -> Lake:
    part = topology()
    for link in part.links:
        if link["type"] == "infiniband":
            link.update(lanes=lanes, speed_gbps=speed)
    made = Lake(home).topology(part)
    return made.write("link_counters", [made._row("link_counters", **row) for row in rows])


def moved(counter: str, gigabits: float, seconds: float = 100.0, **more: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "delta": gigabits * 1e9 / 8,
        "elapsed_s": seconds,
        "kind": "cumulative",
    } | more
    return reading(PORT, counter, 1.0, **values)


def test_use_is_the_mean_of_the_busier_direction(tmp_path: Path) -> None:
    rows = [
        moved("rx_bytes", 10_000),
        moved("rx_bytes", 30_000, sample=2),
        moved("tx_bytes", 4_000),
    ]
    found = utilisation(lake(tmp_path, *rows).settings, "d1")
    assert found.keys() == {PORT}
    assert found[PORT].share == pytest.approx(0.5)
    assert found[PORT].says == "200.0 Gb/s of 400 on average, 300.0 at most"


@pytest.mark.parametrize(
    "row",
    [
        moved("rx_bytes", 10, quality="reset"),
        moved("rx_bytes", 10, delta=None),
        moved("rx_bytes", 10, elapsed_s=None),
        moved("rx_bytes", 10, elapsed_s=0.0),
        moved("rx_bytes", -10),
    ],
)
def test_what_cannot_be_counted_is_not_idle(tmp_path: Path, row: dict[str, Any]) -> None:
    assert utilisation(lake(tmp_path, row).settings, "d1") == {}


def test_use_needs_a_nominal_speed(tmp_path: Path) -> None:
    made = Lake(tmp_path)
    rows = [made._row("link_counters", **moved("rx_bytes", 10_000))]
    assert utilisation(made.write("link_counters", rows).settings, "d1") == {}
    rows.append(made._row("link_counters", **reading(PORT, "speed_gbps", 200.0)))
    found = utilisation(made.write("link_counters", rows).settings, "d1")
    assert found[PORT].share == pytest.approx(0.5)


def test_width_and_speed_are_the_last_ones_against_what_is_stated(tmp_path: Path) -> None:
    rows = [
        reading(PORT, "width", 4.0), reading(PORT, "width", 2.0, 2),
        reading(PORT, "speed_gbps", 400.0, 2), reading(FAR, "width", 4.0), reading(FAR, "speed_gbps", 200.0),
    ]  # fmt: skip
    found = width_and_speed(lake(tmp_path, *rows).settings, "d1")
    assert found[PORT] == (0.5, "2 of 4 lanes, 400 of 400 Gb/s")
    assert found[FAR] == (0.5, "4 of 4 lanes, 200 of 400 Gb/s")


def test_what_both_ends_could_do_is_the_smaller_of_their_maxima(tmp_path: Path) -> None:
    rows = [
        reading(PORT, "width", 4.0),
        reading(PORT, "width_max", 8.0),
        reading(FAR, "width_max", 4.0),
    ]
    found = width_and_speed(lake(tmp_path, *rows, lanes=8).settings, "d1")
    assert found[PORT].share == 1.0
    assert FAR not in found


def test_no_reading_is_no_figure(tmp_path: Path) -> None:
    assert width_and_speed(lake(tmp_path).settings, "d1") == {}
    assert width_and_speed(Lake(tmp_path / "none").settings, "d1") == {}
    rows = [reading(PORT, "width", 0.0), reading(PORT, "width_max", 4.0)]
    assert width_and_speed(lake(tmp_path, *rows).settings, "d1") == {}


def test_an_ability_that_one_end_alone_tells_is_unknown_unless_it_is_reached(
    tmp_path: Path,
) -> None:
    made = Lake(tmp_path).topology(topology())
    rows = [reading(PORT, "width", 4.0), reading(PORT, "width_max", 8.0)]
    made.write("link_counters", [made._row("link_counters", **row) for row in rows])
    found = width_and_speed(made.settings, "d1")
    assert found[PORT].share is None
    assert found[PORT].says == "4 lanes; one end could do 8, what the other could do is not known"
    rows[0] = reading(PORT, "width", 8.0)
    made.write("link_counters", [made._row("link_counters", **row) for row in rows])
    assert width_and_speed(made.settings, "d1")[PORT].share == 1.0


def test_full_width_hides_no_unknown_speed(tmp_path: Path) -> None:
    made = Lake(tmp_path).topology(topology())
    rows = [
        reading(PORT, "width", 4.0),
        reading(PORT, "width_max", 4.0),
        reading(PORT, "speed_gbps", 200.0),
    ]
    made.write("link_counters", [made._row("link_counters", **row) for row in rows])
    assert width_and_speed(made.settings, "d1")[PORT].share is None
    rows[0] = reading(PORT, "width", 2.0)
    rows.append(reading(FAR, "width_max", 4.0))
    made.write("link_counters", [made._row("link_counters", **row) for row in rows])
    assert width_and_speed(made.settings, "d1")[PORT].share == 0.5


def test_a_device_named_by_its_address_has_the_figure_of_its_link_of_that_kind(
    tmp_path: Path,
) -> None:
    part = topology()
    part.nodes[0]["nics"][0]["pci"] = "0000:18:00.0"
    made = Lake(tmp_path).topology(part)
    gpu = str(part.nodes[0]["gpus"][1]["pci"])
    rows = [
        reading(("ada-01", "pci-0000:18:00.0"), "width", 8.0) | {"link_type": "pcie"},
        reading(("ada-01", "pci-0000:18:00.0"), "width_max", 16.0) | {"link_type": "pcie"},
        reading(("ada-01", f"pci-{gpu}"), "width", 16.0) | {"link_type": "pcie"},
        reading(("ada-01", f"pci-{gpu}/nvlink-2"), "width", 2.0) | {"link_type": "nvlink"},
    ]
    made.write("link_counters", [made._row("link_counters", **row) for row in rows])
    found = width_and_speed(made.settings, "d1")
    assert found.keys() == {
        ("ada-01", "mlx5_0/pcie"),
        ("ada-01", "gpu1/pcie"),
        ("ada-01", "gpu1/nvlink-2"),
    }
