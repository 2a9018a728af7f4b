"""One verdict for any files or folders, without state: the same stages as a drop, in memory.

The output follows the inspect contract: inputs, verdict, findings, unknown, facts.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from datetime import datetime
from math import isfinite
from pathlib import Path
from typing import Any

from fabric_pipeline.diagnose.diagnose import Diagnosis, diagnose
from fabric_pipeline.model.components import component_id
from fabric_pipeline.model.findings import Finding
from fabric_pipeline.model.records import UnknownFact
from fabric_pipeline.sources.drop import Drop, list_drop, loose_files
from fabric_pipeline.store.duck import session
from fabric_pipeline.workflows.diagnose import (
    correlation_stage,
    gather_evidence,
    spike_stage,
    straggler_stage,
)
from fabric_pipeline.workflows.ingest import Ingested, count_links, ingest
from fabric_pipeline.workflows.unpacked import with_archives

_DROP_ID = "inspect"
_BLANKS_SHOWN = 1000  # links that are listed for having counters without a value
_RESET = "reset {}x, first from {:.0f} to {:.0f}: a fall is no error, and what was counted just before it is not known"
_FULL = (
    "saturated: it stands at its ceiling of {:.0f}, so the true number is at least that and no growth can "
    "be seen; clear the counter and measure again"
)
_RESETS_SHOWN = 8  # counters of one node that fell; of more the node is named once
_REFUSED_SHOWN = 20  # refused lines that are listed for one file


def inspect(
    paths: list[Path], read_at: datetime, progress: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Read and judge; returns the JSON object of the inspect contract.

    Raises BadInputError for a path that does not exist.
    """
    with tempfile.TemporaryDirectory(prefix="fabric-inspect-") as folder:
        drop = with_archives(_as_drop(paths), Path(folder), progress=progress)
        contract = _judged(drop, read_at, progress)
    return {key: _as_text(value) for key, value in contract.items()}


def _judged(drop: Drop, read_at: datetime, progress: Callable[[str], None]) -> dict[str, Any]:
    connection = session()
    try:
        read = ingest(connection, drop, _DROP_ID, read_at, progress)
        count_links(connection)
        spike_stage(connection, _DROP_ID)
        straggler_stage(connection, _DROP_ID)
        correlation_stage(connection, _DROP_ID, read.topology)
        answer = diagnose(gather_evidence(connection, read.topology, list(read.runs.values())))
        unknown = [*read.unknown, *answer.unknown, *_blanks(connection), *_unseen(connection)]
        return _as_contract(read, answer, unknown, _quarantine_facts(connection))
    finally:
        connection.close()


def _as_drop(paths: list[Path]) -> Drop:
    """One folder is a drop with its drop.yaml; anything else is a list of loose captures."""
    if len(paths) == 1 and paths[0].is_dir():
        return list_drop(paths[0])
    return loose_files(paths)


def _as_contract(
    read: Ingested,
    answer: Diagnosis,
    unknown: list[UnknownFact],
    refused: dict[str, list[str]],
) -> dict[str, Any]:
    facts: dict[str, Any] = {"files": read.facts} if read.facts else {}
    problems = [f"{report.name}: {report.problem}" for report in read.files if report.problem]
    if problems or read.problems:
        facts["problems"] = read.problems + problems
    if refused:
        facts["refused_lines"] = refused
    if read.topology.conflicts:
        facts["topology_conflicts"] = read.topology.conflicts
    return {
        "inputs": [
            {"path": r.name, "format": r.format, "readings": r.readings, "rejected_lines": r.rejected if r.format != "unknown" else 0}
            for r in read.files
        ],
        "verdict": answer.verdict,
        "findings": [_finding(finding) for finding in answer.findings],
        "unknown": [
            {"component": component_id(u.node, u.interface), "what": u.what, "reason": u.reason} for u in unknown
        ],
        "facts": facts,
    }  # fmt: skip


def _finding(finding: Finding) -> dict[str, Any]:
    shown = {
        "component": finding.component,
        "kind": finding.kind,
        "severity": finding.severity,
        "role": finding.role,
        "reason": finding.reason,
        "evidence": [{"path": ref.file, "line": ref.line} for ref in finding.evidence],
        "far_end": finding.far_end,
        "cause": finding.cause,
        "error_class": finding.error_class,
        "class_basis": finding.class_basis,
        "rules": finding.rules,
    }
    return {key: value for key, value in shown.items() if value not in ("", [])} | {
        "evidence": shown["evidence"]
    }


def _blanks(connection: Any) -> list[UnknownFact]:
    """Counters that a source lists for a link without ever giving a value."""
    rows = connection.execute(
        f"""
        with silent as (
            select node, interface, counter, min(f.file_no) as file_no, min(line) as line
            from link_counters left join drop_files f using (file)
            group by node, interface, counter having count(value) = 0
        )
        select node, interface, string_agg(counter, ', ' order by counter) from silent
        group by node, interface order by min(file_no), min(line), node, interface limit {_BLANKS_SHOWN}
        """
    ).fetchall()
    reason = "the source lists it without a value (N/A, a blank); that is neither zero nor healthy"
    return [UnknownFact(node, interface, counters, reason) for node, interface, counters in rows]


def _unseen(connection: Any) -> list[UnknownFact]:
    """Growth that nobody saw: of error counters that fell, and of counters that stand at their ceiling."""
    rows = connection.execute(
        f"""
        with noted as (
            select * from link_counters where quality = 'saturated' or (quality = 'reset' and error_class <> '')
        ), near as (
            select * from link_counters where (node, interface, counter) in (select (node, interface, counter) from noted where quality = 'reset')
        )
        select r.node, r.interface, r.counter, r.quality, count(*), first(p.value order by r.sample),
            first(r.value order by r.sample), min(f.file_no) as file_no, min(r.line) as line
        from noted r join drop_files f using (file) left join near p on p.sample = r.sample - 1 and p.node = r.node
            and p.interface = r.interface and p.counter = r.counter and p.scope = r.scope
            and p.lane is not distinct from r.lane and p.gpu_uuid is not distinct from r.gpu_uuid
        group by r.node, r.interface, r.counter, r.quality
        order by file_no, line, r.node, r.interface, r.counter limit {_BLANKS_SHOWN}
        """
    ).fetchall()
    resets: dict[str, list[tuple[Any, ...]]] = {}
    facts = []
    for row in rows:
        node, interface, counter, quality, count, before, value, *_ = row
        if quality == "saturated":
            facts.append(UnknownFact(node, interface, counter, _FULL.format(value)))
        else:
            said = _RESET.format(count, before or 0, value)
            resets.setdefault(node, []).append((interface, counter, said))
    for node, fallen in resets.items():
        if len(fallen) <= _RESETS_SHOWN:
            facts += [UnknownFact(node, *one) for one in fallen]
        else:  # a driver was loaded again or the node booted: said once, not for each of its counters
            interface, counter, said = fallen[0]
            what = f"{len(fallen)} counters, such as {counter} of {interface}"
            facts.append(UnknownFact(node, "", what, said))
    return facts


def _as_text(value: Any) -> Any:
    """The same with only what JSON and UTF-8 can hold: no NaN, no half surrogates, no other types."""
    if isinstance(value, dict):
        return {_as_text(str(key)): _as_text(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_text(item) for item in value]
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None
    return str(value).encode("utf-8", "replace").decode()


def _quarantine_facts(connection: Any) -> dict[str, list[str]]:
    """A few refused lines per file with their rules, so that nothing is lost silently."""
    rows = connection.execute(
        f"""
        select file, line, rule, left(entity_text, 120) from quarantined_telemetry
        qualify row_number() over (partition by file order by entry) <= {_REFUSED_SHOWN} order by entry
        """
    ).fetchall()
    shown: dict[str, list[str]] = {}
    for file, line, rule, text in rows:
        where = "" if line is None else f"line {line}: "
        shown.setdefault(file, []).append(where + rule + (f" [{text}]" if text else ""))
    return shown
