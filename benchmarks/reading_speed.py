"""How fast bulk formats are read, as ratios in one run on the same bytes, and how much memory it takes.

    python benchmarks/reading_speed.py [size in MB, 64]

For Prometheus text the yardstick is the parser of `prometheus_client`, for all else DuckDB counting the
lines of the file. `parsed` is each line as name, labels, value and time; `staged` is that understood
and put into the table of readings, which the yardsticks do not do.
"""

from __future__ import annotations

import io
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from prometheus_client.parser import text_fd_to_metric_families

from fabric_pipeline.sources.base import Reader, SourceFile
from fabric_pipeline.sources.drop import FileStamp
from fabric_pipeline.sources.normalized.counters_sql import line_texts_sql
from fabric_pipeline.sources.registry import recognise
from fabric_pipeline.store.duck import session
from fabric_pipeline.workflows import staging
from fabric_pipeline.workflows.file_reading import stage_file
from fabric_pipeline.workflows.series_staging import SeriesOfFile, take_exposition

LATEST = datetime(2027, 1, 1, tzinfo=UTC)
START = 1_790_000_000
ORACLE_LINES = 40_000  # that the slow parser is given; its speed does not depend on the number
TRIES = 3
NAMES = (
    "dcgm_4_nodes.prom",
    "dcgm_1000_nodes.prom",
    "node_exporter.prom",
    "counters.csv",
    "query_range.json",
)
LINK_METRICS = ("CRC_FLIT_ERROR", "CRC_DATA_ERROR", "REPLAY_ERROR", "RECOVERY_ERROR")


def _gpu(node: int, gpu: int) -> str:
    return (
        f'gpu="{gpu}",UUID="GPU-{node:04x}{gpu:04x}",pci_bus_id="00000000:{gpu + 16:02X}:00.0",'
        f'device="nvidia{gpu}",modelName="NVIDIA H100 80GB HBM3",Hostname="node{node:04d}",'
        f'DCGM_FI_DRIVER_VERSION="550.54.15"'
    )


def dcgm_lines(nodes: int) -> Iterator[str]:
    """Scrapes of `nodes` hosts, minute by minute without end; one link in a thousand grows."""
    chance = random.Random(1)  # noqa: S311
    for minute in range(1 << 30):
        stamp = (START + 60 * minute) * 1000
        for node in range(nodes):
            for metric in LINK_METRICS:
                yield f"# TYPE DCGM_FI_DEV_NVLINK_{metric}_COUNT_TOTAL counter\n"
                for gpu in range(8):
                    for link in range(18):
                        bad = link == 3 and gpu == 1 and node % 64 == 5
                        value = chance.randrange(10**6) if bad else 0
                        yield f'DCGM_FI_DEV_NVLINK_{metric}_COUNT_TOTAL{{{_gpu(node, gpu)},nvlink="{link}"}} {value} {stamp}\n'


def node_lines(nodes: int) -> Iterator[str]:
    """InfiniBand counters of `nodes` hosts as a federating server prints them."""
    for minute in range(1 << 30):
        stamp = (START + 60 * minute) * 1000
        for node in range(nodes):
            for name in ("symbol_error", "link_downed", "port_data_received_bytes", "port_rcv"):
                for port in range(8):
                    yield f'node_infiniband_{name}_total{{device="mlx5_{port}",port="1",instance="node{node:04d}:9100"}} {minute * port} {stamp}\n'


def counter_lines() -> Iterator[str]:
    """The normalized form of a site, long."""
    yield "ts,node,link_type,link,gpu,counter,value\n"
    for minute in range(1 << 30):
        ts = datetime.fromtimestamp(START + 60 * minute, UTC).isoformat()
        for node in range(64):
            for gpu in range(8):
                for link in range(18):
                    yield f"{ts},node{node:04d},nvlink,nvlink-{link},{gpu},crc_flit,{minute * (link == 3)}\n"


def query_answer(size: int) -> str:
    """A matrix of the query API of some `size` characters."""
    values = [[START + 60 * minute + 0.123, str(minute % 7)] for minute in range(240)]
    series, length = [], 0
    while length < size:
        node, rest = divmod(len(series), 144)
        labels = {"__name__": "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL"}
        labels |= {"Hostname": f"n{node}", "gpu": str(rest // 18), "nvlink": str(rest % 18)}
        series.append({"metric": labels, "values": values})
        length += 5200
    told = {"status": "success", "data": {"resultType": "matrix", "result": series}}
    return json.dumps(told, separators=(",", ":"))


def measured(work: Callable[[], int]) -> tuple[float, float, int]:
    """Best of some tries: wall and processor seconds, and what the work counted."""
    best = (float("inf"), float("inf"), 0)
    for _ in range(TRIES):
        wall, cpu = time.perf_counter(), time.process_time()
        count = work()
        best = min(best, (time.perf_counter() - wall, time.process_time() - cpu, count))
    return best


def oracle(path: Path) -> int:
    """Samples that the parser of `prometheus_client` finds in the head of the file."""
    with path.open() as handle:
        head = "".join(line for line, _ in zip(handle, range(ORACLE_LINES), strict=False))
    return sum(len(family.samples) for family in text_fd_to_metric_families(io.StringIO(head)))


def lines_by_duckdb(path: Path) -> int:
    """Lines of the file, each read as a text."""
    con = session()
    sql = f"select count(*), sum(strlen(line_text)) from ({line_texts_sql()})"
    ((count, _),) = con.execute(sql, [str(path)]).fetchall()
    con.close()
    return int(count)


def prepared(path: Path) -> tuple[Any, SourceFile]:
    """A connection with empty staging tables, and the file."""
    con, stat = session(), path.stat()
    stamp = FileStamp(path, path.name, stat.st_size, stat.st_mtime_ns, "0" * 64)
    staging.prepare(con, [stamp], "UTC")
    return con, SourceFile(path, path.name)


def _reader(file: SourceFile) -> Reader:
    reader = recognise(file).reader
    if reader is None:
        raise ValueError(f"{file.name} is not recognised")
    return reader


def staged(path: Path) -> int:
    """Readings of the file in the staging table."""
    con, file = prepared(path)
    stage_file(con, file, _reader(file), LATEST)
    ((count,),) = con.execute("select count(*) from staged_readings").fetchall()
    con.close()
    return int(count)


def parsed(path: Path) -> int:
    """Samples of a Prometheus text with name, labels, value and time."""
    con, file = prepared(path)
    take_exposition(SeriesOfFile(con, file, _reader(file)), file)
    ((count,),) = con.execute("select count(*) from bulk_samples").fetchall()
    con.close()
    return int(count)


def write_lines(path: Path, lines: Iterator[str], size: int) -> None:
    """Lines until the file has that size."""
    with path.open("w") as handle:
        while handle.tell() < size:
            handle.writelines(line for line, _ in zip(lines, range(2000), strict=False))


def main() -> None:
    """Make the files, measure, print."""
    size = int(sys.argv[1] if len(sys.argv) > 1 else 64) * 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / name for name in NAMES}
        write_lines(files["dcgm_4_nodes.prom"], dcgm_lines(4), size)
        write_lines(files["dcgm_1000_nodes.prom"], dcgm_lines(1000), size)
        write_lines(files["node_exporter.prom"], node_lines(64), size)
        write_lines(files["counters.csv"], counter_lines(), size)
        files["query_range.json"].write_text(query_answer(size))
        _say(
            f"{'file':<22}{'readings':>10}{'staged/s':>11}{'of lines':>10}{'of oracle':>11}{'parsed':>9}"
        )
        for name, path in files.items():
            _row(name, path)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    _say(f"peak memory {peak:.0f} MB for files of {size / 1e6:.0f} MB")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _row(name: str, path: Path) -> None:
    is_prom = name.endswith(".prom")
    wall, _, readings = measured(lambda: staged(path))
    rate = readings / wall
    shown = f"{name:<22}{readings:>10}{rate:>11.0f}"
    if name.endswith(".json"):
        _say(shown)
        return
    lines_wall, _, lines = measured(lambda: lines_by_duckdb(path))
    shown += f"{(readings / wall) / (lines / lines_wall):>10.2f}"
    if is_prom:
        oracle_wall, _, samples = measured(lambda: oracle(path))
        parse_wall, _, found = measured(lambda: parsed(path))
        yardstick = samples / oracle_wall
        shown += f"{rate / yardstick:>10.1f}x{found / parse_wall / yardstick:>8.1f}x"
    _say(shown)


if __name__ == "__main__":
    main()
