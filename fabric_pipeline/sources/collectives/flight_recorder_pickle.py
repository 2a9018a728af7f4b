"""Reader of PyTorch NCCL flight-recorder dumps as PyTorch writes them (`TORCH_NCCL_DUMP_ON_TIMEOUT`): pickled.

The pickle is never run: `plain_pickle` takes plain data out of it or refuses it. What the dump says is
read by the same rules as its JSON form.
"""

from __future__ import annotations

from typing import ClassVar

from fabric_pipeline.model.records import ReadResult, RejectedLine
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.collectives.flight_recorder import add_dump
from fabric_pipeline.sources.collectives.plain_pickle import MAX_BYTES, NotPlainError, plain_data

# Protocols 2 to 5 (PyTorch writes 2), and a table as protocols 0 and 1 begin.
STARTS = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"(dp0\n", b"}q\x00")
_KEYS = (
    "pg_config",
    "pg_status",
    "collective_seq_id",
    "profiling_name",
    "time_discovered_completed_ns",
    "nccl_comm_state",
)
_ENOUGH = 2


class FlightRecorderPickleReader:
    """Reads `torch_flight_recorder_pickle` files; yields what the JSON form would."""

    format_id: ClassVar[str] = "torch_flight_recorder_pickle"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"timings", "events"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="PyTorch NCCL flight recorder, as PyTorch writes it (pickled)",
        versions="not stated",
        recognised_by="the start of a pickle and two of the dump's own keys in its head",
        gives=(
            "the same as the JSON form: durations of completed collectives where stated, and how "
            "far each process group had come"
        ),
        traps=(
            (
                "A pickle is a program; it is never run, and plain data is taken out of it code "
                "by code."
            ),
            (
                "A dump that names a class or function, calls one or refers to something outside "
                "is refused whole."
            ),
            "Dumps above 64 MiB are refused; drop them as JSON.",
            (
                "The discovered start and end are when a watchdog looked; only duration_ms counts"
                " as a duration."
            ),
            "A pickle has no lines, so line 1 stands for all of it.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """95 for a pickle with two of the dump's own keys in its head."""
        if not any(map(file.starts_with, STARTS)):
            return 0
        return 95 if sum(key in file.head for key in _KEYS) >= _ENOUGH else 0

    def read(self, file: SourceFile) -> ReadResult:
        """All entries, or one refusal for the whole file; a pickle has no lines, so line 1 stands for it."""
        out = ReadResult()
        try:
            with file.path.open("rb") as handle:
                value = plain_data(handle.read(MAX_BYTES + 1))
        except NotPlainError as refusal:
            out.rejected.append(RejectedLine(None, "", str(refusal)))
            return out
        if not isinstance(value, dict) or not isinstance(value.get("entries"), list):
            rule = "a dump is one table with a list of entries; this pickle is none"
            out.rejected.append(RejectedLine(None, "", rule))
            return out
        add_dump(out, file, value, 1)
        return out
