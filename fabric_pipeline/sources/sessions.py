"""A saved terminal session or support bundle: the output of several tools in one file.

Lines that name a command (a prompt, a banner, a path alone on its line) cut the file into parts. Each
part is read by the reader of its own format as if the rest were blank, so that line numbers stay true.
A file of one tool, however often it was called, is left to that tool's reader alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, cast

from fabric_pipeline.model.records import ReadResult, TopologyPart, UnknownFact
from fabric_pipeline.sources.base import HEAD_BYTES, Reader, SourceFile

_MAX_PARTS = 128  # more commands are a loop over one tool, whose reader keeps its calls apart
_LOOKED_AT = 300  # characters of a line that may call a tool; a long list of columns goes on behind
_MAX_BYTES = 64 * 1024 * 1024
_TOOLS = (
    r"nvidia-smi|dcgmi|ibv_devinfo|ibstat|ibstatus|iblinkinfo|ibnetdiscover|ibqueryerrors|perfquery|ibswitches"
    r"|ibswinfo|ibdiagnet|mlxlink|mstlink|ethtool|rdma|lspci|dmesg|journalctl"
)
_CALL = (
    rf"(?:sudo (?:-\w+ )?)?(?:/[\w./-]{{1,80}}/)?(?P<tool>{_TOOLS})(?![\w.:-])(?P<rest>.{{0,400}})"
)
_TYPED = re.compile(rf"^(?:.{{0,120}}[#$%>])?\s{{0,8}}{_CALL}$")
_BANNER = re.compile(rf"^\s{{0,8}}[#=*~+-]{{2,60}} ?\s{{0,8}}{_CALL}$")
_OTHER_PROMPT = re.compile(r"^\[?[\w.-]{1,40}@[\w.-]{1,80}[^#$%>]{0,120}[#$%>]\s{1,4}\S")
_RULE = re.compile(r"^_{20,200}\s*$")
_ARGUMENTS = re.compile(
    r"^(?:\s*[#=*~+-]*\s*$|\s+(?:-|nvlink\b|topo\b|link\b|stat|health\b|diag\b|discovery\b|dmon\b"
    r"|[\w@.-]{1,40}\s*[#=*~+-]*\s*$|.*\|))"
)
_NAMED = re.compile(_TOOLS)
_USER_HOST = re.compile(r"^\s{0,8}\[?[\w.-]{1,40}@(?P<host>[A-Za-z0-9][\w-]{1,62})[.\s:~/\]#$%>]")
_NO_HOST = re.compile(r"localhost$|[0-9a-f]{12}$")  # a container's id names no machine
# Formats whose readers look at nothing but `text`, `lines` and `head`, and that terminals show.
_OF_TERMINALS = (
    "nvidia_smi_", "dcgmi_", "ib", "perfquery", "mlxlink_", "sysfs_infiniband_grep", "ethtool_",
    "rdma_ports", "lspci_", "kernel_log", "fabricmanager_log",
)  # fmt: skip
_NVLINK = "nvidia_smi_nvlink_"

Find = Callable[[SourceFile], Reader | None]


@dataclass(slots=True)
class _Part:
    """Lines `first` to `last` (0-based, half open) and the family of formats that reads them."""

    first: int
    last: int
    family: str = ""


class SessionReader:
    """Reads each part of one file with its own reader; outside it is the reader of the whole file."""

    def __init__(
        self, whole: Reader, families: dict[str, list[_Part]], find: Find, host: str
    ) -> None:
        self.format_id = whole.format_id
        self.version = whole.version
        self.yields = whole.yields | {"readings", "events", "topology"}
        self._whole, self._families, self._find = whole, families, find
        self._host = host

    def score(self, file: SourceFile) -> int:
        """What the reader of the whole file says."""
        return self._whole.score(file)

    def read(self, file: SourceFile) -> ReadResult:
        """The results of all parts in one; refused lines and unknown facts in the order of the file."""
        result = ReadResult()
        for family, parts in self._families.items():
            part = _cut(file, parts, _masked(file.lines, parts))
            part.hints = replace(part.hints, node=self._host)
            reader = self._whole if family == _family(self._whole) else self._find(part)
            if reader is not None:
                _merge(result, reader.read(part), reader.format_id)
        result.events.sort(key=lambda event: event.line)
        result.facts["tools_in_file"] = sorted(self._families)
        return result


def session_reader(file: SourceFile, whole: Reader, find: Find) -> Reader | None:
    """A reader for all parts, or None when the file holds the output of one tool only.

    `find` gives the reader of a part by its content.
    """
    if not _is_of_terminals(whole) or file.is_binary or not _may_hold_several(file):
        return None
    parts = _parts(file.lines)
    if not 2 <= len(parts) <= _MAX_PARTS:
        return None
    own = _family(whole)
    families: dict[str, list[_Part]] = {}
    for part in parts:
        reader = find(_cut(file, [part], file.lines[part.first : part.last]))
        known = reader is not None and _is_of_terminals(reader)
        part.family = _family(reader) if known and reader is not None else own
        families.setdefault(part.family, []).append(part)
    host = file.hints.node or _host(file.lines, parts)
    if len(families) < 2:
        return None
    return cast("Reader", SessionReader(whole, families, find, host))


def _may_hold_several(file: SourceFile) -> bool:
    called = {call for line in file.head.split("\n") if (call := _call(line[:_LOOKED_AT]))}
    return len(called) > 1 and file.path.stat().st_size <= _MAX_BYTES


def _family(reader: Reader) -> str:
    """Formats that one engine reads in one go; the commands of `nvlink` share headers and hosts."""
    return _NVLINK if reader.format_id.startswith(_NVLINK) else reader.format_id


def _is_of_terminals(reader: Reader) -> bool:
    return reader.format_id.startswith(_OF_TERMINALS) and "bulk" not in reader.yields


def _call(line: str) -> str:
    """The tool a line calls, with its first argument where that chooses the format; "" for none."""
    if not _NAMED.search(line):
        return ""
    found = _TYPED.match(line) or _BANNER.match(line)
    if not found or not _ARGUMENTS.match(found["rest"]):
        return ""
    words = found["rest"].split()
    return f"{found['tool']} {words[0] if words else ''}"


def _parts(lines: list[str]) -> list[_Part]:
    marks = []
    for number, line in enumerate(lines):
        text = line[:_LOOKED_AT]
        if _call(text) or _RULE.match(text) or ("@" in text and _OTHER_PROMPT.match(text)):
            marks.append(number)
            if len(marks) > _MAX_PARTS * 8:
                return []
    ends = [*marks[1:], len(lines)]
    parts = [_Part(a, b) for a, b in zip(marks, ends, strict=True)]
    shown = [part for part in parts if any(map(str.strip, lines[part.first + 1 : part.last]))]
    before = _Part(0, marks[0] if marks else len(lines))
    return [before, *shown] if any(map(str.strip, lines[: before.last])) else shown


def _host(lines: list[str], parts: list[_Part]) -> str:
    """The one host that the prompts name, "" when they name none or several."""
    found = (_USER_HOST.match(lines[part.first][:200]) for part in parts)
    hosts = {match["host"] for match in found if match and not _NO_HOST.match(match["host"])}
    return hosts.pop() if len(hosts) == 1 else ""


def _masked(lines: list[str], parts: list[_Part]) -> list[str]:
    """The lines with everything outside the parts blank."""
    masked = [""] * parts[-1].last
    for part in parts:
        masked[part.first : part.last] = lines[part.first : part.last]
    return masked


def _cut(file: SourceFile, parts: list[_Part], lines: list[str]) -> SourceFile:
    """The file as a reader of these parts sees it; the head holds them without the rest."""
    cut = SourceFile(file.path, file.name, file.sha256, file.hints, file.open_table)
    shown = (line for part in parts for line in file.lines[part.first : part.last])
    head = "\n".join(islice(shown, HEAD_BYTES // 16))[:HEAD_BYTES]
    text = "\n".join(lines) + "\n"
    cut.__dict__.update(lines=lines, text=text, is_binary=False, head=head)
    return cut


def _merge(result: ReadResult, part: ReadResult, format_id: str) -> None:
    result.readings += part.readings
    result.events += part.events
    result.timings += part.timings
    result.runs += part.runs
    result.rejected += part.rejected
    result.unknown += [fact for fact in part.unknown if not _is_told(fact, result)]
    if part.topology is not None:
        result.topology = result.topology or TopologyPart()
        result.topology.nodes += part.topology.nodes
        result.topology.switches += part.topology.switches
        result.topology.links += part.topology.links
    for key, value in _facts(part.facts, result.facts, format_id):
        result.facts[key] = value


def _is_told(fact: UnknownFact, result: ReadResult) -> bool:
    return fact in result.unknown


def _facts(
    facts: dict[str, Any], known: dict[str, Any], format_id: str
) -> Iterator[tuple[str, Any]]:
    for key, value in facts.items():
        yield (f"{key} ({format_id})" if key in known else key), value
