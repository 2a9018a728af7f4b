"""The ledger's tables as the audit file carries them: columns, comments and where they come from.

They are named `ledger_*`, apart from the tables of the lake: the lake says what a run wrote, the
ledger says what was decided. Building the file is done in `audit`.
"""

from __future__ import annotations

from dataclasses import dataclass

from fabric_pipeline.schemas.table import Column, Table, number, text, time, whole


@dataclass(frozen=True, slots=True)
class LedgerTable:
    """One table of the audit file and the SQLite query whose columns fill it in order.

    `source` is the table that it is read from. Of an append-only one `grown` finds the numbers of the rows
    that are new, or that stand otherwise, since the number `:last`; without it all rows are read anew.
    """

    table: Table
    query: str
    source: str
    grown: str = ""

    @property
    def rows_since(self) -> str:
        """The query for the rows that `grown` finds."""
        return f"SELECT * FROM ({self.query}) WHERE seq IN ({self.grown})"


def _flag(name: str, description: str) -> Column:
    return Column(name, "BOOLEAN", description)


def _table(name: str, grain: str, description: str, *columns: Column) -> Table:
    return Table(name, "audit", grain, description, (columns[0].name,), columns)


_SEQ = whole("seq", "Number in the ledger, in the order of recording")
_DROP = text("drop", "Id of the drop")
_TICKET = text("ticket_id", "Id of the ticket")
_REVISION = whole("revision", "Revision of the ticket's draft, from 1")
_DRAFT_HASH = text("draft_sha256", "SHA-256 of the draft's content, which a review binds to")

_DECIDED = (
    LedgerTable(
        _table(
            "ledger_drops",
            "one drop",
            "Telemetry drops that were registered, with the hash of their newest content.",
            _DROP,
            text("name", "Name as delivered"),
            text("path", "Folder or file it was read from"),
            text("content_sha256", "SHA-256 over its newest content"),
            time("first_seen", "When it was registered (UTC)"),
            time("last_read", "When it was last read (UTC)"),
            text("processed_sha256", "Content that last went through to the end; empty for none"),
        ),
        "SELECT drop_id, name, path, content_sha256, first_seen, last_read, processed_sha256 "
        "FROM drops ORDER BY first_seen, drop_id",
        "drops",
    ),
    LedgerTable(
        _table(
            "ledger_diagnoses",
            "one diagnosis of one drop",
            "Every time a drop was diagnosed, also when nothing was found.",
            _SEQ,
            _DROP,
            whole("incidents", "Incident records it produced, explicit non-faults included"),
            time("diagnosed_at", "When (UTC)"),
        ),
        "SELECT seq, drop_id, incidents, at FROM diagnoses ORDER BY seq",
        "diagnoses",
        "SELECT seq FROM diagnoses WHERE seq > :last",
    ),
    LedgerTable(
        _table(
            "ledger_incidents",
            "one observation of an incident in a drop",
            "History of what diagnoses found; is_current marks what stands now.",
            _SEQ,
            text("incident_id", "Id of the incident, the same in every drop that shows it"),
            _DROP,
            _flag("found", "False: a later diagnosis of this drop no longer found it"),
            _flag("is_current", "The newest observation of this incident in this drop, and found"),
            text("component", "Component that is blamed, or none"),
            text("gpu_serial", "Serial of the GPU at the near end, empty when no topology says it"),
            _flag("needs_ticket", "Accuses a physical component at WARNING or CRITICAL"),
            text("evidence_sha256", "SHA-256 over the record"),
            text("record", "The whole incident record, JSON"),
            time("observed_at", "When it was recorded (UTC)"),
        ),
        "SELECT o.seq, o.incident_id, o.drop_id, o.found, o.found AND NOT EXISTS (SELECT 1 "
        "FROM incident_observations AS n WHERE n.drop_id = o.drop_id "
        "AND n.incident_id = o.incident_id AND n.seq > o.seq), o.component, o.gpu_serial, "
        "o.needs_ticket, o.evidence_sha256, o.json, o.at FROM incident_observations AS o "
        "ORDER BY o.seq",
        "incident_observations",
        "SELECT o.seq FROM incident_observations AS n JOIN incident_observations AS o "
        "ON o.drop_id = n.drop_id AND o.incident_id = n.incident_id WHERE n.seq > :last",
    ),
    LedgerTable(
        _table(
            "ledger_drafts",
            "one draft revision",
            "Every revision of every repair ticket, with who worded it and what that cost.",
            _SEQ,
            _TICKET,
            _REVISION,
            _DRAFT_HASH,
            _DROP,
            text("incident_id", "Incident it repairs"),
            _flag("is_current", "The newest revision of its ticket"),
            _flag("is_retired", "Its incident is no longer found in its drop"),
            text("drafter", "claude or rules; of an edited revision: whose words were edited"),
            text("model", "Model name, empty for the rules drafter"),
            text("prompt_version", "Version of the prompt"),
            whole("input_tokens", "Tokens read by the model"),
            whole("output_tokens", "Tokens written by the model"),
            number("cost_usd", "Cost in US dollars; empty when unknown"),
            text("evidence_sha256", "SHA-256 of the evidence the draft rests on"),
            text("draft", "The whole draft, JSON"),
            time("drafted_at", "When it was recorded (UTC)"),
        ),
        "SELECT d.seq, d.ticket_id, d.revision, d.draft_sha256, d.drop_id, d.incident_id, "
        "NOT EXISTS (SELECT 1 FROM drafts AS n WHERE n.ticket_id = d.ticket_id "
        "AND n.revision > d.revision), EXISTS (SELECT 1 FROM retirements AS r "
        "WHERE r.ticket_id = d.ticket_id AND r.revision = d.revision), d.drafter, d.model, "
        "d.prompt_version, d.input_tokens, d.output_tokens, d.cost_usd, d.evidence_sha256, d.json, "
        "d.at FROM drafts AS d ORDER BY d.seq",
        "drafts",
        "SELECT o.seq FROM drafts AS n JOIN drafts AS o ON o.ticket_id = n.ticket_id "
        "WHERE n.seq > :last UNION SELECT o.seq FROM retirements AS r "
        "JOIN drafts AS o ON o.ticket_id = r.ticket_id WHERE r.seq > :retirements",
    ),
    LedgerTable(
        _table(
            "ledger_reviews",
            "one decision of one person",
            "Approvals and rejections; the latest one on a revision counts.",
            _SEQ,
            _TICKET,
            _REVISION,
            _DRAFT_HASH,
            text("decision", "approved or rejected"),
            text("reviewer", "Who decided"),
            text("reason", "Why, in the reviewer's words"),
            time("reviewed_at", "When (UTC)"),
        ),
        "SELECT seq, ticket_id, revision, draft_sha256, decision, reviewer, reason, at "
        "FROM reviews ORDER BY seq",
        "reviews",
        "SELECT seq FROM reviews WHERE seq > :last",
    ),
    LedgerTable(
        _table(
            "ledger_edits",
            "one edit by one person",
            "Revisions that a person wrote over another one; who edited cannot approve them.",
            _SEQ,
            _TICKET,
            _REVISION,
            _DRAFT_HASH,
            whole("base_revision", "Revision that the editor read and changed"),
            text("base_sha256", "SHA-256 of the content of that revision"),
            text("editor", "Who edited"),
            text("reason", "Why, in the editor's words"),
            text("diff", "Unified diff of both drafts as JSON, one line for each value"),
            time("edited_at", "When (UTC)"),
        ),
        "SELECT seq, ticket_id, revision, draft_sha256, base_revision, base_sha256, editor, reason, "
        "diff, at FROM edits ORDER BY seq",
        "edits",
        "SELECT seq FROM edits WHERE seq > :last",
    ),
    LedgerTable(
        _table(
            "ledger_repairs",
            "one repair as a person reported it",
            "What was done to which link, with the serials that came out and went in.",
            _SEQ,
            text("incident_id", "Incident that was repaired"),
            text("ticket_id", "Ticket that the repair follows; empty when none was named"),
            text("component", "Component as the incident named it at that time"),
            text("action", "Action of the catalogue's repair order"),
            whole("step", "Step of that order; empty when it is none of its steps"),
            text("part", "Part that was exchanged; empty when none was"),
            text("old_serial", "Serial that came out; empty when not stated"),
            text("new_serial", "Serial that went in; empty when not stated"),
            text("repaired_by", "Who did it"),
            time("repaired_at", "When it was done (UTC)"),
            text("note", "In the technician's words"),
            time("reported_at", "When it was recorded (UTC)"),
        ),
        "SELECT seq, incident_id, ticket_id, component, action, step, part, old_serial, new_serial, "
        "repaired_by, repaired_at, note, at FROM repairs ORDER BY seq",
        "repairs",
        "SELECT seq FROM repairs WHERE seq > :last",
    ),
    LedgerTable(
        _table(
            "ledger_link_checks",
            "one check of a once accused link in one drop",
            "How links that were accused look in later drops; the newest check of a drop counts.",
            _SEQ,
            text("incident_id", "Incident that accused the link"),
            _DROP,
            text("component", "Component that was looked at"),
            text("verdict", "clean, dirty (it errs) or unmeasured (the drop cannot tell)"),
            time("window_start", "First moment that was measured (UTC); empty when none was"),
            time("window_end", "Last moment that was measured (UTC); empty when none was"),
            number("measured_s", "Seconds with counters of this link"),
            text("facts", "What was compared with what, JSON"),
            time("checked_at", "When it was recorded (UTC)"),
        ),
        "SELECT seq, incident_id, drop_id, component, verdict, window_start, window_end, "
        "measured_s, facts, at FROM link_checks ORDER BY seq",
        "link_checks",
        "SELECT seq FROM link_checks WHERE seq > :last",
    ),
    LedgerTable(
        _table(
            "ledger_retirements",
            "one retired draft revision",
            "Drafts whose incident a new diagnosis of the drop no longer found.",
            _SEQ,
            _TICKET,
            _REVISION,
            text("reason", "Why it was retired"),
            time("retired_at", "When (UTC)"),
        ),
        "SELECT seq, ticket_id, revision, reason, at FROM retirements ORDER BY seq",
        "retirements",
        "SELECT seq FROM retirements WHERE seq > :last",
    ),
    LedgerTable(
        _table(
            "ledger_publications",
            "one published revision",
            "What left the pipeline, and the review that allowed it.",
            _SEQ,
            _TICKET,
            _REVISION,
            _DRAFT_HASH,
            whole("review_seq", "Number of the approval in ledger_reviews"),
            text("reviewer", "Who approved it"),
            time("published_at", "When it was written (UTC)"),
            text("outbox_file", "File in the outbox"),
        ),
        "SELECT seq, ticket_id, revision, draft_sha256, review_seq, reviewer, at, outbox_file "
        "FROM published ORDER BY seq",
        "published",
        "SELECT seq FROM published WHERE seq > :last",
    ),
    LedgerTable(
        _table(
            "ledger_chain",
            "one link of the hash chain",
            "One link per draft, edit, retirement, review, publication, repair and link check, each "
            "over the one before.",
            _SEQ,
            text("kind", "draft, edit, retirement, review, publication, repair or link_check"),
            whole("row_seq", "Number of the row in its table"),
            text("payload_sha256", "SHA-256 over the row as recorded"),
            text("prev_hash", "Hash of the link before"),
            text("hash", "SHA-256 over this link"),
        ),
        "SELECT seq, kind, row_seq, payload_sha256, prev_hash, hash FROM chain ORDER BY seq",
        "chain",
        "SELECT seq FROM chain WHERE seq > :last",
    ),
)

_EXPIRED = LedgerTable(
    _table(
        "ledger_expired",
        "one table of one drop whose rows were thrown away",
        "Readings of old drops that expired by policy, with the hash of the file that held them.",
        _SEQ,
        _DROP,
        text("table_name", "Table of the lake"),
        whole("rows", "Rows it had"),
        whole("bytes", "Size of its files"),
        text("sha256", "SHA-256 of the file that stood for the table"),
        text("policy", "Rule by which it expired, in words"),
        time("expired_at", "When (UTC)"),
        text("prev_hash", "Hash of the row before"),
        text("hash", "SHA-256 over this row"),
    ),
    "SELECT seq, drop_id, table_name, rows, bytes, sha256, policy, at, prev_hash, hash "
    "FROM expired ORDER BY seq",
    "expired",
    "SELECT seq FROM expired WHERE seq > :last",
)
LEDGER_TABLES: tuple[LedgerTable, ...] = (*_DECIDED, _EXPIRED)

AUDIT_INFO = _table(
    "audit_info",
    "one fact about this file",
    "When this file was built, from what, and whether the ledger's chain held at that time.",
    text("fact", "Name of the fact"),
    text("value", "Its value"),
)
