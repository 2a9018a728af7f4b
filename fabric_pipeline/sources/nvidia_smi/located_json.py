"""JSON whose values keep their line numbers, read as far as it goes.

`json` of the standard library gives no lines and nothing at all for a cut document; evidence needs
the first and saved terminals bring the second. Only what leaves a document holds is returned.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from fabric_pipeline.model.records import RejectedLine
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.nvidia_smi.captures import captured_lines

MAX_DEPTH = 64
MAX_LEAVES = 500_000
MAX_FRAGMENT = 200

_SPACE = re.compile(r"\s*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.S)
_WORD = re.compile(r"[^\s{}\[\],:\"]{1,400}")

JsonValue = str | int | float | bool | None
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value with the keys and list positions that lead to it, and its 1-based line."""

    path: Path
    value: JsonValue
    line: int


@dataclass(slots=True)
class Document:
    """One JSON value of a file: leaves in file order, where it begins, and what broke it.

    `problem` is "" for a whole document, else `fragment` is the text it broke at. `node`, `time`
    and `command` come from what surrounds it.
    """

    line: int
    leaves: list[Leaf] = field(default_factory=list)
    problem: str = ""
    last_line: int = 0
    fragment: str = ""
    node: str = ""
    time: datetime | None = None
    command: str = ""

    def refused(self) -> list[RejectedLine]:
        """The place where the document broke, as a refused line; empty for a whole document."""
        return [RejectedLine(self.last_line, self.fragment, self.problem)] if self.problem else []


@dataclass(slots=True)
class _Level:
    key: str | int | None


def located_documents(file: SourceFile) -> Iterator[Document]:
    """Every JSON object or array of the file, with prompts and other text between them skipped."""
    text = file.text
    around = {line.number: line for line in captured_lines(file)}
    position, line = 0, 1
    while True:
        start = _next_start(text, position)
        if start < 0:
            return
        line += text.count("\n", position, start)
        reader = _Reader(text, start, line)
        reader.run()
        document = reader.document
        context = around.get(document.line)
        if context is not None:
            document.node, document.time, document.command = (
                context.node,
                context.time,
                context.command,
            )
        yield document
        position, line = reader.position, reader.line


def _next_start(text: str, position: int) -> int:
    """Offset of the next line that begins with a bracket (after blanks), or of one behind text."""
    found = re.compile(r"^[ \t]*[{\[](?=\s*[\"{\[\]}])", re.M).search(text, position)
    return -1 if found is None else found.end() - 1


class _Reader:
    """Walks one document token by token."""

    def __init__(self, text: str, start: int, line: int) -> None:
        self.text = text
        self.position = start
        self.line = line
        self.levels: list[_Level] = []
        self.document = Document(line, last_line=line)

    def run(self) -> None:
        while self._step():
            pass
        self.document.last_line = self.line
        if self.position >= len(self.text):  # line feeds at the end begin no line of the document
            self.document.last_line -= self.text.count("\n", len(self.text.rstrip()))

    def _fail(self, problem: str) -> bool:
        self.document.problem = problem
        begin = self.text.rfind("\n", 0, self.position) + 1
        self.document.fragment = self.text[begin : self.position + MAX_FRAGMENT][:MAX_FRAGMENT]
        self.position += 1
        return False

    def _advance(self, end: int) -> None:
        self.line += self.text.count("\n", self.position, end)
        self.position = end

    def _step(self) -> bool:
        space = _SPACE.match(self.text, self.position)
        if space is not None:
            self._advance(space.end())
        if self.position >= len(self.text):
            return self._fail("the JSON ends before its last bracket")
        mark = self.text[self.position]
        if mark in "{[":
            return self._open(mark)
        if mark in "}]":
            self.levels.pop()
            self.position += 1
            return bool(self.levels)
        if mark in ",:":
            self._separate(mark)
            return True
        return self._scalar(mark)

    def _open(self, mark: str) -> bool:
        if len(self.levels) >= MAX_DEPTH:
            return self._fail("the JSON is nested too deeply")
        self.levels.append(_Level(None if mark == "{" else 0))
        self.position += 1
        return True

    def _separate(self, mark: str) -> None:
        self.position += 1
        if mark == "," and self.levels:
            key = self.levels[-1].key
            self.levels[-1].key = key + 1 if isinstance(key, int) else None

    def _scalar(self, mark: str) -> bool:
        found = (_STRING if mark == '"' else _WORD).match(self.text, self.position)
        if found is None:
            return self._fail("a text in the JSON has no closing quote")
        try:
            value: JsonValue = json.loads(found[0], strict=False)
        except (ValueError, RecursionError):
            return self._fail(f"{found[0][:40]!r} is no JSON value")
        line = self.line
        self._advance(found.end())
        if self.levels[-1].key is None:
            self.levels[-1].key = str(value)
        elif len(self.document.leaves) >= MAX_LEAVES:
            return self._fail("the JSON holds more values than are read")
        else:
            path = tuple(level.key for level in self.levels if level.key is not None)
            self.document.leaves.append(Leaf(path, value, line))
        return True
