"""Words of the inspect screen: components, reasons and paths said shortly, unknown facts put together.

Plain strings in and out. Nothing here decides what is said, only how long it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from fabric_pipeline.cli.fabric_style import plural
from fabric_pipeline.cli.output import plain
from fabric_pipeline.model.components import UNKNOWN, component_id, parse_component
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import UnknownFact
from fabric_pipeline.sources.registry import UNKNOWN_FORMAT
from fabric_pipeline.workflows.ingest_report import FileReport
from fabric_pipeline.workflows.inspect_inputs import STDIN

_CLAUSE = re.compile(r"(?<=[.;])\s+(?=\S)")
_FORMATS_SHOWN = 5
_KINDS_SHOWN = 4
# How readers say that no host is named; the screen says it once, with what to do.
HOST_FACTS = ("host name: the log lines", "name of the host: no label")
_NAMED = 3  # components that are named of those of which the same is unknown


def shown_id(component: str) -> str:
    """The id without halves that are unknown; what is missing is said in words beside it.

    A switch port has no host, so that `unknown` in front of it would read as if something were missing.
    """
    parsed = parse_component(component)
    if parsed.interface:
        return component.removeprefix(f"{UNKNOWN}:")
    lane = "" if parsed.lane is None else f"lane {parsed.lane}"
    return ", ".join(part for part in (lane, parsed.node) if part)


def component_remark(component: str) -> str:
    """What of a component is not named, where the host or the device matters."""
    parsed = parse_component(component)
    # A switch of the network is no part of a host.
    is_switch = parsed.interface.startswith("0x") or (
        "/port-" in parsed.interface and not parsed.interface.startswith("nvswitch")
    )
    missing = [] if parsed.node or is_switch else ["host"]
    missing += [] if parsed.interface or parsed.node else ["device"]
    return f"{' and '.join(missing)} not named" if missing else ""


def kind_words(finding: Finding) -> str:
    """The kind of finding as words, such as `slow compute`."""
    return plain(finding.kind.replace("_", " "))


def reason_words(finding: Finding) -> str:
    """The reason, without the component in front of it: that stands above."""
    reason = finding.reason
    if reason.startswith(finding.component):
        reason = reason.removeprefix(finding.component).lstrip(" :")
    reason = reason.replace(f" Its other end is {finding.far_end}.", "")  # it has a line of its own
    return reason[:1].upper() + reason[1:]


def effect_words(finding: Finding) -> str:
    """How much slower which jobs were, as far as that was measured; else ""."""
    numbers = finding.numbers
    runs, slower = numbers.get("runs") or (), numbers.get("degradation_pct")
    if not runs or slower is None:
        return ""
    sure = numbers.get("confidence")
    most = "up to " if len(runs) > 1 else ""
    said = f"slows {_some(list(runs), 1)} by {most}{slower:,.0f} %"
    return said if sure is None else f"{said}, confidence {sure:.2f}"


def first_sentences(words: str, most: int, room: int) -> str:
    """The first sentences that fit `room` characters; of a longer first one as many clauses as fit."""
    shown, sentences = "", 0
    for piece in _CLAUSE.split(words):
        if sentences >= most or (shown and len(shown) + 1 + len(piece) > room):
            break
        shown += f" {piece}" if shown else piece
        sentences += piece.endswith(".")
    if len(shown) < len(words):
        shown = shown.removesuffix(";")
    if len(shown) > room:
        cut = shown[:room].rfind(" ")
        shown = shown[: cut if cut > room // 2 else room - 1].rstrip(" ,;:") + "…"
    return shown


def grouped_unknown(facts: Iterable[UnknownFact]) -> list[tuple[str, str]]:
    """(fact, which others are like it) of unknown facts; the second is "" for a fact of its own.

    Facts are alike when they give the same reason but for the numbers in it.
    """
    groups: dict[str, list[UnknownFact]] = {}
    for fact in facts:
        groups.setdefault(re.sub(r"\d+", "#", fact.reason), []).append(fact)
    return [_group(members) for members in groups.values()]


def _group(members: list[UnknownFact]) -> tuple[str, str]:
    first = members[0]
    place = _place(first)
    whats = list(dict.fromkeys(one.what for one in members if _place(one) == place))
    what = _some(whats)
    said = ": ".join(part for part in (place, what, first.reason) if part)
    others = list(dict.fromkeys(_place(one) for one in members))
    alike = [name for name in others if name and name != place]
    return said, f"alike: {_some(alike)}" if alike else ""


def _some(names: list[str], most: int = _NAMED) -> str:
    """The first names, and how many more."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _place(fact: UnknownFact) -> str:
    """The component, or "" when neither host nor interface is known: then it is of the whole capture."""
    return shown_id(component_id(fact.node, fact.interface))


def kinds_folded(findings: Sequence[Finding], dots: str) -> str:
    """Many lesser findings in one line: what they are, and where; `congestion (leaf-1/port-3 and 2 more)`."""
    by_kind: dict[str, list[str]] = {}
    for one in findings:
        by_kind.setdefault(kind_words(one), []).append(shown_id(one.component))
    ranked = sorted(by_kind.items(), key=lambda item: -len(item[1]))
    parts = [_kind_and_places(kind, names) for kind, names in ranked[:_KINDS_SHOWN]]
    return "; ".join(parts) + (f"; {dots}" if len(ranked) > _KINDS_SHOWN else "")


def _kind_and_places(kind: str, names: list[str]) -> str:
    named = [name for name in names if name]
    if not named:
        return kind if len(names) == 1 else f"{kind} ({len(names)} times)"
    return f"{kind} ({_some(named, 1)})"


def shown_name(name: str) -> str:
    """The name of an input; `-` as what it stands for."""
    return "stdin" + name[1:] if name == STDIN or name.startswith(f"{STDIN}!") else name


def input_words(files: Sequence[FileReport]) -> str:
    """Such as `Read 3 files: 2 kernel_log, 1 ibstat; 114 readings, 2 lines refused.`, as one sentence."""
    formats = Counter(
        "of unknown format" if one.format == UNKNOWN_FORMAT else one.format for one in files
    )
    if len(files) == 1:
        what = f"{shown_name(files[0].name)} ({next(iter(formats)).removeprefix('of ')})"
    else:
        listed = ", ".join(f"{count} {name}" for name, count in formats.most_common(_FORMATS_SHOWN))
        dots = ", …" if len(formats) > _FORMATS_SHOWN else ""
        what = f"{plural(len(files), 'file')}" + (f": {listed}{dots}" if files else "")
    refused = sum(one.rejected for one in files if one.format != UNKNOWN_FORMAT)
    said = f"Read {what}; {plural(sum(one.readings for one in files), 'reading')}"
    return said + (f", {plural(refused, 'line')} refused." if refused else ".")


def short_path(path: str, room: int, dots: str) -> str:
    """The end of a path that fits, with an ellipsis for the folders in front."""
    if len(path) <= room:
        return path
    name = PurePath(path).name
    kept = name
    for folder in reversed(PurePath(path).parts[:-1]):
        longer = f"{folder.strip('/')}/{kept}"
        if len(longer) + len(dots) + 1 > room:
            break
        kept = longer
    if len(kept) + len(dots) + 1 <= room:
        return f"{dots}/{kept}"
    return dots + name[-(room - len(dots)) :] if len(name) > room else name
