"""Elements of the XML files that NCCL writes and reads, with the line of each.

NCCL uses plain elements and attributes only. Whatever else XML allows is refused or ignored: entities
and document types never occur, and a cut file is read up to the cut. What the elements mean is decided
by the readers of topology and graph files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from fabric_pipeline.model.records import MAX_TEXT, ReadResult, RejectedLine, UnknownFact
from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.collectives.line_tags import clipped

# NCCL holds at most some thousand elements (`xml.h`, MAX_NODES) with short attributes.
MAX_XML_BYTES = 4 * 1024 * 1024
MAX_ATTRIBUTE = 300  # characters kept of one value; NCCL itself keeps 255
_DECLARATION = re.compile(r"<!(?:DOCTYPE|ENTITY)\b", re.IGNORECASE)
_NUMBER = re.compile(r"-?[0-9]{1,18}")
# What may stand before the root: blank space, an XML declaration, comments, a typed command.
_LEAD_CHARACTERS = 4000


@dataclass(slots=True, eq=False)
class Element:
    """One element: its name, attributes as written, line (1-based), parent and children."""

    name: str
    attributes: dict[str, str]
    line: int
    parent: Element | None = field(default=None, repr=False)
    children: list[Element] = field(default_factory=list, repr=False)

    def text(self, name: str) -> str:
        """An attribute without blanks around it, "" when it is missing."""
        return self.attributes.get(name, "").strip()

    def number(self, name: str) -> int | None:
        """An attribute that is a whole number, else None."""
        text = self.text(name)
        return int(text) if _NUMBER.fullmatch(text) else None

    def inside(self, *names: str) -> Iterator[Element]:
        """Children with one of these names."""
        return (child for child in self.children if child.name in names)

    def walk(self) -> Iterator[Element]:
        """The element itself and all below it, in the order of the file."""
        pending = [self]
        while pending:
            element = pending.pop()
            yield element
            pending.extend(reversed(element.children))


def stands_first(head: str, root: str) -> bool:
    """True when the root element is the first element of the text, at most a command before it."""
    found = re.search(rf"<{root}(?=[\s>/])", head[: _LEAD_CHARACTERS + len(root) + 2])
    if found is None:
        return False
    before = re.sub(r"<\?[^<>]{0,200}\?>|<!--.{0,4000}?-->", "", head[: found.start()], flags=re.S)
    return "<" not in before and before.count("\n") <= 20


def read_root(file: SourceFile, root: str, result: ReadResult) -> Element | None:
    """The root element with everything that could be read below it; None when there is nothing.

    Refused files, a second document behind the first and the place of a cut go to `result`.
    """
    size = file.path.stat().st_size
    if size > MAX_XML_BYTES:
        rule = f"file has {size} bytes, more than the {MAX_XML_BYTES} such a file may have"
        result.rejected.append(RejectedLine(None, "", rule))
        return None
    text = file.text
    declared = _DECLARATION.search(text)
    if declared:
        rule = "file declares a document type or an entity, which NCCL never writes; it is not read"
        result.rejected.append(_refusal(text, declared.start(), rule))
        return None
    start = re.search(rf"<{root}(?=[\s>/])", text)
    if start is None:
        result.rejected.append(RejectedLine(None, "", f"no element <{root}> in the file"))
        return None
    walk = _Walk(text.count("\n", 0, start.start()))
    rest = walk.parse(text[start.start() :])
    _tell_problem(walk, file, result)
    again = re.search(rf"<{root}(?=[\s>/])", rest)
    if again:
        rule = "a second document may be of another host; put it into a file of its own"
        result.rejected.append(_refusal(text, len(text) - len(rest) + again.start(), rule))
    return walk.root


class _Walk:
    """Builds the tree of one document; `problem` says why it ended early, "" when it did not."""

    def __init__(self, lines_before: int) -> None:
        self.root: Element | None = None
        self.problem = ""
        self.last_line = lines_before + 1
        self._before = lines_before
        self._open: list[Element] = []
        self._end_byte: int | None = None
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end

    def parse(self, text: str) -> str:
        """Read one document and return what stands behind it; other text there is no problem."""
        data = text.encode("utf-8", errors="replace")
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as problem:
            if self._end_byte is None:
                self.problem = expat.errors.messages[problem.code]
        self.last_line = self._before + self._parser.ErrorLineNumber
        return "" if self._end_byte is None else data[self._end_byte :].decode()

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        parent = self._open[-1] if self._open else None
        kept = {key: clipped(value, MAX_ATTRIBUTE) for key, value in attributes.items()}
        element = Element(name, kept, self._before + self._parser.CurrentLineNumber, parent)
        if parent is None:
            self.root = element
        else:
            parent.children.append(element)
        self._open.append(element)

    def _end(self, _name: str) -> None:
        self._open.pop()
        if not self._open:
            self._end_byte = self._parser.CurrentByteIndex


def _tell_problem(walk: _Walk, file: SourceFile, result: ReadResult) -> None:
    if not walk.problem:
        return
    line = min(walk.last_line, max(1, len(file.lines)))  # a cut file ends behind its last line
    shown = file.lines[line - 1] if 0 < line <= len(file.lines) else ""
    rule = f"the XML cannot be read from here on ({walk.problem})"
    result.rejected.append(RejectedLine(line, clipped(shown), rule))
    reason = f"the file is cut or damaged at line {line}"
    result.unknown.append(UnknownFact(file.hints.node, "", "rest of the file", reason))


def _refusal(text: str, position: int, rule: str) -> RejectedLine:
    line = text[position : position + MAX_TEXT].split("\n", 1)[0]
    return RejectedLine(text.count("\n", 0, position) + 1, clipped(line.rstrip("\r")), rule)
