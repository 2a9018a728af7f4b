"""Lines of captured terminal output: colour codes, over-long lines, typed commands with prompts.

Used by the readers of line-oriented tools. What a line means is the business of each reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fabric_pipeline.model.records import MAX_TEXT, ReadResult, RejectedLine
from fabric_pipeline.sources.base import SourceFile

MAX_LINE = 4000  # no tool read here prints a longer line; longer ones are damage or another format

_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,30}[A-Za-z]")
_PROMPT_END = re.compile(r"[#$%>]\s*(?:sudo\s+(?:-\w+\s+)?)?(?:/[\w./-]{0,120}/)?$")
_USER_HOST = re.compile(r"[\w.-]{1,64}@([\w.-]{1,64})")


@dataclass(frozen=True, slots=True)
class TypedCommand:
    """A command line that stands above its output; `host` is "" when the prompt names none."""

    host: str
    arguments: str


def clean(line: str) -> str:
    """The line without colour codes, carriage returns and trailing blanks."""
    if "\x1b" in line:
        line = _COLOUR.sub("", line)
    return line.rstrip()


def head_lines(file: SourceFile) -> list[str]:
    """Cleaned lines of the head of a text file, made once for all readers; none for binary files."""
    lines = file.seen.get("clean lines")
    if not isinstance(lines, list):
        found = [] if file.is_binary else file.head.split("\n")
        lines = file.seen["clean lines"] = [clean(line) for line in found if len(line) <= MAX_LINE]
    return lines


def count_hits(file: SourceFile, pattern: re.Pattern[str], enough: int = 10) -> int:
    """How many lines of the head begin with the pattern, counted up to `enough`."""
    hits = 0
    for line in head_lines(file):
        if pattern.match(line):
            hits += 1
            if hits >= enough:
                break
    return hits


def body_lines(file: SourceFile, result: ReadResult) -> Iterator[tuple[int, str]]:
    """Numbered, cleaned lines of the whole file; over-long ones go to `result.rejected`."""
    if file.is_binary:
        reject(result, None, "", "the file is binary, not the text output of a tool")
        return
    for number, line in enumerate(file.lines, 1):
        if len(line) > MAX_LINE:
            reject(result, number, line, f"the line is longer than {MAX_LINE} characters")
        else:
            yield number, clean(line)


def stamped(result: ReadResult, file: SourceFile) -> ReadResult:
    """The result with the capture's time, where one is known and a reading has none of its own."""
    for reading in result.readings:
        if reading.time is None:
            reading.time = file.hints.time
    return result


def reject(result: ReadResult, line: int | None, text: str, rule: str) -> None:
    """Keep a line that belongs to the format and cannot be read."""
    result.rejected.append(RejectedLine(line, text[:MAX_TEXT], rule))


def typed_command(line: str, tool: str) -> TypedCommand | None:
    """The command line `... $ tool arguments`, or None when the line is no call of the tool."""
    before, found, after = line.partition(tool)
    if not found or (after and not after[0].isspace()):
        return None
    if before.strip() and not _PROMPT_END.search(before[-200:]):
        return None
    host = _USER_HOST.search(before[:200])
    return TypedCommand(host.group(1).partition(".")[0] if host else "", after.strip())
