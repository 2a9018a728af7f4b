"""SXid lines in their three forms, whole, interleaved and cut."""

from __future__ import annotations

from fabric_pipeline_tests.sources.kernel_log.conftest import ReadLog

WORD = "nvidia-nvswitch{n}: SXid (PCI:0000:0{n}:00.0): {code}, {word}, Link {link} some text\n"
NUMBER = (
    "nvidia-nvswitch{n}: SXid (PCI:0000:0{n}:00.0): {code}, Severity {sev} Engine instance {link} "
    "Sub-engine instance 00\n"
)
DATA = "nvidia-nvswitch{n}: SXid (PCI:0000:0{n}:00.0): {code}, Data {{0x{a:08x}, 0x{a:08x}, 0x00000000}}\n"


def test_three_lines_of_one_error_are_one_event(read_log: ReadLog) -> None:
    text = (
        "[1.0] " + WORD.format(n=2, code=20034, word="Fatal", link=33)
        + "[1.1] " + NUMBER.format(n=2, code=20034, sev=1, link=33)
        + "[1.2] " + DATA.format(n=2, code=20034, a=0x50610002)
    )  # fmt: skip
    (event,) = read_log(text).events
    assert (event.interface, event.code, event.line, event.last_line) == (
        "nvswitch-2/port-33", 20034, 1, 3,
    )  # fmt: skip
    assert (event.role, event.severity) == ("cause", "critical")


def test_interleaved_switches_and_links_stay_apart(read_log: ReadLog) -> None:
    text = (
        WORD.format(n=1, code=20034, word="Fatal", link=3)
        + WORD.format(n=2, code=20034, word="Fatal", link=9)
        + NUMBER.format(n=2, code=20034, sev=1, link=9)
        + WORD.format(n=2, code=20034, word="Fatal", link=10)
        + NUMBER.format(n=1, code=20034, sev=1, link=3)
        + NUMBER.format(n=2, code=20034, sev=1, link=10)
    )
    events = read_log(text).events
    assert [e.interface for e in events] == [
        "nvswitch-1/port-3", "nvswitch-2/port-9", "nvswitch-2/port-10",
    ]  # fmt: skip


def test_data_that_name_another_port_are_not_joined(read_log: ReadLog) -> None:
    text = DATA.format(n=3, code=22013, a=20) + WORD.format(
        n=3, code=22013, word="Non-fatal", link=21
    )
    events = read_log(text).events
    assert [e.interface for e in events] == ["nvswitch-3", "nvswitch-3/port-21"]
    assert all(e.severity == "watch" for e in events)


def test_number_line_alone_names_port_and_severity(read_log: ReadLog) -> None:
    (event,) = read_log(NUMBER.format(n=1, code=24007, sev=1, link=12)).events
    assert (event.interface, event.details["is_fatal"]) == ("nvswitch-1/port-12", True)


def test_same_error_much_later_is_another_event(read_log: ReadLog) -> None:
    text = "[1.0] " + WORD.format(n=1, code=20034, word="Fatal", link=3)
    text += "[900.0] " + NUMBER.format(n=1, code=20034, sev=1, link=3)
    assert len(read_log(text).events) == 2


def test_error_of_the_switch_itself_names_no_port(read_log: ReadLog) -> None:
    (event,) = read_log("nvidia-nvswitch0: SXid (PCI:0004:00:00.0): 26006, SOE HALTED\n").events
    assert (event.interface, event.severity) == ("nvswitch-0", "watch")


def test_line_without_number_is_rejected(read_log: ReadLog) -> None:
    result = read_log("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): garbled, Fatal\n")
    assert (result.events, len(result.rejected)) == ([], 1)
