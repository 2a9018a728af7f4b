"""The captures that settle what is open: read-only, addressed to the component, of tools the site has."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.diagnose import capture_commands as c
from fabric_pipeline.diagnose.coverage import NVLINK, PORT, Coverage, KindCoverage
from fabric_pipeline.diagnose.next_capture import OpenCase, next_captures
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import UnknownFact
from fabric_pipeline.sources.registry import reader_targets

EVERY = [command for commands in c.COMMANDS.values() for command in commands]
# Options that reset, clear, set or move something, by tool.
CHANGES = {
    "nvidia-smi": r"-re\b|-r\b|-sc\b|--reset|--gpu-reset|-pm\b|-pl\b|-lgc\b|-c\b|-e \d|drain|clocks",
    "perfquery": r"-R\b|-r\b|--reset|0x[0-9a-f]+$",
    "ibqueryerrors": r"-k\b|-K\b|--clear",
    "mlxlink": r"-a\b|--port_state|--pc\b|-s\b|--speeds|-l\b|--loopback|-t\b|--test",
    "dcgmi": r"\bdiag\b|\bset\b|\bpolicy\b|\bconfig\b",
    "ethtool": r"-[sEKACGLNPpr]\b|--reset|--identify",
    "ip": r"\bset\b|\badd\b|\bdel\b",
    "lspci": r"set",
    "ibstat": r"-[^lsp]\b",
    "sminfo": r"-[spa]\b",
    "journalctl": r"--vacuum|--rotate|--flush",
    "grep": r">",
}


def case(finding: Finding | None = None, verdict: str = "faulty", **fields: object) -> OpenCase:
    return OpenCase(verdict, [finding] if finding else [], **fields)  # type: ignore[arg-type]


def accused(component: str, kind: str = "physical_link_degradation", **fields: object) -> Finding:
    return Finding(component, kind, "warning", "cause", "It erred.", **fields)  # type: ignore[arg-type]


def commands(open_case: OpenCase) -> list[str]:
    return [one.command for one in next_captures(open_case)]


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.template[:40])
def test_a_command_changes_nothing(one: c.CaptureCommand) -> None:
    tool, _, words = one.template.partition(" ")
    if tool in CHANGES:
        assert not re.search(CHANGES[tool], words), one.template
    else:
        assert tool in {"fabric-pipeline", "iblinkinfo", "ibnetdiscover", "ncclras"}
    assert not re.search(r"[;&|`$><]|sudo|\brm\b", one.template)


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.template[:40])
def test_a_command_names_its_places_and_what_reads_it_again(one: c.CaptureCommand) -> None:
    asked = {name for _, name, *_ in string.Formatter().parse(one.template + one.settles) if name}
    assert asked <= set(one.needs)
    assert one.reads in {"", *reader_targets()}
    assert one.settles


def test_the_formats_by_which_a_site_shows_its_tools_exist() -> None:
    known = tuple(reader_targets())
    starts = [start for one in EVERY for start in one.site_has] + [
        start for start, _ in c.INSTEAD_OF
    ]
    assert [start for start in starts if not any(name.startswith(start) for name in known)] == []
    wanted = [need for _, needs in c.INSTEAD_OF for need in needs] + list(c.OTHERWISE)
    assert [need for need in wanted if need not in c.COMMANDS] == []


def test_totals_of_an_nvlink_want_a_second_capture_and_the_far_end() -> None:
    finding = accused("n1:gpu2/nvlink-0", numbers={"is_snapshot": True})
    first, second = next_captures(case(finding))
    assert (first.command, first.after_minutes) == ("nvidia-smi nvlink -e -i 2", 10)
    assert first.reads == "nvidia_smi_nvlink_errors"
    assert (second.command, second.after_minutes) == ("nvidia-smi nvlink -R -i 2", 0)


def test_the_tool_that_the_site_has_is_asked() -> None:
    finding = accused(
        "n1:gpu2/nvlink-0", numbers={"is_snapshot": True}, far_end="n1:nvswitch-1/port-3"
    )
    assert commands(case(finding, formats=frozenset({"dcgmi_nvlink_errors"}))) == [
        "dcgmi nvlink -g 2 -e"
    ]
    (one,) = next_captures(case(finding, formats=frozenset({"dcgm_exporter"})))
    assert one.command == "fabric-pipeline pull --prometheus URL --window 1h"
    assert one.after_minutes == 0


@pytest.mark.parametrize(
    ("component", "far_end", "wanted"),
    [
        ("n1:mlx5_4/1", "unknown:leaf-2/port-6", ["mlxlink -d mlx5_4 -m -c"]),
        ("unknown:lid-2/port-3", "", ["mlxlink -d lid-2 -p 3 -m -c", "ibnetdiscover -p"]),
        ("unknown:leaf-1/port-3", "n1:mlx5_0/1", ["mlxlink -d lid-LID -p 3 -m -c"]),
        # A name that ibnetdiscover gives a card is no device that mlxlink could open: the far end is.
        ("n1:HCA-2/1", "unknown:lid-9/port-5", ["mlxlink -d lid-9 -p 5 -m -c"]),
        ("n1:ens1f0np0", "", ["ethtool -m ens1f0np0"]),
        ("n1:pci-0000:9c:00.0", "", []),
    ],
)
def test_a_port_is_asked_for_its_module(component: str, far_end: str, wanted: list[str]) -> None:
    assert commands(case(accused(component, far_end=far_end))) == wanted


def test_a_module_that_was_read_is_not_asked_for_again() -> None:
    finding = accused("n1:mlx5_4/1", far_end="unknown:leaf-2/port-6")
    assert commands(case(finding, formats=frozenset({"mlxlink_json"}))) == []


def test_a_sum_over_a_gpu_wants_the_link_named() -> None:
    assert commands(case(accused("n1:gpu3", "gpu_link_errors")))[0] == "nvidia-smi nvlink -e -i 3"
    assert (
        commands(case(accused("unknown:0x1070fd", "physical_link_degradation")))[0]
        == "ibqueryerrors"
    )


def test_a_gpu_known_by_its_address_alone_is_asked_by_it() -> None:
    found = commands(case(accused("n1:pci-0000:9c:00.0/nvlink-3", "nvlink_error")))
    assert found == ["nvidia-smi nvlink -e -i 0000:9c:00.0", "nvidia-smi nvlink -R -i 0000:9c:00.0"]


def test_what_is_no_link_sends_nobody_to_a_cable() -> None:
    slow = Finding("n1:gpu3", "slow_compute", "warning", "cause", "Slow.", is_link=False)
    assert commands(case(slow, "not_a_link")) == [
        "nvidia-smi -q -d PERFORMANCE,CLOCK,TEMPERATURE,POWER"
    ]
    waits = Finding("n1:unknown", "ras_rank_missing", "warning", "cause", "Missing.", is_link=False)
    assert commands(case(waits, "not_a_link")) == ["ncclras -v"]


@pytest.mark.parametrize(
    ("fact", "formats", "wanted"),
    [
        (UnknownFact("", "", "host name", "no line names it"), {"kernel_log"}, "journalctl -k -o short-iso"),
        (UnknownFact("", "lid-2/port-3", "error counters", "none printed"), {"perfquery"}, "perfquery 2 3"),
        (UnknownFact("", "lid-2/port-3", "symbol_error", "saturated: 65535"), {"perfquery"}, "perfquery -x 2 3"),
        (UnknownFact("", "gpu0", "NVLink crc_flit", "the code for not supported"), {"dcgm_exporter"}, "nvidia-smi nvlink -e"),
        (UnknownFact("", "gpu0", "PCI address of the GPU", "redacted"), {"kernel_log"}, "nvidia-smi -q"),
    ],
)  # fmt: skip
def test_what_readers_found_missing(fact: UnknownFact, formats: set[str], wanted: str) -> None:
    found = commands(case(verdict="healthy", unknown=[fact], formats=frozenset(formats)))
    assert wanted in found


@pytest.mark.parametrize(
    ("formats", "wanted"),
    [
        ({"nvidia_smi_topo_matrix"}, ["nvidia-smi nvlink -e", "nvidia-smi nvlink -s"]),
        ({"ibswitches"}, ["ibqueryerrors", "iblinkinfo"]),
        ({"lspci_list"}, ["lspci -vvv"]),
        ({"unknown"}, ["nvidia-smi nvlink -e", "grep -r . /sys/class/infiniband/", "journalctl -k -o short-iso"]),
        (set(), ["nvidia-smi nvlink -e", "grep -r . /sys/class/infiniband/", "journalctl -k -o short-iso"]),
    ],
)  # fmt: skip
def test_no_data_names_what_would_give_it(formats: set[str], wanted: list[str]) -> None:
    assert commands(case(verdict="no_data", formats=frozenset(formats))) == wanted


def test_an_exporter_without_link_metrics_is_told_the_fields() -> None:
    (one,) = next_captures(case(verdict="no_data", formats=frozenset({"dcgm_exporter"})))
    assert "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL" in one.settles
    assert "DCGM_FI_DEV_PCIE_REPLAY_COUNTER" in one.settles


def test_a_clean_look_at_states_asks_for_errors_and_a_clean_count_for_states() -> None:
    state = Coverage((KindCoverage(NVLINK, 8, with_state=8),))
    assert commands(case(verdict="healthy", coverage=state)) == ["nvidia-smi nvlink -e"]
    errors = Coverage((KindCoverage(NVLINK, 8, with_errors=8, most_counters=3),))
    assert commands(case(verdict="healthy", coverage=errors)) == ["nvidia-smi nvlink -s"]
    ports = Coverage((KindCoverage(PORT, 8, with_state=8),))
    fabric = frozenset({"iblinkinfo"})
    assert commands(case(verdict="healthy", coverage=ports, formats=fabric)) == ["ibqueryerrors"]
    whole = Coverage((KindCoverage(NVLINK, 8, with_errors=8, with_state=8, most_counters=3),))
    assert commands(case(verdict="healthy", coverage=whole)) == []


def test_a_narrow_link_is_looked_at_while_the_gpu_works() -> None:
    for is_link in (True, False):
        narrow = Finding(
            "n1:gpu0/pcie", "width_below_maximum", "watch", "context", "x8.", is_link=is_link
        )
        assert commands(case(narrow, "healthy"))[0] == "nvidia-smi -q -i 0"


def test_each_command_is_said_once() -> None:
    findings = [
        accused(f"n1:gpu{gpu}/nvlink-{link}", "nvlink_error") for gpu in (0, 1) for link in (1, 2)
    ]
    found = [one.command for one in next_captures(OpenCase("faulty", findings))]
    assert len(found) == len(set(found))
    assert "nvidia-smi nvlink -e -i 0" in found


HOSTILE = [
    "eth0;reboot", "$(reboot)", "`reboot`", "-reset", "a b", "a\nb", "a|b", "a>b", "mlx5_0;x/1", "lid-2;x/port-3", "leaf$(x)/port-3",
    "gpu0;x/nvlink-1", "pci-0000:9c:00.0;x", "leaf-1/port-3;x", "0xdead;x/port-3", "x" * 200, "'; x '", "mlx5_0/1;x",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_never_reaches_a_command(name: str) -> None:
    for kind in (
        "physical_link_degradation",
        "nvlink_error",
        "port_not_active",
        "width_below_maximum",
    ):
        finding = accused(f"n1:{name}", kind, numbers={"is_snapshot": True}, far_end=f"n1:{name}")
        fact = UnknownFact("n1", name, "error counters", "saturated: 1")
        _is_harmless(next_captures(case(finding, unknown=[fact])))


@given(st.text(max_size=30), st.text(max_size=30))
def test_no_text_reaches_a_command_unless_it_is_a_device_name(first: str, second: str) -> None:
    finding = accused(f"n1:{first}/{second}", numbers={"is_snapshot": True})
    _is_harmless(next_captures(case(finding)))


def _is_harmless(captures: object) -> None:
    for one in captures:  # type: ignore[attr-defined]
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9 ._/:,-]*", one.command), one.command
        words = one.command.split(" ")
        assert all(len(word) < 60 for word in words)
