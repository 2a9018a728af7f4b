"""Claims of a draft by rules: what the evidence shows, the same event said once for each end.

A link that went down five times is one claim with five references, the accused end first. Claims quote
figures of the evidence they cite; nothing is added up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fabric_pipeline.diagnose.count_words import count_words
from fabric_pipeline.drafting import places
from fabric_pipeline.drafting.forbidden import forbidden
from fabric_pipeline.drafting.sanitise import clean, clip
from fabric_pipeline.incidents.record import Evidence, IncidentRecord
from fabric_pipeline.incidents.ticket import EvidenceStatement
from fabric_pipeline.model.components import UNKNOWN, component_id, parse_component

LEFT_OUT = (
    "A sentence was left out here because it reads like an order; the incident record holds it."
)
_MAX_CLAIMS = 10
_MAX_LINES = 8
# As `diagnose.link_findings` words what one end counted in one interval.
_COUNTED = re.compile(
    r"(?P<who>\S{1,120}) counted (?:at least )?(?P<count>\d{1,18}) (?P<what>[^()]{1,80}) \((?P<counter>[a-z0-9_]{1,40})\)"
    r" from (?P<start>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) to (?P<end>(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d) UTC"
)


def claims(incident: IncidentRecord) -> list[EvidenceStatement]:
    """At most ten claims over all evidence; a record without evidence says what it rests on."""
    if not incident.evidence:
        claim = (
            "The record names no file as evidence; it rests on the figures in the record itself."
        )
        return [EvidenceStatement(claim=claim, evidence_ids=[incident.incident_id])]
    groups = _groups(incident)
    shown = groups if len(groups) <= _MAX_CLAIMS else groups[: _MAX_CLAIMS - 1]
    stated = [_statement(group) for group in shown]
    rest = [item.evidence_id for group in groups[len(shown) :] for item in group]
    if rest:
        claim = "The rest of the evidence carries this diagnosis too; the dossier quotes it."
        stated.append(EvidenceStatement(claim=claim, evidence_ids=rest))
    return stated


def _groups(incident: IncidentRecord) -> list[list[Evidence]]:
    """Evidence of one end, counter and file together; groups of the accused end before the others."""
    found: dict[tuple[str, ...], list[Evidence]] = {}
    for item in incident.evidence:
        counted = _COUNTED.fullmatch(item.says)
        key: tuple[str, ...] = (item.says, item.file)
        if counted:
            key = (counted["who"], counted["counter"], item.file)
        found.setdefault(key, []).append(item)
    accused = parse_component(incident.isolated_component)
    named = component_id(accused.node, accused.interface).removeprefix(f"{UNKNOWN}:")
    is_other = {key: len(key) > 2 and key[0] != named for key in found}
    return [found[key] for key in sorted(found, key=lambda key: is_other[key])]


def _statement(group: Sequence[Evidence]) -> EvidenceStatement:
    claim = _claim(group[0]) if len(group) == 1 else _claim_of_many(group)
    return EvidenceStatement(claim=claim, evidence_ids=[item.evidence_id for item in group])


def _claim(item: Evidence) -> str:
    where = f"line {item.line}" if item.line is not None else "as a whole"
    if item.line is not None and item.last_line not in (None, item.line):
        where = f"lines {item.line} to {item.last_line}"
    said = _safe(item.says).rstrip(".") or "The reading behind this diagnosis"
    return _checked(f"{said} ({_file(item)}, {where}).")


def _claim_of_many(group: Sequence[Evidence]) -> str:
    """One claim such as `mlx5_11/1 went down 5 times from 19:08:00 to 19:53:00 UTC`."""
    lines = [str(item.line) for item in group if item.line is not None]
    is_listed = len(lines) == len(group) <= _MAX_LINES
    where = f"lines {', '.join(lines)}" if is_listed else f"{len(group)} places"
    found = [match for item in group if (match := _COUNTED.fullmatch(item.says))]
    if not found:
        said = _safe(group[0].says).rstrip(".") or "The reading behind this diagnosis"
        return _checked(f"{said}, {len(group)} times ({_file(group[0])}, {where}).")
    first = min(found, key=lambda one: one["start"])
    last = max(found, key=lambda one: (one["start"], one["end"]))
    span = f"from {first['start']} to {_end(first['start'], last)} UTC"
    return _checked(f"{_said(found)} {span} ({_file(group[0])}, {where}).")


def _said(found: Sequence[re.Match[str]]) -> str:
    who, counter = found[0]["who"], found[0]["counter"]
    counts = sorted({int(one["count"]) for one in found})
    if counts == [1] and counter == "link_downed":
        return f"{who} went down {len(found)} times"
    if counts == [1]:
        return f"{who} counted {count_words(counter, len(found))}, one at a time,"
    each = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
    what = count_words(counter, counts[-1]).partition(" ")[2]
    return f"{who} counted {what} in {len(found)} intervals, {each} in each,"


def _end(start: str, last: re.Match[str]) -> str:
    """The end of the last interval, with its day when that is another one than that of the start."""
    day, time = last["start"][:10], last["end"]
    if " " in time:
        return time
    return time if day == start[:10] else f"{day} {time}"


def _file(item: Evidence) -> str:
    return places.name(item.file, "evidence") or "the evidence file"


def _checked(claim: str) -> str:
    shown = clip(claim, 400)
    return LEFT_OUT if forbidden(shown, own_words=True) else shown


def _safe(text: str) -> str:
    line = clean(text, 260)
    return LEFT_OUT if forbidden(line, own_words=True) else line
