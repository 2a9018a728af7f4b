-- Drops: one row per drop with its newest content; every reading is kept in drop_reads.
CREATE TABLE drops (
    drop_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    path TEXT NOT NULL UNIQUE,
    content_sha256 TEXT NOT NULL,
    first_seen TEXT NOT NULL,
    last_read TEXT NOT NULL,
    processed_sha256 TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX drops_content ON drops (content_sha256);

CREATE TABLE drop_reads (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    drop_id TEXT NOT NULL REFERENCES drops (drop_id),
    path TEXT NOT NULL,
    content_sha256 TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('new', 'changed', 'duplicate_of')),
    at TEXT NOT NULL
) STRICT;
CREATE INDEX drop_reads_path ON drop_reads (path, seq);

-- Incidents: a diagnosis of a drop appends what is new, what changed and what is no longer found.
CREATE TABLE diagnoses (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    drop_id TEXT NOT NULL,
    incidents INTEGER NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX diagnoses_drop ON diagnoses (drop_id);

CREATE TABLE incident_observations (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    incident_id TEXT NOT NULL,
    drop_id TEXT NOT NULL,
    found INTEGER NOT NULL CHECK (found IN (0, 1)),
    component TEXT NOT NULL,
    gpu_serial TEXT NOT NULL,
    needs_ticket INTEGER NOT NULL CHECK (needs_ticket IN (0, 1)),
    evidence_sha256 TEXT NOT NULL,
    json TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX observations_key ON incident_observations (drop_id, incident_id, seq);
CREATE INDEX observations_incident ON incident_observations (incident_id);
CREATE INDEX observations_component ON incident_observations (component);
CREATE INDEX observations_serial ON incident_observations (gpu_serial);

CREATE VIEW current_observations AS
SELECT * FROM incident_observations AS o
WHERE o.found = 1 AND o.seq = (
    SELECT max(n.seq) FROM incident_observations AS n
    WHERE n.drop_id = o.drop_id AND n.incident_id = o.incident_id
);

-- Drafts: a changed draft is a new revision; the newest revision of a ticket is the current one.
CREATE TABLE drafts (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    ticket_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    draft_sha256 TEXT NOT NULL CHECK (length(draft_sha256) = 64),
    drop_id TEXT NOT NULL,
    incident_id TEXT NOT NULL,
    json TEXT NOT NULL,
    drafter TEXT NOT NULL,
    model TEXT NOT NULL,
    prompt_version TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_usd REAL,
    evidence_sha256 TEXT NOT NULL,
    at TEXT NOT NULL,
    UNIQUE (ticket_id, revision)
) STRICT;
CREATE INDEX drafts_drop ON drafts (drop_id);
CREATE INDEX drafts_evidence ON drafts (ticket_id, evidence_sha256);

CREATE TRIGGER drafts_next_revision BEFORE INSERT ON drafts
WHEN EXISTS (SELECT 1 FROM drafts WHERE seq = NEW.seq)
    OR NEW.revision IS NOT 1 + (
        SELECT coalesce(max(revision), 0) FROM drafts WHERE ticket_id = NEW.ticket_id
    )
BEGIN SELECT RAISE(ABORT, 'a draft is the next revision of its ticket, nothing else'); END;

-- Retirements: a revision whose incident is no longer found when its drop is diagnosed again.
CREATE TABLE retirements (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    ticket_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    reason TEXT NOT NULL,
    at TEXT NOT NULL,
    UNIQUE (ticket_id, revision),
    FOREIGN KEY (ticket_id, revision) REFERENCES drafts (ticket_id, revision)
) STRICT;

CREATE TRIGGER retirements_once BEFORE INSERT ON retirements
WHEN EXISTS (
    SELECT 1 FROM retirements
    WHERE seq = NEW.seq OR (ticket_id = NEW.ticket_id AND revision = NEW.revision)
)
BEGIN SELECT RAISE(ABORT, 'this revision is already retired'); END;

CREATE VIEW current_drafts AS
SELECT d.*, EXISTS (
    SELECT 1 FROM retirements AS r WHERE r.ticket_id = d.ticket_id AND r.revision = d.revision
) AS retired
FROM drafts AS d
WHERE d.revision = (SELECT max(n.revision) FROM drafts AS n WHERE n.ticket_id = d.ticket_id);

-- Reviews: what a person decided about one revision, with the hash of its content.
CREATE TABLE reviews (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    ticket_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    draft_sha256 TEXT NOT NULL,
    decision TEXT NOT NULL CHECK (decision IN ('approved', 'rejected')),
    reviewer TEXT NOT NULL CHECK (trim(reviewer, char(9, 10, 11, 12, 13, 32, 160)) <> ''),
    reason TEXT NOT NULL CHECK (
        decision = 'approved' OR trim(reason, char(9, 10, 11, 12, 13, 32, 160)) <> ''
    ),
    at TEXT NOT NULL,
    FOREIGN KEY (ticket_id, revision) REFERENCES drafts (ticket_id, revision)
) STRICT;
CREATE INDEX reviews_draft ON reviews (ticket_id, revision, seq);

CREATE TRIGGER reviews_of_current_draft BEFORE INSERT ON reviews
WHEN EXISTS (SELECT 1 FROM reviews WHERE seq = NEW.seq)
    OR NOT EXISTS (
        SELECT 1 FROM current_drafts AS d
        WHERE d.ticket_id = NEW.ticket_id AND d.revision = NEW.revision
            AND d.draft_sha256 = NEW.draft_sha256 AND NOT d.retired
    )
BEGIN SELECT RAISE(ABORT, 'only the current revision of a ticket can be reviewed'); END;

-- The chain: one link per draft, retirement, review and publication, each over the one before.
CREATE TABLE chain (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('draft', 'retirement', 'review', 'publication')),
    row_seq INTEGER NOT NULL,
    payload_sha256 TEXT NOT NULL,
    prev_hash TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    UNIQUE (kind, row_seq)
) STRICT;

CREATE TRIGGER chain_grows_at_its_end BEFORE INSERT ON chain
WHEN EXISTS (
    SELECT 1 FROM chain
    WHERE seq = NEW.seq OR hash = NEW.hash OR (kind = NEW.kind AND row_seq = NEW.row_seq)
)
BEGIN SELECT RAISE(ABORT, 'the chain only grows at its end'); END;

-- Publications: the gate. It holds whoever inserts, with whatever program.
CREATE TABLE published (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    ticket_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    draft_sha256 TEXT NOT NULL,
    review_seq INTEGER NOT NULL UNIQUE REFERENCES reviews (seq),
    reviewer TEXT NOT NULL,
    at TEXT NOT NULL,
    outbox_file TEXT NOT NULL,
    UNIQUE (ticket_id, revision),
    FOREIGN KEY (ticket_id, revision) REFERENCES drafts (ticket_id, revision)
) STRICT;

CREATE TRIGGER published_once BEFORE INSERT ON published
WHEN EXISTS (
    SELECT 1 FROM published
    WHERE seq = NEW.seq OR review_seq = NEW.review_seq
        OR (ticket_id = NEW.ticket_id AND revision = NEW.revision)
)
BEGIN SELECT RAISE(ABORT, 'this draft is already published'); END;

CREATE TRIGGER published_gate BEFORE INSERT ON published
WHEN NOT EXISTS (
    SELECT 1 FROM reviews AS r
    JOIN current_drafts AS d
        ON d.ticket_id = r.ticket_id AND d.revision = r.revision
        AND d.draft_sha256 = r.draft_sha256
    WHERE r.seq = NEW.review_seq AND r.ticket_id = NEW.ticket_id
        AND r.revision = NEW.revision AND r.draft_sha256 = NEW.draft_sha256
        AND r.reviewer = NEW.reviewer AND r.decision = 'approved' AND NOT d.retired
        AND r.seq = (
            SELECT max(n.seq) FROM reviews AS n
            WHERE n.ticket_id = r.ticket_id AND n.revision = r.revision
        )
        AND EXISTS (SELECT 1 FROM chain WHERE kind = 'draft' AND row_seq = d.seq)
        AND EXISTS (SELECT 1 FROM chain WHERE kind = 'review' AND row_seq = r.seq)
)
BEGIN SELECT RAISE(ABORT, 'ticket not approved by a person for exactly this draft'); END;

-- History is append-only: what was written stays as it was written.
CREATE TRIGGER drop_reads_no_update BEFORE UPDATE ON drop_reads
BEGIN SELECT RAISE(ABORT, 'drop_reads is append-only'); END;
CREATE TRIGGER drop_reads_no_delete BEFORE DELETE ON drop_reads
BEGIN SELECT RAISE(ABORT, 'drop_reads is append-only'); END;
CREATE TRIGGER diagnoses_no_update BEFORE UPDATE ON diagnoses
BEGIN SELECT RAISE(ABORT, 'diagnoses is append-only'); END;
CREATE TRIGGER diagnoses_no_delete BEFORE DELETE ON diagnoses
BEGIN SELECT RAISE(ABORT, 'diagnoses is append-only'); END;
CREATE TRIGGER observations_no_update BEFORE UPDATE ON incident_observations
BEGIN SELECT RAISE(ABORT, 'incident_observations is append-only'); END;
CREATE TRIGGER observations_no_delete BEFORE DELETE ON incident_observations
BEGIN SELECT RAISE(ABORT, 'incident_observations is append-only'); END;
CREATE TRIGGER drafts_no_update BEFORE UPDATE ON drafts
BEGIN SELECT RAISE(ABORT, 'drafts is append-only'); END;
CREATE TRIGGER drafts_no_delete BEFORE DELETE ON drafts
BEGIN SELECT RAISE(ABORT, 'drafts is append-only'); END;
CREATE TRIGGER retirements_no_update BEFORE UPDATE ON retirements
BEGIN SELECT RAISE(ABORT, 'retirements is append-only'); END;
CREATE TRIGGER retirements_no_delete BEFORE DELETE ON retirements
BEGIN SELECT RAISE(ABORT, 'retirements is append-only'); END;
CREATE TRIGGER reviews_no_update BEFORE UPDATE ON reviews
BEGIN SELECT RAISE(ABORT, 'reviews is append-only'); END;
CREATE TRIGGER reviews_no_delete BEFORE DELETE ON reviews
BEGIN SELECT RAISE(ABORT, 'reviews is append-only'); END;
CREATE TRIGGER chain_no_update BEFORE UPDATE ON chain
BEGIN SELECT RAISE(ABORT, 'chain is append-only'); END;
CREATE TRIGGER chain_no_delete BEFORE DELETE ON chain
BEGIN SELECT RAISE(ABORT, 'chain is append-only'); END;
CREATE TRIGGER published_no_update BEFORE UPDATE ON published
BEGIN SELECT RAISE(ABORT, 'published is append-only'); END;
CREATE TRIGGER published_no_delete BEFORE DELETE ON published
BEGIN SELECT RAISE(ABORT, 'published is append-only'); END;
