"""The four agreed cases exactly, and their neighbours by the same rules."""

from __future__ import annotations

import contextlib
import copy
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.diagnose.reference_case import MONITOR_TEXT, diagnose_case
from fabric_pipeline.errors import BadInputError

CASES = Path(__file__).resolve().parents[2] / "data" / "reference_cases"
NAMES = sorted(path.name.removesuffix(".expected.json") for path in CASES.glob("*.expected.json"))
INTERFACE: dict[str, Any] = {
    "node_id": "cab-9-host-3", "fabric_interface": "nvlink-7", "crc_error_count": 2500, "allreduce_latency_us": 2000, "baseline_latency_us": 1000,
}  # fmt: skip
PAIR: dict[str, Any] = {
    "node_id": "cab-9-host-3",
    "fabric_errors": [{"gpu_src": 4, "gpu_dst": 6, "link_id": "nvlink-5", "crc_errors": 2500, "replay_count": 10}],
    "step_time_ms": 200,
    "baseline_step_time_ms": 100,
}  # fmt: skip


def read(name: str, **options: Any) -> dict[str, Any]:
    return dict(json.loads((CASES / f"{name}.json").read_text(), **options))


def interface(**changes: Any) -> dict[str, Any]:
    return diagnose_case({k: v for k, v in (INTERFACE | changes).items() if v != "missing"})


def pair(*links: dict[str, Any], **changes: Any) -> dict[str, Any]:
    errors = {"fabric_errors": list(links)} if links else {}
    return diagnose_case({k: v for k, v in (PAIR | errors | changes).items() if v != "missing"})


def link(
    crc: Any = 0, replay: Any = 0, src: Any = 4, dst: Any = 6, link_id: Any = "nvlink-5"
) -> dict[str, Any]:
    fields = {
        "gpu_src": src,
        "gpu_dst": dst,
        "link_id": link_id,
        "crc_errors": crc,
        "replay_count": replay,
    }
    return {key: value for key, value in fields.items() if value != "missing"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("options", [{}, {"parse_float": Decimal, "parse_int": Decimal}])
def test_agreed_cases_exactly(name: str, options: dict[str, Any]) -> None:
    answer = diagnose_case(read(name, **options))
    expected = read(f"{name}.expected")
    assert answer == expected
    assert list(answer) == list(expected), "fields stand in the agreed order"
    assert json.dumps(answer) == json.dumps(expected)


def test_all_four_cases_are_here() -> None:
    assert len(NAMES) == 4 == len(list(CASES.iterdir())) / 2
    assert {"fabric_interface" in read(name) for name in NAMES} == {True, False}


@pytest.mark.parametrize("name", NAMES)
def test_nothing_hangs_on_a_name(name: str) -> None:
    case, expected = read(name), json.dumps(read(f"{name}.expected"))
    case["node_id"] = "elsewhere-77"
    text = json.dumps(case).replace("nvlink-3", "nvlink-9").replace("nvlink-1", "nvlink-8")
    expected = expected.replace("gpu-rack-04-node-02:nvlink-3", "elsewhere-77:nvlink-9").replace(
        "NVLink 1", "NVLink 8"
    )
    assert diagnose_case(json.loads(text)) == json.loads(expected)


@pytest.mark.parametrize("name", NAMES)
def test_a_case_is_not_changed(name: str) -> None:
    case = read(name)
    before = copy.deepcopy(case)
    diagnose_case(case)
    assert case == before


ANSWERS = [
    (100, 1000, "nominal", "INFO", "none", "none"),
    (100, 1050, "nominal", "INFO", "none", "none"),
    (100, 1050.001, "not_a_link", "WARNING", "none", "check_compute_and_host"),
    (100, 1501, "not_a_link", "WARNING", "none", "check_compute_and_host"),
    (101, 1050, "link_errors_without_effect", "WATCH", "cab-9-host-3:nvlink-7", "monitor"),
    (101, 1051, "physical_link_degradation", "WARNING", "cab-9-host-3:nvlink-7", "reseat_cable_or_replace_mezzanine"),
    (999, 1501, "physical_link_degradation", "WARNING", "cab-9-host-3:nvlink-7", "reseat_cable_or_replace_mezzanine"),
    (1000, 1050, "link_errors_without_effect", "WARNING", "cab-9-host-3:nvlink-7", "inspect_link_at_next_window"),
    (1000, 1500, "physical_link_degradation", "WARNING", "cab-9-host-3:nvlink-7", "reseat_cable_or_replace_mezzanine"),
    (1000, 1500.001, "physical_link_degradation", "CRITICAL", "cab-9-host-3:nvlink-7", "reseat_cable_or_replace_mezzanine"),
]  # fmt: skip


@pytest.mark.parametrize(("crc", "latency", "fault", "severity", "component", "action"), ANSWERS)
def test_both_sides_of_every_limit(
    crc: int, latency: float, fault: str, severity: str, component: str, action: str
) -> None:
    assert interface(crc_error_count=crc, allreduce_latency_us=latency) == {
        "fault_type": fault, "severity": severity, "isolated_component": component, "action": action,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "action"),
    [
        ("pcie-switch-0", "reseat_card_or_riser"),
        ("mlx5_3/1", "clean_and_reseat_cable_then_replace"),
        ("gpu2/nvlink-9", "reseat_cable_or_replace_mezzanine"),
    ],
)
def test_the_advice_fits_the_link(name: str, action: str) -> None:
    found = interface(fabric_interface=name)
    assert (found["isolated_component"], found["action"]) == (f"cab-9-host-3:{name}", action)


def test_missing_fields_are_unknown_never_nominal() -> None:
    blind = interface(crc_error_count="missing", allreduce_latency_us=1000)
    assert (blind["fault_type"], blind["isolated_component"], blind["action"]) == (
        "no_data", "none", "collect_missing_telemetry",
    )  # fmt: skip
    assert interface(crc_error_count=None, allreduce_latency_us=1000) == blind
    for gone in ("allreduce_latency_us", "baseline_latency_us"):
        assert interface(crc_error_count=0, **{gone: "missing"})["fault_type"] == "no_data"
        worn = interface(**{gone: "missing"})
        assert (worn["fault_type"], worn["severity"]) == ("physical_link_degradation", "WARNING")


def test_replays_count_beside_crc() -> None:
    assert interface(crc_error_count=0, replay_count=1000)["severity"] == "CRITICAL"
    assert (
        interface(crc_error_count="missing", replay_count=0, allreduce_latency_us=1000)[
            "fault_type"
        ]
        == "nominal"
    )


@pytest.mark.parametrize(
    ("step", "shown", "priority"),
    [
        (105, 5.0, "normal"),
        (105.05, 5.1, "high"),
        (104.99, 4.9, "normal"),
        (150, 50.0, "high"),
        (150.01, 50.0, "urgent"),
        (99, -1.0, "normal"),
    ],
)
def test_degradation_and_priority_of_a_bad_link(step: float, shown: float, priority: str) -> None:
    assert pair(step_time_ms=step) == {
        "fault_detected": True,
        "isolated_component": "GPU 4 -> GPU 6 NVLink 5",
        "degradation_pct": shown,
        "repair_action": "Reseat high-speed mezzanine interconnect or replace interposer ribbon cable on slot 4-6",
        "ticket_priority": priority,
    }


@pytest.mark.parametrize(
    ("crc", "step", "words", "priority"),
    [
        (100, 105, MONITOR_TEXT, "low"),
        (100, 106, "Check compute", "normal"),
        (100, 151, "Check compute", "high"),
        (101, 105, "Keep watching the link", "normal"),
    ],
)
def test_no_fault_says_what_it_is_instead(crc: int, step: float, words: str, priority: str) -> None:
    found = pair(link(crc), step_time_ms=step)
    assert (found["fault_detected"], found["isolated_component"]) == (False, "None")
    assert found["repair_action"].startswith(words)
    assert found["ticket_priority"] == priority


def test_the_worst_of_several_links_is_named_and_no_other_is_lost() -> None:
    links = [
        link(2000, 1, 0, 1),
        link(9000, 0, 2, 3, "nvlink-8"),
        link(5, 5, 6, 7),
        link(9000, 7, 1, 2, "nvlink-2"),
    ]
    found = pair(*links)
    assert found["isolated_component"] == "GPU 1 -> GPU 2 NVLink 2"
    assert found["also_faulty"] == ["GPU 2 -> GPU 3 NVLink 8", "GPU 0 -> GPU 1 NVLink 5"]
    assert "slot 1-2" in found["repair_action"]
    assert pair(*links[::-1]) == found, "the order of the list does not matter"
    assert "also_faulty" not in pair(*links[:1])


def test_links_that_were_not_measured_are_not_healthy() -> None:
    blind = link("missing", "missing")
    for links in ([blind], [link(0), blind], [blind, link(0)]):
        found = pair(*links, step_time_ms=100)
        assert found["repair_action"].startswith("Collect the missing counters")
    watched = pair(blind, link(500), step_time_ms=100)
    assert watched["repair_action"].startswith("Keep watching the link"), (
        "what is known is not hidden"
    )
    assert pair(blind, link(5000))["fault_detected"]
    assert diagnose_case(PAIR | {"fabric_errors": []})["repair_action"].startswith("Collect")


def test_missing_names_are_said_to_be_missing() -> None:
    found = pair(link(5000, src="missing", dst="missing", link_id="missing"))
    assert found["isolated_component"] == "GPU ? -> GPU ? link unknown"
    assert found["repair_action"].endswith("slot ?-?")
    assert pair(link(5000, link_id="xgmi 3"))["isolated_component"] == "GPU 4 -> GPU 6 xgmi 3"


@pytest.mark.parametrize("missing", ["step_time_ms", "baseline_step_time_ms"])
def test_without_step_times_there_is_no_degradation(missing: str) -> None:
    found = pair(**{missing: "missing"})
    assert (found["fault_detected"], found["degradation_pct"], found["ticket_priority"]) == (
        True,
        None,
        "high",
    )
    assert pair(link(0), **{missing: "missing"})["repair_action"].startswith("Collect")


HUGE = pytest.param(10**5000, id="huge")


@pytest.mark.parametrize(
    "bad", ["12", "", True, [], {}, float("nan"), float("inf"), HUGE, 1e300, 5e-324]
)
@pytest.mark.parametrize(
    "field", ["crc_error_count", "allreduce_latency_us", "baseline_latency_us"]
)
def test_what_is_no_number_is_named(field: str, bad: Any) -> None:
    with pytest.raises(BadInputError, match=field):
        interface(**{field: bad})


@pytest.mark.parametrize("bad", [-1, 0.5, -0.0001])
def test_a_count_is_a_whole_number(bad: float) -> None:
    with pytest.raises(BadInputError, match="crc_error_count"):
        interface(crc_error_count=bad)
    with pytest.raises(BadInputError, match=r"fabric_errors\[1\].crc_errors"):
        pair(link(3), link(bad))
    assert interface(crc_error_count=2500.0) == interface(crc_error_count=2500)


@pytest.mark.parametrize("bad", [0, -1, 0.0])
def test_a_duration_is_above_zero(bad: float) -> None:
    for field in ("step_time_ms", "baseline_step_time_ms"):
        with pytest.raises(BadInputError, match=field):
            pair(**{field: bad})


@pytest.mark.parametrize(
    "case",
    [
        None, [], "text", 5, {}, {"node_id": "n"}, INTERFACE | {"node_id": ""}, INTERFACE | {"node_id": 7}, INTERFACE | {"fabric_interface": None},
        PAIR | {"fabric_errors": {}}, PAIR | {"fabric_errors": [3]}, PAIR | {"node_id": " "},
        PAIR | {"fabric_errors": [link(5000, src="2; rm")]}, PAIR | {"fabric_errors": [link(5000, dst=True)]},
        PAIR | {"fabric_errors": [link(5000, src=-1)]}, PAIR | {"fabric_errors": [link(5000, link_id=5)]}, PAIR | {"fabric_errors": [link(5000, link_id=" ")]},
    ],
)  # fmt: skip
def test_a_wrong_shape_says_what_to_do(case: Any) -> None:
    with pytest.raises(BadInputError) as caught:
        diagnose_case(case)
    assert caught.value.remedy


def test_extremes_are_answered() -> None:
    found = pair(step_time_ms=1e15, baseline_step_time_ms=1e-15)
    assert found["degradation_pct"] == pytest.approx(1e32)
    assert interface(crc_error_count=2**64 - 1)["severity"] == "CRITICAL"


NUMBERS = st.one_of(
    st.none(), st.integers(-5, 5000), st.floats(), st.booleans(), st.text(max_size=3)
)


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_any_values_are_answered_or_refused(
    crc: Any, replay: Any, latency: Any, baseline: Any
) -> None:
    shaped = {
        "crc_error_count": crc,
        "replay_count": replay,
        "allreduce_latency_us": latency,
        "baseline_latency_us": baseline,
    }
    paired = {
        "step_time_ms": latency,
        "baseline_step_time_ms": baseline,
        "fabric_errors": [link(crc, replay)],
    }
    for case, fields in ((INTERFACE | shaped, 4), (PAIR | paired, 5)):
        with contextlib.suppress(BadInputError):
            assert len(diagnose_case(case)) == fields
