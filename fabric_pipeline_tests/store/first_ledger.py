"""A ledger as the first version of its schema wrote it: made by its script and rows by hand.

The ticket is in schema 1.0. Hashes are computed here by the rules of that time, not by the package.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Any

WAITING, APPROVED, PUBLISHED, GONE = "T-waiting", "T-approved", "T-published", "T-gone"
AT = "2030-02-03T04:05:06.000000+00:00"
REVIEWER = "reviewer-1"

_READING = {
    "component": "calc-07:gpu2/nvlink-5",
    "why": "Replays rise on this end alone.",
    "would_refute_it": "Errors that stay with the far end after a swap.",
    "agrees_with_isolation": True,
}


def first_draft(ticket_id: str, **changes: Any) -> dict[str, Any]:
    """A draft in ticket schema 1.0 as it stood in the file."""
    body = {
        "ticket_id": ticket_id,
        "incident_id": f"INC-{ticket_id}",
        "drop": "d1",
        "schema_version": "1.0",
        "site": "", "row": "", "rack": "R3", "unit": "U7",
        "node": "calc-07", "node_serial": "",
        "gpu_index": 2, "gpu_uuid": "", "gpu_serial": "",
        "port_label": "", "link": "calc-07:gpu2/nvlink-5", "far_end": "",
        "fabric_or_switch_port": "", "cable_id": "",
        "priority": "high", "fault": "physical_link_degradation",
        "replacement_part": "the catalogue has no entry", "part_number": "",
        "port_isolation_guidance": "a person may take the port out of service",
        "drain_required": "drain the node first", "safety": ["ESD strap"], "tools": ["Torx T10"],
        "test_after_repair": "run the all-reduce test", "pass_criteria": ["no replay"],
        "text": {
            "title": "Reseat the cable – lane 5",
            "summary": "Link errors rise while the collective slows down.",
            "evidence_statements": [{"claim": "replay counts rise", "evidence_ids": ["E1"]}],
            "alternatives": [],
            "repair_steps": [{"do": "reseat the cable", "proves": "contact was the cause"}],
            "rollback": "put the old cable back",
        },
        "topology_reading": _READING,
        "drafter": "claude", "drafter_note": "", "model": "some-model", "prompt_version": "p1",
        "input_tokens": 1200, "output_tokens": 340, "cost_usd": 0.0123,
        "evidence_sha256": hashlib.sha256(b"evidence").hexdigest(),
    }  # fmt: skip
    return body | changes


def first_sha256(body: dict[str, Any]) -> str:
    """What a reviewer of that time approved: everything but tokens and cost."""
    kept = {k: v for k, v in body.items() if k not in ("input_tokens", "output_tokens", "cost_usd")}
    return _sha(kept, ensure_ascii=False)


def write_first_ledger(path: Path) -> str:
    """Four tickets: waiting, approved, published, and one whose incident vanished. Returns the head."""
    script = files("fabric_pipeline.store") / "migrations" / "0001_init.sql"
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as con:
        con.row_factory = sqlite3.Row
        con.executescript(script.read_text(encoding="utf-8"))
        con.execute("PRAGMA user_version = 1")
        for ticket_id in (WAITING, APPROVED, PUBLISHED, GONE):
            _add(con, "draft", "drafts", _draft_row(first_draft(ticket_id)))
        review = {"revision": 1, "decision": "approved", "reviewer": REVIEWER, "reason": ""}
        for ticket_id in (APPROVED, PUBLISHED):
            content = first_sha256(first_draft(ticket_id))
            _add(
                con,
                "review",
                "reviews",
                {**review, "ticket_id": ticket_id, "draft_sha256": content, "at": AT},
            )
        _add(
            con,
            "publication",
            "published",
            {
                "ticket_id": PUBLISHED,
                "revision": 1,
                "draft_sha256": first_sha256(first_draft(PUBLISHED)),
                "review_seq": 2,
                "reviewer": REVIEWER,
                "at": AT,
                "outbox_file": f"{PUBLISHED}/ticket.json",
            },
        )
        gone = {"ticket_id": GONE, "revision": 1, "reason": "no longer found", "at": AT}
        _add(con, "retirement", "retirements", gone)
        con.commit()
        return str(con.execute("SELECT hash FROM chain ORDER BY seq DESC").fetchone()["hash"])


def _draft_row(body: dict[str, Any]) -> dict[str, Any]:
    same = ("ticket_id", "incident_id", "drafter", "model", "prompt_version", "evidence_sha256")
    return {
        **{name: body[name] for name in same},
        **{name: body[name] for name in ("input_tokens", "output_tokens", "cost_usd")},
        "revision": 1,
        "draft_sha256": first_sha256(body),
        "drop_id": body["drop"],
        "json": json.dumps(body, ensure_ascii=False, separators=(",", ":")),
        "at": AT,
    }


def _add(con: sqlite3.Connection, kind: str, table: str, values: dict[str, Any]) -> None:
    names, marks = ", ".join(values), ", ".join("?" for _ in values)
    written = con.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", [*values.values()])
    row = con.execute(f"SELECT * FROM {table} WHERE seq = ?", [written.lastrowid]).fetchone()
    last = con.execute("SELECT seq, hash FROM chain ORDER BY seq DESC LIMIT 1").fetchone()
    seq, prev = (last["seq"] + 1, last["hash"]) if last else (1, "0" * 64)
    payload = _sha(dict(row), ensure_ascii=True)
    link = f"{seq}\n{kind}\n{row['seq']}\n{payload}\n{prev}"
    con.execute(
        "INSERT INTO chain VALUES (?, ?, ?, ?, ?, ?)",
        [seq, kind, row["seq"], payload, prev, hashlib.sha256(link.encode()).hexdigest()],
    )


def _sha(value: dict[str, Any], *, ensure_ascii: bool) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=ensure_ascii, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
