"""What surrounds tool output in a saved terminal: prompts, commands, banners, dates, host tags.

`captured_lines` strips all that and hands out the remaining lines with what is known about them:
host, time, command. It knows nothing about the output of any particular tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from fabric_pipeline.sources.base import SourceFile
from fabric_pipeline.sources.nvidia_smi.clock import parse_clock

MAX_LINE = 4000  # characters of a line that are looked at; no tool row here is longer

_COLOUR = re.compile(
    r"(?:\x1b|\^\[|\\x1b|\\033|\\e)?\[[0-9;]{0,16}m|\x1b\[[0-9;?]{0,16}[A-Za-ln-z]"
)
_USER_PROMPT = re.compile(
    r"^\s{0,20}(?:\([\w.-]{1,40}\)\s{0,4})?\[?[\w.-]{1,40}@(?P<host>[\w.-]{1,80})"
    r"(?:[:\s][^#$%>]{0,120})?\]?\s{0,4}[#$%>](?:\s(?P<command>.{0,400}))?$"
)
_BARE_PROMPT = re.compile(
    r"^\s{0,20}(?:[$#>%]\s{1,8}|(?=sudo |nvidia-smi |dcgmi ))(?P<command>\S.{0,400})$"
)
_TOOL = re.compile(r"\b(?:nvidia-smi|dcgmi|hostname)\b")
_SSH = re.compile(r"\bssh\s+(?:-\S{1,60}\s+){0,6}(?:[\w.-]{1,40}@)?(?P<host>[\w.-]{1,80})\s+\S")
_BANNER = re.compile(
    r"^\s{0,20}([=#*~-])\1{2,}\s{0,8}(?P<body>[^=#*~\s-].{0,200}?)\s{0,8}\1{3,}\s*$"
)
_RULE = re.compile(r"^-{4,}\s*$")
_HOST_FIELD = re.compile(
    r"^\s{0,20}(?:host(?:name)?|node(?:name)?)\s*[:=]\s*(?P<host>[\w.-]{1,80})\s*$", re.I
)
_TAG = re.compile(
    r"^(?:\[\d{1,5},\d{1,5}\]<std(?:out|err)>:|(?!NVML:)(?P<tag>[A-Za-z0-9][\w.-]{0,80}):[ \t])"
    r"(?=\s*(?:GPU\s?\d|Links?\s+\d|NVML:|Unable to|Device does not|NIC\d|mlx5_))"
)
_HOST = re.compile(r"^(?=[^.]*\d|[\w-]+\.\w)(?=.*[A-Za-z])[A-Za-z0-9][\w.-]{1,80}$")
_NO_HOST = re.compile(
    r"^(?:gpu|link|nvlink|step|run|iter|iteration|test|pass|loop|round|sample|rank|s?xid)"
    r"[-_]?\d*$"
    r"|^\d{4}-\d\d-\d\d|^[0-9a-f]{12}$|^[0-9a-f]{64}$|^localhost",
    re.I,
)  # loop counters, dates, container ids and `localhost` name no machine
_GPU_WORD = re.compile(r"\bGPU\s{0,2}(\d{1,4})\b", re.I)
_HOSTNAME_COMMANDS = ("hostname", "hostname -s", "hostname -f", "uname -n")


@dataclass(frozen=True, slots=True)
class CapturedLine:
    """One line of tool output with its surroundings.

    `number` is 1-based. `capture` counts typed commands and host banners, so that two takes of one
    command stay apart. `gpu_hint` is the GPU a banner or `-i` names, for output without a header.
    """

    number: int
    text: str
    node: str
    time: datetime | None
    command: str
    capture: int
    gpu_hint: int | None


def squeezed(text: str) -> str:
    """The text with every run of blanks as one blank, and none at its ends.

    Table and row patterns are matched on this, so that long runs of blanks cost nothing.
    """
    return " ".join(text.split())


def clean(line: str, max_line: int = MAX_LINE) -> str:
    """The line without colour codes, carriage returns and anything past `max_line`."""
    return _COLOUR.sub("", line[:max_line]).replace("\r", " ").replace("\0", "").rstrip()


def looks_like_host(text: str) -> bool:
    """True for a word that can name a machine: it has a digit or a dot, and is no loop counter."""
    return bool(_HOST.match(text)) and not _NO_HOST.match(text)


class _Surroundings:
    """Follows prompts, banners and dates down a file."""

    def __init__(self, file: SourceFile) -> None:
        self.zone = file.hints.timezone
        self.hinted = file.hints.node
        self.node = file.hints.node
        self.time = file.hints.time
        self.command = ""
        self.capture = 0
        self.gpu_hint: int | None = None
        self.rules_open = False
        self.host_next = False

    def absorb(self, text: str) -> bool:
        """True when the line belongs to the surroundings, which it then changes."""
        if self.host_next and text.strip():
            self.host_next = False
            if looks_like_host(text.strip()):
                self.node = self.hinted or text.strip()
                return True
        return self._rule(text) or self._prompt(text) or self._banner(text) or self._field(text)

    def _rule(self, text: str) -> bool:
        if text.startswith("----") and _RULE.match(text):
            self.rules_open = not self.rules_open
            return True
        opened, self.rules_open = self.rules_open, False
        if opened and looks_like_host(text.strip()):
            self._new_host(text.strip())
            self.rules_open = True
            return True
        return False

    def _prompt(self, text: str) -> bool:
        found = _USER_PROMPT.match(text) if "@" in text[:200] else None
        if found:
            host = found["host"]
            if not self.hinted:
                self.node = "" if _NO_HOST.match(host) else host
            self._typed(found["command"] or "")
            return True
        bare = _BARE_PROMPT.match(text) if _TOOL.search(text) else None
        if bare and _TOOL.search(bare["command"]):
            self._typed(bare["command"])
            return True
        return False

    def _typed(self, command: str) -> None:
        self.command = command.strip()
        self.capture += 1
        self.gpu_hint = selected_gpu(self.command)
        self.host_next = self.command in _HOSTNAME_COMMANDS
        remote = _SSH.search(self.command)
        if remote and looks_like_host(remote["host"]):
            self.node = remote["host"]

    def _banner(self, text: str) -> bool:
        found = _BANNER.match(text) if text.rstrip()[-1:] in "=#*~-" else None
        if not found:
            return False
        pieces = [piece.strip() for piece in found["body"].split("|")]
        has_host = looks_like_host(pieces[0])
        if has_host:
            self._new_host(pieces[0])
        moments = [parse_clock(piece, self.zone) for piece in pieces]
        self.time = next((moment for moment in moments if moment), self.time)
        gpu = _GPU_WORD.search(found["body"])
        self.gpu_hint = int(gpu[1]) if gpu else self.gpu_hint
        return has_host or gpu is not None or any(moments)

    def _field(self, text: str) -> bool:
        if len(text) > 120 or not any(mark in text for mark in ":="):
            return False  # no room for a host field or a date
        field = _HOST_FIELD.match(text)
        if field:
            self._new_host(field["host"])
            return True
        moment = parse_clock(text, self.zone)
        if moment is None:
            return False
        self.time = moment
        return True

    def _new_host(self, host: str) -> None:
        self.node = host
        self.capture += 1
        self.gpu_hint = None


def selected_gpu(command: str) -> int | None:
    """GPU index chosen with `-i N` / `--id=N` / `--gpuid N` in a typed command, else None."""
    found = re.search(r"(?:\s-i|\s--id|\s--gpuid)[\s=]{1,4}(\d{1,4})(?=\s|$)", command)
    return int(found[1]) if found else None


def captured_lines(
    file: SourceFile, *, head_only: bool = False, max_line: int = MAX_LINE
) -> Iterator[CapturedLine]:
    """The non-empty lines of tool output in a saved terminal, with host, time and command."""
    around = _Surroundings(file)
    lines = enumerate(file.head.split("\n"), 1) if head_only else file.numbered()
    for number, raw in lines:
        text = clean(raw, max_line)
        if not text or around.absorb(text):
            continue
        node = around.node
        tag = _TAG.match(text) if ":" in text[:90] else None
        if tag and not _GPU_WORD.fullmatch(tag["tag"] or ""):
            text = text[tag.end() :]
            word = tag["tag"] or ""
            node = word if word and not word.isdigit() else node
        yield CapturedLine(
            number, text, node, around.time, around.command, around.capture, around.gpu_hint
        )
