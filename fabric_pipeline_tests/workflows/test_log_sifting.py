"""Large logs are sifted before they are read: what is read is equal to reading every line.

Pieces are made small here, so that a report of several lines, a first stamp and a last line of every
kind meet their edges.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources import base
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.collectives.training_log import TrainingLogReader
from fabric_pipeline.sources.fabricmanager import FabricManagerLogReader
from fabric_pipeline.sources.kernel_log.reader import KernelLogReader, is_of_interest
from fabric_pipeline.sources.registry import reader_for
from fabric_pipeline.sources.ufm_event import UfmEventReader
from fabric_pipeline.store.duck import session
from fabric_pipeline.workflows import line_cleaning, log_sifting
from fabric_pipeline_tests.workflows.readout import READ_AT, Row, read_files

SPECIMENS = Path(__file__).parent.parent / "sources" / "specimens"
NOISE = (
    b"",
    b"   ",
    b"Sep 21 10:00:01 elm-07 CRON[77]: (root) CMD (true)",
    b"2026-09-21T10:15:30.251234+00:00 elm-07 sshd[7]: closed",
    b"[12345.678901] docker0: port 3(veth) entered blocking state",
    b"plain words without any frame",
    b'{"MESSAGE":"started","_HOSTNAME":"elm-07","__REALTIME_TIMESTAMP":"1790000000000000"}',
    b"\x1b[32mcoloured\x1b[0m words",
    "späte Zeile \u0660\u00a0[ \u0666] BadTLP".encode(),
    b"broken \xff\xfe bytes",
    b"bar 10%\rbar 20%\rbar 100%",
    b"nul \0 and unit \x1f separators",
    b"ends twice\r",
    b"\xef\xbb\xbfmark of byte order",
    b"...",
    b"[+0.000012] a delta",
    b"[Mon Sep 21 10:00:02 2026] usb 1-1: new device",
)
LOUD = (
    b"[12346.100000] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.",
    b"Sep 21 10:00:03 elm-07 kernel: NVRM: GPU 0000:3b:00.0: GPU has fallen off the bus.",
    b"NVRM: Xid cut in the middle",
    b"[12347.2] pcieport 0000:00:01.0: AER: Corrected error received: 0000:3b:00.0",
    b"[12347.2] nvme 0000:3b:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Receiver ID)",
    b"[12347.2] nvme 0000:3b:00.0:   device [10de:2330] error status/mask=00000040/00006000",
    b"[12347.2]    [ 6] BadTLP                (First)",
    b"[12347.3] nvidia-nvswitch1: SXid (PCI:0000:86:00.0): 20034, Fatal, Link 07 LTSSM Fault Up",
    b"[12348.0] mlx5_core 0000:5e:00.0 ens1np0: Link down \xff",
    b"[    0.000000] Linux version 6.8.0-40-generic",
    b"2026-09-21T10:15:31.000001+00:00 elm-07 kernel: mlx5_core 0000:5e:00.0 ens1np0: Link up",
    (
        b"[Feb 27 2026 15:10:02] [ERROR] [tid 12] detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch"
        b" pci bus id 00000000:86:00.0 physical id 3 port 61"
    ),
    b"[Feb 27 2026 15:10:03] [ERROR] [tid 12] failed to set up NVLink topology",
    (
        b"2026-09-21 10:00:00 [4] [329] WARNING [Link] Switch [default / Switch: leaf4 / 17]: Link went down: "
        b"(Switch:leaf4:1/17/1)0c59030090e000:33 - (Switch:spine1:1/4/2)fc6a1c0300244e00:8"
    ),
    b"2026-09-21 10:00:01 [5] [64] INFO [Logical Model] Grid [Grid]: Network added",
    b" iteration        5/     100 | consumed samples: 5 | elapsed time per iteration (ms): 1234.5 |",
    b"[1,3]<stdout>: iteration  9/ 100 | samples: 5 | elapsed time per iteration (ms): 1300.5 |",
    b"3: node-b: completed step: 7, seconds: 1.5, loss: 2",
    b"st[3]ep: 8 step_time: 3.5",
    b"[rank1]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE) ran for 600000 milliseconds",
)
READERS = [KernelLogReader(), FabricManagerLogReader(), UfmEventReader(), TrainingLogReader()]


@dataclass
class Both:
    """The same file read whole and sifted, and the lines that were shown when sifting."""

    whole: ReadResult
    sifted: ReadResult
    shown: list[int]


def read_both(reader: base.Reader, content: bytes, piece: int = 300) -> Both:
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(log_sifting, "LARGE", 0)
        patch.setattr(log_sifting, "_PIECE", piece)
        path = Path(folder) / "log"
        path.write_bytes(content)
        whole = reader.read(SourceFile(path, "log", "0" * 64))
        with closing(session()) as con:
            file = log_sifting.sifted(con, SourceFile(path, "log", "0" * 64), reader, READ_AT)
            assert isinstance(file, log_sifting.SiftedFile)
            result = reader.read(file)
            assert "lines" not in file.__dict__
            shown = [number for number, _ in file.numbered(lambda: False)]
        return Both(whole, result, shown)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.format_id)
@settings(max_examples=25, deadline=None)
@given(
    lines=st.lists(st.sampled_from(NOISE) | st.sampled_from(LOUD) | st.sampled_from(NOISE), min_size=1, max_size=25),
    piece=st.sampled_from([1, 100, 300, 10_000]),
    end=st.sampled_from([b"\n", b"\r\n"]),
    is_ended=st.booleans(),
)  # fmt: skip
def test_sifted_equals_whole(
    reader: base.Reader, lines: list[bytes], piece: int, end: bytes, is_ended: bool
) -> None:
    content = end.join(lines) + (end if is_ended else b"")
    both = read_both(reader, content or b"\n", piece)
    assert both.sifted == both.whole


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.format_id)
def test_a_specimen_between_noise_is_read_equal(reader: base.Reader) -> None:
    lines = (SPECIMENS / f"{reader.format_id}.txt").read_bytes().splitlines()
    content = b"".join(line + b"\n" + b"\n".join(NOISE[2:6]) + b"\n" for line in lines)
    both = read_both(reader, content, 2000)
    assert both.sifted == both.whole
    assert both.whole.understood


@settings(max_examples=100, deadline=None)
@given(st.text("0123456789abfgPCI:.T [-]\u00a0\u0666", max_size=30))
def test_all_that_is_of_interest_is_wanted(text: str) -> None:
    with closing(session()) as con:
        sql = "select regexp_matches(?, ?)"
        ((is_wanted,),) = con.execute(sql, [text, KernelLogReader.wanted_lines]).fetchall()
    assert is_wanted or not is_of_interest(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2026-09-21T10:15:30.251234+00:00 elm-07 sshd[7]: closed", False),
        ("10:15:30.25 up", False),
        ("ice 5e:00.0: reset", True),
        ("5e:00.1 reset", True),
        ("at 0000:5e:00.1", True),
        ("PCI:5e:00.0 reset", True),
    ],
)
def test_a_time_of_day_is_no_address(text: str, wanted: bool) -> None:
    assert is_of_interest(text) is wanted


def test_few_lines_of_a_long_log_are_shown() -> None:
    lines = [NOISE[2]] * 4000
    lines[1234] = LOUD[1]
    both = read_both(KernelLogReader(), b"\n".join(lines), 1 << 20)
    assert both.shown == [1235, 4000]
    assert both.sifted == both.whole
    assert both.sifted.facts["lines"] == 4000


def test_an_overlong_line_is_shown_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_cleaning, "_LONG_LINE", 5000)
    line = b"x" * 3000 + b" NVRM: Xid (PCI:0000:3b:00): 79, gone " + b"y" * 9000
    both = read_both(KernelLogReader(), b"\n".join([NOISE[2], line, NOISE[2]]))
    assert both.sifted == both.whole
    assert [event.code for event in both.sifted.events] == [79]


def export(messages: list[bytes]) -> Iterator[bytes]:
    for number, message in enumerate(messages):
        yield b"__REALTIME_TIMESTAMP=%d\n_HOSTNAME=elm-07\n_TRANSPORT=kernel\n" % (
            1_790_000_000_000_000 + number
        )
        yield b"MESSAGE=" + message + b"\n\n"


def test_a_journal_export_is_read_by_records() -> None:
    both = read_both(KernelLogReader(), b"".join(export([NOISE[5], LOUD[0][15:], NOISE[5]])))
    assert both.sifted == both.whole
    assert [(event.line, event.node) for event in both.sifted.events] == [(9, "elm-07")]


def test_a_large_log_of_a_drop_goes_through_the_sieve(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(log_sifting, "LARGE", 0)
    monkeypatch.setattr(base, "LARGEST_WHOLE", 100)  # so it cannot be held whole either
    content = b"\n".join([*[NOISE[4]] * 50, LOUD[0], *[NOISE[4]] * 50])
    readout = read_files(tmp_path, {"dmesg": content})
    assert [(row["line"], row["code"]) for row in readout.rows("fabric_events")] == [(51, 79)]


def test_a_file_too_large_to_be_held_is_refused_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(base, "LARGEST_WHOLE", 100)
    text = (SPECIMENS / "iblinkinfo.txt").read_text()
    readout = read_files(tmp_path, {"links": text})
    report = readout.report("links")
    assert "split it at line ends by time or by host" in report.problem
    assert report.readings == 0
    assert [rule for _, rule in readout.refused("links")] == [report.problem]


def test_samples_of_a_long_table_are_staged_as_they_come(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = (SPECIMENS / "dcgmi_dmon.txt").read_text() + "GPU 0  too few\n"
    whole = read_files(tmp_path / "whole", {"dmon": text})
    monkeypatch.setattr(log_sifting, "LARGE", 0)
    monkeypatch.setattr(log_sifting, "_MANY", 3)
    monkeypatch.setattr(base, "LARGEST_WHOLE", 100)
    taken = read_files(tmp_path / "taken", {"dmon": text})
    for table in ("raw_telemetry", "quarantined_telemetry", "link_counters", "fabric_events"):
        assert told(taken.rows(table)) == told(whole.rows(table))
    assert taken.read.unknown == whole.read.unknown
    assert taken.report("dmon").readings == whole.report("dmon").readings > 3
    assert taken.report("dmon").rejected == 1


def told(rows: list[Row]) -> list[str]:
    """Rows without the names that differ by the drop, in an order that depends on nothing else."""
    own = ("drop", "entry", "file_sha256")
    return sorted(str({key: row[key] for key in row if key not in own}) for row in rows)


def test_readers_say_which_lines_they_want_in_words_that_duckdb_knows() -> None:
    with closing(session()) as con:
        for name in ("kernel_log", "fabricmanager_log", "ufm_event", "training_log"):
            wanted = getattr(reader_for(name), "wanted_lines", None)
            assert wanted is not None
            con.execute("select regexp_matches('a', ?)", [wanted]).fetchall()
