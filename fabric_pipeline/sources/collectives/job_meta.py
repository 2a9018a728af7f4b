"""Reader of the small YAML file that states the shape of a training job.

Only flat `key: value` lines occur, so no YAML library is needed. The shape is a fact and a run; nothing
in it was measured.
"""

from __future__ import annotations

import re
from typing import ClassVar

from fabric_pipeline.model.records import ReadResult, RejectedLine, Run
from fabric_pipeline.sources.base import FormatNote, SourceFile
from fabric_pipeline.sources.collectives.line_tags import clipped
from fabric_pipeline.sources.collectives.run_names import run_name

_LINE = re.compile(r"^\s{0,8}([A-Za-z]\w{0,60}):\s{1,8}(\S.{0,200})?$")
_SIZES = (
    "dp_size",
    "pp_size",
    "tp_size",
    "world_size",
    "vpp_size",
    "cp_size",
    "ep_size",
    "dsp_size",
)


class JobMetaReader:
    """Reads `job_meta_yaml` files; yields one run without nodes."""

    format_id: ClassVar[str] = "job_meta_yaml"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"runs"})
    note: ClassVar[FormatNote] = FormatNote(
        tool="a YAML file that states the shape of a training job",
        versions="not stated",
        recognised_by="a short file with three of dp_size, pp_size, tp_size, world_size and their kin",
        gives="one run without nodes; the sizes as facts",
        traps=("Nothing in it was measured.",),
    )

    def score(self, file: SourceFile) -> int:
        """88 when three of the sizes stand at the start of lines in a short file."""
        if file.is_binary or len(file.head) > 20_000:
            return 0
        keys = {
            found.group(1)
            for line in file.head.split("\n")
            if (found := _LINE.match(line.rstrip()))
        }
        return 88 if len(keys.intersection(_SIZES)) >= 3 else 0

    def read(self, file: SourceFile) -> ReadResult:
        """All keys of the file as facts."""
        out = ReadResult()
        for number, line in enumerate(file.lines, 1):
            text = line.rstrip()
            found = _LINE.match(text[:400])
            if found:
                key, value = found.groups("")
                out.facts[key] = int(value) if re.fullmatch(r"\d{1,12}", value) else value
            elif text.strip() and not text.lstrip().startswith(("#", "---", "...")):
                rule = "the shape of a job is given by lines `key: value`"
                out.rejected.append(RejectedLine(number, clipped(text), rule))
        name = str(out.facts.get("trial_name") or out.facts.get("run_id") or "")
        out.runs.append(Run(name or run_name(file, "job"), []))
        return out
