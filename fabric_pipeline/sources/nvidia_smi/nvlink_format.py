"""Telling the four nvlink listings apart by their rows, and the common way to read one.

Error counters win over states, states over maps, maps over flags: a file is what it measures.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.nvidia_smi.nvlink_capture import read_capture
from fabric_pipeline.sources.nvidia_smi.nvlink_gaps import unknown_parts

_WORTH_A_LOOK = re.compile(r"\bLinks?\s+\d|links are in-?active|nvlink", re.I)


@dataclass(frozen=True, slots=True)
class RowMixture:
    """How many rows of each kind the head of a file holds; `confidence` is a detection score."""

    counters: int = 0
    states: int = 0
    remotes: int = 0
    capabilities: int = 0
    confidence: int = 0


def row_mixture(file: SourceFile) -> RowMixture:
    """Count the rows in the file's head, once for all four readers; a file without any scores nothing."""
    mixture = file.seen.get("nvlink rows")
    if not isinstance(mixture, RowMixture):
        mixture = file.seen["nvlink rows"] = _counted_rows(file)
    return mixture


def _counted_rows(file: SourceFile) -> RowMixture:
    if file.is_binary or not _WORTH_A_LOOK.search(file.head):
        return RowMixture()
    capture = read_capture(file, head_only=True)
    kinds = capture.kinds
    named = any(block.gpu is not None for block in capture.blocks)
    return RowMixture(
        counters=kinds["counter"] + kinds["clean"],
        states=kinds["speed"] + kinds["state"] + kinds["sentence"],
        remotes=kinds["remote"],
        capabilities=kinds["capability"],
        confidence=90 if named else 55,
    )


def read_listing(file: SourceFile) -> ReadResult:
    """Read the whole file: readings, events, topology, facts and what the listing leaves out."""
    capture = read_capture(file)
    result = capture.result
    result.unknown.extend(unknown_parts(capture))
    result.topology = capture.topology()
    result.facts.update(capture.facts())
    return result
