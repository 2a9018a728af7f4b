"""Reader of `dcgmi nvlink -s`: one letter a link, U up, D down, X disabled, _ not supported.

GPUs and NVSwitches are listed alike. An underscore is a link that does not exist, not a broken one.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import ClassVar

from fabric_pipeline.model.records import (
    MAX_TEXT,
    Reading,
    ReadResult,
    RejectedLine,
    UnknownFact,
)
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.nvidia_smi.captures import (
    CapturedLine,
    captured_lines,
    squeezed,
)

_OWNER = re.compile(
    r"^\s*(?P<kind>gpuId|GPU(?: ID)?|physicalId|switchId|NvSwitch(?: ID)?)"
    r"\s*:?\s*(?P<id>\d{1,4})\s*:?"
    r"(?P<rest>(?:\s+[UDX_])*)\s*$",
    re.I,
)
_LETTERS = re.compile(r"^\s*[UDX_](?:\s+[UDX_]){0,600}\s*$")
_ALMOST = re.compile(r"^\s*[UDX_](?:\s+\S{1,20}){2,600}\s*$")
_NONE_FOUND = re.compile(r"^\s*No (?P<what>GPUs|NvSwitches) found", re.I)
_TITLE = re.compile(r"NvLink Link Status|Key:\s*Up=U", re.I)
_OWNER_HINT = re.compile(r"^[ \t]*(?:gpuId|physicalId)[ \t]+\d{1,4}[ \t]*:", re.M)
_STATES: dict[str, tuple[float | None, str]] = {
    "U": (1.0, "up"),
    "D": (0.0, "down"),
    "X": (0.0, "disabled"),
    "_": (None, "not supported"),
}


class DcgmiNvlinkStatusReader:
    """Link states of all GPUs and NVSwitches of a host."""

    format_id: ClassVar[str] = "dcgmi_nvlink_status"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"readings"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="dcgmi nvlink -s",
        versions="DCGM 3.1.8, another not stated",
        recognised_by="`gpuId n:` or `physicalId n:` with a row of the letters U, D, X and _",
        gives="link state of every link of each GPU and NVSwitch",
        traps=(
            "An underscore is a link that does not exist, not a broken one.",
            "X is switched off on purpose; its state word keeps it apart from D, down.",
            (
                "The letters are counted from zero; a row with any other mark is refused whole, "
                "because positions would shift."
            ),
        ),
    )

    def score(self, file: SourceFile) -> int:
        """Sure with an owner line and letters; title and key may be missing."""
        if file.is_binary or not _OWNER_HINT.search(file.head):
            return 0
        return 92 if _TITLE.search(file.head) else 80

    def read(self, file: SourceFile) -> ReadResult:
        """A `link_up` reading a letter, on `gpu<N>/nvlink-<L>` or `nvswitch-<N>/port-<P>`."""
        parser = _Parser()
        for line in captured_lines(file):
            parser.feed(line)
        return parser.finish()


class _Parser:
    def __init__(self) -> None:
        self.result = ReadResult()
        self.owner: tuple[str, str, int] | None = None  # device, link prefix, its line

    def feed(self, captured: CapturedLine) -> None:
        line = replace(captured, text=squeezed(captured.text))
        owner = _OWNER.match(line.text)
        if owner:
            self._silent(line.node)
            is_switch = owner["kind"].lower()[0] in "pns"
            device = f"nvswitch-{owner['id']}" if is_switch else f"gpu{owner['id']}"
            self.owner = (device, "port" if is_switch else "nvlink", line.number)
            if owner["rest"].strip():
                self._letters(line, owner["rest"])
        elif self.owner and _LETTERS.match(line.text):
            self._letters(line, line.text)
        elif self.owner and _ALMOST.match(line.text):
            rule = "the row holds marks that are none of the letters U, D, X and _"
            self.result.rejected.append(RejectedLine(line.number, line.text[:MAX_TEXT], rule))
            self._silent(line.node)
            self.owner = None
        elif _NONE_FOUND.match(line.text) and "gpu" in line.text.lower():
            fact = UnknownFact(line.node, "", "NVLink states", "dcgmi found no GPUs")
            self.result.unknown.append(fact)

    def _silent(self, node: str) -> None:
        if self.owner is not None:
            device = self.owner[0]
            reason = f"{device} is named without a readable row of letters"
            fact = UnknownFact(node, device, f"NVLink states of {device}", reason)
            self.result.unknown.append(fact)

    def _letters(self, line: CapturedLine, text: str) -> None:
        if self.owner is None:
            return
        device, prefix, _ = self.owner
        for number, letter in enumerate(text.split()):
            value, state = _STATES[letter.upper()]
            self.result.readings.append(
                Reading(
                    line=line.number,
                    counter_text="link state",
                    value_text=letter,
                    entity_text=f"{device} link {number}",
                    node=line.node,
                    interface=f"{device}/{prefix}-{number}",
                    link_type="nvlink",
                    counter="link_up",
                    value=value,
                    kind="gauge",
                    quality="ok" if value is not None else "not_supported",
                    time=line.time,
                    state=state,
                )
            )
        self.owner = None

    def finish(self) -> ReadResult:
        self._silent("")
        return self.result
