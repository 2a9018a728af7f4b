"""The query of GPUs as text and as XML: both must tell the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_pipeline.sources.base import Reader
from fabric_pipeline.sources.nvidia_smi.query_text import QueryTextReader
from fabric_pipeline.sources.nvidia_smi.query_xml import QueryXmlReader
from fabric_pipeline_tests.sources.nvidia_smi.files import (
    JUNK,
    NOON,
    UUID,
    one,
    read,
    source,
    values,
)

TEXT, XML = QueryTextReader(), QueryXmlReader()


@dataclass(frozen=True)
class Card:
    pci: str = "00000000:5D:00.0"
    minor: str = "0"
    gen: str = "4"
    gen_max: str = "5"
    host_max: str = "5"
    width: str = "8x"
    width_max: str = "16x"
    replays: str = "12"
    rollovers: str = "1"
    state: str = "P0"
    serial: str = "1650000000001"
    fabric: str = "Completed"


def as_text(cards: list[Card], attached: int | None = None) -> str:
    head = (
        "\n==============NVSMI LOG==============\n\n"
        "Timestamp                                 : Fri Nov 20 12:00:00 2026\n"
        f"Attached GPUs                             : {attached or len(cards)}\n"
    )
    return head + "".join(
        f"""GPU {c.pci}
    Product Name                          : NVIDIA H100 80GB HBM3
    Serial Number                         : {c.serial}
    GPU UUID                              : {UUID}
    Minor Number                          : {c.minor}
    PCI
        GPU Link Info
            PCIe Generation
                Max                       : {c.gen_max}
                Current                   : {c.gen}
                Device Current            : {c.gen}
                Host Max                  : {c.host_max}
            Link Width
                Max                       : {c.width_max}
                Current                   : {c.width}
        Replays Since Reset               : {c.replays}
        Replay Number Rollovers           : {c.rollovers}
        Tx Throughput                     : 5000 KB/s
    Performance State                     : {c.state}
    FB Memory Usage
        Max                               : 999
    Fabric
        State                             : {c.fabric}
        Status                            : N/A
"""
        for c in cards
    )


def as_xml(cards: list[Card], attached: int | None = None) -> str:
    body = "".join(
        f"""<gpu id="{c.pci}">
  <product_name>NVIDIA H100 80GB HBM3</product_name>
  <serial>{c.serial}</serial><uuid>{UUID}</uuid><minor_number>{c.minor}</minor_number>
  <pci><pci_bus_id>{c.pci}</pci_bus_id>
    <pci_gpu_link_info><pcie_gen>
        <max_link_gen>{c.gen_max}</max_link_gen>
        <current_link_gen>{c.gen}</current_link_gen>
        <device_current_link_gen>{c.gen}</device_current_link_gen>
        <max_host_link_gen>{c.host_max}</max_host_link_gen>
      </pcie_gen><link_widths>
        <max_link_width>{c.width_max}</max_link_width>
        <current_link_width>{c.width}</current_link_width>
      </link_widths></pci_gpu_link_info>
    <replay_counter>{c.replays}</replay_counter>
    <replay_rollover_counter>{c.rollovers}</replay_rollover_counter>
    <tx_util>5000 KB/s</tx_util></pci>
  <performance_state>{c.state}</performance_state>
  <fabric><state>{c.fabric}</state><status>N/A</status></fabric>
</gpu>
"""
        for c in cards
    )
    return (
        '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n'
        "<nvidia_smi_log>\n<timestamp>Fri Nov 20 12:00:00 2026</timestamp>\n"
        f"<attached_gpus>{attached or len(cards)}</attached_gpus>\n{body}</nvidia_smi_log>\n"
    )


Render = Callable[..., str]
FORMS = [pytest.param(TEXT, as_text, id="text"), pytest.param(XML, as_xml, id="xml")]


@pytest.mark.parametrize(("reader", "render"), FORMS)
class TestBothForms:
    def test_link_replays_and_performance_state(
        self, tmp_path: Path, reader: Reader, render: Render
    ) -> None:
        result = read(reader, tmp_path, render([Card(), Card(pci="00000000:9B:00.0", state="P8")]))
        found = values(result)
        assert found["gpu0/pcie", "pcie_replay"] == 12
        assert found["gpu0/pcie", "pcie_replay_rollover"] == 1
        assert (found["gpu0/pcie", "width"], found["gpu0/pcie", "width_max"]) == (8, 16)
        assert (found["gpu0/pcie", "pcie_gen"], found["gpu0/pcie", "pcie_gen_max"]) == (4, 5)
        assert (found["gpu0", "performance_state"], found["gpu1", "performance_state"]) == (0, 8)
        reading = one(result, "gpu1/pcie", "width")
        assert (reading.time, reading.gpu_uuid, reading.link_type) == (NOON, UUID, "pcie")
        assert reading.state == "[NVIDIA H100 80GB HBM3]"

    def test_evidence_line_holds_the_value(
        self, tmp_path: Path, reader: Reader, render: Render
    ) -> None:
        text = render([Card(replays="4711")])
        line = one(read(reader, tmp_path, text), "gpu0/pcie", "pcie_replay").line
        assert line is not None
        assert "4711" in text.split("\n")[line - 1]

    def test_lower_end_sets_the_maximum(
        self, tmp_path: Path, reader: Reader, render: Render
    ) -> None:
        result = read(reader, tmp_path, render([Card(host_max="3", gen="3")]))
        assert one(result, "gpu0/pcie", "pcie_gen_max").value == 3

    def test_one_of_many_gpus_goes_by_its_minor_number(
        self, tmp_path: Path, reader: Reader, render: Render
    ) -> None:
        result = read(reader, tmp_path, render([Card(minor="5")], attached=8))
        assert ("gpu5/pcie", "width") in values(result)
        unnamed = read(reader, tmp_path, render([Card(minor="N/A")], attached=8))
        assert ("pci-0000:5d:00.0/pcie", "width") in values(unnamed)
        chosen = "$ nvidia-smi -q -i 3\n" + render([Card(minor="N/A")], attached=8)
        assert ("gpu3/pcie", "width") in values(read(reader, tmp_path, chosen))

    def test_blanks_zeros_and_damage(self, tmp_path: Path, reader: Reader, render: Render) -> None:
        card = Card(
            replays="N/A", rollovers="[Unknown Error]", width="0x", gen="l", serial="0000000000000"
        )
        result = read(reader, tmp_path, render([card]))
        for counter in ("pcie_replay", "pcie_replay_rollover", "width"):
            assert one(result, "gpu0/pcie", counter).quality == "not_supported"
        assert any("'l'" in refused.rule for refused in result.rejected)
        assert result.topology is not None
        assert "serial" not in result.topology.nodes[0]["gpus"][0]

    def test_incomplete_fabric_is_told(
        self, tmp_path: Path, reader: Reader, render: Render
    ) -> None:
        (event,) = read(reader, tmp_path, render([Card(fabric="In Progress")])).events
        assert (event.kind, event.severity, event.role) == ("fabric_state", "watch", "context")

    def test_two_reports_in_one_file(self, tmp_path: Path, reader: Reader, render: Render) -> None:
        text = render([Card()]) + "$ sleep 60\n" + render([Card(replays="40")])
        result = read(reader, tmp_path, text)
        counts = [r.value for r in result.readings if r.counter == "pcie_replay"]
        assert counts == [12, 40]

    def test_cut_report_keeps_what_was_read(
        self, tmp_path: Path, reader: Reader, render: Render
    ) -> None:
        text = render([Card()])
        result = read(reader, tmp_path, text[: text.lower().index("rollover") + 4])
        assert one(result, "gpu0/pcie", "pcie_replay").value == 12
        assert result.rejected


@pytest.mark.parametrize("reader", [TEXT, XML])
@pytest.mark.parametrize("junk", JUNK)
def test_junk_is_nobodys(tmp_path: Path, reader: Reader, junk: bytes) -> None:
    file = source(tmp_path, junk)
    assert reader.score(file) == 0
    assert reader.read(file).readings == []


def test_xml_on_one_line_and_behind_a_prompt(tmp_path: Path) -> None:
    text = "[root@hgx-4 ~]# nvidia-smi -q -x\n" + as_xml([Card()] * 8).replace("\n", "")
    result = read(XML, tmp_path, text)
    assert {r.node for r in result.readings} == {"hgx-4"}
    assert ("gpu7/pcie", "pcie_replay") in values(result)


def test_report_without_pcie_section_is_unknown(tmp_path: Path) -> None:
    text = (
        as_text([Card()]).split("    PCI\n", maxsplit=1)[0]
        + "    ECC Mode\n        Current : Enabled\n"
    )
    result = read(TEXT, tmp_path, text)
    assert result.readings == []
    assert result.unknown[0].interface == "gpu0/pcie"


cards = st.lists(
    st.builds(
        lambda replays, gen, width, state: replace(
            Card(), replays=str(replays), gen=str(gen), width=f"{width}x", state=f"P{state}"
        ),
        st.integers(0, 10**9),
        st.integers(1, 6),
        st.sampled_from([1, 2, 4, 8, 16]),
        st.integers(0, 15),
    ),
    min_size=1,
    max_size=8,
)


@given(cards)
def test_rendered_cards_read_back_from_both_forms(
    tmp_path_factory: pytest.TempPathFactory, expected: list[Card]
) -> None:
    for reader, render in ((TEXT, as_text), (XML, as_xml)):
        file = source(tmp_path_factory.mktemp("x"), render(expected))
        found = values(reader.read(file))
        for gpu, card in enumerate(expected):
            assert found[f"gpu{gpu}/pcie", "pcie_replay"] == int(card.replays)
            assert found[f"gpu{gpu}/pcie", "pcie_gen"] == int(card.gen)
            assert found[f"gpu{gpu}/pcie", "width"] == int(card.width[:-1])
            assert found[f"gpu{gpu}", "performance_state"] == int(card.state[1:])


UNHEALTHY = {
    "Summary": ("summary", "Unhealthy"),
    "Bandwidth": ("bandwidth", "Degraded"),
    "Route Recovery in progress": ("route_recovery_in_progress", "True"),
    "Route Unhealthy": ("route_unhealthy", "False"),
    "Access Timeout Recovery": ("access_timeout_recovery", "N/A"),
    "Incorrect Configuration": ("incorrect_configuration", "None"),
}


@pytest.mark.parametrize("reader", [TEXT, XML])
def test_what_a_gpu_says_of_its_fabric_is_noted_part_by_part(
    tmp_path: Path, reader: Reader
) -> None:
    if reader is TEXT:
        rows = "".join(f"            {name} : {value}\n" for name, (_, value) in UNHEALTHY.items())
        text = as_text([Card()]) + f"    Fabric\n        CliqueId : 7\n        Health\n{rows}"
    else:
        tags = "".join(f"<{tag}>{value}</{tag}>" for tag, value in UNHEALTHY.values())
        fabric = f"<fabric><cliqueId>7</cliqueId><health>{tags}</health></fabric></gpu>"
        text = as_xml([Card()]).replace("</gpu>", fabric)
    result = read(reader, tmp_path, text)
    assert [(e.kind, e.severity, e.role) for e in result.events] == [
        ("fabric_health", "watch", "context"),
        ("fabric_bandwidth", "warning", "cause"),
        ("fabric_route_recovery", "watch", "context"),
    ]
    (facts,) = result.facts["gpus"].values()
    assert facts["fabric_clique"] == "7"
