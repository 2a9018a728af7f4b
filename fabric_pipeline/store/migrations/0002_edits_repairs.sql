-- Edits: a revision that a person wrote over another one. The revision itself stands in drafts.
CREATE TABLE edits (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    ticket_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    draft_sha256 TEXT NOT NULL,
    base_revision INTEGER NOT NULL,
    base_sha256 TEXT NOT NULL,
    editor TEXT NOT NULL CHECK (trim(editor, char(9, 10, 11, 12, 13, 32, 160)) <> ''),
    reason TEXT NOT NULL CHECK (trim(reason, char(9, 10, 11, 12, 13, 32, 160)) <> ''),
    diff TEXT NOT NULL,
    at TEXT NOT NULL,
    UNIQUE (ticket_id, revision),
    FOREIGN KEY (ticket_id, revision) REFERENCES drafts (ticket_id, revision)
) STRICT;

CREATE TRIGGER edits_of_newest_revision BEFORE INSERT ON edits
WHEN EXISTS (SELECT 1 FROM edits WHERE seq = NEW.seq)
    OR NEW.base_revision IS NOT NEW.revision - 1
    OR NOT EXISTS (
        SELECT 1 FROM current_drafts AS d
        WHERE d.ticket_id = NEW.ticket_id AND d.revision = NEW.revision
            AND d.draft_sha256 = NEW.draft_sha256
    )
    OR NOT EXISTS (
        SELECT 1 FROM drafts AS b
        WHERE b.ticket_id = NEW.ticket_id AND b.revision = NEW.base_revision
            AND b.draft_sha256 = NEW.base_sha256
    )
BEGIN SELECT RAISE(ABORT, 'an edit makes the next revision of the one that was read'); END;

-- People whose words stand in a revision: all edits since the last revision that a drafter wrote.
CREATE VIEW revision_editors AS
SELECT d.ticket_id, d.revision, e.editor
FROM drafts AS d
JOIN edits AS e ON e.ticket_id = d.ticket_id AND e.revision <= d.revision
WHERE NOT EXISTS (
    SELECT 1 FROM drafts AS later
    WHERE later.ticket_id = d.ticket_id AND later.revision > e.revision
        AND later.revision <= d.revision
        AND NOT EXISTS (
            SELECT 1 FROM edits AS n
            WHERE n.ticket_id = later.ticket_id AND n.revision = later.revision
        )
);

-- Four eyes: whoever edited a text does not approve it.
CREATE TRIGGER reviews_by_another_person BEFORE INSERT ON reviews
WHEN NEW.decision = 'approved' AND EXISTS (
    SELECT 1 FROM revision_editors AS e
    WHERE e.ticket_id = NEW.ticket_id AND e.revision = NEW.revision
        AND lower(trim(e.editor)) = lower(trim(NEW.reviewer))
)
BEGIN SELECT RAISE(ABORT, 'who edited a draft cannot approve it'); END;

-- Repairs as people report them: what was done to which link, with the serials out and in.
CREATE TABLE repairs (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    incident_id TEXT NOT NULL,
    ticket_id TEXT NOT NULL,
    component TEXT NOT NULL,
    action TEXT NOT NULL CHECK (trim(action) <> ''),
    step INTEGER,
    part TEXT NOT NULL,
    old_serial TEXT NOT NULL,
    new_serial TEXT NOT NULL,
    repaired_by TEXT NOT NULL CHECK (trim(repaired_by, char(9, 10, 11, 12, 13, 32, 160)) <> ''),
    repaired_at TEXT NOT NULL,
    note TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX repairs_incident ON repairs (incident_id, seq);
CREATE INDEX repairs_old_serial ON repairs (old_serial);
CREATE INDEX repairs_new_serial ON repairs (new_serial);

-- Link checks: how a link that was once accused looks in a later drop. `clean`: measured long enough,
-- no worse than its own past and its siblings. `dirty`: it errs. `unmeasured`: the drop cannot tell.
CREATE TABLE link_checks (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    incident_id TEXT NOT NULL,
    drop_id TEXT NOT NULL,
    component TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('clean', 'dirty', 'unmeasured')),
    window_start TEXT,
    window_end TEXT,
    measured_s REAL NOT NULL,
    facts TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT;
CREATE INDEX link_checks_incident ON link_checks (incident_id, seq);
CREATE INDEX link_checks_drop ON link_checks (drop_id, incident_id, seq);

-- The chain takes the new kinds; its links stay as they are. The gate names the chain, so it is
-- taken away while the chain has no name and comes back with the rule of four eyes in it.
DROP TRIGGER published_gate;
CREATE TABLE chain_with_edits (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (
        kind IN ('draft', 'retirement', 'review', 'publication', 'edit', 'repair', 'link_check')
    ),
    row_seq INTEGER NOT NULL,
    payload_sha256 TEXT NOT NULL,
    prev_hash TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    UNIQUE (kind, row_seq)
) STRICT;
INSERT INTO chain_with_edits (seq, kind, row_seq, payload_sha256, prev_hash, hash)
SELECT seq, kind, row_seq, payload_sha256, prev_hash, hash FROM chain ORDER BY seq;
DROP TABLE chain;
ALTER TABLE chain_with_edits RENAME TO chain;

CREATE TRIGGER chain_grows_at_its_end BEFORE INSERT ON chain
WHEN EXISTS (
    SELECT 1 FROM chain
    WHERE seq = NEW.seq OR hash = NEW.hash OR (kind = NEW.kind AND row_seq = NEW.row_seq)
)
BEGIN SELECT RAISE(ABORT, 'the chain only grows at its end'); END;
CREATE TRIGGER chain_no_update BEFORE UPDATE ON chain
BEGIN SELECT RAISE(ABORT, 'chain is append-only'); END;
CREATE TRIGGER chain_no_delete BEFORE DELETE ON chain
BEGIN SELECT RAISE(ABORT, 'chain is append-only'); END;

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
        AND NOT EXISTS (
            SELECT 1 FROM revision_editors AS e
            WHERE e.ticket_id = r.ticket_id AND e.revision = r.revision
                AND lower(trim(e.editor)) = lower(trim(r.reviewer))
        )
        AND EXISTS (SELECT 1 FROM chain WHERE kind = 'draft' AND row_seq = d.seq)
        AND EXISTS (SELECT 1 FROM chain WHERE kind = 'review' AND row_seq = r.seq)
)
BEGIN SELECT RAISE(ABORT, 'ticket not approved by a person for exactly this draft'); END;

CREATE TRIGGER edits_no_update BEFORE UPDATE ON edits
BEGIN SELECT RAISE(ABORT, 'edits is append-only'); END;
CREATE TRIGGER edits_no_delete BEFORE DELETE ON edits
BEGIN SELECT RAISE(ABORT, 'edits is append-only'); END;
CREATE TRIGGER repairs_no_update BEFORE UPDATE ON repairs
BEGIN SELECT RAISE(ABORT, 'repairs is append-only'); END;
CREATE TRIGGER repairs_no_delete BEFORE DELETE ON repairs
BEGIN SELECT RAISE(ABORT, 'repairs is append-only'); END;
CREATE TRIGGER link_checks_no_update BEFORE UPDATE ON link_checks
BEGIN SELECT RAISE(ABORT, 'link_checks is append-only'); END;
CREATE TRIGGER link_checks_no_delete BEFORE DELETE ON link_checks
BEGIN SELECT RAISE(ABORT, 'link_checks is append-only'); END;
