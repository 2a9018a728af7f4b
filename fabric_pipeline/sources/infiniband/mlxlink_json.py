"""Reads `mlxlink --json`: one or several JSON objects, possibly behind a typed command.

Values are strings; lists come as `{"values": [...]}`. A cut object is read line by line, so that
what stands there is not lost.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any, ClassVar

from fabric_pipeline.model.records import ReadResult
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.infiniband.lines import (
    TypedCommand,
    clean,
    head_lines,
    reject,
    stamped,
)
from fabric_pipeline.sources.infiniband.lines import typed_command as _typed
from fabric_pipeline.sources.infiniband.mlxlink_sections import Section, emit, port_of_device
from fabric_pipeline.sources.infiniband.mlxlink_text import module_facts

_TITLE = re.compile(
    r"\"(?:Operational Info|Physical Counters and BER Info|Troubleshooting Info)\"\s{0,20}:"
)
_PAIR = re.compile(r"^\s*\"(?P<name>[^\"]{2,60})\"\s*:\s*\"(?P<value>[^\"]{0,400})\"\s*,?\s*$")
_OPTION = re.compile(r"(?:^|\s)(?:-d|--device)\s+(\S{1,120})")
_PORT_OPTION = re.compile(r"(?:^|\s)(?:-p|--port)\s+(\d{1,4}(?:/\d{1,3}){0,3})\b")
_LINE_END = re.compile(r"\n")
_MAX_OBJECTS = 4096


class MlxlinkJsonReader:
    """Reader of mlxlink JSON output."""

    format_id: ClassVar[str] = "mlxlink_json"
    version: ClassVar[str] = "2"
    yields: ClassVar[frozenset[str]] = frozenset({"readings", "events"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="mlxlink --json",
        versions="not stated",
        recognised_by="group titles such as `Operational Info` as JSON keys beside output or result",
        gives=(
            "port state, width, speed, effective and symbol errors, link-down and recovery "
            "counts, bit error rates, raw errors by lane, code words by repaired symbols, the "
            "firmware's own diagnosis, module alarms and values outside the module's limits as "
            "events; module and cable as facts"
        ),
        traps=(
            "`15E-255` is the tool's way to say zero.",
            (
                "Raw errors are counted before error correction; they are normal and become "
                "corrected bits."
            ),
            "A width or speed is read only while the port is active.",
            "Codes of missing or switched-off modules accuse nothing.",
            "An alarm of the module accuses nothing: fibre, far end and module look alike.",
            "A cut object is read line by line.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with a group title as a JSON key beside `output`."""
        if file.is_binary or not _TITLE.search(file.head):
            return 0
        return 96 if '"output"' in file.head or '"result"' in file.head else 70

    def read(self, file: SourceFile) -> ReadResult:
        """State, width, speed, counters and lanes of each object."""
        result = ReadResult()
        if file.is_binary:
            reject(result, None, "", "the file is binary, not JSON text")
            return result
        commands = [_typed(line, "mlxlink") for line in head_lines(file)]
        typed = [command for command in commands if command]
        ends = [found.start() for found in _LINE_END.finditer(file.text)]
        for number, (start, stop, output) in enumerate(_outputs(file.text, ends, result)):
            command = typed[number] if number < len(typed) else None
            section = _section(command, file.hints.node, number + 1)
            section.line = _line(ends, start)
            _fill(section, output, file.text, (start, stop), ends)
            if section.fields:
                emit(section, result)
                result.facts.setdefault("modules", []).append(module_facts(section))
        return stamped(result, file)


def _line(ends: list[int], place: int) -> int:
    """Number of the line in which a place of the text lies; `ends` are the places of line ends."""
    return bisect_left(ends, place) + 1


def _outputs(
    text: str, ends: list[int], result: ReadResult
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Every `output` object with where it starts and stops; a cut one as the pairs of its lines."""
    decoder, position = json.JSONDecoder(), text.find("{")
    for _ in range(_MAX_OBJECTS):
        if position < 0:
            return
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            rest = text[position:]
            reject(
                result,
                _line(ends, position),
                rest.partition("\n")[0],
                "the JSON object is cut or damaged; its lines were read one by one",
            )
            yield position, len(text), _loose_pairs(rest)
            return
        output = _find_output(value)
        if output:
            yield position, end, output
        position = text.find("{", end)
    if position >= 0:
        rule = f"only the first {_MAX_OBJECTS} objects of a file are read; split it"
        reject(result, _line(ends, position), text[position : position + 80], rule)


def _find_output(value: Any) -> Any:
    if not isinstance(value, dict):
        return None
    inner = value.get("result", value)
    output = inner.get("output", inner) if isinstance(inner, dict) else None
    return output if isinstance(output, dict) else None


def _loose_pairs(text: str) -> dict[str, Any]:
    pairs: dict[str, str] = {}
    for line in text.split("\n"):
        found = _PAIR.match(line[:1000])
        if found:
            pairs.setdefault(found.group("name"), found.group("value"))
    return {"cut": pairs}


def _section(command: TypedCommand | None, host: str, number: int) -> Section:
    arguments = command.arguments if command else ""
    device, port = _OPTION.search(arguments), _PORT_OPTION.search(arguments)
    ref = port_of_device(
        host or (command.host if command else ""),
        device.group(1) if device else "",
        port.group(1) if port else "",
        number,
    )
    return Section(ref, None)


def _fill(
    section: Section, output: dict[str, Any], text: str, span: tuple[int, int], ends: list[int]
) -> None:
    for group in output.values():
        if not isinstance(group, dict):
            continue
        for name, value in group.items():
            at = text.find(f'"{name}"', *span)
            line = _line(ends, at) if at >= 0 else section.line
            section.fields.setdefault(str(name).lower(), (line, clean(_as_text(value))))


def _as_text(value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("values", "")
    if isinstance(value, list):
        return ",".join(str(item) for item in value)
    return str(value)
