"""Reader of the table of `dcgmi diag`: tests with their results, and warnings below them.

What a result means is the same as in the JSON form and told by `diag_json`. Older versions name the
GPUs behind the status, newer ones print one row for each GPU.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.dcgmi.diag_json import DiagResult, tell
from fabric_pipeline.sources.dcgmi.tables import TableRow, table_rows
from fabric_pipeline.sources.nvidia_smi.located_json import Document

_STATUS = re.compile(
    r"^(?P<word>Pass|Fail|Skip|Warn|Not Run)\b(?:\s?-\s?(?:GPUs?:? ?(?P<gpus>[0-9, ]{1,400})|All))?$",
    re.IGNORECASE,
)
_GPU_STATUS = re.compile(r"^GPU ?(?P<gpu>[0-9]{1,4}): (?P<word>Pass|Fail|Skip|Warn|Not Run)$", re.I)
_REMARK = re.compile(
    r"^(?P<kind>Warning|Info|Error)s?(?:: ?GPU ?(?P<gpu>[0-9]{1,4}))?$", re.IGNORECASE
)


@dataclass(slots=True)
class _Test:
    name: str
    row: TableRow
    whole: DiagResult
    by_gpu: list[DiagResult] = field(default_factory=list)
    open_text: list[tuple[int, str]] | None = None


class DcgmiDiagTextReader:
    """Test results of the diagnostic's table; failures of interconnect tests become events."""

    format_id: ClassVar[str] = "dcgmi_diag_text"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="dcgmi diag",
        versions="tables of DCGM 3.3.7 and of 4.x",
        recognised_by="the table heading with the cells `Diagnostic` and `Result`",
        gives=(
            "passed tests of PCIe and NVLink as link states, failed ones as events with the link "
            "they name"
        ),
        traps=(
            "Skip is not measured; it is no pass.",
            "`Pass - All` does not say which GPUs there are.",
            "Tests of memory, power or settings say nothing of a link.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Likely with the heading of the table; counters and states beside it are worth more."""
        if file.is_binary or "Diagnostic" not in file.head:
            return 0
        found = any(
            row.left == "Diagnostic" and row.right == "Result"
            for row in table_rows(file, head_only=True)
        )
        return 65 if found else 0

    def read(self, file: SourceFile) -> ReadResult:
        """A reading for each passed interconnect test, an event for each failed one."""
        result, counts = ReadResult(), dict[str, int]()
        for test in _tests(file):
            line = test.row.line
            document = Document(line.number, node=line.node, time=line.time, command=line.command)
            for outcome in test.by_gpu or [test.whole]:
                counts[outcome.status] = counts.get(outcome.status, 0) + 1
                tell(test.name, outcome, document, result)
        result.facts["diagnostic_results"] = counts
        return result


def _tests(file: SourceFile) -> list[_Test]:
    tests: list[_Test] = []
    for row in table_rows(file):
        remark = _REMARK.match(row.left)
        if remark and tests:
            _remark(tests[-1], row, remark)
        elif row.left == "" and tests:
            _continued(tests[-1], row)
        elif row.left and (found := _STATUS.match(row.right)):
            outcome = _outcome(row, found["word"], found["gpus"] or "")
            tests.append(_Test(row.left, row, outcome))
    return tests


def _outcome(row: TableRow, status: str, gpus: str) -> DiagResult:
    numbers = [int(number) for number in re.findall(r"[0-9]{1,4}", gpus)]
    return DiagResult(row.line.number, status=status, gpus=numbers)


def _remark(test: _Test, row: TableRow, found: re.Match[str]) -> None:
    test.open_text = None
    if found["kind"].lower() == "info" or not row.right:
        return
    outcome = test.whole
    if found["gpu"]:
        gpu = int(found["gpu"])
        outcome = next((one for one in test.by_gpu if one.gpus == [gpu]), outcome)
    outcome.texts.append((row.line.number, row.right))
    test.open_text = outcome.texts


def _continued(test: _Test, row: TableRow) -> None:
    if found := _GPU_STATUS.match(row.right):
        test.by_gpu.append(_outcome(row, found["word"], found["gpu"]))
        test.open_text = None
    elif test.open_text:
        line, text = test.open_text[-1]
        test.open_text[-1] = (line, f"{text} {row.right}"[:2000])
