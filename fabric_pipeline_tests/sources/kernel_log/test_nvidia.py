"""Messages of the GPU driver, read through the reader."""

from __future__ import annotations

import pytest

from fabric_pipeline_tests.sources.kernel_log.conftest import ReadLog


def test_xid_names_gpu_code_and_what_it_means(read_log: ReadLog) -> None:
    result = read_log("[9.5] NVRM: Xid (PCI:0000:4E:00): 63, pid=12, name=app, Row remapped\n")
    (event,) = result.events
    assert (event.kind, event.code, event.interface) == ("xid", 63, "pci-0000:4e:00.0")
    assert (event.role, event.severity, event.details["is_link"]) == ("cause", "warning", False)
    assert event.details["process"] == "app"


@pytest.mark.parametrize(
    ("body", "interface", "link"),
    [
        ("NETIR_LINK_DOWN Fatal XC0 i0 Link 04 (0x00450000 0x0)", "pci-000a:01:00.0/nvlink-4", 4),
        ("NETIR_LINK_EVT  Fatal   XC 1 i 2 Link 17 [0x0000000a]", "pci-000a:01:00.0/nvlink-17", 17),
        ("pid=7, name=job, NETIR Fatal XC0 i0 Link -1 (0x1)", "pci-000a:01:00.0", -1),
    ],
)
def test_nvlink5_form_names_the_link_and_minus_one_none(
    read_log: ReadLog, body: str, interface: str, link: int
) -> None:
    (event,) = read_log(f"NVRM: Xid (PCI:000a:01:00): 149, {body}\n").events
    assert (event.interface, event.details["link"]) == (interface, link)
    assert (event.role, event.severity, event.details["is_fatal"]) == ("cause", "critical", True)


def test_subcode_is_taken_from_the_first_word(read_log: ReadLog) -> None:
    line = "NVRM: Xid (PCI:000a:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 04 (0x004505c6 0x0)\n"
    assert read_log(line).events[0].details["subcode"] == 4


def test_nonfatal_nvlink_event_is_only_watched(read_log: ReadLog) -> None:
    line = "NVRM: Xid (PCI:000a:01:00): 149, NETIR_BER_EVENT Nonfatal XC0 i0 Link 02 (0x1 0x2)\n"
    (event,) = read_log(line).events
    assert (event.role, event.severity) == ("context", "watch")


@pytest.mark.parametrize(
    ("words", "expected", "severity"),
    [
        ("0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0", "possible_hardware", "critical"),
        ("0x200000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0", "signal_integrity", "critical"),
        ("0x0, 0x0, 0x1, 0x0, 0x0, 0x0, 0x0", "parity", "critical"),
        ("0x2, 0x0, 0x0, 0x10000, 0x0, 0x0, 0x0", "secondary", "watch"),
        ("0x0, 0x0, 0x0, 0x0, 0x100000, 0x0, 0x0", "corrected", "watch"),
        ("0x0, 0x80, 0x0, 0x0, 0x0, 0x0, 0x0", "unlisted", "critical"),
    ],
)
def test_xid_74_register_bits(read_log: ReadLog, words: str, expected: str, severity: str) -> None:
    line = f"NVRM: Xid (PCI:0000:4e:00): 74, NVLink: fatal error detected on link 3({words})\n"
    (event,) = read_log(line).events
    assert event.interface == "pci-0000:4e:00.0/nvlink-3"
    assert (event.details["register_class"], event.severity) == (expected, severity)


def test_xid_74_without_register_words(read_log: ReadLog) -> None:
    line = "NVRM: Xid (PCI:0000:4e:00): 74, pid=1, NVLink: fatal error detected on link 2\n"
    (event,) = read_log(line).events
    assert (event.interface, event.severity) == ("pci-0000:4e:00.0/nvlink-2", "critical")


def test_redacted_address_stays_unknown_and_the_gpu_index_is_used(read_log: ReadLog) -> None:
    line = (
        "kernel: NVRM: Xid (PCI:...): 137, RLW_RXPIPE interrupt hit on link 5 on GPU3: PRIV Error\n"
    )
    result = read_log(line)
    assert result.events[0].interface == "gpu3/nvlink-5"
    assert any("PCI address" in fact.what for fact in result.unknown)


def test_lost_gpu_of_several_lines_is_one_event_with_its_identity(read_log: ReadLog) -> None:
    result = read_log(
        "[50.1] NVRM: GPU at PCI:0000:4e:00: GPU-0a0b0c0d-1111-2222-3333-444455556666\n"
        "[50.1] NVRM: GPU Board Serial Number: 1700000000001\n"
        "[50.1] NVRM: Xid (PCI:0000:4e:00): 79, pid=1, name=x, GPU has fallen off the bus.\n"
        "[50.1] NVRM: GPU 0000:4e:00.0: GPU has fallen off the bus.\n"
        "[50.1] NVRM: GPU 0000:4e:00.0: GPU serial number is 1700000000001.\n"
    )
    (event,) = result.events
    assert (event.code, event.line, event.last_line, event.count) == (79, 3, 5, 1)
    assert event.details["serial"] == "1700000000001"
    assert event.details["gpu_uuid"].startswith("GPU-0a0b")


def test_lost_gpu_without_a_number_over_three_lines(read_log: ReadLog) -> None:
    result = read_log(
        "[ 18.1] NVRM: The NVIDIA GPU 0000:4e:00.0\n"
        "               NVRM: (PCI ID: 10de:0000) installed in this system has\n"
        "               NVRM: fallen off the bus and is not responding to commands.\n"
    )
    (event,) = result.events
    assert (event.kind, event.interface) == ("gpu_lost", "pci-0000:4e:00.0")
    assert (event.line, event.last_line, event.seconds) == (1, 3, 18.1)


def test_loss_message_before_its_xid_is_the_same_event(read_log: ReadLog) -> None:
    result = read_log(
        "[18.1] NVRM: GPU 0000:4e:00.0: GPU has fallen off the bus.\n"
        "[18.2] NVRM: Xid (PCI:0000:4e:00): 79, GPU has fallen off the bus.\n"
    )
    (event,) = result.events
    assert (event.kind, event.code, event.line, event.last_line) == ("xid", 79, 1, 2)


def test_unsupported_gpu_is_no_lost_gpu(read_log: ReadLog) -> None:
    result = read_log(
        "[ 18.1] NVRM: The NVIDIA GPU 0000:4e:00.0 (PCI ID: 10de:0000)\n"
        "NVRM: installed in this system is not supported by the open driver.\n"
    )
    assert result.events == []


def test_serial_number_zero_is_none(read_log: ReadLog) -> None:
    result = read_log(
        "NVRM: GPU at PCI:0000:4e:00: GPU-0a0b0c0d-1111-2222-3333-444455556666\n"
        "NVRM: GPU Board Serial Number: 0\n"
        "NVRM: Xid (PCI:0000:4e:00): 79, GPU has fallen off the bus.\n"
    )
    assert "serial" not in result.events[0].details
    assert any("serial number" in fact.what for fact in result.unknown)


def test_teardown_quotes_the_xid_before_it(read_log: ReadLog) -> None:
    line = (
        "NVRM: Xid (PCI:0000:4e:00): 45, pid=1, name=py, Ch 00000001 caused by previous Xid 149\n"
    )
    (event,) = read_log(line).events
    assert (event.role, event.details["previous_xid"]) == ("symptom", 149)
    assert event.details["previous_meaning"]["is_link"] is True


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("nvidia-peermem nv_callback:9 ERROR detected invalid context", "peermem_error"),
        ("NVRM: GPU 0000:4e:00.0: RmInitAdapter failed! (0x22:0x56:1)", "gpu_init_failed"),
    ],
)
def test_driver_faults_are_no_link_matter(read_log: ReadLog, line: str, kind: str) -> None:
    (event,) = read_log(f"{line}\n").events
    assert (event.kind, event.details["is_link"]) == (kind, False)


def test_unlisted_code_is_something_to_watch(read_log: ReadLog) -> None:
    (event,) = read_log("NVRM: Xid (PCI:0000:4e:00): 999, something new\n").events
    assert (event.role, event.severity) == ("context", "watch")


def test_cut_line_is_kept_with_a_reason(read_log: ReadLog) -> None:
    result = read_log("NVRM: Xid (PCI:0000:4e:0")
    assert result.events == []
    assert result.rejected[0].line == 1
    assert "device and a number" in result.rejected[0].rule
