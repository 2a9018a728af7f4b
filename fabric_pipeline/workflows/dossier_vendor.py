"""What a vendor's return form asks for, filled in from the ticket and the incident, and its mail bundle.

Made from what the dossier holds, so that checking it is writing it once more. Items that only the site
knows are listed as such; nothing is guessed and nothing is sent.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fabric_pipeline.errors import BadInputError, FabricError, UsageError
from fabric_pipeline.incidents.record import IncidentRecord
from fabric_pipeline.incidents.ticket import TicketDraft
from fabric_pipeline.workflows.dossier_bag import (
    BAG_INFO,
    BAGIT,
    MANIFEST,
    PAYLOAD,
    SIGNATURE,
    TAG_MANIFEST,
    check_bag,
    shown,
)
from fabric_pipeline.workflows.dossier_ledger import LedgerFacts, Row

VENDOR_FOLDER = "vendor"
_REQUEST = ("rma_request.json", "rma_request.txt")
# What goes to a vendor: the form, what it names as evidence, and what proves that nothing was changed.
_MAILED = (f"{PAYLOAD}/{VENDOR_FOLDER}/", f"{PAYLOAD}/excerpts/", f"{PAYLOAD}/figure.svg")
_TAGS = (BAGIT, BAG_INFO, MANIFEST, TAG_MANIFEST, SIGNATURE)
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file can state: it stands for no time
# Vendors want the state of the machine as it was; it is lost with the next reboot or reset.
_ALWAYS_ATTACHED = (
    "bug report of the machine (such as nvidia-bug-report.log.gz), taken right after the event and "
    "before the part is touched"
)


def vendor_texts(
    record: IncidentRecord, draft: TicketDraft, row: Row, facts: LedgerFacts
) -> dict[str, str]:
    """File name inside `data/` -> text of the request in both forms. `row` is the draft's ledger row."""
    request = _request(record, draft, row, facts)
    texts = (json.dumps(request, indent=2, ensure_ascii=False) + "\n", _readable(request))
    return {f"{VENDOR_FOLDER}/{name}": text for name, text in zip(_REQUEST, texts, strict=True)}


def bundle(dossier: Path, out: Path) -> list[str]:
    """Write the mail bundle of a dossier that holds; returns the names in it. Same dossier, same bytes.

    Raises BadInputError for a dossier that does not hold, UsageError for one without a request.
    """
    packed, mailed = packed_bundle(dossier)
    try:
        out.write_bytes(packed)
    except OSError as error:
        raise FabricError(
            f"{out} cannot be written: {error.strerror}", "choose another file"
        ) from error
    return mailed


def has_request(dossier: Path) -> bool:
    """True when the dossier holds a request to a vendor."""
    return (dossier / PAYLOAD / VENDOR_FOLDER / _REQUEST[0]).is_file()


def packed_bundle(dossier: Path) -> tuple[bytes, list[str]]:
    """The mail bundle as the bytes of a zip file, and the names in it; errors as `bundle` has them."""
    problems, _ = check_bag(dossier) if dossier.is_dir() else ([f"{dossier}: is no folder"], 0)
    if problems:
        raise BadInputError(
            f"the dossier does not hold: {problems[0]}", "verify it, build it again"
        )
    names = sorted(
        path.relative_to(dossier).as_posix() for path in dossier.rglob("*") if path.is_file()
    )
    mailed = [name for name in names if name.startswith(_MAILED) or name in _TAGS]
    if not any(name.endswith(_REQUEST) for name in mailed):
        raise UsageError(
            "this dossier holds no request to a vendor", "draft a ticket first, then build it again"
        )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in mailed:
            entry = zipfile.ZipInfo(f"{dossier.name}/{name}", _ZIP_TIME)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, (dossier / name).read_bytes())
    return packed.getvalue(), mailed


def _request(
    record: IncidentRecord, draft: TicketDraft, row: Row, facts: LedgerFacts
) -> dict[str, Any]:
    attach = [item.item for item in draft.rma if item.state == "to_attach"]
    return {
        "ticket": {
            "ticket_id": draft.ticket_id,
            "revision": row["revision"],
            "draft_sha256": row["draft_sha256"],
            "reviews": [_review(one) for one in facts.rows["review"]],
        },
        "incident_id": record.incident_id,
        "drop": record.drop,
        "part": {
            "replacement_part": draft.replacement_part,
            "part_number": draft.part_number,
            "alternatives_in_order": [part.model_dump(mode="json") for part in draft.parts],
        },
        "place": {
            name: getattr(draft, name)
            for name in ("site", "row", "rack", "unit", "node", "link", "far_end", "port_label")
        },
        "serials": _serials(record, draft),
        "fault": {
            "words": draft.fault,
            "type": record.fault_type,
            "severity": record.severity,
            "summary": record.summary,
            "first_seen": _time(record.first_seen),
            "last_seen": _time(record.last_seen),
            "error_class": record.error_class,
            "class_basis": record.class_basis,
            "counts": record.numbers.get("counts", {}),
            "rules": [rule.model_dump(mode="json") for rule in record.rules],
        },
        "filled": {i.item: i.value for i in draft.rma if i.state == "filled"},
        "to_attach": attach if any("bug" in one for one in attach) else [_ALWAYS_ATTACHED, *attach],
        "to_ask": [item.item for item in draft.rma if item.state == "to_ask"],
        "system_causes_set_aside": [one.model_dump(mode="json") for one in record.alternatives],
        "evidence": [
            {key: getattr(ref, key) for key in ("evidence_id", "file", "sha256", "line", "last_line", "says")}
            for ref in record.evidence
        ],
        "repairs_done": [_repair(one) for one in facts.rows["repair"]],
        "link_checks": [
            {key: one[key] for key in ("drop_id", "verdict", "window_start", "window_end")}
            for one in facts.rows["link_check"]
            if one["drop_id"] != record.drop
        ],
        "earlier_tickets": [one.model_dump(mode="json") for one in draft.earlier_tickets],
        "test_after_repair": draft.test_after_repair,
        "pass_criteria": draft.pass_criteria,
    }  # fmt: skip


def _serials(record: IncidentRecord, draft: TicketDraft) -> dict[str, str]:
    """Every serial and part number that a source states; what none states is left out."""
    known = {
        "node": draft.node_serial,
        "gpu": draft.gpu_serial,
        "gpu_uuid": draft.gpu_uuid,
        "gpu_part_number": draft.gpu_part_number,
        "cable": draft.cable.serial,
        "cable_part_number": draft.cable.part_number,
        "far_device": draft.far_place.serial,
        "far_gpu": record.far_place.gpu_serial,
    }
    return {name: value for name, value in known.items() if value}


def _review(row: Row) -> dict[str, Any]:
    return {key: row[key] for key in ("decision", "reviewer", "draft_sha256", "at")}


def _repair(row: Row) -> dict[str, Any]:
    keys = ("action", "step", "part", "old_serial", "new_serial", "repaired_at", "note")
    return {key: row[key] for key in keys}


def _time(moment: Any) -> str:
    return moment.isoformat() if moment else ""


def _readable(request: dict[str, Any]) -> str:
    part, fault = request["part"], request["fault"]
    lines = [
        f"Request for replacement: {shown(part['replacement_part'])}",
        f"Part number: {shown(part['part_number']) or 'not stated by any source'}",
        f"Ticket: {shown(request['ticket']['ticket_id'])} revision {request['ticket']['revision']}",
        f"Incident: {shown(request['incident_id'])} in drop {shown(request['drop'])}",
        f"Draft SHA-256: {request['ticket']['draft_sha256']}",
        *_section("WHERE", _pairs(request["place"])),
        *_section("SERIALS AND PART NUMBERS", _pairs(request["serials"])),
        *_section("FAULT", _fault(fault)),
        *_section("ANSWERS TO THE FORM", _pairs(request["filled"])),
        *_section("THE SITE STILL HAS TO ATTACH", _items(request["to_attach"])),
        *_section("THE SITE STILL HAS TO ANSWER", _items(request["to_ask"])),
        *_section("CAUSES IN THE SYSTEM THAT WERE SET ASIDE", _set_aside(request)),
        *_section("REPAIRS DONE SO FAR", _repairs(request)),
        *_section("TEST AND PASS CRITERIA", _test(request)),
        *_section("EVIDENCE (whole-file SHA-256; the lines are in excerpts/)", _evidence(request)),
    ]
    return "\n".join(lines) + "\n"


def _section(title: str, lines: Iterator[str]) -> list[str]:
    found = list(lines)
    return ["", title, *(f"  {line}" for line in found or ["none stated"])]


def _items(texts: Sequence[str]) -> Iterator[str]:
    return (f"[ ] {shown(text)}" for text in texts)


def _pairs(facts: dict[str, Any]) -> Iterator[str]:
    return (f"{shown(str(key))}: {shown(str(value))}" for key, value in facts.items() if value)


def _fault(fault: dict[str, Any]) -> Iterator[str]:
    yield f"{shown(fault['words'])} ({fault['type']}, {fault['severity']})"
    yield shown(fault["summary"])
    yield f"seen from {fault['first_seen'] or 'unknown'} to {fault['last_seen'] or 'unknown'}"
    yield from (f"{shown(str(name))}: {count:g}" for name, count in fault["counts"].items())
    for rule in fault["rules"]:
        limit = f"{shown(rule['value'])} against {shown(rule['limit'])}"
        yield f"rule {shown(rule['rule_id'])}: {shown(rule['says'])}; {limit} ({shown(rule['source'])})"


def _set_aside(request: dict[str, Any]) -> Iterator[str]:
    for one in request["system_causes_set_aside"]:
        yield f"{shown(one['explanation'])}: {shown(one['why_set_aside'])}"


def _repairs(request: dict[str, Any]) -> Iterator[str]:
    for one in request["repairs_done"]:
        serials = (
            f"serial {shown(one['old_serial']) or '-'} out, {shown(one['new_serial']) or '-'} in"
        )
        yield f"{one['repaired_at']} {shown(one['action'])} {shown(one['part'])} ({serials})"
    for one in request["link_checks"]:
        yield f"the link in drop {shown(one['drop_id'])}: {one['verdict']}"


def _test(request: dict[str, Any]) -> Iterator[str]:
    yield shown(request["test_after_repair"])
    yield from _items(request["pass_criteria"])


def _evidence(request: dict[str, Any]) -> Iterator[str]:
    for ref in request["evidence"]:
        lines = "whole file" if ref["line"] is None else f"line {ref['line']}"
        if ref["last_line"]:
            lines += f" to {ref['last_line']}"
        yield f"{shown(ref['evidence_id'])} {shown(ref['file'])} {lines}: {shown(ref['says'])}"
        yield f"   {ref['sha256'] or 'no hash stated'}"
