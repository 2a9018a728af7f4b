"""Reader of `dcgmi nvlink -e -j`: the error counts of each link as JSON, values as texts.

A typed command may stand in front and several documents may follow each other.
"""

from __future__ import annotations

import re
from typing import ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.dcgmi.error_records import CountRow, add_count
from fabric_pipeline.sources.nvidia_smi.captures import selected_gpu
from fabric_pipeline.sources.nvidia_smi.located_json import Document, Path, located_documents

_GPU = re.compile(r"^GPU(?: ID)?\s*:?\s*(\d{1,4})$", re.I)
_LINK = re.compile(r"^Link\s+(\d{1,3})$", re.I)


class DcgmiNvlinkErrorsJsonReader:
    """The JSON form of the error table of one GPU."""

    format_id: ClassVar[str] = "dcgmi_nvlink_errors_json"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="dcgmi nvlink -e -j",
        versions="DCGM 3.1.8, others not stated",
        recognised_by="JSON with the title `NVLINK Error Counts`, or links with children and counters in a body",
        gives="CRC flit, CRC data, replay and recovery counts of each link of a GPU",
        traps=(
            "Values are texts; an empty one is not measured.",
            (
                "The GPU stands in the header behind the body; a cut document takes it from the "
                "typed command or leaves it unknown."
            ),
            "Counts of a whole GPU are sums that never name a link.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with title and braces; likely with links, children and a counter alone."""
        head = file.head
        if file.is_binary or "{" not in head:
            return 0
        if re.search(r'"NVLINK Error Counts"', head, re.I):
            return 92
        cut = all(words in head for words in ('"children"', '"Link ', ' Error"'))
        return 80 if cut and '"body"' in head else 0

    def read(self, file: SourceFile) -> ReadResult:
        """Cumulative readings a link, each with its line."""
        result = ReadResult()
        for document in located_documents(file):
            _read(document, result)
            result.rejected.extend(document.refused())
        return result


def _read(document: Document, result: ReadResult) -> None:
    gpu = _header_gpu(document)
    for leaf in document.leaves:
        if leaf.path[0] == "header" or leaf.path[-1] != "value" or len(leaf.path) < 2:
            continue
        own = _number(leaf.path, _GPU)
        add_count(
            CountRow(
                line=leaf.line,
                gpu=gpu if own is None else own,
                link=_number(leaf.path, _LINK),
                words=str(leaf.path[-2]),
                value="N/A" if leaf.value in (None, "") else str(leaf.value),
                node=document.node,
                time=document.time,
            ),
            result,
        )


def _header_gpu(document: Document) -> int | None:
    """The GPU that the header names, which stands behind the body; else the one asked for."""
    for leaf in document.leaves:
        found = _GPU.match(str(leaf.value)) if leaf.path[0] == "header" else None
        if found:
            return int(found[1])
    return selected_gpu(document.command)


def _number(path: Path, pattern: re.Pattern[str]) -> int | None:
    for part in path:
        found = pattern.match(part) if isinstance(part, str) else None
        if found:
            return int(found[1])
    return None
