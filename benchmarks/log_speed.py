"""How fast logs and other long files are read, against DuckDB reading their lines, and in how much memory.

    python benchmarks/log_speed.py [size in MB, 24] [names ...]

Times are processor seconds, so that a busy machine does not blur them. Each file is staged the way
`ingest` does it; `ratio` is its time over that of reading the lines. `memory` is what the process
grew by, each file in a process of its own.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.drop import FileStamp
from fabric_pipeline.sources.normalized.counters_sql import line_texts_sql
from fabric_pipeline.sources.registry import reader_for
from fabric_pipeline.store.duck import session
from fabric_pipeline.workflows import staging
from fabric_pipeline.workflows.file_reading import stage_file

LATEST = datetime(2027, 1, 1, tzinfo=UTC)
START = 1_790_000_000
RARE = 5000  # one line in so many tells of a link
_NOISE = (
    "systemd[1]: Started Session {n} of user root.",
    "sshd[{n}]: Accepted publickey for svc from 192.0.2.7 port 51234 ssh2: ED25519",
    'kernel: audit: type=1400 apparmor="ALLOWED" operation="open" profile="snap.{n}"',
    'containerd[1534]: time="2026-09-21T10:00:00.123456789Z" level=info msg="removed {n}"',
    "kubelet[2211]: I0921 10:00:00.1234 2211 kubelet.go:2400] probe ready {n}",
    "CRON[{n}]: (root) CMD (command -v debian-sa1 > /dev/null && debian-sa1 1 1)",
    "kernel: docker0: port {n}(veth) entered blocking state",
)
_XID = "kernel: NVRM: Xid (PCI:0000:3b:00): 74, pid=1, NVLink: fatal error detected on link 4(0x10000, 0x0)"


def _times(step_s: float) -> Iterator[tuple[int, datetime]]:
    for number in range(1, 1 << 40):
        yield number, datetime.fromtimestamp(START + number * step_s, UTC)


def syslog_lines() -> Iterator[str]:
    """A syslog of many hosts, stamps without a year."""
    chance = random.Random(1)  # noqa: S311
    for n, at in _times(0.01):
        said = _XID if n % RARE == 0 else chance.choice(_NOISE).format(n=n)
        yield f"{at:%b %d %H:%M:%S} node{n % 64:03d} {said}\n"


def iso_lines() -> Iterator[str]:
    """The same with stamps of rsyslog's newer form, down to microseconds."""
    chance = random.Random(1)  # noqa: S311
    for n, at in _times(0.01):
        said = _XID if n % RARE == 0 else chance.choice(_NOISE).format(n=n)
        yield f"{at:%Y-%m-%dT%H:%M:%S.%f}+00:00 node{n % 64:03d} {said}\n"


def journal_lines() -> Iterator[str]:
    """`journalctl -o json`."""
    chance = random.Random(1)  # noqa: S311
    for n, at in _times(0.01):
        said = _XID if n % RARE == 0 else chance.choice(_NOISE).format(n=n)
        program, _, message = said.partition(": ")
        record = {
            "__REALTIME_TIMESTAMP": str(int(at.timestamp() * 1e6)), "_HOSTNAME": f"node{n % 64:03d}",
            "SYSLOG_IDENTIFIER": program, "PRIORITY": "6", "_BOOT_ID": "0" * 32, "MESSAGE": message,
            "_TRANSPORT": "kernel" if program == "kernel" else "syslog",
        }  # fmt: skip
        yield json.dumps(record) + "\n"


def manager_lines() -> Iterator[str]:
    """Fabric Manager setting up multicast teams."""
    for n, at in _times(0.1):
        said = f"[INFO] [tid {n % 9000}] multicast group {n % 512} is freed."
        if n % RARE == 0:
            said = (
                f"[ERROR] [tid {n % 9000}] detected NVSwitch non-fatal error 12028 on fid 0 on "
                "NVSwitch pci bus id 00000000:86:00.0 physical id 3 port 61"
            )
        yield f"[{at:%b %d %Y %H:%M:%S}] {said}\n"


def ufm_lines() -> Iterator[str]:
    """UFM's event log; most of it is about other things than ports."""
    for n, at in _times(1.0):
        said = "[64] INFO [Logical Model] Grid [Grid]: Network added"
        if n % 50 == 0:
            said = (
                f"[329] WARNING [Link] Switch [default / Switch: leaf{n % 40} / 17]: Link went down: "
                f"(Switch:leaf{n % 40}:1/17/1)0c{n % 10**12:012d}:33 - (Switch:spine1:1/4/2)fc6a1c0300000000:8"
            )
        yield f"{at:%Y-%m-%d %H:%M:%S.%f} [{n}] {said}\n"


def dmon_lines() -> Iterator[str]:
    """Samples of eight GPUs."""
    yield "#Entity   NFELT       NREL0       NRCL0       PCITX\nID\n"
    for n, _ in _times(1.0):
        yield f"GPU {n % 8}     0           0           {n % 3}           {1000 + n}\n"


def inspector_lines() -> Iterator[str]:
    """One process, one collective after the other."""
    for n, at in _times(0.02):
        perf = {
            "coll": "AllReduce", "coll_sn": n, "coll_msg_size_bytes": 1 << 27, "coll_exec_time_us": 13352,
            "coll_timing_source": "kernel_gpu", "coll_algobw_gbs": 10.05, "coll_busbw_gbs": 10.05,
        }  # fmt: skip
        stamp = int(at.timestamp() * 1e6)
        record = {
            "header": {"id": "0xec4ad54506d878", "rank": 0, "n_ranks": 2, "nnodes": 1},
            "metadata": {"inspector_output_format_version": "v4.0", "dump_timestamp_us": stamp, "hostname": "node001", "pid": 7},
            "coll_perf": perf,
        }  # fmt: skip
        yield json.dumps(record, separators=(",", ":")) + "\n"


def training_lines() -> Iterator[str]:
    """Megatron with the chatter of its libraries between the steps."""
    for n, at in _times(0.5):
        said = f"[INFO] loader worker {n % 16} fetched shard {n} of the data set in 12.3 ms"
        if n % 10 == 0:
            said = (
                f"iteration {n // 10:8d}/ 500000 | consumed samples: {n * 51} | "
                "elapsed time per iteration (ms): 1234.5 | learning rate: 3.0E-04 | lm loss: 2.5E+00 |"
            )
        yield f"{at:%Y-%m-%d %H:%M:%S} {said}\n"


def counter_rows() -> Iterator[tuple[str, int, int, int, int]]:
    """Time, node, GPU, link and value of a site that is asked minute by minute."""
    for minute in range(1 << 30):
        ts = datetime.fromtimestamp(START + 60 * minute, UTC).isoformat()
        for place in range(64 * 8 * 18):
            node, rest = divmod(place, 144)
            yield ts, node, rest // 18, rest % 18, minute * (rest % 18 == 3)


def csv_lines() -> Iterator[str]:
    """The normalized form, long."""
    yield "ts,node,link_type,link,gpu,counter,value\n"
    for ts, node, gpu, link, value in counter_rows():
        yield f"{ts},node{node:04d},nvlink,nvlink-{link},{gpu},crc_flit,{value}\n"


def jsonl_lines() -> Iterator[str]:
    """The normalized form as JSON lines."""
    for ts, node, gpu, link, value in counter_rows():
        place = f'"node":"node{node:04d}","link_type":"nvlink","link":"nvlink-{link}","gpu":{gpu}'
        yield f'{{"ts":"{ts}",{place},"counter":"crc_flit","value":{value}}}\n'


CASES: dict[str, tuple[str, Callable[[], Iterator[str]]]] = {
    "syslog": ("kernel_log", syslog_lines),
    "syslog_iso": ("kernel_log", iso_lines),
    "journal_json": ("kernel_log", journal_lines),
    "fabricmanager": ("fabricmanager_log", manager_lines),
    "ufm": ("ufm_event", ufm_lines),
    "dmon": ("dcgmi_dmon", dmon_lines),
    "inspector": ("nccl_inspector_json", inspector_lines),
    "training": ("training_log", training_lines),
    "counters.csv": ("fabric_counters", csv_lines),
    "counters.jsonl": ("fabric_counters", jsonl_lines),
}


def write_lines(path: Path, lines: Iterator[str], size: int) -> None:
    """Lines until the file has that size."""
    with path.open("w") as handle:
        while handle.tell() < size:
            handle.writelines(line for line, _ in zip(lines, range(2000), strict=False))


def cpu(work: Callable[[], int]) -> tuple[float, int]:
    """Processor seconds of one go, and what it counted."""
    start = time.process_time()
    count = work()
    return time.process_time() - start, count


def lines_by_duckdb(path: Path) -> int:
    """Lines of the file, each read as a text."""
    con = session()
    sql = f"select count(*), sum(strlen(line_text)) from ({line_texts_sql()})"
    ((count, _),) = con.execute(sql, [str(path)]).fetchall()
    return int(count)


def staged(path: Path, format_id: str) -> int:
    """Rows that the file gives."""
    con, stat = session(), path.stat()
    stamp = FileStamp(path, path.name, stat.st_size, stat.st_mtime_ns, "0" * 64)
    staging.prepare(con, [stamp], "UTC")
    stage_file(con, SourceFile(path, path.name), reader_for(format_id), LATEST)
    tables = ("staged_readings", "staged_events", "staged_timings")
    counts = " + ".join(f"(select count(*) from {table})" for table in tables)
    ((count,),) = con.execute(f"select {counts}").fetchall()
    return int(count)


def measure(name: str, size: int) -> None:
    """Print the row of one format."""
    format_id, lines = CASES[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.txt"
        write_lines(path, lines(), size)
        lines_s, count = min(cpu(lambda: lines_by_duckdb(path)) for _ in range(3))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        reads = 1 if size > 200_000_000 else 2
        read_s, rows = min(cpu(lambda: staged(path, format_id)) for _ in range(reads))
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        megabytes = path.stat().st_size / 1e6
    sys.stdout.write(
        f"{name:<16}{megabytes / read_s:>9.1f}{count / read_s / 1000:>9.0f}{megabytes / lines_s:>13.1f}"
        f"{count / lines_s / 1000:>9.0f}{read_s / lines_s:>8.1f}{rows:>9}{grown:>8.0f} MB\n"
    )
    sys.stdout.flush()


def main() -> None:
    """Measure each format in a process of its own."""
    size = int(float(sys.argv[1]) * 1e6) if len(sys.argv) > 1 else 24_000_000
    head = f"{'file':<16}{'MB/s':>9}{'klines/s':>9}{'lines: MB/s':>13}{'klines/s':>9}{'ratio':>8}{'rows':>9}{'memory':>11}\n"
    sys.stdout.write(head)
    sys.stdout.flush()
    for name in sys.argv[2:] or CASES:
        one = multiprocessing.get_context("spawn").Process(target=measure, args=(name, size))
        one.start()
        one.join()


if __name__ == "__main__":
    main()
