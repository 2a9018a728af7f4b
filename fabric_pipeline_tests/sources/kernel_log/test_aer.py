"""PCIe error reports in old and new wording; one report is one event of the device meant."""

from __future__ import annotations

import pytest

from fabric_pipeline_tests.sources.kernel_log.conftest import ReadLog

NEW = (
    "[7.1] pcieport 0000:40:01.0: AER: Correctable error message received from 0000:41:00.0\n"
    "[7.1] nvme 0000:41:00.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)\n"
    "[7.1] nvme 0000:41:00.0:   device [144d:a80a] error status/mask=00000001/0000e000\n"
    "[7.1] nvme 0000:41:00.0:    [ 0] RxErr                  (First)\n"
)
OLD = (
    "pcieport 0000:00:1d.3: AER: Corrected error received: id=00eb\n"
    "pcieport 0000:00:1d.3: PCIe Bus Error: severity=Corrected, type=Data Link Layer, id=00eb(Transmitter ID)\n"
    "pcieport 0000:00:1d.3:   device [8086:a11b] error status/mask=00001000/00002000\n"
    "pcieport 0000:00:1d.3:    [12] Replay Timer Timeout\n"
)


@pytest.mark.parametrize(
    ("text", "interface", "layer", "bits"),
    [
        (NEW, "pci-0000:41:00.0", "Physical Layer", ["RxErr"]),
        (OLD, "pci-0000:00:1d.3", "Data Link Layer", ["Replay Timer Timeout"]),
    ],
)
def test_four_lines_are_one_event_of_the_following_device(
    read_log: ReadLog, text: str, interface: str, layer: str, bits: list[str]
) -> None:
    result = read_log(text)
    (event,) = result.events
    assert (event.kind, event.interface, event.severity) == ("aer_corrected", interface, "watch")
    assert (event.line, event.last_line) == (1, 4)
    assert (event.details["layer"], event.details["bits"]) == (layer, bits)
    assert result.rejected == []


def test_fatal_report_with_recovery_names_port_and_device_below(read_log: ReadLog) -> None:
    (event,) = read_log(
        "[  +0.1] pcieport 0000:40:01.0: AER: Multiple Uncorrected (Fatal) error received: 0000:40:01.0\n"
        "[  +0.1] pcieport 0000:40:01.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Requester ID)\n"
        "[  +0.1] pcieport 0000:40:01.0:   device [8086:0000] error status/mask=00004020/00000000\n"
        "[  +0.1] pcieport 0000:40:01.0:    [ 5] SDES\n"
        "[  +0.1] pcieport 0000:40:01.0:    [14] CmpltTO                (First)\n"
        "[  +0.1] nvidia 0000:41:00.0: AER: can't recover (no error_detected callback)\n"
        "[  +0.1] snd_hda_intel 0000:41:00.1: AER: can't recover (no error_detected callback)\n"
        "[  +0.1] pcieport 0000:40:01.0: AER: device recovery failed\n"
    ).events
    assert (event.interface, event.severity, event.last_line) == ("pci-0000:40:01.0", "critical", 8)
    assert event.details["bits"] == ["SDES", "CmpltTO"]
    assert event.details["recovery"] == "failed"
    assert [a["pci"] for a in event.details["affected"]] == ["0000:41:00.0", "0000:41:00.1"]


def test_functions_of_one_device_are_folded(read_log: ReadLog) -> None:
    (event,) = read_log(
        "pcieport 0000:40:01.0: AER: Multiple Corrected error message received from 0000:41:00.0\n"
        "nvidia 0000:41:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Receiver ID)\n"
        "nvidia 0000:41:00.0:   device [10de:0000] error status/mask=00000040/0000a000\n"
        "nvidia 0000:41:00.0:    [ 6] BadTLP\n"
        "snd_hda_intel 0000:41:00.1: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Receiver ID)\n"
    ).events
    assert event.details["siblings"] == ["0000:41:00.1"]


def test_bits_without_device_and_two_on_one_line(read_log: ReadLog) -> None:
    (event,) = read_log(
        "pcieport 0000:00:01.2: AER: Uncorrectable (Non-Fatal) error received from 0000:63:00.0\n"
        "nvidia 0000:63:00.0: PCIe Bus Error: Uncorrectable (Non-Fatal), type=Transaction Layer\n"
        "  [14] CmpltTO (Completion Timeout, First)   [18] MalfTLP\n"
    ).events
    assert event.details["bits"] == ["CmpltTO", "MalfTLP"]
    assert (event.kind, event.details["is_fatal"]) == ("aer_uncorrected", False)


def test_header_alone_is_an_event_of_the_device_it_names(read_log: ReadLog) -> None:
    (event,) = read_log("pcieport 0000:00:1d.3: AER: Corrected error received: id=0100\n").events
    assert (event.interface, event.details["no_detail_lines"]) == ("pci-0000:01:00.0", True)


def test_repeated_reports_stay_separate_events(read_log: ReadLog) -> None:
    assert len(read_log(OLD * 5).events) == 5


def test_apei_record_and_the_lines_behind_it_are_one_event(read_log: ReadLog) -> None:
    (event,) = read_log(
        "[9.1] {3}[Hardware Error]: event severity: corrected\n"
        "[9.1] {3}[Hardware Error]:   section_type: PCIe error\n"
        "[9.1] {3}[Hardware Error]:   device_id: 0000:40:01.1\n"
        "[9.1] {3}[Hardware Error]:   aer_cor_status: 0x00000040, aer_cor_mask: 0x00006000\n"
        "[9.2] pcieport 0000:40:01.1: AER: aer_status: 0x00000040, aer_mask: 0x00006000\n"
        "[9.2] pcieport 0000:40:01.1: AER:    [ 6] BadTLP\n"
        "[9.2] pcieport 0000:40:01.1: AER: aer_layer=Data Link Layer, aer_agent=Receiver ID\n"
    ).events
    assert (event.kind, event.interface) == ("aer_corrected", "pci-0000:40:01.1")
    assert (event.details["bits"], event.details["layer"]) == (["BadTLP"], "Data Link Layer")


def test_memory_record_of_apei_is_no_pcie_event(read_log: ReadLog) -> None:
    text = (
        "[9.1] {3}[Hardware Error]: event severity: corrected\n"
        "[9.1] {3}[Hardware Error]:   section_type: memory error\n"
    )
    assert read_log(text).events == []


def test_containment_is_fatal_and_joined_with_its_report(read_log: ReadLog) -> None:
    (event,) = read_log(
        "[5.1] pcieport 0000:5a:01.0: DPC: containment event, status:0x1f01 source:0x0000\n"
        "[5.1] pcieport 0000:5a:01.0: DPC: unmasked uncorrectable error detected\n"
        "[5.1] pcieport 0000:5a:01.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)\n"
        "[5.1] pcieport 0000:5a:01.0:   device [8086:352a] error status/mask=00000020/00180020\n"
    ).events
    assert (event.severity, event.details["dpc"], event.line) == ("critical", True, 1)


def test_status_line_without_its_report_is_kept_as_rejected(read_log: ReadLog) -> None:
    result = read_log(
        "pcieport 0000:5a:01.0:   device [8086:352a] error status/mask=00000020/00180020\n"
    )
    assert (result.events, len(result.rejected)) == ([], 1)


def test_slot_link_and_bandwidth_lines(read_log: ReadLog) -> None:
    events = read_log(
        "pcieport 0000:b0:01.0: pciehp: Slot(5): Link Down\n"
        "pci 0000:5d:00.0: 252.048 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x16 link "
        "at 0000:58:00.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)\n"
    ).events
    assert [e.kind for e in events] == ["pcie_link_down", "pcie_bandwidth_limited"]
