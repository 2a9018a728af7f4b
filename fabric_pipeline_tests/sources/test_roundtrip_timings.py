"""Durations of collectives read back equal: NCCL Inspector, nccl-tests, SuperBench, Kineto, our own table."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from fabric_pipeline_tests.sources.facts import BEGIN, delivered, formats, nodes, rounds
from fabric_pipeline_tests.workflows.readout import Readout

# Name of the operation -> how NCCL, nccl-tests and SuperBench spell it.
OPS = {
    "all_reduce": ("AllReduce", "allreduce"),
    "all_gather": ("AllGather", "allgather"),
    "reduce_scatter": ("ReduceScatter", "reducescatter"),
}


@dataclass(frozen=True)
class Timing:
    """One collective of one rank, its duration in hundredths of a microsecond."""

    op: str
    power: int  # of two: bytes of the message
    hundredths: int
    busbw: int  # tenths of GB/s

    @property
    def us(self) -> float:
        return self.hundredths / 100

    @property
    def bytes(self) -> int:
        return int(2**self.power)


timings = st.lists(
    st.builds(
        Timing,
        op=st.sampled_from(sorted(OPS)),
        power=st.integers(13, 34),
        hundredths=st.integers(1, 10**9),
        busbw=st.integers(1, 9000),
    ),
    min_size=1,
    max_size=8,
)


def _told(readout: Readout, file: str, *columns: str) -> Counter[tuple[Any, ...]]:
    rows = readout.rows("collective_timings", file)
    return Counter(tuple(row[name] for name in columns) for row in rows)


@rounds(suppress_health_check=[HealthCheck.too_slow])
@given(nodes, timings, st.integers(0, 7), st.sampled_from([None, 1]))
def test_nccl_inspector(node: str, made: list[Timing], rank: int, indent: int | None) -> None:
    """JSON, a line or a block a record, and the text file for Prometheus."""
    records, lines = "", ""
    for seq, t in enumerate(made):
        name = OPS[t.op][0]
        measured = {"coll_exec_time_us": t.us, "coll_busbw_gbs": t.busbw / 10}
        record = {
            "header": {"id": "0x7f10", "rank": rank, "n_ranks": 8, "nnodes": 1, "comm_name": "DP"},
            "metadata": {"inspector_output_format_version": "v4.0", "dump_timestamp_us": 17 * 10**14 + seq, "hostname": node},
            "coll_perf": {"coll": name, "coll_sn": seq, "coll_msg_size_bytes": t.bytes, "coll_timing_source": "kernel_gpu", **measured},
        }  # fmt: skip
        records += json.dumps(record, indent=indent) + "\n"
        labels = f'version="v5.1",slurm_job_id="77",node="{node}",gpu="GPU{rank}",comm_name="dp",nranks="8"'
        labels += f',collective="{name}",message_size="{seq}-{seq + 1}MB",algo_proto="RING_LL"'
        lines += f"nccl_bus_bandwidth_gbs{{{labels}}} {t.busbw / 10}\n"
        lines += f"nccl_collective_exec_time_microseconds{{{labels}}} {t.us}\n"
    readout = delivered({"inspector.jsonl": records, "inspector.prom": lines})
    assert formats(readout) == {"nccl_inspector_json", "nccl_inspector_prom"}
    columns = ("node", "rank", "ranks", "seq", "op", "bytes", "duration_us", "busbw_gbs")
    assert _told(readout, "inspector.jsonl", *columns) == Counter(
        (node, rank, 8, seq, t.op, t.bytes, t.us, t.busbw / 10) for seq, t in enumerate(made)
    )
    of_text = ("node", "gpu", "ranks", "duration_us", "busbw_gbs")
    assert _told(readout, "inspector.prom", *of_text) == Counter(
        (node, rank, 8, t.us, t.busbw / 10) for t in made
    )


def _cell(value: float) -> str:
    """Four significant digits are printed by the tool; two decimals keep what is invented here."""
    return f"{value:9.2f}"


@rounds(suppress_health_check=[HealthCheck.too_slow])
@given(timings, st.sampled_from(["", "0: ", "[1,0]<stdout>:"]), st.booleans())
def test_nccl_tests(made: list[Timing], tag: str, has_wrong: bool) -> None:
    """The table of one program: out of place and in place, old and new column of wrong values."""
    sizes = {t.bytes: t for t in made}
    last = "#wrong" if has_wrong else "error"
    head = f"# nThread 1 nGpus 8 minBytes 8 maxBytes {max(sizes)} step: 2(factor) warmup iters: 5 iters: 20\n"
    text = f"{tag}{head}{tag}#       size         count      type   redop    root     time   algbw   busbw  {last}     time   algbw   busbw  {last}\n"
    for size, t in sorted(sizes.items()):
        half = f"{_cell(t.us)} {_cell(t.us / 7)} {t.busbw / 10:7.2f} {'0' if has_wrong else '5e-07':>6}"
        other = f"{_cell(t.us + 1)} {_cell(t.us / 9)} {t.busbw / 10:7.2f} {'N/A':>6}"
        text += f"{tag}{size:12d} {size // 4:12d}     float     sum      -1 {half} {other}\n"
    readout = delivered({"table.txt": text})
    assert formats(readout) == {"nccl_tests"}
    columns = ("bytes", "variant", "duration_us", "busbw_gbs", "rank", "node")
    expected: Counter[tuple[Any, ...]] = Counter()
    for size, t in sizes.items():
        for variant, us in (("out_of_place", t.us), ("in_place", t.us + 1)):
            expected[size, variant, float(_cell(us)), t.busbw / 10, None, ""] += 1
    assert _told(readout, "table.txt", *columns) == expected


@rounds(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(nodes, timings), min_size=1, max_size=4, unique_by=lambda one: one[0]))
def test_superbench_results(made: list[tuple[str, list[Timing]]]) -> None:
    text, expected = "", Counter[tuple[Any, ...]]()
    for node, found in made:
        record: dict[str, Any] = {"node": node, "mem-bw/return_code": 0, "gemm-flops/FP64:0": 9000.0, "cpu-memory-bw/x:0": 5}  # fmt: skip
        for (op, size), t in {(t.op, t.bytes): t for t in found}.items():
            record[f"nccl-bw/{OPS[op][1]}_{size}_busbw"] = t.busbw / 10
            record[f"nccl-bw/{OPS[op][1]}_{size}_time"] = t.us
            expected[node, op, size, t.us, t.busbw / 10] += 1
        text += json.dumps(record) + "\n"
    readout = delivered({"results.jsonl": text})
    assert formats(readout) == {"superbench_results_jsonl"}
    assert _told(readout, "", "node", "op", "bytes", "duration_us", "busbw_gbs") == expected


@rounds(suppress_health_check=[HealthCheck.too_slow])
@given(timings, st.integers(0, 63), st.booleans())
def test_kineto_trace(made: list[Timing], rank: int, is_pretty: bool) -> None:
    """Kernels on the device are timings; the host's annotations of the same collectives are not."""
    events: list[dict[str, Any]] = []
    for n, t in enumerate(made):
        at = 1_700_000_000_000_000.0 + n * 10**8
        kernel = f"ncclDevKernel_{OPS[t.op][0]}_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
        args = {"Collective name": t.op, "In msg nelems": t.bytes // 4, "dtype": "Float", "Group size": 64, "device": 3}  # fmt: skip
        events.append({"ph": "X", "cat": "cpu_op", "name": f"nccl:{t.op}", "pid": 1, "tid": 1, "ts": at - 5, "dur": 2.5})  # fmt: skip
        events.append({"ph": "X", "cat": "kernel", "name": kernel, "pid": 3, "tid": 7, "ts": at, "dur": t.us, "args": args})  # fmt: skip
    trace = {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 64}, "traceEvents": events}  # fmt: skip
    readout = delivered({"trace.json": json.dumps(trace, indent=1 if is_pretty else None)})
    assert formats(readout) == {"kineto_trace"}
    columns = ("rank", "ranks", "gpu", "seq", "op", "bytes", "duration_us")
    assert _told(readout, "", *columns) == Counter(
        (rank, 64, 3, n, t.op, t.bytes, t.us) for n, t in enumerate(made)
    )


@rounds(suppress_health_check=[HealthCheck.too_slow])
@given(nodes, timings)
def test_our_own_table(node: str, made: list[Timing]) -> None:
    times: list[datetime] = [BEGIN + timedelta(seconds=n) for n in range(len(made))]
    columns = ("run", "comm", "seq", "op", "bytes", "ts", "rank", "node", "gpu", "duration_us")
    rows = [
        ("job-1", "dp-0", n, t.op, t.bytes, time.isoformat(), n, node, n % 8, t.us)
        for n, (t, time) in enumerate(zip(made, times, strict=True))
    ]
    text = io.StringIO()
    csv.writer(text).writerows([columns, *rows])
    lines = "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows)
    readout = delivered({"timings.csv": text.getvalue(), "timings.jsonl": lines})
    assert formats(readout) == {"fabric_collectives"}
    expected = Counter(
        ("job-1", "dp-0", n, t.op, t.bytes, time, n, node, n % 8, t.us)
        for n, (t, time) in enumerate(zip(made, times, strict=True))
    )
    names = ("run", "communicator", "seq", "op", "bytes", "ts", "rank", "node", "gpu", "duration_us")  # fmt: skip
    assert _told(readout, "timings.csv", *names) == expected
    assert _told(readout, "timings.jsonl", *names) == expected
