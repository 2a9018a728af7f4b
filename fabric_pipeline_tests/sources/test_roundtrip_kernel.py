"""Events of the kernel log read back equal in every frame that tools put around a line.

The same invented events are written as `dmesg`, `dmesg -T`, ISO stamps, `/dev/kmsg`, syslog and
`journalctl -o json`; every file has to tell exactly those, each at its place and its time.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, given

from fabric_pipeline_tests.sources.facts import BEGIN, Fact, delivered, facts, formats, rounds

BOOT = BEGIN - timedelta(days=3)
GAP = timedelta(seconds=97)  # far beyond the span within which lines of one event are put together
HOST = "elm-07"
Said = tuple[str, str, int | None]


def _xid_74(f: Fact) -> tuple[list[str], Said]:
    line = (
        f"NVRM: Xid (PCI:0000:{f.gpu + 16:02x}:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error "
        f"detected on link {f.link}(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)"
    )
    return [line], ("xid", f"pci-0000:{f.gpu + 16:02x}:00.0/nvlink-{f.link}", 74)


def _xid_79(f: Fact) -> tuple[list[str], Said]:
    line = f"NVRM: Xid (PCI:0000:{f.gpu + 16:02x}:00): 79, pid={f.value % 90000}, GPU has fallen off the bus."
    return [line], ("xid", f"pci-0000:{f.gpu + 16:02x}:00.0", 79)


def _xid_149(f: Fact) -> tuple[list[str], Said]:
    line = (
        f"NVRM: Xid (PCI:0018:{f.gpu + 1:02x}:00): 149, NETIR_LINK_DOWN Fatal XC0 i0 Link {f.link:02d} "
        f"(0x{f.value % 2**32:08x} 0x00000000 0x0 0x0 0x0 0x0)"
    )
    return [line], ("xid", f"pci-0018:{f.gpu + 1:02x}:00.0/nvlink-{f.link}", 149)


def _sxid(f: Fact) -> tuple[list[str], Said]:
    line = f"nvidia-nvswitch{f.gpu}: SXid (PCI:0000:{f.gpu + 16:02x}:00.0): 20034, Fatal, Link {f.link:02d} LTSSM Fault Up"
    return [line], ("sxid", f"nvswitch-{f.gpu}/port-{f.link}", 20034)


def _aer(f: Fact, word: str, opening: str) -> tuple[list[str], Said]:
    bdf = f"0000:{f.gpu + 16:02x}:00.{f.link % 8}"
    lines = [
        f"pcieport 0000:00:01.0: AER: {opening} {bdf}",
        f"nvme {bdf}: PCIe Bus Error: severity={word}, type=Data Link Layer, (Receiver ID)",
        f"nvme {bdf}:   device [10de:2330] error status/mask=00000040/00006000",
        f"nvme {bdf}:    [ 6] BadTLP                (First)",
    ]
    return lines, ("aer_corrected", f"pci-{bdf}", None)


def _aer_old(f: Fact) -> tuple[list[str], Said]:
    return _aer(f, "Corrected", "Corrected error received:")


def _aer_new(f: Fact) -> tuple[list[str], Said]:
    return _aer(f, "Correctable", "Correctable error message received from")


def _mlx5(f: Fact) -> tuple[list[str], Said]:
    port = f.link % 8  # a function of the card has one network device
    line = f"mlx5_core 0000:{f.gpu + 16:02x}:00.{port} ens{f.gpu}np{port}: Link down"
    return [line], ("link_down", f"ens{f.gpu}np{port}", None)


MESSAGES: tuple[Callable[[Fact], tuple[list[str], Said]], ...] = (
    _xid_74, _xid_79, _xid_149, _sxid, _aer_old, _aer_new, _mlx5,
)  # fmt: skip


def _boot_s(time: datetime) -> float:
    return (time - BOOT).total_seconds()


def _dmesg(time: datetime, text: str) -> str:
    return f"[{_boot_s(time):12.6f}] {text}"


def _human(time: datetime, text: str) -> str:
    return f"[{time:%a %b} {time.day:2d} {time:%H:%M:%S %Y}] {text}"


def _iso(time: datetime, text: str) -> str:
    east = time.astimezone(UTC) + timedelta(hours=2)
    return f"{east:%Y-%m-%dT%H:%M:%S},{time.microsecond:06d}+02:00 {text}"


def _short_iso(time: datetime, text: str) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%S}+0000 {HOST} kernel: {text}"


def _kmsg(time: datetime, text: str) -> str:
    return f"4,{round(_boot_s(time))},{round(_boot_s(time) * 1e6)},-;{text}"


def _syslog(time: datetime, text: str) -> str:
    return f"{time:%b} {time.day:2d} {time:%H:%M:%S} {HOST} kernel: [{_boot_s(time):12.6f}] {text}"


def _journal(time: datetime, text: str) -> str:
    micros = round(time.timestamp() * 1e6)
    record = {"__REALTIME_TIMESTAMP": str(micros), "_HOSTNAME": HOST, "PRIORITY": "4"}
    record |= {"_TRANSPORT": "kernel", "SYSLOG_IDENTIFIER": "kernel", "MESSAGE": text}
    return json.dumps(record)


def _whole(time: datetime) -> datetime:
    return time.replace(microsecond=0)


def _same(time: datetime) -> datetime:
    return time


# Frame -> how a line is written, the host it names, and what it keeps of the time (None: nothing absolute).
FRAMES: dict[str, tuple[Callable[[datetime, str], str], str, Callable[[datetime], datetime] | None]]
FRAMES = {
    "dmesg": (_dmesg, "", None),
    "human": (_human, "", _whole),
    "iso": (_iso, "", _same),
    "short_iso": (_short_iso, HOST, _whole),
    "kmsg": (_kmsg, "", None),
    "syslog": (_syslog, HOST, None),
    "journal": (_journal, HOST, _same),
}


@rounds(suppress_health_check=[HealthCheck.too_slow])
@given(facts(len(MESSAGES), most=8))
def test_events_in_every_frame(found: list[Fact]) -> None:
    written = [(BEGIN + n * GAP + timedelta(milliseconds=f.value % 1000), MESSAGES[f.word](f)) for n, f in enumerate(found)]  # fmt: skip
    files = {
        f"{name}.log": "".join(f"{frame(time, line)}\n" for time, (lines, _) in written for line in lines)
        for name, (frame, _, _) in FRAMES.items()
    }  # fmt: skip
    readout = delivered(files)
    assert formats(readout) == {"kernel_log"}
    for name, (_, host, kept) in FRAMES.items():
        expected = Counter(
            (host, kind, place, code, kept(time) if kept else None)
            for time, (_, (kind, place, code)) in written
        )
        rows: list[dict[str, Any]] = readout.rows("fabric_events", f"{name}.log")
        told = Counter((r["node"], r["kind"], r["interface"], r["code"], r["ts"]) for r in rows)
        assert told == expected, name
        if kept is None:
            seconds = {round(_boot_s(time), 3) for time, _ in written}
            assert {round(row["seconds"], 3) for row in rows} == seconds, name
    assert readout.rows("raw_telemetry") == []
