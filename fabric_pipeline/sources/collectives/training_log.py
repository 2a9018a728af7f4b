"""Reader of step times in training logs: Megatron and DeepSpeed, RETURNN, torchtitan, MaxText and kin.

Every line that states the duration of one step becomes a timing of kind `step`; it belongs to the whole
job, whatever host printed it. Watchdog lines in the same log become events.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from fabric_pipeline.model.records import CollectiveTiming, ReadResult, Run, UnknownFact
from fabric_pipeline.sources.base import HEAD_BYTES, FormatNote, SourceFile
from fabric_pipeline.sources.collectives.line_tags import plain, untagged
from fabric_pipeline.sources.collectives.run_names import run_name
from fabric_pipeline.sources.collectives.watchdog import timeout_event

_REAL = r"([0-9]{1,9}(?:\.[0-9]{1,9})?(?:[eE][+-]?[0-9]{1,3})?)"
_HOST = re.compile(r"^\s{0,4}([A-Za-z][\w.-]{1,120}): ")
_CUT = frozenset(("...", "…", "[...]"))


@dataclass(frozen=True, slots=True)
class _Form:
    """One way to state a step's duration: where step and number stand, and the unit in us."""

    tool: str
    pattern: re.Pattern[str]
    unit_us: float


def _form(tool: str, pattern: str, unit_us: float) -> _Form:
    return _Form(tool, re.compile(pattern.replace("REAL", _REAL)), unit_us)


# Group 1 is the step, group 2 the duration.
_FORMS = (
    _form(
        "megatron",
        r"\biteration\s{1,20}(\d{1,12})\s{0,4}/\s{0,20}\d{1,12} \|.{0,400}?"
        r"elapsed time per iteration \(ms\):\s{0,9}REAL",
        1e3,
    ),
    _form(
        "megatron",
        r"\biteration\s{1,20}(\d{1,12})\s{0,4}/\s{0,20}\d{1,12} \|.{0,400}?"
        r"elapsed time per iteration \(s\):\s{0,9}REAL",
        1e6,
    ),
    _form(
        "returnn",
        r"\bep \d{1,9} (?:train|eval|dev|devtrain), step (\d{1,12}),.{0,600}?\bREAL sec/step",
        1e6,
    ),
    _form("deepspeed", r"\bsteps: (\d{1,12}) loss: \S{1,40} iter time \(s\): REAL", 1e6),
    _form("nemo", r"\bglobal_step[=: ]{1,3}(\d{1,12}).{0,600}?train_step_timing in s[=: ]{1,3}REAL", 1e6),
    _form("maxtext", r"\bcompleted step: (\d{1,12}), seconds: REAL", 1e6),
    _form("llm.c", r"\bstep\s{1,9}(\d{1,12})/\d{1,12} \|.{0,300}?\|\s{1,9}REAL ms \|", 1e3),
    _form("nanogpt", r"\biter (\d{1,12}): loss \S{1,30}, time REAL ?ms", 1e3),
    _form("generic", r"\bstep[ =:]{1,3}(\d{1,12})\b.{0,200}?\bstep[_ ]time(?:[_ ]?\(?ms\)?)[=: ]{1,3}REAL", 1e3),
    _form("generic", r"\bstep[ =:]{1,3}(\d{1,12})\b.{0,200}?\bstep[_ ]time(?:[_ ]?\(?s\)?)?[=: ]{1,3}REAL", 1e6),
)  # fmt: skip
_HINT = re.compile(r"(?i)iteration|step|iter ", re.ASCII)
# Lines that may state a step, a time-out, a cut or a host in front, whatever colours and tags stand
# in between; blanks and digits may be such as only Python knows.
_WANTED = (
    _HINT.pattern, "atchdog|eartbeat", r"\.\.\.|…", r"\x1b\[", r"[^\s:]\[[^!-/:-~]",
    r"^(?:[^!-~]|[0-9:]|\[[^\]]{1,13}\](?:<[a-z]+>:?)?)*[A-Za-z][^ :\[]{1,120}:[ \[]",
)  # fmt: skip


class TrainingLogReader:
    """Reads `training_log` files; yields step timings and time-out events."""

    format_id: ClassVar[str] = "training_log"
    version: ClassVar[str] = "1"
    yields: ClassVar[frozenset[str]] = frozenset({"timings", "runs", "events"})
    wanted_lines: ClassVar[str] = "|".join(_WANTED)
    note: ClassVar[FormatNote] = FormatNote(
        tool="Megatron, DeepSpeed, RETURNN, NeMo, MaxText, llm.c, nanoGPT and logs alike",
        versions="a log of November 2023, others not stated",
        recognised_by="lines that state the duration of one step, at the head or the end of the file",
        gives="one timing a step, hosts that stand in front of lines, watchdog time-outs",
        traps=(
            (
                "A step belongs to the whole job, whatever host printed it: it names no rank and "
                "no link."
            ),
            "Steps that the log leaves out are unknown.",
        ),
    )

    def score(self, file: SourceFile) -> int:
        """75 with two step lines, 55 with one, at the head or, after a long preamble, at the end."""
        if file.is_binary:
            return 0
        hits = 0
        for line in (file.head + _tail(file)).split("\n"):
            hits += _step(untagged(line)) is not None
            if hits == 2:
                return 75
        return 55 if hits else 0

    def read(self, file: SourceFile) -> ReadResult:
        """All steps of the log in order."""
        out = ReadResult()
        run = run_name(file, "training")
        hosts: dict[str, None] = {}
        tools: dict[str, int] = {}
        cut_after: int | None = None
        for number, line in file.numbered(lambda: False):
            if not line or line.isspace():
                continue
            text = untagged(line)
            event = timeout_event(number, plain(line))
            if event:
                out.events.append(event)
            host = _HOST.match(text)
            if host:
                hosts[host.group(1)] = None
            if text.strip() in _CUT:
                cut_after = number
            found = _step(text)
            if found:
                form, step, duration_us = found
                tools[form.tool] = tools.get(form.tool, 0) + 1
                _gap(out, step, cut_after)
                cut_after = None
                out.timings.append(_timing(number, run, step, duration_us, form.tool))
        out.runs.append(Run(run, list(hosts)))
        out.facts = _facts(out, tools, list(hosts))
        return out


def _tail(file: SourceFile) -> str:
    """The last 256 KiB of a file that is longer than its head."""
    with file.path.open("rb") as handle:
        size = handle.seek(0, 2)
        handle.seek(max(HEAD_BYTES, size - HEAD_BYTES))
        return "\n" + handle.read().decode("utf-8", "replace")


def _step(text: str) -> tuple[_Form, int, float] | None:
    if not _HINT.search(text):
        return None
    for form in _FORMS:
        found = form.pattern.search(text)
        if found:
            duration = float(found.group(2)) * form.unit_us
            return (form, int(found.group(1)), duration) if 0 < duration < 1e15 else None
    return None


def _timing(line: int, run: str, step: int, duration_us: float, tool: str) -> CollectiveTiming:
    timing = CollectiveTiming(line, "training_step", duration_us, run=run, seq=step, variant=tool)
    timing.communicator, timing.unit_kind = "job", "step"
    return timing


def _gap(out: ReadResult, step: int, cut_after: int | None) -> None:
    """Steps that were left out where the log says so."""
    last = out.timings[-1].seq if out.timings else None
    if cut_after is not None and last is not None and step > last + 1:
        reason = f"the log is cut at line {cut_after}, between steps {last} and {step}"
        out.unknown.append(UnknownFact("", "", "durations of the steps left out", reason))


def _facts(out: ReadResult, tools: dict[str, int], hosts: list[str]) -> dict[str, object]:
    if not out.timings:
        return {"steps": 0}
    ordered = sorted(timing.duration_us for timing in out.timings)
    return {
        "steps": len(ordered),
        "written_by": tools,
        "hosts_in_front_of_lines": hosts[:64],
        "first_step_ms": round(out.timings[0].duration_us / 1e3, 3),
        "median_step_ms": round(ordered[len(ordered) // 2] / 1e3, 3),
        "longest_step_ms": round(ordered[-1] / 1e3, 3),
    }
