"""Reader of nccl-tests and rccl-tests output: `all_reduce_perf` and its sisters, any release.

Every header line opens a run; every row gives one timing per variant. Comparing runs and judging a
bandwidth belong to `detect.sweeps`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

from fabric_pipeline.model.records import (
    CollectiveTiming,
    FabricEvent,
    ReadResult,
    RejectedLine,
    Run,
    UnknownFact,
)
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.collectives import nccl_json
from fabric_pipeline.sources.collectives.line_tags import clipped, plain, untagged
from fabric_pipeline.sources.collectives.nccl_rows import (
    Device,
    Layout,
    Row,
    is_consistent,
    looks_like_row,
    parse_device,
    parse_header,
    parse_row,
)
from fabric_pipeline.sources.collectives.run_names import run_name

_PROGRAM = re.compile(
    r"(all_reduce|all_gather|reduce_scatter|alltoallv|alltoall|broadcast|reduce|scatter|gather"
    r"|sendrecv|hypercube)_perf\b"
)
_SETTINGS = re.compile(r"#\s{0,9}nThreads?\s{1,9}\d{1,6}\s.{0,200}?maxBytes\s{1,9}(\d{1,18})")
_FOOTER = re.compile(r"Avg bus bandwidth\s{0,9}:\s{0,9}([\d.eE+-]{1,20})")
_BOUNDS = re.compile(r"Out of bounds values\s{0,9}:\s{0,9}(\d{1,12})\s{0,9}(OK|FAILED)?")
_WARNING = re.compile(r"\bNCCL WARN\b.{0,400}")
_FAILURE = re.compile(r"Test (?:NCCL |CUDA )?failure\b.{0,300}|\bTest timeout \(.{0,200}")
_TIMEOUTS = re.compile(r"Network Summary:\s{0,9}(\d{1,12}) network timeouts?")


@dataclass(slots=True)
class _Sweep:
    """One run while it is being read."""

    name: str
    op: str
    layout: Layout
    devices: list[Device]
    max_bytes: int | None
    first_line: int
    rows: int = 0
    last: Row | None = None
    avg_busbw_gbs: float | None = None
    out_of_bounds: str = ""
    wrong_values: int = 0
    wrong_line: int = 0
    best_busbw_gbs: float = 0.0
    largest: dict[str, float | None] = field(default_factory=dict)


class NcclTestsReader:
    """Reads `nccl_tests` files; yields timings, runs with their nodes, and warning events."""

    format_id: ClassVar[str] = "nccl_tests"
    version: ClassVar[str] = "2"
    yields: ClassVar[frozenset[str]] = frozenset({"timings", "runs", "events"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="nccl-tests and rccl-tests, table and -J",
        versions="not stated; columns error (old) and #wrong (new), the first release in ms",
        recognised_by="the header line with size, count and type, result rows, or the JSON report",
        gives=(
            "time and bus bandwidth of each size and variant, the runs with their nodes and GPUs,"
            " NCCL warnings, wrong results"
        ),
        traps=(
            "A row is the time of all ranks together: it names no slow rank and no link.",
            "Only the JSON report with per-iteration times tells ranks apart.",
            "The dump of the environment in the JSON report is never read.",
            "The old column error is a rounding difference, not a count of wrong values.",
            "Sizes that were asked for and are missing are unknown.",
            "No time stamps.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """95 with a table header, less for excerpts that hold only rows, settings or a footer."""
        head = file.head
        if file.is_binary or ("\n" not in head and len(head) > 4000):
            return 0
        if nccl_json.is_report(head):
            return 95
        rows = 0
        best = 0
        for line in head.split("\n")[:20000]:
            text = untagged(line)
            if parse_header(text):
                return 95
            if _SETTINGS.search(text) or _FOOTER.search(text):
                best = 90
            elif rows < 2 and len(text) > 40 and parse_row(text, Layout()):
                rows += 1
        return max(best, (0, 60, 80)[rows])

    def read(self, file: SourceFile) -> ReadResult:
        """All runs of the file; see the module docstring."""
        return _Reading(file).result()


class _Reading:
    """State while the lines of one file go by."""

    def __init__(self, file: SourceFile) -> None:
        self.file = file
        self.out = ReadResult()
        self.sweeps: list[_Sweep] = []
        self.op = ""
        self.devices: dict[int, Device] = {}
        self.max_bytes: int | None = None
        self.in_table = True

    def result(self) -> ReadResult:
        if nccl_json.is_report(self.file.text):
            self._report(self.file.text)
        else:
            for line_number, line in enumerate(self.file.lines, 1):
                self._line(line_number, line)
        for sweep in self.sweeps:
            self._close(sweep)
        self.out.facts["runs"] = [_facts(sweep) for sweep in self.sweeps]
        return self.out

    def _report(self, text: str) -> None:
        """The JSON form: one run, with times per process where they were asked for."""
        program = _PROGRAM.search(text)
        self.op = program.group(1) if program else ""
        self.devices = {device.rank: device for device in nccl_json.devices(text)}
        self.max_bytes = nccl_json.maximum_bytes(text)
        self._open(1, Layout())
        sweep = self.sweeps[0]
        for line_number, row, processes, broken in nccl_json.rows(text):
            if row is None:
                self._reject(line_number, broken, "a result needs a size and a time")
                continue
            for variant, medians in processes:
                self._add_processes(line_number, row, variant, medians)
            self._add_row(line_number, "", row)
        wrong, sweep.avg_busbw_gbs = nccl_json.footer(text)
        if wrong is not None:
            sweep.out_of_bounds = f"{wrong} {'FAILED' if wrong else 'OK'}"
            sweep.wrong_values, sweep.wrong_line = max(sweep.wrong_values, wrong), 1

    def _add_processes(
        self, line_number: int, row: Row, variant: str, medians: list[float]
    ) -> None:
        """What single processes measured, when a process is a rank."""
        sweep = self.sweeps[-1]
        if len(medians) != len(sweep.devices):
            return
        for rank, duration in enumerate(medians):
            timing = CollectiveTiming(line_number, sweep.op, duration, run=sweep.name, rank=rank)
            timing.communicator, timing.seq, timing.bytes = "world", sweep.rows, row.bytes
            timing.ranks, timing.variant = len(medians), f"{variant} iterations"
            timing.node = next((d.node for d in sweep.devices if d.rank == rank), "")
            self.out.timings.append(timing)

    def _line(self, line_number: int, line: str) -> None:
        if not line or line.isspace():
            return
        text = untagged(line)
        if self._preamble(text, line_number, line) or self._event(line_number, text):
            return
        row = self._row(line)
        if row is not None:
            self._add_row(line_number, line, row)
        elif text.strip() in ("...", "…", "[...]") and self.in_table:
            self._unknown("rows of the table", f"line {line_number} stands for rows left out")
        elif self.in_table and looks_like_row(text):
            self._reject(
                line_number, line, "a result row needs size, count and type before the times"
            )

    def _preamble(self, text: str, line_number: int, line: str) -> bool:
        """Everything that is said about a run rather than measured."""
        program = _PROGRAM.search(text) if "_perf" in text else None
        if program:
            self.op = program.group(1)
        if not any(mark in text for mark in ("#", " Pid ", "Avg bus", "Out of bounds")):
            return False
        settings = _SETTINGS.search(text)
        if settings:
            self.devices, self.max_bytes = {}, int(settings.group(1))
            return True
        device = parse_device(plain(line)) or parse_device(text)
        if device:
            if device.rank in self.devices:  # a second list without settings in between
                self.devices = {}
            self.devices[device.rank] = device
            return True
        layout = parse_header(text)
        if layout:
            self._open(line_number, layout)
            return True
        return self._footer(text, line_number)

    def _footer(self, text: str, line_number: int) -> bool:
        bounds, footer = _BOUNDS.search(text), _FOOTER.search(text)
        if not self.sweeps or not (bounds or footer):
            return bool(bounds or footer)
        sweep = self.sweeps[-1]
        if bounds:
            sweep.out_of_bounds = " ".join(bounds.groups("")).strip()
            if int(bounds.group(1)):
                sweep.wrong_values = max(sweep.wrong_values, int(bounds.group(1)))
                sweep.wrong_line = sweep.wrong_line or line_number
        if footer:
            try:
                sweep.avg_busbw_gbs = float(footer.group(1))
            except ValueError:
                self._reject(line_number, text, "the average bus bandwidth is no number")
            self.in_table = False
        return True

    def _event(self, line_number: int, text: str) -> bool:
        """Lines in which the library, the test or the network layer complains."""
        if not any(word in text for word in ("WARN", "ailure", "imeout")):
            return False
        warning = _WARNING.search(text)
        failure = _FAILURE.search(text)
        timeouts = _TIMEOUTS.search(text)
        if timeouts and int(timeouts.group(1)) > 0:
            said = f"the network layer reports {timeouts.group(1)} time-outs for the whole run"
            self._emit(line_number, "nccl_warning", text, said, timeouts=int(timeouts.group(1)))
        elif warning:
            self._emit(line_number, "nccl_warning", text, clipped(warning.group(0)))
        elif failure:
            self._emit(line_number, "nccl_test_failed", text, clipped(failure.group(0)))
        return bool(timeouts or warning or failure)

    def _emit(self, line_number: int, kind: str, text: str, reason: str, **details: Any) -> None:
        run = self.sweeps[-1].name if self.sweeps else ""
        event = FabricEvent(line_number, kind, clipped(text.strip(), 500), reason=reason)
        event.severity = "watch"
        event.details = {"run": run, **details}
        self.out.events.append(event)

    def _row(self, line: str) -> Row | None:
        """The row of a line, by whichever treatment of inner rank tags makes its numbers agree."""
        layout = self.sweeps[-1].layout if self.sweeps else Layout()
        tries = [parse_row(untagged(line, filler), layout) for filler in ("", " ")]
        rows = [row for row in tries if row is not None]
        return next((row for row in rows if is_consistent(row)), rows[0] if rows else None)

    def _add_row(self, line_number: int, line: str, row: Row) -> None:
        sweep = self._current(line_number, row)
        if row.cut:
            self._reject(line_number, line, "the row ends before its last column")
        for block in row.blocks:
            self.out.timings.append(
                CollectiveTiming(
                    line_number,
                    sweep.op,
                    block.duration_us,
                    run=sweep.name,
                    communicator=_group_name(sweep.devices),
                    seq=sweep.rows,
                    bytes=row.bytes,
                    ranks=_rank_count(sweep.devices),
                    node=_only_node(sweep.devices),
                    busbw_gbs=block.busbw_gbs,
                    variant=block.variant,
                )
            )
            if block.wrong:
                sweep.wrong_values += block.wrong
                sweep.wrong_line = sweep.wrong_line or line_number
            sweep.best_busbw_gbs = max(sweep.best_busbw_gbs, block.busbw_gbs or 0.0)
        if sweep.last is None or row.bytes >= sweep.last.bytes:
            sweep.largest = {b.variant: b.busbw_gbs for b in row.blocks}
        sweep.rows += 1
        sweep.last = row

    def _current(self, line_number: int, row: Row) -> _Sweep:
        """The run a row belongs to; sizes that start again without a header open a new one."""
        last = self.sweeps[-1] if self.sweeps else None
        if last is None or (last.last is not None and row.bytes < last.last.bytes):
            self._open(line_number, last.layout if last else Layout())
        return self.sweeps[-1]

    def _open(self, line_number: int, layout: Layout) -> None:
        name = run_name(self.file, "nccl_tests", len(self.sweeps) + 1)
        self.sweeps.append(
            _Sweep(name, self.op, layout, list(self.devices.values()), self.max_bytes, line_number)
        )
        self.in_table = True

    def _close(self, sweep: _Sweep) -> None:
        """What is known about a run once the whole file was seen."""
        nodes = list(dict.fromkeys(device.node for device in sweep.devices))
        self.out.runs.append(Run(sweep.name, nodes))
        if sweep.devices and _rank_count(sweep.devices) is None:
            self._unknown("ranks of the run", f"{sweep.name}: the list of devices is incomplete")
        if not sweep.rows:
            self._unknown("bus bandwidth", f"{sweep.name}: a table header without any row")
        elif sweep.max_bytes and sweep.last and sweep.last.bytes < sweep.max_bytes:
            said = f"{sweep.name} ends at {sweep.last.bytes} of {sweep.max_bytes} bytes"
            self._unknown("larger message sizes", said)
        if sweep.wrong_values:
            said = f"{sweep.wrong_values} values arrived wrong"
            self._emit(sweep.wrong_line, "nccl_wrong_results", said, said)
            event = self.out.events[-1]
            event.role, event.severity, event.node = "cause", "warning", _only_node(sweep.devices)
            event.details = {"run": sweep.name, "wrong_values": sweep.wrong_values}

    def _reject(self, line_number: int, line: str, rule: str) -> None:
        self.out.rejected.append(RejectedLine(line_number, clipped(line.strip()), rule))

    def _unknown(self, what: str, reason: str) -> None:
        self.out.unknown.append(UnknownFact("", "", what, reason))


def _rank_count(devices: list[Device]) -> int | None:
    """Number of ranks if the list names every rank from 0 on, else None."""
    ranks = {device.rank for device in devices}
    return len(ranks) if ranks and ranks == set(range(len(ranks))) else None


def _group_name(devices: list[Device]) -> str:
    """`world` and the GPU product, so that runs on unlike hardware are never compared."""
    names = {device.name for device in devices}
    return f"world of {names.pop()}" if len(names) == 1 and "" not in names else "world"


def _only_node(devices: list[Device]) -> str:
    nodes = {device.node for device in devices}
    return nodes.pop() if len(nodes) == 1 else ""


def _facts(sweep: _Sweep) -> dict[str, Any]:
    largest = sweep.last.bytes if sweep.last else None
    return {
        "run": sweep.name,
        "collective": sweep.op or "not stated",
        "ranks": _rank_count(sweep.devices),
        "nodes": list(dict.fromkeys(device.node for device in sweep.devices)),
        "devices": [f"rank {d.rank} {d.node} {d.device} [{d.bus}]" for d in sweep.devices[:64]],
        "gpus": sorted({device.name for device in sweep.devices if device.name}),
        "sizes": sweep.rows,
        "largest_bytes": largest,
        "busbw_gbs_at_largest": sweep.largest,
        "best_busbw_gbs": sweep.best_busbw_gbs,
        "avg_busbw_gbs": sweep.avg_busbw_gbs,
        "out_of_bounds": sweep.out_of_bounds,
        "first_line": sweep.first_line,
    }
