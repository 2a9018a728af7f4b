"""A strict, fast parser of Prometheus text lines: `name{label="value",...} number [time]`.

It knows the grammar only: what a metric means belongs to the readers beside it. A line that
belongs to the format and cannot be read is kept with the rule it breaks; any other line (shell
prompts, progress bars, prose) is only counted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from fabric_pipeline.model.records import MAX_TEXT, RejectedLine

MAX_LINE = 65536  # characters; a scrape line of the known exporters stays below 2,000

_MAX_LABELS = 200_000  # label texts that are remembered; more are parsed again
_NAME = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]{0,300}+(?=[{ \t])")
# A known metric behind something foreign: line numbers of grep, log prefixes, quote marks of a mail.
_EMBEDDED = re.compile(r"(?<![A-Za-z0-9_])(?:DCGM|dcgm|node|nccl)_[A-Za-z0-9_]{1,200}+(?=[{ \t])")
_FAMILY = re.compile(r"(?:DCGM_|dcgm_|node_|nccl_)")
_QUOTED = re.compile(r'"((?:[^"\\]++|\\.)*+)"')
_ESCAPE = re.compile(r"\\(.)")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,200}")
_ELLIPSIS = re.compile(r"(?:^|,)[ \t]*(?:\.\.\.|…)[ \t]*(?=,|$)")
# Colour codes of grep; pasted text has often lost the escape character in front.
_COLOUR = re.compile(r"\x1b?\[(?:[0-9;]{0,20}m|[0-9]?K)")
_ELIDED = frozenset({"...", "…", "[...]", "[…]"})
_NOT_MEASURED = frozenset({"n/a", "na", "nan", "-", "null", "none"})
_ESCAPED = str.maketrans({"\n": "\\n", '"': '\\"', "\\": "\\\\"})
_NEWLINES = {"n": "\n", '"': '"', "\\": "\\"}


class Sample(NamedTuple):
    """One value of one series.

    `labels` is shared between samples with the same label text: read it, never change it. `value`
    is NaN when the text says that nothing was measured. `time_text` is the stamp as it stood.
    """

    line: int | None
    name: str
    label_text: str
    labels: dict[str, str]
    value: float
    value_text: str
    time_text: str


class BrokenLineError(ValueError):
    """A line of the format that breaks its grammar; the message is the rule in words."""


def parse_labels(text: str) -> dict[str, str]:
    """Labels of the text between the braces; raises `BrokenLineError`.

    Blanks around names and commas and one comma at the end are allowed, as exporters print them.
    """
    parts = _cut_at_quotes(text)
    labels: dict[str, str] = {}
    for index in range(0, len(parts) - 1, 2):
        name = _label_name(parts[index], index == 0)
        if name in labels:
            raise BrokenLineError(f"the label {name} stands twice")
        labels[name] = parts[index + 1]
    if parts[-1] and _ELLIPSIS.sub("", parts[-1]).strip() not in ("", ","):
        raise BrokenLineError("text stands behind the last label value")
    return labels


def label_text(labels: Mapping[str, str]) -> str:
    """The text that `parse_labels` reads back as these labels."""
    return ",".join(f'{name}="{value.translate(_ESCAPED)}"' for name, value in labels.items())


@lru_cache(maxsize=4096)
def _label_name(segment: str, first: bool) -> str:
    """The name in the text before a value: `gpu=`, `, gpu_uuid=`."""
    key = _ELLIPSIS.sub("", segment).strip()
    if not first:
        if not key.startswith(","):
            raise BrokenLineError("a comma must stand between two labels")
        key = key[1:].lstrip()
    name = key[:-1].rstrip()
    if not key.endswith("=") or not _KEY.fullmatch(name):
        raise BrokenLineError('a label must read name="value"')
    return name


def parse_value(text: str) -> float:
    """The number of a sample, NaN for words such as N/A; raises `BrokenLineError`."""
    if text.lower() in _NOT_MEASURED:
        return math.nan
    try:
        value = float(text)
    except ValueError:
        raise BrokenLineError("the value is not a number") from None
    if "_" in text or not text.isascii():  # Python would read 1_0 and other digits
        raise BrokenLineError("the value is not a number")
    return value


def parse_time(text: str) -> datetime | None:
    """A stamp in milliseconds (Prometheus) or seconds (OpenMetrics) as UTC, else None.

    1e11 parts the two: as milliseconds it is the year 1973, as seconds the year 5138.
    """
    try:
        stamp = float(text)
        return datetime.fromtimestamp(stamp if abs(stamp) < 1e11 else stamp / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


class Exposition:
    """Parses the lines of one file and remembers what was refused.

    `rejected` holds broken lines, `foreign_lines` counts lines of something else, `elided_lines`
    names lines where an ellipsis stands for text that was left out.
    """

    def __init__(self) -> None:
        self.rejected: list[RejectedLine] = []
        self.foreign_lines = 0
        self.elided_lines: list[int] = []
        self._labels: dict[str, dict[str, str]] = {"": {}}
        self._names: set[str] = set()

    def samples(self, lines: list[str]) -> Iterator[Sample]:
        """Every sample in file order; `lines` are without their ends."""
        labels_of, names = self._labels, self._names
        for number, line in enumerate(lines, 1):
            if not line or line[0] == "#":
                continue
            # The common case: a name seen before and a label text seen before need no parsing.
            start, end = line.find("{"), line.rfind("}")
            name, text = line[:start], line[start + 1 : end]
            tail = line[end + 1 :].split()
            if start > 0 and name in names and text in labels_of and len(tail) == 1:
                try:
                    value = float(tail[0])
                except ValueError:
                    pass
                else:
                    if "_" not in tail[0] and tail[0].isascii():
                        yield Sample(number, name, text, labels_of[text], value, tail[0], "")
                        continue
            sample = self.sample(number, line)
            if sample:
                yield sample

    def sample(self, number: int, line: str) -> Sample | None:
        """The sample of one line; None for a comment, a foreign line or one that is refused."""
        text = line.strip()
        if not text or text[0] == "#":
            return None
        if text in _ELIDED:
            self.elided_lines.append(number)
            return None
        try:
            return self._parse(number, text)
        except BrokenLineError as broken:
            return self._without_colours(number, line, str(broken))

    def _without_colours(self, number: int, line: str, rule: str) -> Sample | None:
        """A second try for coloured text; label values may hold such codes, so not the first."""
        if len(line) <= MAX_LINE and _COLOUR.search(line):
            try:
                return self._parse(number, _COLOUR.sub("", line).strip())
            except BrokenLineError as broken:
                rule = str(broken)
        self.rejected.append(RejectedLine(number, line[:MAX_TEXT], rule))
        return None

    def _parse(self, number: int, text: str) -> Sample | None:
        if len(text) > MAX_LINE:
            raise BrokenLineError(f"a line may hold {MAX_LINE} characters")
        if text.startswith('{__name__="'):
            return self._named_inside(number, text)
        found = _NAME.match(text) or _EMBEDDED.search(text, 0, 1000)
        if found is None:
            self._no_name(text)
            return None
        name, rest = found.group(), text[found.end() :].lstrip()
        if not rest.startswith("{"):
            return self._without_labels(number, text, name, rest)
        label_text, labels, tail = self._split(rest)
        value_text, time_text = _tail(tail)
        value = parse_value(value_text)
        self._names.add(name)
        return Sample(number, name, label_text, labels, value, value_text, time_text)

    def _named_inside(self, number: int, text: str) -> Sample:
        """`{__name__="name", ...} value time`, as a dump of the database prints it."""
        label_text, labels, tail = self._split(text)
        value_text, time_text = _tail(tail)
        rest = {key: value for key, value in labels.items() if key != "__name__"}
        value = parse_value(value_text)
        return Sample(number, labels["__name__"], label_text, rest, value, value_text, time_text)

    def _split(self, rest: str) -> tuple[str, dict[str, str], list[str]]:
        """Label text, labels and the words behind the closing brace."""
        end = rest.rfind("}")
        if end < 0:
            raise BrokenLineError("the list of labels is not closed")
        text = rest[1:end]
        labels = self._labels.get(text)
        if labels is None:
            try:
                labels = parse_labels(text)
            except BrokenLineError:
                # OpenMetrics may append an exemplar with braces of its own.
                head, mark, _ = rest.partition(" # {")
                if not mark:
                    raise
                return self._split(head)
            if len(self._labels) > _MAX_LABELS:
                self._labels.clear()
            self._labels[text] = labels
        return text, labels, rest[end + 1 :].split()

    def _without_labels(self, number: int, text: str, name: str, rest: str) -> Sample | None:
        """`name number`; any other sentence that begins with a word is foreign."""
        try:
            value_text, time_text = _tail(rest.split())
            value = parse_value(value_text)
        except BrokenLineError:
            if _belongs(text):
                raise
            self.foreign_lines += 1
            return None
        return Sample(number, name, "", {}, value, value_text, time_text)

    def _no_name(self, text: str) -> None:
        if _belongs(text):
            raise BrokenLineError("the line does not begin with the name of a metric and its value")
        self.foreign_lines += 1


def _belongs(text: str) -> bool:
    """True for a line that is a piece of the format: it has a label or a known metric's name."""
    return '="' in text or _FAMILY.match(text) is not None


def _tail(words: list[str]) -> tuple[str, str]:
    """Value and time behind the labels; an exemplar (`# ...`) is left out.

    `promtool query` prints `=> value @[time]` instead.
    """
    if "#" in words:
        words = words[: words.index("#")]
    if words[:1] == ["=>"]:
        words = [word.removeprefix("@[").removesuffix("]") for word in words[1:]]
    if not words:
        raise BrokenLineError("no value stands behind the series")
    if len(words) > 2:
        raise BrokenLineError("only a value and a time may stand behind the series")
    time_text = words[1] if len(words) == 2 else ""
    if time_text and parse_time(time_text) is None:
        raise BrokenLineError("the time is not a number of milliseconds")
    return words[0], time_text


def _cut_at_quotes(text: str) -> list[str]:
    """Text outside and inside quotation marks in turn, beginning and ending outside."""
    if "\\" not in text:
        parts = text.split('"')
        if len(parts) % 2 == 0:
            raise BrokenLineError("a label value has no closing quotation mark")
        return parts
    parts, position = [], 0
    while (quote := text.find('"', position)) >= 0:
        found = _QUOTED.match(text, quote)
        if found is None:
            raise BrokenLineError("a label value has no closing quotation mark")
        parts += [text[position:quote], _ESCAPE.sub(_unescape, found.group(1))]
        position = found.end()
    return [*parts, text[position:]]


def _unescape(found: re.Match[str]) -> str:
    return _NEWLINES.get(found.group(1), found.group())
